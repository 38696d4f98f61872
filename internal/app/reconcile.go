package app

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

// openScans gathers what the rooms compare. A noun adds its scans here, by one line.
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

// Scans are what `tandian reconcile` runs, and what any process with workers runs on a
// schedule.
func (h *Components) Scans() *reconcile.Scans { return h.scans }
