package subprocess

import (
	"context"
	_ "embed" // the guard
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

//go:embed guard.sh
var guard string

// ErrNoServer says that there is no redis-server to start.
var ErrNoServer = errors.New("needs redis-server on PATH")

// Redis is a server that belongs to a measurement alone: it may be stopped and
// emptied. It is empty at first, keeps nothing unless it is told to, and ends with
// this process.
type Redis struct {
	URL      string
	dir      string
	command  []string
	cmd      *exec.Cmd
	lifeline io.WriteCloser
}

// StartRedis starts one, which Stop ends. Options are added to its command line, as
// "--appendonly", "yes". The error is [ErrNoServer] if there is no redis-server on
// PATH.
func StartRedis(ctx context.Context, options ...string) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNoServer
	}
	dir, err := os.MkdirTemp("", "td")
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	socket := filepath.Join(dir, "redis.sock")
	command := append([]string{
		program, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", dir, "--save", "", "--appendonly", "no",
	}, options...)
	cmd, lifeline, err := guarded(ctx, "KILL", dir, command)
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	s := &Redis{URL: "unix://" + socket, dir: dir, command: command, cmd: cmd, lifeline: lifeline}
	if err := s.answers(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// guarded starts a server that ends, by a signal, when the lifeline is closed: at
// the latest when this process ends, in whatever way. Its directory is removed then.
// Who writes the line "keep" into the lifeline has it end by SIGTERM, and what it
// stored stays.
func guarded(ctx context.Context, signal, dir string, server []string) (cmd *exec.Cmd, lifeline io.WriteCloser, err error) {
	cmd = exec.CommandContext(context.WithoutCancel(ctx), "sh", append([]string{"-c", guard, "guard", signal, dir}, server...)...)
	cmd.Dir = dir
	if lifeline, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	return cmd, lifeline, err
}

// answers waits until the server does.
func (s *Redis) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rdb, err := OpenRedis(s.URL)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return redisdb.Await(ctx, "redis-server", rdb, func(error) {})
}

// Signal asks the server for its process, and returns what sends that a signal
// such as "STOP" or "CONT".
func (s *Redis) Signal(ctx context.Context) (send func(name string) error, err error) {
	rdb, err := OpenRedis(s.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rdb.Close() }()
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return nil, fmt.Errorf("ask redis-server for its process id: %w", err)
	}
	found := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)
	if found == nil {
		return nil, errors.New("redis-server does not say its process id")
	}
	return func(name string) error {
		if out, err := exec.CommandContext(context.WithoutCancel(ctx), "kill", "-"+name, found[1]).CombinedOutput(); err != nil {
			return fmt.Errorf("send %s to redis-server: %w: %s", name, err, out)
		}
		return nil
	}, nil
}

// Restart ends the server as a service manager does, by SIGTERM, and starts it again
// on what it kept, if it was told to keep something, after it was down for a time. The
// URL stays the same. It returns when the server answers again.
func (s *Redis) Restart(ctx context.Context, down time.Duration) error {
	if _, err := io.WriteString(s.lifeline, "keep\n"); err != nil {
		return fmt.Errorf("stop redis-server: %w", err)
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("stop redis-server: %w", err)
	}
	_ = s.lifeline.Close() // nobody reads it any more
	var interrupted error
	select {
	case <-ctx.Done():
		interrupted = ctx.Err() // it is started all the same, so that Stop finds what it removes
	case <-time.After(down):
	}
	cmd, lifeline, err := guarded(ctx, "KILL", s.dir, s.command)
	if err != nil {
		return fmt.Errorf("start redis-server again: %w", errors.Join(err, os.RemoveAll(s.dir)))
	}
	s.cmd, s.lifeline = cmd, lifeline
	return errors.Join(interrupted, s.answers(ctx))
}

// Stop ends the server, also one that was stopped by a signal, and removes it.
func (s *Redis) Stop() {
	_ = s.lifeline.Close()
	_ = s.cmd.Wait()
}

// OpenRedis opens a client with the options of the server's own.
func OpenRedis(url string) (redis.UniversalClient, error) {
	return redisdb.OpenRedis(redisdb.RedisConfig{URL: url, Role: "bench"}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
}

// OpenPatient opens a client that waits: on a busy machine a command may take
// longer than a server would wait for it, and that says nothing about what is
// measured, unless that is a Redis that does not answer.
func OpenPatient(url string) (redis.UniversalClient, error) {
	return redisdb.OpenRedis(redisdb.RedisConfig{
		URL: url, Role: "bench", Timeout: Patience, PoolTimeout: Patience,
	}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
}

// Patience is how long a client waits that [OpenPatient] opened.
const Patience = 30 * time.Second
