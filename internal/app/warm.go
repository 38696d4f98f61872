package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

// Warm-up reads popular data in advance, so that a new process or a new Redis does not start
// with misses.
//
// Each process warms its local caches at the start and every minute. Later, a scheduled job
// of one process reads the hot keys of yesterday and today: it warms Redis for all.

const (
	warmWait   = 10 * time.Second // see App.WarmWithin
	warmTime   = 2 * time.Minute  // for one warm-up
	warmEvery  = time.Minute
	warmShared = 10 * time.Minute // less than the TTL of shops, so that a run refreshes records before they expire
	pinAhead   = 10 * time.Minute // from the pin of a sale to its opening
	pinTypes   = 5 * warmEvery    // for shop types; renewed at each warm-up
	firstPage  = 20               // shops per list
	searchWait = 3 * time.Second  // for the search texts of a small database after an upgrade
	listenWait = time.Second      // for the bus: local caches are unused until it is synced
)

// Parts of a warm-up, in their order.
const (
	warmSales      = "sales"
	warmTypes      = "shop-types"
	warmPages      = "first-pages"
	warmRemembered = "remembered"
)

// warmer warms the caches of this process.
type warmer struct {
	components *Components
	log        *slog.Logger
	done       chan struct{} // closed after the first warm-up
	entries    *prometheus.CounterVec
	failures   *prometheus.CounterVec
	seconds    prometheus.Gauge
	finished   prometheus.Gauge
}

func newWarmer(c *Components, reg prometheus.Registerer, log *slog.Logger) *warmer {
	w := &warmer{
		components: c, log: log, done: make(chan struct{}),
		entries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_warmup_entries_total", Help: "Entries loaded in advance: open sales, shop types, shops on first pages, hot keys of yesterday and today.",
		}, []string{"what"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_warmup_failures_total", Help: "Failed parts of warm-ups; the next warm-up is within minutes.",
		}, []string{"what"}),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_warmup_seconds", Help: "Duration of the warm-up at startup; 0 until it ends.",
		}),
		finished: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_warmup_finished", Help: "1 if the warm-up at startup has ended, else 0.",
		}),
	}
	reg.MustRegister(w.entries, w.failures, w.seconds, w.finished)
	for _, what := range []string{warmSales, warmTypes, warmPages, warmRemembered} {
		w.entries.WithLabelValues(what)
		w.failures.WithLabelValues(what)
	}
	return w
}

// jobs returns the job that warms Redis.
func (w *warmer) jobs() []schedule.Job {
	return []schedule.Job{{Name: "cache.warm", Every: warmShared, Timeout: warmTime, Do: func(ctx context.Context) error {
		n, err := w.remembered(ctx)
		w.entries.WithLabelValues(warmRemembered).Add(float64(n))
		return err
	}}}
}

// run warms up at once and then about every minute until ctx ends. It returns nil.
func (w *warmer) run(ctx context.Context) error {
	start := time.Now()
	w.components.hub.WaitReady(ctx, listenWait)
	w.warm(ctx, warmSales, warmTypes, warmPages, warmRemembered)
	if ctx.Err() == nil {
		w.seconds.Set(time.Since(start).Seconds())
		w.finished.Set(1)
	}
	select {
	case <-w.components.searchable:
	case <-time.After(searchWait):
	case <-ctx.Done():
	}
	close(w.done)
	for clock.Sleep(ctx, clock.Jitter(warmEvery)) == nil {
		w.warm(ctx, warmSales, warmTypes, warmPages)
	}
	return nil
}

// warm warms parts. If one fails, warm logs and counts that and continues.
func (w *warmer) warm(ctx context.Context, parts ...string) {
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	all := map[string]func(context.Context) (int, error){warmSales: w.sales, warmTypes: w.types, warmPages: w.pages, warmRemembered: w.remembered}
	for _, part := range parts {
		n, err := all[part](ctx)
		w.entries.WithLabelValues(part).Add(float64(n))
		if err != nil && ctx.Err() == nil {
			w.failures.WithLabelValues(part).Inc()
			w.log.WarnContext(ctx, "cache warm-up failed", "what", part, "err", err)
		}
	}
}

// sales pins the vouchers and shops of open and soon opening sales.
func (w *warmer) sales(ctx context.Context) (int, error) {
	n, shops, err := w.components.Vouchers.PinSales(ctx, pinAhead)
	for end, ids := range shops {
		if failed := w.components.Shops.Pin(ctx, end, ids...); err == nil {
			err = failed
		}
	}
	return n, err
}

func (w *warmer) types(ctx context.Context) (int, error) {
	return w.components.Shops.PinTypes(ctx, time.Now().Add(pinTypes))
}

func (w *warmer) pages(ctx context.Context) (int, error) {
	shops, err := w.components.Shops.WarmPages(ctx, firstPage)
	if err != nil {
		return len(shops), err
	}
	_, err = w.components.Vouchers.ByShops(cache.ForWarmup(ctx), shops, nil) // shown on shop pages
	return len(shops), err
}

func (w *warmer) remembered(ctx context.Context) (n int, err error) {
	read, err := w.components.hub.Warm(ctx)
	for _, count := range read {
		n += count
	}
	return n, err
}
