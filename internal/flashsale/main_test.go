package flashsale

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/store"
)

func TestMain(m *testing.M) {
	store.SilenceRedisLog() // each refused connection would be a line
	goleak.VerifyTestMain(m)
}
