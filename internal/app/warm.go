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

// A process that starts, and a Redis that does, would meet the first minute with misses.
// So what most will ask for is read before anybody does.
//
// What lies in the memory of a process each process warms for itself, at its start and
// every minute: nobody else can. What lies in Redis is warm for all of them when one reads
// it: of yesterday's hottest keys that is a job of the schedule.

const (
	warmWait   = 10 * time.Second // after which a server is ready, warm or not
	warmTime   = 2 * time.Minute  // of one warm-up
	warmEvery  = time.Minute
	warmShared = 10 * time.Minute // well within the lives of records, which are refreshed when they are read late in them
	pinAhead   = 10 * time.Minute // how long before they open sales are pinned
	pinTypes   = 5 * warmEvery    // how long types stay pinned without a warm-up
	firstPage  = 20               // shops of a list that are read
	searchWait = 3 * time.Second  // for the search texts of a small database to be rewritten after an upgrade
	listenWait = time.Second      // for the first word of the bus: until then nothing is kept near
)

// What is warmed, in this order.
const (
	warmSales      = "sales"
	warmTypes      = "shop-types"
	warmPages      = "first-pages"
	warmRemembered = "remembered"
)

// warmer keeps the caches of this process warm.
type warmer struct {
	components *Components
	log        *slog.Logger
	done       chan struct{} // closed after the first warm-up
	entries    *prometheus.CounterVec
	failures   *prometheus.CounterVec
	seconds    prometheus.Gauge
	finished   prometheus.Gauge
}

func newWarmer(h *Components, reg prometheus.Registerer, log *slog.Logger) *warmer {
	w := &warmer{
		components: h, log: log, done: make(chan struct{}),
		entries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_warmup_entries_total", Help: "What was read before anybody asked for it: open sales, shop types, shops of first pages, keys that were hot yesterday or today.",
		}, []string{"what"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_warmup_failures_total", Help: "Parts of warm-ups that failed; the next one comes within minutes.",
		}, []string{"what"}),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_warmup_seconds", Help: "How long the warm-up at the start took; 0 until it ends.",
		}),
		finished: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tandian_warmup_finished", Help: "Whether the warm-up at the start has ended: 1 or 0.",
		}),
	}
	reg.MustRegister(w.entries, w.failures, w.seconds, w.finished)
	for _, what := range []string{warmSales, warmTypes, warmPages, warmRemembered} {
		w.entries.WithLabelValues(what)
		w.failures.WithLabelValues(what)
	}
	return w
}

// jobs are what one process does for all.
func (w *warmer) jobs() []schedule.Job {
	return []schedule.Job{{Name: "cache.warm", Every: warmShared, Timeout: warmTime, Do: func(ctx context.Context) error {
		n, err := w.remembered(ctx)
		w.entries.WithLabelValues(warmRemembered).Add(float64(n))
		return err
	}}}
}

// run warms up, and again every minute, about, until ctx ends. It returns nil.
func (w *warmer) run(ctx context.Context) error {
	begun := time.Now()
	w.components.hub.WaitReady(ctx, listenWait)
	w.some(ctx, warmSales, warmTypes, warmPages, warmRemembered)
	if ctx.Err() == nil {
		w.seconds.Set(time.Since(begun).Seconds())
		w.finished.Set(1)
	}
	select {
	case <-w.components.searchable:
	case <-time.After(searchWait):
	case <-ctx.Done():
	}
	close(w.done)
	for clock.Sleep(ctx, clock.Jitter(warmEvery)) == nil {
		w.some(ctx, warmSales, warmTypes, warmPages)
	}
	return nil
}

// some warms some things. What fails is told, and keeps nothing else from being warmed.
func (w *warmer) some(ctx context.Context, whats ...string) {
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	all := map[string]func(context.Context) (int, error){warmSales: w.sales, warmTypes: w.types, warmPages: w.pages, warmRemembered: w.remembered}
	for _, what := range whats {
		n, err := all[what](ctx)
		w.entries.WithLabelValues(what).Add(float64(n))
		if err != nil && ctx.Err() == nil {
			w.failures.WithLabelValues(what).Inc()
			w.log.WarnContext(ctx, "warm-up failed; who asks first waits a little longer", "what", what, "err", err)
		}
	}
}

// sales pins what open sales will be asked for: vouchers with their sales, and shops.
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
	_, err = w.components.Vouchers.ByShops(cache.ForWarmup(ctx), shops, nil) // which their pages show
	return len(shops), err
}

func (w *warmer) remembered(ctx context.Context) (n int, err error) {
	read, err := w.components.hub.Warm(ctx)
	for _, of := range read {
		n += of
	}
	return n, err
}
