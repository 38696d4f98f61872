package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/setting"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	failoverEvery   = 250 * time.Millisecond // between two checks
	failoverTimeout = 2 * time.Second        // of one statement of a check
	scanPrefix      = "reconcile."           // of the jobs of scans, in the settings
	failoverRepair  = 30 * time.Second       // for one repair
)

// failoverMonitor detects another timeline of the database: a standby was promoted, or a
// backup restored to a point in time. Acknowledged commits may then be missing, while Redis
// and this process still have their effects.
//
// A key in the state Redis records the timeline up to which Redis is repaired. It reveals
// a promotion that happened while no process ran.
type failoverMonitor struct {
	c   *Components
	db  *ent.Client
	key string
	log *slog.Logger

	known    string // last timeline that this process handled
	seen     prometheus.Counter
	errors   prometheus.Counter
	warnings clock.Throttle
	scans    sync.WaitGroup
}

func newFailoverMonitor(c *Components, db *ent.Client, reg prometheus.Registerer, log *slog.Logger) *failoverMonitor {
	p := &failoverMonitor{
		c: c, db: db, key: c.prefix + ":timeline", log: log,
		seen: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_database_promotions_total",
			Help: "New database timelines seen by this process: promotions of a standby and restored backups.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_database_promotion_errors_total",
			Help: "Failed checks of the database timeline and failed repairs; they are retried.",
		}),
	}
	reg.MustRegister(p.seen, p.errors)
	return p
}

// run checks the timeline until ctx ends.
func (p *failoverMonitor) run(ctx context.Context) error {
	defer p.scans.Wait()
	for ctx.Err() == nil {
		err := p.check(ctx)
		if state := sqldb.SQLState(err); strings.HasPrefix(state, "42") || strings.HasPrefix(state, "0A") {
			p.log.InfoContext(ctx, "database failover detection is unavailable", "why", err)
			<-ctx.Done()
			return nil
		}
		if err != nil && ctx.Err() == nil {
			p.errors.Inc()
			if p.warnings.Allow() {
				p.log.WarnContext(ctx, "database failover check failed", "err", err)
			}
		}
		_ = clock.Sleep(ctx, failoverEvery) // the loop checks ctx
	}
	return nil
}

// check compares the timeline with the last one of this process and with the mark in Redis.
// It ignores a database that does not answer, because other parts report that.
func (p *failoverMonitor) check(ctx context.Context) error {
	now, err := p.timeline(ctx)
	switch {
	case sqldb.Unavailable(err), errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return err
	case now == p.known:
		return nil
	}
	mark, err := p.mark(ctx)
	if err != nil {
		return err
	}
	// Without a mark, this is the first process, or Redis lost data: its failover detector
	// handles that.
	local, shared := p.known != "", mark != "" && mark != now
	if local || shared {
		if err := p.repair(ctx, now, shared); err != nil {
			return err
		}
	}
	if mark != now {
		ctx, cancel := context.WithTimeout(ctx, failoverTimeout)
		defer cancel()
		if err := p.c.State.Set(ctx, p.key, now, 0).Err(); err != nil {
			return fmt.Errorf("store the repaired timeline of the database: %w", err)
		}
	}
	p.known = now
	return nil
}

func (p *failoverMonitor) timeline(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, failoverTimeout)
	defer cancel()
	return p.c.DB.Timeline(ctx)
}

// mark returns the timeline up to which Redis is repaired, or "".
func (p *failoverMonitor) mark(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, failoverTimeout)
	defer cancel()
	mark, err := p.c.State.Get(ctx, p.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read the repaired timeline of the database: %w", err)
	}
	return mark, nil
}

// repair drops the state of the former timeline. Each process drops its local state. With
// shared, it also repairs Redis and the order numbers, which the first process does for
// all. It may be repeated.
func (p *failoverMonitor) repair(ctx context.Context, now string, shared bool) error {
	p.log.WarnContext(ctx, "database timeline changed", "timeline", now, "before", p.known,
		"hint", "acknowledged commits may be missing; scans compare derived data")
	p.c.Feed.MarkSuspect()
	p.c.sales.MarkSuspect()
	if shared {
		repairing, cancel := context.WithTimeout(ctx, failoverRepair)
		defer cancel()
		if err := p.c.numbers.Skip(repairing); err != nil {
			return err
		}
		if err := p.c.invalidateAll(repairing, true, true); err != nil {
			return err
		}
		// Sets and lists in Redis have no epoch, so scans compare all of them.
		_, err := p.db.Setting.Delete().Where(func(s *entsql.Selector) {
			s.Where(entsql.HasPrefix(s.C(setting.FieldID), scanPrefix))
		}).Exec(repairing)
		if err != nil {
			return fmt.Errorf("make all scans due: %w", err)
		}
	}
	p.scans.Go(func() { p.c.schedule.RunDue(ctx, p.c.scans.Jobs()...) }) // each due scan runs in one process
	p.seen.Inc()
	return nil
}
