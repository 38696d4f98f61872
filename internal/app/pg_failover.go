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
	promotedEvery   = 250 * time.Millisecond // between two looks
	promotedTimeout = 2 * time.Second        // of one
	scanPrefix      = "reconcile."           // of the jobs that are scans, in the settings
	promotedRepair  = 30 * time.Second       // of making up for what is missing
)

// failoverMonitor finds out when the database is another one than before: a standby was
// promoted, or a backup restored to a moment. Commits that were acknowledged may be
// missing then, while Redis and this process know of them.
//
// A mark in the state Redis says for which timeline all this was made up for, so that a
// process knows that starts when all others have ended.
type failoverMonitor struct {
	h   *Components
	db  *ent.Client
	key string
	log *slog.Logger

	known      string // the timeline that this process saw last
	seen       prometheus.Counter
	errors     prometheus.Counter
	complaints clock.Throttle
	scans      sync.WaitGroup
}

func newPromotions(h *Components, db *ent.Client, reg prometheus.Registerer, log *slog.Logger) *failoverMonitor {
	p := &failoverMonitor{
		h: h, db: db, key: h.prefix + ":timeline", log: log,
		seen: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_database_promotions_total",
			Help: "Times that this process found the database on another timeline than before: a standby was promoted, or a backup restored.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_database_promotion_errors_total",
			Help: "Failures to make up for what a promoted database may lack. They are tried again.",
		}),
	}
	reg.MustRegister(p.seen, p.errors)
	return p
}

// run looks until ctx ends.
func (p *failoverMonitor) run(ctx context.Context) error {
	defer p.scans.Wait()
	for ctx.Err() == nil {
		err := p.look(ctx)
		if state := sqldb.SQLState(err); strings.HasPrefix(state, "42") || strings.HasPrefix(state, "0A") {
			p.log.InfoContext(ctx, "nobody watches whether a standby of the database was promoted: it does not tell its timeline", "why", err)
			<-ctx.Done()
			return nil
		}
		if err != nil && ctx.Err() == nil {
			p.errors.Inc()
			if p.complaints.Allow() {
				p.log.WarnContext(ctx, "what a promoted database may lack cannot be made up for; it is tried again", "err", err)
			}
		}
		_ = clock.Sleep(ctx, promotedEvery) // the loop sees that ctx ended
	}
	return nil
}

// look compares the timeline with what this process, and the mark, say. A database that
// does not answer is no failure of this: others tell of it.
func (p *failoverMonitor) look(ctx context.Context) error {
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
	// Without a mark this is the first process, or a Redis that forgot: its own watch sees to that.
	mine, everybodys := p.known != "", mark != "" && mark != now
	if mine || everybodys {
		if err := p.doubt(ctx, now, everybodys); err != nil {
			return err
		}
	}
	if mark != now {
		ctx, cancel := context.WithTimeout(ctx, promotedTimeout)
		defer cancel()
		if err := p.h.State.Set(ctx, p.key, now, 0).Err(); err != nil {
			return fmt.Errorf("mark for which timeline of the database Redis was mended: %w", err)
		}
	}
	p.known = now
	return nil
}

func (p *failoverMonitor) timeline(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, promotedTimeout)
	defer cancel()
	return p.h.DB.Timeline(ctx)
}

// mark is for which timeline Redis was mended, "" if it does not say.
func (p *failoverMonitor) mark(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, promotedTimeout)
	defer cancel()
	mark, err := p.h.State.Get(ctx, p.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read for which timeline of the database Redis was mended: %w", err)
	}
	return mark, nil
}

// doubt has nothing be believed of what was known of the former database. What is known
// by this process is its own affair; what is in Redis, and the numbers, are everybody's,
// and first made up for by whoever comes first. All of it may be repeated.
func (p *failoverMonitor) doubt(ctx context.Context, now string, everybodys bool) error {
	p.log.WarnContext(ctx, "the database has another history than before: commits may be missing, and what is known of them is compared", "timeline", now, "before", p.known)
	p.h.Feed.MarkSuspect()
	p.h.sales.MarkSuspect()
	if everybodys {
		repairing, cancel := context.WithTimeout(ctx, promotedRepair)
		defer cancel()
		if err := p.h.numbers.Skip(repairing); err != nil {
			return err
		}
		if err := p.h.forgetAll(repairing, true, true); err != nil {
			return err
		}
		// Sets and lists in Redis have no epoch: they are compared, all of them.
		_, err := p.db.Setting.Delete().Where(func(s *entsql.Selector) {
			s.Where(entsql.HasPrefix(s.C(setting.FieldID), scanPrefix))
		}).Exec(repairing)
		if err != nil {
			return fmt.Errorf("make all scans due: %w", err)
		}
	}
	p.scans.Go(func() { p.h.schedule.RunDue(ctx, p.h.scans.Jobs()...) }) // those that are due, each in one process
	p.seen.Inc()
	return nil
}
