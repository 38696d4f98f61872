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

// Adapters for tests of several services without Components.
type (
	UserCounters = userCounters
	FeedAdapter  = feedAdapter
)

// FeedAdapterOf returns the feed adapter of c.
func FeedAdapterOf(c *Components) FeedAdapter { return feedAdapter{c} }

// Handler returns the handler of the HTTP server.
func (a *App) Handler() http.Handler { return a.server().Handler }

// OpenWith ends the start: handler answers from now on.
func (a *App) OpenWith(handler http.Handler) {
	a.handler.Store(&handler)
	close(a.ready)
}

// OpenThrough is [Open] with a wrapper of the driver, for example one that records
// statements.
func OpenThrough(ctx context.Context, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger, around func(dialect.Driver) dialect.Driver) (*Components, error) {
	return open(ctx, cfg, io.Discard, reg, log, around)
}

// Recover repairs both roles of a Redis after an unknown loss.
func (c *Components) Recover(ctx context.Context, within time.Duration) error {
	return c.repairRedis(ctx, within, failover.Loss{}, true, true)
}

// ChangedAfterForeign handles a replaced Redis, with the caches or without them, right
// after a change by another program.
func (c *Components) ChangedAfterForeign(ctx context.Context, caches bool) {
	c.lastForeign.Store(time.Now().UnixNano())
	c.changed(ctx, slog.New(slog.DiscardHandler), caches)
}

// FullHandler returns the handler of a ready App with its middleware. It registers metrics
// in reg and discards the log.
func (a *App) FullHandler(reg prometheus.Registerer) http.Handler {
	return a.tracing.HTTP(observe.HTTP(withWriteTimeout(*a.handler.Load()), reg, observe.RequestLog{Log: slog.New(slog.DiscardHandler)}))
}
