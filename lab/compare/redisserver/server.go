// Package redisserver starts private Redis servers.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// ErrNone reports that no Redis executable is found.
var ErrNone = errors.New("no redis-server or valkey-server on PATH: install one, or use --redis-url")

// Start starts an empty redis-server without persistence on a unix socket in a temporary directory.
// It returns the address once the server replies, and a function that ends it and removes the
// directory. On Linux the server also ends with this process, however that ends.
func Start(ctx context.Context) (url string, stop func(), err error) {
	program, err := find()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "tandian-bench")
	if err != nil {
		return "", nil, fmt.Errorf("make a directory for Redis: %w", err)
	}
	kill, err := run(ctx, program, dir, "--appendonly", "no")
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return "unix://" + filepath.Join(dir, "redis.sock"), func() {
		kill()
		_ = os.RemoveAll(dir)
	}, nil
}

// run starts a server on redis.sock in its directory. It returns once the server replies, with a
// function that kills it.
func run(ctx context.Context, program, dir string, options ...string) (kill func(), err error) {
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command(program, append([]string{ //nolint:noctx // it ends by kill
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", dir, "--save", "",
	}, options...)...)
	dieWithParent(cmd)
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		// The kernel ends the child with the thread that started it, not only with the process.
		runtime.LockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // always "killed"
		}
	}()
	kill = func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
		<-ended
	}
	if err := errors.Join(<-started, answers(ctx, socket)); err != nil {
		kill()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return kill, nil
}

func find() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// answers waits until the server replies to a PING.
func answers(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	defer func() { _ = rdb.Close() }()
	for {
		err := rdb.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if ended := clock.Sleep(ctx, 5*time.Millisecond); ended != nil {
			return errors.Join(ended, err)
		}
	}
}
