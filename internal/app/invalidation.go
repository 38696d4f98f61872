package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/failover"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

// Change propagation. A transaction writes a job into the outbox. After the commit, its
// writer invalidates Redis (cached values, sessions, GEO cells) and, by the bus, the local
// caches of other processes. If it fails or dies, the outbox retries the job. The log
// reader covers changes without a job, and failover detectors cover a Redis that lost
// writes.

// openChanges opens the bus, the caches and the outbox.
func (c *Components) openChanges(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) (err error) {
	c.bus = eventbus.NewMemory()
	if cfg.RedisURL != "" {
		// It is on the cache Redis: a failure that loses an invalidation loses its message too.
		c.bus = eventbus.NewRedis(c.Cache, redisdb.NewBlockingClient, eventbus.Options{
			Prefix: cfg.RedisPrefix, Registerer: reg, Log: log, Writable: c.gates[cacheRole].Open,
		})
	}
	var off []string
	if slices.Contains(cfg.Without, "cache") {
		off = []string{"shop"} // see config.Features
	}
	c.hub, err = cache.NewClient(c.Cache, cache.Options{
		Disabled: off, Prefix: cfg.RedisPrefix, Registerer: reg, Log: log, ReadLimit: cfg.RedisReadLimit, Bus: c.bus, LocalBytes: cfg.LocalBytes(),
		ReadOnly: c.gates[cacheRole].Refused,
	})
	if err != nil {
		return fmt.Errorf("open the caches: %w", err)
	}
	if c.outbox, err = outbox.New(c.DB.DB, outbox.Options{Dialect: c.DB.Dialect, Registerer: reg, Log: log}); err != nil {
		return fmt.Errorf("open the outbox: %w", err)
	}
	return nil
}

// propagateChanges registers the background work of change propagation.
func (c *Components) propagateChanges(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	c.localWorkers["bus"] = c.bus.Run
	// Invalidations pass the gates, because a closed gate waits for them.
	c.sharedWorkers["outbox"] = func(ctx context.Context) error { return c.outbox.Run(redisdb.IgnoreGate(ctx)) }
	if cfg.DatabaseURL != "" && cfg.LogReader == "auto" {
		c.sharedWorkers["log reader"] = func(ctx context.Context) error { return c.readLog(redisdb.IgnoreGate(ctx), cfg.DatabaseURL, reg, log) }
	}
	if cfg.RedisURL == "" {
		return // an embedded Redis ends with this process
	}
	c.localWorkers["polling without bus"] = func(ctx context.Context) error { return c.pollWithoutBus(ctx, log) }
	c.watch(cacheRole, cfg, reg, log)
	if cfg.RedisCacheURL != "" {
		c.watch(stateRole, cfg, reg, log)
	}
}

// watch registers the failover detector and the write gate of a Redis.
func (c *Components) watch(role string, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	w := failover.NewDetector(c.watched[role], failover.DetectorOptions{Key: cfg.RedisPrefix + ":incarnation", Role: role, Registerer: reg, Log: log})
	caches, sessions := role == cacheRole, role == stateRole || cfg.RedisCacheURL == ""
	repair := func(ctx context.Context, lost failover.Loss) error {
		return c.repairRedis(ctx, recoverTimeout, lost, caches, sessions)
	}
	changed := func(ctx context.Context) { c.changed(ctx, log, caches) }
	c.localWorkers["failover of the "+role+" Redis"] = func(ctx context.Context) error { return w.Run(redisdb.IgnoreGate(ctx), repair, changed) }
	closed := func() {}
	if sessions {
		closed = c.Accounts.DropSessions // the bus drops cached rows
	}
	invalidate := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, invalidateTimeout)
		defer cancel()
		err := c.invalidateAll(ctx, caches, sessions)
		if !caches && errors.Is(err, account.ErrNotInvalidated) && !c.gates[cacheRole].Open() {
			return nil // the bus is on that Redis: without it, no process uses its local cache
		}
		return err
	}
	c.localWorkers["write gate of the "+role+" Redis"] = func(ctx context.Context) error {
		return c.gates[role].Run(ctx, c.watched[role], closed, func(ctx context.Context, since time.Time) error {
			return c.reopen(ctx, w, since, invalidate)
		})
	}
}

