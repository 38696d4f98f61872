package pubsub

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the time limit for events that take milliseconds on an idle machine.
const soon = 20 * time.Second
