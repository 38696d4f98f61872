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

// ErrNoServer reports that redis-server is not installed.
var ErrNoServer = errors.New("needs redis-server on PATH")

// Redis is a Redis server that ends with this process. It stores nothing on disk, unless options
// enable persistence.
type Redis struct {
	URL      string
	dir      string
	command  []string
	cmd      *exec.Cmd
	lifeline io.WriteCloser
}

// StartRedis starts an empty server; call Stop to end it. Options are added to its command line, for
// example "--appendonly", "yes". It returns [ErrNoServer] if redis-server is not on PATH.
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
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// guarded starts a server. Closing the lifeline ends it with a signal and removes its directory;
// the kernel closes the lifeline when this process ends. Writing the line "keep" to the lifeline
// ends the server with SIGTERM instead and leaves its directory.
func guarded(ctx context.Context, signal, dir string, server []string) (cmd *exec.Cmd, lifeline io.WriteCloser, err error) {
	cmd = exec.CommandContext(context.WithoutCancel(ctx), "sh", append([]string{"-c", guard, "guard", signal, dir}, server...)...)
	cmd.Dir = dir
	if lifeline, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	return cmd, lifeline, err
}

func (s *Redis) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rdb, err := OpenRedis(s.URL)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return redisdb.Await(ctx, "redis-server", rdb, func(error) {})
}

// Signal returns a function that sends the server process a signal such as "STOP" or "CONT".
func (s *Redis) Signal(ctx context.Context) (send func(name string) error, err error) {
	rdb, err := OpenRedis(s.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rdb.Close() }()
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return nil, fmt.Errorf("read process id of redis-server: %w", err)
	}
	found := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(info)
	if found == nil {
		return nil, errors.New("read process id of redis-server: missing in INFO")
	}
	return func(name string) error {
		if out, err := exec.CommandContext(context.WithoutCancel(ctx), "kill", "-"+name, found[1]).CombinedOutput(); err != nil {
			return fmt.Errorf("send %s to redis-server: %w: %s", name, err, out)
		}
		return nil
	}, nil
}

// Restart ends the server with SIGTERM, waits for the duration down, and starts it again on its
// stored data and under the same URL. It returns when the server answers.
func (s *Redis) Restart(ctx context.Context, down time.Duration) error {
	if _, err := io.WriteString(s.lifeline, "keep\n"); err != nil {
		return fmt.Errorf("stop redis-server: %w", err)
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("stop redis-server: %w", err)
	}
	_ = s.lifeline.Close() // the reader has ended
	var interrupted error
	select {
	case <-ctx.Done():
		interrupted = ctx.Err() // start anyway, so that Stop can remove the directory
	case <-time.After(down):
	}
	cmd, lifeline, err := guarded(ctx, "KILL", s.dir, s.command)
	if err != nil {
		return fmt.Errorf("restart redis-server: %w", errors.Join(err, os.RemoveAll(s.dir)))
	}
	s.cmd, s.lifeline = cmd, lifeline
	return errors.Join(interrupted, s.awaitReady(ctx))
}

// Stop ends the server, even one stopped by a signal, and removes its data.
func (s *Redis) Stop() {
	_ = s.lifeline.Close()
	_ = s.cmd.Wait()
}

// OpenRedis opens a client with the options of a Tandian server.
func OpenRedis(url string) (redis.UniversalClient, error) {
	return redisdb.OpenRedis(redisdb.RedisConfig{URL: url, Role: "bench"}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
}

// OpenPatient opens a client with long timeouts, since commands can be slow on a busy machine. Use
// it except to test a Redis that does not answer.
func OpenPatient(url string) (redis.UniversalClient, error) {
	return redisdb.OpenRedis(redisdb.RedisConfig{
		URL: url, Role: "bench", Timeout: Patience, PoolTimeout: Patience,
	}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
}

// Patience is the timeout of clients from [OpenPatient], and of the start of PostgreSQL.
const Patience = 30 * time.Second
