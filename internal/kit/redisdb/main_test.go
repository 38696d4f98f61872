package redisdb

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	SilenceRedisLog()
	// A pool that cannot dial retries each second, and only then detects that it is closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
