package lockbench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// locking is an implementation of locks.
type locking interface {
	// acquire waits for a lock until ctx ends.
	acquire(ctx context.Context, name string) (held, error)
	// try acquires a lock without waiting.
	try(ctx context.Context, name string) (held, error)
}

// held is an acquired lock.
type held interface {
	Release(ctx context.Context) error
}

// lockConfig holds the nodes and options of an implementation.
type lockConfig struct {
	alone    bool // use redsync instead of package lock
	urls     []string
	patient  bool          // long time-outs, for busy machines without faults
	pool     int           // connections, all opened at the start; 0 opens them on demand, as in a server
	attempts *atomic.Int64 // counts the attempts to take a lock, unless it is nil
	lock.Options
}

// open opens an implementation with its own clients. stop ends it and waits for its background work.
func (p lockConfig) open(ctx context.Context) (w locking, stop func() error, err error) {
	var clients []redis.UniversalClient
	disconnect := func() (err error) {
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	var patience time.Duration // 0 is that of a server
	if p.patient {
		patience = subprocess.Patience
		p.NodeTimeout = patience
	}
	for _, url := range p.urls {
		c, err := redisdb.OpenRedis(redisdb.RedisConfig{
			URL: url, Role: "bench", PoolSize: p.pool, Timeout: patience, PoolTimeout: patience,
		}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
		if err == nil {
			clients = append(clients, c)
			if p.attempts != nil {
				c.AddHook(attemptCounter{p.attempts})
			}
			err = fill(ctx, c, p.pool)
		}
		if err != nil {
			return nil, nil, errors.Join(err, disconnect())
		}
	}
	if p.alone {
		return newAlone(p.Prefix, clients), disconnect, nil
	}
	l, err := lock.NewRedis(clients, p.Options)
	if err != nil {
		return nil, nil, errors.Join(err, disconnect())
	}
	return ours{l}, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		return errors.Join(l.Close(ctx), disconnect())
	}, nil
}

// attemptCounter counts the commands with which redsync takes a lock.
type attemptCounter struct{ n *atomic.Int64 }

func (attemptCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c attemptCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "set" {
			c.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (attemptCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// fill opens all connections of a client, and sends HELLO on each.
func fill(ctx context.Context, client redis.UniversalClient, pool int) (err error) {
	single, ok := client.(*redis.Client)
	if !ok || pool == 0 {
		return nil
	}
	conns := make(chan *redis.Conn, pool)
	_, err = harness.RunParallel(ctx, 16, pool, func(ctx context.Context) error {
		c := single.Conn()
		conns <- c
		return c.Ping(ctx).Err()
	})
	close(conns)
	for c := range conns { // after all are open
		err = errors.Join(err, c.Close())
	}
	return err
}

const closing = 10 * time.Second

// ours is package lock.
type ours struct{ *lock.Locker }

func (o ours) acquire(ctx context.Context, name string) (held, error) {
	h, err := o.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (o ours) try(ctx context.Context, name string) (held, error) {
	h, err := o.Try(ctx, name)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// alone is redsync with its own pool and its default options.
type alone struct {
	sync   *redsync.Redsync
	prefix string
}

func newAlone(prefix string, clients []redis.UniversalClient) alone {
	pools := make([]redsyncredis.Pool, len(clients))
	for i, client := range clients {
		pools[i] = goredis.NewPool(client)
	}
	return alone{redsync.New(pools...), prefix}
}

// acquire retries when redsync gives up, after some five seconds.
func (a alone) acquire(ctx context.Context, name string) (held, error) {
	m := a.sync.NewMutex(a.prefix + ":" + name)
	for {
		err := m.LockContext(ctx)
		if err == nil {
			return mutex{m}, nil
		}
		if _, taken := errors.AsType[*redsync.ErrTaken](err); !taken || ctx.Err() != nil {
			return nil, fmt.Errorf("redsync: %w", err)
		}
	}
}

func (a alone) try(ctx context.Context, name string) (held, error) {
	m := a.sync.NewMutex(a.prefix + ":" + name)
	if err := m.TryLockContext(ctx); err != nil {
		return nil, fmt.Errorf("redsync: %w", err)
	}
	return mutex{m}, nil
}

type mutex struct{ *redsync.Mutex }

func (m mutex) Release(ctx context.Context) error {
	_, err := m.UnlockContext(ctx)
	return err
}
