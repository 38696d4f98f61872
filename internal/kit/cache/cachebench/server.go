package cachebench

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

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

//go:embed guard.sh
var guard string

// errNoServer says that there is no redis-server to start.
var errNoServer = errors.New("needs redis-server on PATH")

// redisServer is a Redis that belongs to a measurement alone: it may be stopped
// and emptied. It is empty, keeps nothing, and ends with this process.
type redisServer struct {
	url      string
	cmd      *exec.Cmd
	lifeline io.Closer
}

func startRedis(ctx context.Context) (*redisServer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errNoServer
	}
	dir, err := os.MkdirTemp("", "td")
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", guard, "guard", dir, program,
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", dir, "--save", "", "--appendonly", "no")
	lifeline, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	s := &redisServer{url: "unix://" + socket, cmd: cmd, lifeline: lifeline}
	if err := s.answers(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// answers waits until the server does.
func (s *redisServer) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rdb, err := openRedis(s.url)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	for {
		err := rdb.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if clock.Sleep(ctx, 10*time.Millisecond) != nil {
			return fmt.Errorf("start redis-server: %w", err)
		}
	}
}

// signal sends one to the server itself.
func (s *redisServer) signal(ctx context.Context, rdb redis.UniversalClient) (send func(name string) error, err error) {
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

// stop ends the server, also one that was stopped by a signal, and removes it.
func (s *redisServer) stop() {
	_ = s.lifeline.Close()
	_ = s.cmd.Wait()
}

// openRedis opens a client with the options of the server's own caches.
func openRedis(url string) (redis.UniversalClient, error) {
	return store.OpenRedis(store.RedisConfig{URL: url, Role: "cache"}, store.NewRedisMetrics(prometheus.NewRegistry()))
}

// openPatient opens a client that waits: on a busy machine a command may take
// longer than a server would wait for it, and that says nothing about a cache.
// What happens then is measured with a Redis that is stopped.
func openPatient(url string) (redis.UniversalClient, error) {
	rdb, err := openRedis(url)
	if single, ok := rdb.(*redis.Client); ok {
		return single.WithTimeout(patience), err
	}
	return rdb, err
}

const patience = 30 * time.Second
