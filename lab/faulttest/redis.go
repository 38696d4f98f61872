package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

// ErrNoRedis is returned if no Redis executable is found.
var ErrNoRedis = errors.New("needs redis-server or valkey-server on PATH, or TANDIAN_TEST_REDIS_SERVER")

const (
	sampleEvery  = 50 * time.Millisecond
	sampleFor    = 5 * time.Second
	redisTimeout = 3 * time.Second // for one command of the tests
)

// redisNode is a private server configured as in production: an append-only file that is
// flushed every second, and no eviction.
type redisNode struct {
	*Proc
	port int
	bus  int // port of the cluster bus
	data string

	end     chan struct{} // closed to stop the sampling
	watched sync.WaitGroup
	mu      sync.Mutex
	sizes   []fileSize // of the last seconds, oldest first
}

// fileSize is the size of the newest append-only file at a moment.
type fileSize struct {
	at   time.Time
	path string
	size int64
}

// FindRedis returns the path of a Redis executable. It returns [ErrNoRedis] if there is none.
func FindRedis() (string, error) {
	if path := os.Getenv("TANDIAN_TEST_REDIS_SERVER"); path != "" {
		return path, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoRedis
}

// newRedis prepares a server with additional arguments and does not start it. close ends it.
func newRedis(dir, name string, port int, more ...string) (*redisNode, error) {
	program, err := FindRedis()
	if err != nil {
		return nil, err
	}
	s := &redisNode{port: port, data: filepath.Join(dir, name), end: make(chan struct{})}
	if err := os.MkdirAll(s.data, 0o700); err != nil {
		return nil, fmt.Errorf("create Redis directory: %w", err)
	}
	s.Proc = &Proc{
		Name: name, dir: s.data, log: filepath.Join(dir, name+".log"), probe: s.ping, env: os.Environ(),
		args: append([]string{
			program, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", s.data, "--save", "",
			"--appendonly", "yes", "--appendfsync", "everysec", "--aof-load-truncated", "yes", "--auto-aof-rewrite-percentage", "0",
			"--maxmemory-policy", "noeviction", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
		}, more...),
	}
	s.watched.Go(s.recordSizes)
	return s, nil
}

func (s *redisNode) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// client opens the server without proxies.
func (s *redisNode) client() (redis.UniversalClient, error) {
	return openServersRedis(redisURL(s.addr()))
}

func redisURL(addr string) string { return "redis://" + addr + "/0" }

func openServersRedis(url string) (redis.UniversalClient, error) {
	return redisdb.OpenRedis(redisdb.RedisConfig{URL: url, Role: "faults", Timeout: redisTimeout}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
}

func (s *redisNode) ping(ctx context.Context) error {
	return s.with(func(rdb redis.UniversalClient) error { return rdb.Ping(ctx).Err() })
}

// with opens the server and calls do.
func (s *redisNode) with(do func(rdb redis.UniversalClient) error) error {
	rdb, err := s.client()
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Name, err)
	}
	defer func() { _ = rdb.Close() }()
	return do(rdb)
}

// recordSizes samples the size of the newest append-only file.
func (s *redisNode) recordSizes() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.end:
			return
		case now := <-tick.C:
			path, size, err := s.newest()
			if err != nil {
				continue // not started yet, or emptied
			}
			s.mu.Lock()
			s.sizes = append(s.sizes, fileSize{now, path, size})
			for now.Sub(s.sizes[0].at) > sampleFor {
				s.sizes = s.sizes[1:]
			}
			s.mu.Unlock()
		}
	}
}

// newest returns the file that the server appends to. A rewrite starts another one.
func (s *redisNode) newest() (path string, size int64, err error) {
	files, err := filepath.Glob(filepath.Join(s.data, "appendonlydir", "*.incr.aof"))
	if err != nil {
		return "", 0, err
	}
	err = os.ErrNotExist
	var last time.Time
	for _, one := range files {
		if info, statErr := os.Stat(one); statErr == nil && !info.ModTime().Before(last) {
			path, size, last, err = one, info.Size(), info.ModTime(), nil
		}
	}
	return path, size, err
}

// truncate cuts the append-only file to its size some time ago, as a power cut does. The
// server must be dead. A file that began later is emptied.
func (s *redisNode) truncate(ago time.Duration) (lost int64, err error) {
	path, size, err := s.newest()
	if err != nil {
		return 0, fmt.Errorf("find append-only file of %s: %w", s.Name, err)
	}
	then := s.sizeAt(path, time.Now().Add(-ago), size)
	s.resetSizes() // it holds larger sizes
	if err := os.Truncate(path, then); err != nil {
		return 0, fmt.Errorf("truncate append-only file of %s: %w", s.Name, err)
	}
	return size - then, nil
}

// empty removes the data of the server, which must be dead.
func (s *redisNode) empty() error {
	s.resetSizes()
	if err := os.RemoveAll(filepath.Join(s.data, "appendonlydir")); err != nil {
		return fmt.Errorf("empty %s: %w", s.Name, err)
	}
	return nil
}

// sizeAt returns the size of a file at a moment: the last sample before it, else the first
// sample.
func (s *redisNode) sizeAt(path string, at time.Time, size int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := true
	for _, seen := range s.sizes {
		if seen.path != path {
			continue
		}
		if !first && seen.at.After(at) {
			break
		}
		size, first = seen.size, false
	}
	return size
}

// resetSizes discards the samples.
func (s *redisNode) resetSizes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = nil
}

// close ends the server. Its data stays in its directory.
func (s *redisNode) close() error {
	err := s.Kill9()
	close(s.end)
	s.watched.Wait()
	return err
}