const (
	drainUnavailable  = 500 * time.Millisecond // for waiting jobs, after Redis was unavailable
	drainReadOnly     = 5 * time.Second        // for recovery, and then for waiting jobs, after Redis refused writes
	invalidateTimeout = 5 * time.Second        // to drop cached rows and ended sessions
)

var errNotRecovered = errors.New("this Redis is not recovered yet")

// reopen repairs a Redis that accepts writes again. It waits for the recovery of losses
// and runs waiting outbox jobs, except fan-outs: feeds know the pending ones.
//
// A Redis that refused writes stays unused until reopen returns nil. If jobs take too long
// or fail at the other Redis, reopen drops all cached rows and ends all ended sessions
// again. Lists of ids are stale until their jobs are done.
//
// since is zero for a Redis that was only unavailable. It is already in use, so reopen only
// runs jobs, and the outbox retries the rest.
func (c *Components) reopen(ctx context.Context, w *failover.Detector, since time.Time, invalidate func(context.Context) error) error {
	within := drainUnavailable
	if refused := !since.IsZero(); refused {
		within = drainReadOnly
		switch recovered := w.RecoveredSince(since); {
		case !recovered && time.Since(since) < within:
			return errNotRecovered
		case !recovered: // the recovery replays the jobs
			return invalidate(ctx)
		}
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := c.outbox.Drain(limited, feed.Topic)
	if err == nil || limited.Err() == nil || since.IsZero() {
		return err
	}
	return invalidate(ctx)
}

const (
	// replayable is the retention of outbox jobs, less the time to detect a loss.
	replayable = outbox.ReplayRetention - time.Minute
	// replayOverlap extends a replay to before the loss: jobs are marked as done a little
	// after they ran.
	replayOverlap  = time.Minute
	recoverTimeout = 30 * time.Second
)

// repairRedis repairs a Redis that lost writes: it replays all jobs since the loss. If the
// time of the loss is unknown or too long ago, it also invalidates all cached values and
// ends recently ended sessions again. caches and sessions select the data of this Redis,
// so that the repair does not wait for the other Redis.
//
// After an error, the caller repeats it. Jobs that are unfinished after within stay in the
// outbox. That is no error: another repair would invalidate the values cached meanwhile.
func (c *Components) repairRedis(ctx context.Context, within time.Duration, lost failover.Loss, caches, sessions bool) error {
	unlimited := ctx
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	since := lost.Age + replayOverlap
	if !lost.Known || since > replayable {
		since = replayable
		if err := c.invalidateAll(ctx, caches, sessions); err != nil {
			return err
		}
	}
	if err := c.Feed.ResetFanOut(ctx); err != nil {
		return err
	}
	if _, err := c.outbox.Replay(ctx, since); err != nil && !errors.Is(err, outbox.ErrIncomplete) {
		return err
	}
	return c.Feed.RefreshFanOuts(unlimited) // the replay may have used up the time
}

// invalidateAll repairs an unknown loss of invalidations. It invalidates all cached values
// and ends recently ended sessions again. Without the database, it returns an error and
// invalidates nothing, because no value could be reloaded. After an error, repeat it.
func (c *Components) invalidateAll(ctx context.Context, caches, sessions bool) error {
	if err := c.DB.PingContext(ctx); err != nil {
		return fmt.Errorf("ping the database: %w", err)
	}
	var err error
	if sessions {
		err = c.Accounts.RepublishEnded(ctx)
		if err != nil && !errors.Is(err, account.ErrNotInvalidated) {
			return err // otherwise each retry would empty the caches
		}
	}
	if caches {
		err = errors.Join(err, c.hub.InvalidateAll(ctx))
	}
	return err
}

// changed drops local state of a Redis that was replaced by another one. caches reports
// whether this Redis has the cached values. Changes from the log reader have no job to
// replay, so after a recent one changed invalidates all cached values.
func (c *Components) changed(ctx context.Context, log *slog.Logger, caches bool) {
	if s, ok := c.bus.(*eventbus.Redis); ok && caches {
		s.MarkSuspect()
	}
	if err := c.Feed.RefreshFanOuts(ctx); err != nil {
		log.WarnContext(ctx, "cannot read pending fan-outs", "err", err)
	}
	if !caches || time.Since(time.Unix(0, c.lastForeign.Load())) > replayable {
		return
	}
	if err := c.hub.InvalidateAll(ctx); err != nil {
		log.WarnContext(ctx, "cannot invalidate all cached values", "err", err)
	}
}
