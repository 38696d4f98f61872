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

// How a change comes to be known. Its transaction writes a job into the outbox;
// after the commit its writer tells Redis (what is cached, sessions, cells) and,
// by the bus, the memories of the other processes. Whatever fails or dies between
// is made up for here: the outbox does the job again, the log reader tells of
// changes that have no job, the watches find out that a Redis forgot what it was
// told.

// openChanges opens what changes spread by: the bus, the caches that hear it, the
// outbox.
func (h *Components) openChanges(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) (err error) {
	h.bus = eventbus.NewMemory()
	if cfg.RedisURL != "" {
		// Where the caches are: what loses an invalidation loses its message too.
		h.bus = eventbus.NewRedis(h.Cache, redisdb.NewBlockingClient, eventbus.Options{
			Prefix: cfg.RedisPrefix, Registerer: reg, Log: log, Writable: h.gates[cacheRole].Open,
		})
	}
	var off []string
	if slices.Contains(cfg.Without, "cache") {
		off = []string{"shop"} // what is measured without
	}
	h.hub, err = cache.NewClient(h.Cache, cache.Options{
		Disabled: off, Prefix: cfg.RedisPrefix, Registerer: reg, Log: log, ReadLimit: cfg.RedisReadLimit, Bus: h.bus, LocalBytes: cfg.LocalBytes(),
		ReadOnly: h.gates[cacheRole].Refused,
	})
	if err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	if h.outbox, err = outbox.New(h.DB.DB, outbox.Options{Dialect: h.DB.Dialect, Registerer: reg, Log: log}); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// spreadChanges says what is done in the background for changes to be known.
func (h *Components) spreadChanges(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	h.localWorkers["bus"] = h.bus.Run
	// Invalidations pass the gates, because a closed gate waits for them.
	h.sharedWorkers["outbox"] = func(ctx context.Context) error { return h.outbox.Run(redisdb.IgnoreGate(ctx)) }
	if cfg.DatabaseURL != "" && cfg.LogReader == "auto" {
		h.sharedWorkers["log reader"] = func(ctx context.Context) error { return h.readLog(redisdb.IgnoreGate(ctx), cfg.DatabaseURL, reg, log) }
	}
	if cfg.RedisURL == "" {
		return // an embedded one ends with this process
	}
	h.localWorkers["polling without bus"] = func(ctx context.Context) error { return h.pollWithoutBus(ctx, log) }
	h.watch(cacheRole, cfg, reg, log)
	if cfg.RedisCacheURL != "" {
		h.watch(stateRole, cfg, reg, log)
	}
}

// watch has a Redis watched for what it may have lost.
func (h *Components) watch(role string, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	w := failover.NewDetector(h.watched[role], failover.DetectorOptions{Key: cfg.RedisPrefix + ":incarnation", Role: role, Registerer: reg, Log: log})
	caches, sessions := role == cacheRole, role == stateRole || cfg.RedisCacheURL == ""
	repair := func(ctx context.Context, lost failover.Loss) error {
		return h.repairRedis(ctx, recoverTime, lost, caches, sessions)
	}
	changed := func(ctx context.Context) { h.changed(ctx, log, caches) }
	h.localWorkers["watch over the "+role+" Redis"] = func(ctx context.Context) error { return w.Run(redisdb.IgnoreGate(ctx), repair, changed) }
	closed := func() {}
	if sessions {
		closed = h.Accounts.DropSessions // the bus drops what is cached
	}
	forget := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, forgetTime)
		defer cancel()
		err := h.forgetAll(ctx, caches, sessions)
		if !caches && errors.Is(err, account.ErrNotInvalidated) && !h.gates[cacheRole].Open() {
			return nil // the bus is on that Redis: without it, no process trusts its memory
		}
		return err
	}
	h.localWorkers["write gate of the "+role+" Redis"] = func(ctx context.Context) error {
		return h.gates[role].Run(ctx, h.watched[role], closed, func(ctx context.Context, since time.Time) error {
			return h.reopen(ctx, w, since, forget)
		})
	}
}

const (
	finishAway    = 500 * time.Millisecond // for waiting jobs, after Redis did not answer
	finishRefused = 5 * time.Second        // for recovery, and then for waiting jobs, after Redis refused writes
	forgetTime    = 5 * time.Second        // to drop cached rows and ended sessions
)

