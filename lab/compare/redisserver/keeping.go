package redisserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A Server has an append-only file, flushed every second, and can be killed and restarted. It is not
// safe for concurrent use.
type Server struct {
	URL     string
	dir     string
	program string
	options []string
	kill    func() // nil while it is down
}

// StartKeeping starts an empty server. Close ends it. Options are added to its command line. It
// returns [ErrNone] if no Redis is installed.
func StartKeeping(ctx context.Context, options ...string) (*Server, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tandian-bench")
	if err != nil {
		return nil, fmt.Errorf("make a directory for Redis: %w", err)
	}
	s := &Server{URL: "unix://" + filepath.Join(dir, "redis.sock"), dir: dir, program: program, options: append([]string{
		"--appendonly", "yes", "--appendfsync", "everysec",
	}, options...)}
	if err := s.Start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Start starts the server on its files, and returns when it replies.
func (s *Server) Start(ctx context.Context) (err error) {
	s.kill, err = run(ctx, s.program, s.dir, s.options...)
	return err
}

// Kill ends the server by SIGKILL.
func (s *Server) Kill() {
	if s.kill != nil {
		s.kill()
		s.kill = nil
	}
}

// Close ends the server and removes its files.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// log returns the file to which Redis 7 appends before the first rewrite. These servers are too
// small for a rewrite.
func (s *Server) log() string {
	return filepath.Join(s.dir, "appendonlydir", "appendonly.aof.1.incr.aof")
}

// Written waits until all acknowledged writes are in the file, and returns its length. During a
// flush of the disk, Redis replies before it writes.
func (s *Server) Written(ctx context.Context, rdb *redis.Client) (length int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		info, err := rdb.InfoMap(ctx, "persistence").Result()
		if err != nil {
			return 0, fmt.Errorf("read the file name of Redis: %w", err)
		}
		if info["Persistence"]["aof_buffer_length"] == "0" {
			break
		}
		if err := clock.Sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	file, err := os.Stat(s.log())
	if err != nil {
		return 0, fmt.Errorf("stat the file of Redis: %w", err)
	}
	return file.Size(), nil
}

// Cut truncates the file of a killed server to a length, as if the power had failed before the disk
// was flushed.
func (s *Server) Cut(length int64) error {
	if s.kill != nil {
		return errors.New("truncate the file of Redis: Redis is running")
	}
	if err := os.Truncate(s.log(), length); err != nil {
		return fmt.Errorf("truncate the file of Redis: %w", err)
	}
	return nil
}
