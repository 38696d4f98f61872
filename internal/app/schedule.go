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

// outboxSweepEvery is the interval of deleting old finished jobs of the outbox.
const outboxSweepEvery = 10 * time.Second

// openSchedule registers the periodic jobs, each of which one process runs for all. A
// service adds its jobs here by one line. ARCHITECTURE.md has a table of them.
func (h *Components) openSchedule(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	h.schedule = schedule.New(schedule.Options{DB: h.DB.DB, Locks: h.exclusive, Registerer: reg, Log: log})
	// Short jobs do not wait for scans, some of which take hours.
	var short []schedule.Job
	short = append(short, h.Accounts.Jobs()...)
	short = append(short, h.Visits.Jobs()...)
	short = append(short, h.Orders.Jobs()...)
	short = append(short, h.Media.Jobs()...)
	short = append(short, h.clearTexts(cfg, reg))
	short = append(short,
		schedule.Job{Name: "outbox.sweep", Every: outboxSweepEvery, RetryAfter: outboxSweepEvery, Do: h.outbox.Sweep},
	)
	short = append(short, h.warmer.jobs()...)
	h.schedule.Add(short...)
	h.schedule.Add(h.scans.Jobs()...)
	h.schedule.Add(h.Shops.SearchTexts()) // in parallel with the scans
	h.sharedWorkers["schedule"] = h.schedule.Run
	h.searchable = make(chan struct{})
	h.sharedWorkers["search texts"] = h.rewriteSearchTexts
}

// rewriteSearchTexts runs that job at the start if it is due, so that search uses the rules
// of an upgrade at once. It does nothing while another process runs the job.
func (h *Components) rewriteSearchTexts(ctx context.Context) error {
	defer close(h.searchable)
	h.schedule.RunDue(ctx, h.Shops.SearchTexts())
	return nil
}

// openScans registers the scans of all services. A service adds its scans here by one line.
func (h *Components) openScans(reg prometheus.Registerer, log *slog.Logger) {
	h.scans = reconcile.New(reg, log)
	h.scans.Add(h.sales.Scans()...)
	h.scans.Add(h.Orders.Scans()...)
	h.scans.Add(h.Balances.Scans()...)
	h.scans.Add(h.Notes.Scans()...)
	h.scans.Add(h.NoteLikes.Scans()...)
	h.scans.Add(h.Comments.Scans()...)
	h.scans.Add(h.CommentLikes.Scans()...)
	h.scans.Add(h.Follows.Scans()...)
	h.scans.Add(h.Feed.Scans()...)
	h.scans.Add(h.Media.Scans()...)
	h.scans.Add(h.CheckIns.Scans()...)
}

const (
	clearEvery = time.Hour
	clearBatch = 100 // notes
)

// clearTexts returns the job that clears the texts of notes that were deleted longer ago than
// the retention, and of their comments. A note is marked after its comments, so an
// interrupted job continues with the same notes. Two processes may run it at once.
func (h *Components) clearTexts(cfg *config.Config, reg prometheus.Registerer) schedule.Job {
	cleared := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_deleted_notes_cleared_total", Help: "Deleted notes whose texts and comments were cleared.",
	})
	reg.MustRegister(cleared)
	return schedule.Job{Name: "note.deleted-texts", Every: clearEvery, Do: func(ctx context.Context) error {
		before := time.Now().Add(-cfg.DeletedTextRetention)
		for {
			ids, err := h.Notes.Uncleared(ctx, before, clearBatch)
			if err != nil || len(ids) == 0 {
				return err
			}
			if err := h.Comments.ClearTexts(ctx, ids); err != nil {
				return err
			}
			if err := h.Notes.ClearTexts(ctx, ids); err != nil {
				return err
			}
			cleared.Add(float64(len(ids)))
			if len(ids) < clearBatch {
				return nil
			}
		}
	}}
}
