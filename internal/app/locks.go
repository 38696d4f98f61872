package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

// openExclusive opens the locks for work of one process at a time: jobs, scans of sales, the
// log reader, the database claim. They are in Postgres, or in this process with SQLite. The
// work has its own time limits, so the locks have none.
func (c *Components) openExclusive(reg prometheus.Registerer, log *slog.Logger) (err error) {
	o, store := lock.Options{MaxHold: -1, Log: log}, "postgres"
	if c.DB.Dialect == dialect.Postgres {
		c.exclusive, err = dblock.NewPostgres(c.DB.DB, o)
	} else {
		store = "process"
		c.exclusive, err = dblock.NewLocal(o)
	}
	if err != nil {
		return fmt.Errorf("open database locks: %w", err)
	}
	c.closeLocks(c.exclusive)
	reg.MustRegister(lockMetrics{c.exclusive, store})
	return nil
}

// openLocks opens the redsync locks of orders, on the state Redis or on their own nodes.
func (c *Components) openLocks(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) (*lock.Locker, error) {
	nodes := []redis.UniversalClient{c.State}
	if len(cfg.RedisLockURLs) > 0 {
		nodes = nil
	}
	for i, url := range cfg.RedisLockURLs {
		node, err := redisdb.OpenRedis(redisdb.RedisConfig{
			URL: url, Role: fmt.Sprintf("lock-%d", i+1), PoolSize: cfg.RedisPoolSize, PoolTimeout: cfg.RedisPoolTimeout, Log: log, TLS: cfg.RedisTLS(),
		}, c.metrics)
		if err != nil {
			return nil, err
		}
		c.closers = append(c.closers, node.Close)
		nodes = append(nodes, node)
	}
	locks, err := lock.NewRedis(nodes, lock.Options{Prefix: cfg.RedisPrefix, Log: log})
	if err != nil {
		return nil, fmt.Errorf("open order locks: %w", err)
	}
	c.closeLocks(locks)
	reg.MustRegister(lockMetrics{locks, "redis"})
	return locks, nil
}

// closeLocks registers locks for Close.
func (c *Components) closeLocks(locks *lock.Locker) {
	c.closers = append(c.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return locks.Close(ctx)
	})
}

// lockMetrics exports the counters of a locker, with the label store.
type lockMetrics struct {
	locks *lock.Locker
	store string
}

type lockCount struct {
	desc *prometheus.Desc
	of   func(lock.Stats) int64
}

func (m lockMetrics) counts() []lockCount {
	count := func(name, help string, of func(lock.Stats) int64) lockCount {
		return lockCount{prometheus.NewDesc("tandian_lock_"+name+"_total", help, nil, prometheus.Labels{"store": m.store}), of}
	}
	return []lockCount{
		count("acquired", "Locks taken.", func(s lock.Stats) int64 { return s.Acquired }),
		count("waited", "Callers that waited for a lock.", func(s lock.Stats) int64 { return s.Waited }),
		count("failed", "Lock calls that failed or got no answer from the store.", func(s lock.Stats) int64 { return s.Failed }),
		count("lost", "Locks lost before their release.", func(s lock.Stats) int64 { return s.Lost }),
		count("max_hold", "Locks that reached their maximum hold time.", func(s lock.Stats) int64 { return s.MaxHold }),
	}
}

// Describe implements [prometheus.Collector].
func (m lockMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.counts() {
		to <- c.desc
	}
}

// Collect implements [prometheus.Collector].
func (m lockMetrics) Collect(to chan<- prometheus.Metric) {
	stats := m.locks.Stats()
	for _, c := range m.counts() {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.of(stats)))
	}
}

const closeTimeout = 5 * time.Second