var errUnsettled = errors.New("this Redis is not recovered yet")

// reopen repairs a Redis that takes writes again. It waits until losses are recovered
// and runs the jobs that wait in the outbox. It leaves out fan-outs, because feeds know
// which of them are pending.
//
// A Redis that refused writes stays unused until reopen returns nil. Jobs may take too
// long, or fail at the other Redis. In that case reopen drops all cached rows and ends
// all ended sessions again. Lists of ids are stale until their jobs are done.
//
// since is zero for a Redis that only did not answer. It is already in use, so reopen
// only runs jobs, and the outbox retries the rest.
func (h *Components) reopen(ctx context.Context, w *failover.Detector, since time.Time, forget func(context.Context) error) error {
	within := finishAway
	if refused := !since.IsZero(); refused {
		within = finishRefused
		switch settled := w.RecoveredSince(since); {
		case !settled && time.Since(since) < within:
			return errUnsettled
		case !settled: // the recovery does the jobs again
			return forget(ctx)
		}
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := h.outbox.Drain(limited, feed.Topic)
	if err == nil || limited.Err() == nil || since.IsZero() {
		return err
	}
	return forget(ctx)
}

const (
	// replayable is how long jobs of the outbox stay to be replayed, less what
	// detecting a loss takes.
	replayable = outbox.ReplayRetention - time.Minute
	// before is what is replayed from before the moment that a Redis came back to:
	// a job is written down as done a little after it was.
	before      = time.Minute
	recoverTime = 30 * time.Second
)

// repairRedis makes up for what a Redis lost: all jobs since then are done again. If
// nobody knows since when, or it is too long ago, all that is cached ends too, and
// all sessions that ended of late do so again, as far as this Redis had them: the
// one must not wait for a Redis that has the other.
//
// It is repeated until it succeeds. That is when the jobs wait to be done: what
// cannot be done within the given time stays with the outbox. That is no failure: to
// begin again would end all that was cached meanwhile, and so make more work for all.
func (h *Components) repairRedis(ctx context.Context, within time.Duration, lost failover.Loss, caches, sessions bool) error {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	since := lost.Age + before
	if !lost.Known || since > replayable {
		since = replayable
		if err := h.forgetAll(ctx, caches, sessions); err != nil {
			return err
		}
	}
	if err := h.Feed.ResetFanOut(ctx); err != nil {
		return err
	}
	if _, err := h.outbox.Replay(ctx, since); err != nil && !errors.Is(err, outbox.ErrIncomplete) {
		return err
	}
	return h.Feed.RefreshFanOuts(whole) // has a time of its own: that of the jobs may be over
}

// forgetAll is for when nobody knows what went by unheard: all that is cached ends,
// and all sessions that ended of late do so again. While nothing can be loaded,
// nothing is forgotten: who calls this repeats it.
func (h *Components) forgetAll(ctx context.Context, caches, sessions bool) error {
	if err := h.DB.PingContext(ctx); err != nil {
		return fmt.Errorf("ask for the database: %w", err)
	}
	var err error
	if sessions {
		err = h.Accounts.RepublishEnded(ctx)
		if err != nil && !errors.Is(err, account.ErrNotInvalidated) {
			return err // each retry would empty the caches again
		}
	}
	if caches {
		err = errors.Join(err, h.hub.InvalidateAll(ctx))
	}
	return err
}

// changed forgets what this process holds of a Redis that is another one now. What
// the log reader told it of late has no job that could be done again. A Redis without
// the caches told none of that: they stay.
func (h *Components) changed(ctx context.Context, log *slog.Logger, caches bool) {
	if s, ok := h.bus.(*eventbus.Redis); ok && caches {
		s.MarkSuspect()
	}
	if err := h.Feed.RefreshFanOuts(ctx); err != nil {
		log.WarnContext(ctx, "which fan-outs are under way cannot be seen", "err", err)
	}
	if !caches || time.Since(time.Unix(0, h.foreign.Load())) > replayable {
		return
	}
	if err := h.hub.InvalidateAll(ctx); err != nil {
		log.WarnContext(ctx, "what others changed in the database may be cached as it was", "err", err)
	}
}
