package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

// outboxSweepEvery is the interval at which old finished jobs of the outbox are deleted.
const outboxSweepEvery = 10 * time.Second

// openSchedule registers the periodic jobs. One process runs each due job for all.
// docs/reference/events.md has a table of the jobs.
func (c *Components) openSchedule(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	c.schedule = schedule.New(schedule.Options{DB: c.DB.DB, Locks: c.exclusive, Registerer: reg, Log: log})
	// Short jobs do not wait for scans, some of which take hours.
	var short []schedule.Job
	short = append(short, c.Accounts.Jobs()...)
	short = append(short, c.Visits.Jobs()...)
	short = append(short, c.Orders.Jobs()...)
	short = append(short, c.Media.Jobs()...)
	short = append(short, c.clearTexts(cfg, reg))
	short = append(short,
		schedule.Job{Name: "outbox.sweep", Every: outboxSweepEvery, RetryAfter: outboxSweepEvery, Do: c.outbox.Sweep},
	)
	short = append(short, c.warmer.jobs()...)
	c.schedule.Add(short...)
	c.schedule.Add(c.scans.Jobs()...)
	c.schedule.Add(c.Shops.Derived())
	c.schedule.Add(c.Shops.SearchTexts()) // in parallel with the scans
	c.sharedWorkers["schedule"] = c.schedule.Run
	c.searchable = make(chan struct{})
	c.sharedWorkers["search texts"] = c.rewriteSearchTexts
}

// rewriteSearchTexts rewrites the search texts at the start if that job is due, so that
// search uses the rules of an upgrade at once. It does nothing while another process runs
// the job.
func (c *Components) rewriteSearchTexts(ctx context.Context) error {
	defer close(c.searchable)
	c.schedule.RunDue(ctx, c.Shops.SearchTexts())
	return nil
}

// openScans registers the scans of all services.
func (c *Components) openScans(reg prometheus.Registerer, log *slog.Logger) {
	c.scans = reconcile.New(reg, log)
	c.scans.Add(c.sales.Scans()...)
	c.scans.Add(c.Orders.Scans()...)
	c.scans.Add(c.Balances.Scans()...)
	c.scans.Add(c.Notes.Scans()...)
	c.scans.Add(c.NoteLikes.Scans()...)
	c.scans.Add(c.Comments.Scans()...)
	c.scans.Add(c.CommentLikes.Scans()...)
	c.scans.Add(c.ShopSaves.Scans()...)
	c.scans.Add(c.NoteSaves.Scans()...)
	c.scans.Add(c.Follows.Scans()...)
	c.scans.Add(c.Ratings.Scans()...)
	c.scans.Add(c.Feed.Scans()...)
	c.scans.Add(c.Media.Scans()...)
	c.scans.Add(c.CheckIns.Scans()...)
}

const (
	clearEvery = time.Hour
	clearBatch = 100 // notes
)

// clearTexts returns the job that clears the texts of deleted notes and of their comments
// after the retention. A note is marked after its comments, so an interrupted job continues
// with the same notes. Two processes may run it at once.
func (c *Components) clearTexts(cfg *config.Config, reg prometheus.Registerer) schedule.Job {
	cleared := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_deleted_notes_cleared_total", Help: "Deleted notes whose texts and comments were erased.",
	})
	reg.MustRegister(cleared)
	return schedule.Job{Name: "note.deleted-texts", Every: clearEvery, Do: func(ctx context.Context) error {
		before := time.Now().Add(-cfg.DeletedTextRetention)
		for {
			ids, err := c.Notes.Uncleared(ctx, before, clearBatch)
			if err != nil || len(ids) == 0 {
				return err
			}
			if err := c.Comments.ClearTexts(ctx, ids); err != nil {
				return err
			}
			if err := c.Notes.ClearTexts(ctx, ids); err != nil {
				return err
			}
			cleared.Add(float64(len(ids)))
			if len(ids) < clearBatch {
				return nil
			}
		}
	}}
}
