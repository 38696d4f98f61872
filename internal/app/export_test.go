package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/failover"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// What tests of several rooms join them by, without a whole House.
type (
	CountedUsers = userCounters
	FeedRooms    = feedAdapter
)

// FeedRoomsOf joins the rooms of h that the feed needs, once they are there.
func FeedRoomsOf(h *Components) FeedRooms { return feedAdapter{h} }

// Handler is what the HTTP server of an App answers with.
func (a *App) Handler() http.Handler { return a.server().Handler }

// OpenWith ends the start: from now on handler answers.
func (a *App) OpenWith(handler http.Handler) {
	a.handler.Store(&handler)
	close(a.ready)
}

// OpenThrough is [Open] with something around the driver of ent, such as sees what is sent.
func OpenThrough(ctx context.Context, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger, around func(dialect.Driver) dialect.Driver) (*Components, error) {
	return open(ctx, cfg, io.Discard, reg, log, around)
}

// Recover makes up for a Redis that lost an unknown lot, within a time.
func (h *Components) Recover(ctx context.Context, within time.Duration) error {
	return h.repairRedis(ctx, within, failover.Loss{}, true, true)
}

// ChangedAfterForeign is what a process does when a Redis is another one than before, with
// the caches or without them, and the log reader has just told of a change that has no job.
func (h *Components) ChangedAfterForeign(ctx context.Context, caches bool) {
	h.foreign.Store(time.Now().UnixNano())
	h.changed(ctx, slog.New(slog.DiscardHandler), caches)
}

// Whole is what answers the requests of an App that is ready, with all that stands around the
// house, its metrics in reg and its log nowhere.
func (a *App) Whole(reg prometheus.Registerer) http.Handler {
	return a.tracing.HTTP(observe.HTTP(withWriteTimeout(*a.handler.Load()), reg, observe.RequestLog{Log: slog.New(slog.DiscardHandler)}))
}
