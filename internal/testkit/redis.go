package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "embed"
)

//go:embed guard.sh
var guard string

// Redis starts an empty redis-server without persistence and returns its URL, a unix socket that
// other users cannot access. The server ends with the test, also when the test process is killed.
//
// The URL has the command permissions of the user tandian in deploy/redis/users.acl: no KEYS,
// FLUSHALL, CONFIG, DEBUG, SHUTDOWN and the like. Tests control their server through [RedisAdmin].
//
// Options are added to the command line, for example "--maxmemory-policy", "allkeys-lfu". The
// program is the one in TANDIAN_TEST_REDIS_SERVER.
func Redis(tb testing.TB, options ...string) string {
	tb.Helper()
	url, stop, err := startRedis(tb.Context(), redisProgram(tb), options...)
	if err != nil {
		tb.Fatalf("start Redis: %v", err)
	}
	tb.Cleanup(stop)
	return url
}

// redisProgram returns the path of redis-server. Without one it skips or fails the test.
func redisProgram(tb testing.TB) string {
	tb.Helper()
	program := os.Getenv("TANDIAN_TEST_REDIS_SERVER")
	if program == "" {
		missingServer(tb, "Redis")
	}
	return program
}

// startRedis is like [Redis], but the server ends with stop or with this process.
func startRedis(ctx context.Context, program string, options ...string) (url string, stop func(), err error) {
	dir, err := os.MkdirTemp(shortTemp(), "td")
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	acl, err := writeACL(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	args := slices.Concat([]string{
		"-c", guard, "guard", dir, program,
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
		"--dir", dir, "--save", "", "--appendonly", "no",
	}, acl, options)
	cmd := exec.Command("sh", args...) //nolint:noctx // ends with its input
	end, err := startGuard(cmd)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() {
		end()
		_ = os.RemoveAll(dir) // already removed, unless the guard never ran
	}
	if err := awaitPing(ctx, socket, 10*time.Second); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) //nolint:gosec // a test's directory
		stop()
		return "", nil, fmt.Errorf("%w\n%s", err, log)
	}
	return "unix://" + socket, stop, nil
}

// startGuard starts cmd. stop closes its input and waits for its end.
func startGuard(cmd *exec.Cmd) (stop func(), err error) {
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = lifeline.Close()
		_ = cmd.Wait() // always "killed"
	}, nil
}

// awaitPing waits until the server at a unix socket answers a PING.
func awaitPing(ctx context.Context, socket string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := ping(ctx, socket)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func ping(ctx context.Context, socket string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if answer != "+PONG\r\n" {
		return fmt.Errorf("ping Redis: got %q", answer)
	}
	return nil
}

// shortTemp returns a directory for sockets, whose paths are limited to about a hundred bytes.
func shortTemp() string {
	if dir := os.TempDir(); len(dir) <= 60 {
		return dir
	}
	return "/tmp"
}
