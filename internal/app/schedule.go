package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

// outboxSweepEvery is how often jobs of the outbox that were done long ago are deleted.
const outboxSweepEvery = 10 * time.Second

// openSchedule gathers what is due every so often, once for all processes. A noun adds its
// jobs here, by one line. ARCHITECTURE.md has a table of them.
func (h *Components) openSchedule(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) {
	h.schedule = schedule.New(schedule.Options{DB: h.DB.DB, Locks: h.exclusive, Registerer: reg, Log: log})
	// What is short does not wait for scans, some of which take hours.
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
	h.schedule.Add(h.Shops.SearchTexts()) // does not wait for them
	h.sharedWorkers["schedule"] = h.schedule.Run
	h.searchable = make(chan struct{})
	h.sharedWorkers["search texts"] = h.rewriteSearchTexts
}

// rewriteSearchTexts runs that job at the start if it is due, so that after an
// upgrade shops are found by the new rules at once and not within minutes. It
// does nothing while another process runs the job.
func (h *Components) rewriteSearchTexts(ctx context.Context) error {
	defer close(h.searchable)
	h.schedule.RunDue(ctx, h.Shops.SearchTexts())
	return nil
}

// Schedule is what any process with workers runs when it is due.
func (h *Components) Schedule() *schedule.Schedule { return h.schedule }
