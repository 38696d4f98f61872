package lockbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/store"
	"github.com/tandian-dev/tandian/lab/harness"
)

// way is a way to lock.
type way interface {
	// acquire waits for a lock until ctx ends. Of two holders the later one has the
	// greater order.
	acquire(ctx context.Context, name string) (h held, order int64, err error)
	// try does not wait.
	try(ctx context.Context, name string) (held, error)
	attempts() int64 // 0 if it does not say
}

// held is a lock that was taken.
type held interface {
	Release(ctx context.Context) error
}

// place says where and how a way locks.
type place struct {
	alone bool // with redsync, not with package lock
	urls  []string
	pool  int // connections, all open from the beginning; 0 for as many as a server has, when it needs them
	lock.Options
}

// open opens a way with clients of its own; stop ends it and waits for what it
// does.
func (p place) open(ctx context.Context) (w way, stop func() error, err error) {
	var clients []redis.UniversalClient
	disconnect := func() (err error) {
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	for _, url := range p.urls {
		c, err := store.OpenRedis(store.RedisConfig{
			URL: url, Role: "bench", PoolSize: p.pool,
		}, store.NewRedisMetrics(prometheus.NewRegistry()))
		if err == nil {
			clients = append(clients, c)
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

// fill opens all connections that a client may have, and says hello on each.
func fill(ctx context.Context, client redis.UniversalClient, pool int) (err error) {
	single, ok := client.(*redis.Client)
	if !ok || pool == 0 {
		return nil
	}
	conns := make(chan *redis.Conn, pool)
	_, err = harness.Storm(ctx, 16, pool, func(ctx context.Context) error {
		c := single.Conn()
		conns <- c
		return c.Ping(ctx).Err()
	})
	close(conns)
	for c := range conns { // none before all are open
		err = errors.Join(err, c.Close())
	}
	return err
}

const closing = 10 * time.Second

// ours is package lock.
type ours struct{ *lock.Locker }

func (o ours) acquire(ctx context.Context, name string) (held, int64, error) {
	h, err := o.Acquire(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	return h, h.Token(), nil
}

func (o ours) try(ctx context.Context, name string) (held, error) {
	h, err := o.Try(ctx, name)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (o ours) attempts() int64 { return o.Stats().Attempts }

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

// acquire goes on when redsync gives up, which it does after some five seconds.
func (a alone) acquire(ctx context.Context, name string) (held, int64, error) {
	m := a.sync.NewMutex(a.prefix + ":" + name)
	for {
		err := m.LockContext(ctx)
		if err == nil {
			return mutex{m}, time.Now().UnixNano(), nil
		}
		if _, taken := errors.AsType[*redsync.ErrTaken](err); !taken || ctx.Err() != nil {
			return nil, 0, fmt.Errorf("redsync: %w", err)
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

func (a alone) attempts() int64 { return 0 }

type mutex struct{ *redsync.Mutex }

func (m mutex) Release(ctx context.Context) error {
	_, err := m.UnlockContext(ctx)
	return err
}
