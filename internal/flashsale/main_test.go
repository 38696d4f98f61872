package flashsale

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // each refused connection would be a line
	goleak.VerifyTestMain(m)
}
