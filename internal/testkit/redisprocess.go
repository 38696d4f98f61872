package testkit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisProcess runs redis-server with only these arguments, as a server or a Sentinel, until the
// test ends. It waits until the server answers a PING at o, and returns its new empty directory.
func RedisProcess(tb testing.TB, o *redis.Options, args ...string) (dir string) {
	tb.Helper()
	program := redisProgram(tb)
	dir, err := os.MkdirTemp(shortTemp(), "td") //nolint:usetesting // its path may be too long for a socket
	if err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := exec.Command("sh", append([]string{"-c", guard, "guard", dir, program}, args...)...) //nolint:noctx // it ends with its input
	cmd.Dir = dir
	stop, err := startGuard(cmd)
	if err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	tb.Cleanup(stop)
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	for rdb.Ping(ctx).Err() != nil {
		if time.Sleep(5 * time.Millisecond); ctx.Err() != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			tb.Fatalf("redis-server does not answer:\n%s", log)
		}
	}
	return dir
}
