package faulttest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	sampleMetricsEvery = time.Second
	sampleTimeout      = 800 * time.Millisecond
)

// Act is a recovery action of the servers. A run tests it only if it happens.
type Act struct {
	Name  string
	Times float64
}

// acts lists the actions that a long run must show, each with the counters to sum.
var acts = []struct {
	name     string
	counters []string // names as in /metrics
}{
	{"a sale was rebuilt", []string{`tandian_sale_reconciled_total{did="rebuilt"}`}},
	{"an entry was taken over", []string{`tandian_sale_queue_events_total{event="taken_over"}`}},
	{"an order was presumed lost", []string{`tandian_sale_queue_events_total{event="presumed"}`, `tandian_sale_reconciled_total{did="tombstoned"}`}},
	{"an order was reserved again", []string{`tandian_sale_reconciled_total{did="reserved"}`, `tandian_sale_reconciled_total{did="requeued"}`}},
	{"a batch was halved, or an entry parked", []string{`tandian_sale_queue_events_total{event="bisected"}`, `tandian_sale_queue_events_total{event="parked"}`}},
	{"an incarnation was certified", []string{"tandian_sale_incarnations_total"}},
	{"an order bypassed Redis", []string{`tandian_sale_queue_events_total{event="direct"}`}},
}

// Sampler sums the counters of servers over their restarts, at which they start from zero. It
// misses increments between the last sample and a kill. It is safe for concurrent use.
type Sampler struct {
	system System
	client *http.Client

	mu   sync.Mutex
	last []map[string]float64 // per server
	sums map[string]float64
}

// NewSampler returns a Sampler that is not running.
func NewSampler(system System) *Sampler {
	return &Sampler{
		system: system, client: &http.Client{Timeout: sampleTimeout},
		last: make([]map[string]float64, system.Servers()), sums: map[string]float64{},
	}
}

// Run samples every server once a second until ctx ends, and a last time then. It skips
// servers that do not answer.
func (w *Sampler) Run(ctx context.Context) {
	defer w.client.CloseIdleConnections()
	tick := time.NewTicker(sampleMetricsEvery)
	defer tick.Stop()
	for {
		var all sync.WaitGroup
		for server := range w.system.Servers() {
			all.Go(func() { w.observe(context.WithoutCancel(ctx), server) })
		}
		all.Wait()
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (w *Sampler) observe(ctx context.Context, server int) {
	now, err := w.sample(ctx, server)
	if err != nil {
		return // the server is down
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, value := range now {
		before := w.last[server][name]
		if value < before { // the server restarted
			before = 0
		}
		w.sums[name] += value - before
	}
	w.last[server] = now
}

// sample reads the counters of sales and repairs.
func (w *Sampler) sample(ctx context.Context, server int) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.system.URL(server)+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read /metrics: status %d", res.StatusCode)
	}
	return countersOf(res.Body)
}

// countersOf parses the counters of sales and of repairs from a metrics page.
func countersOf(page io.Reader) (map[string]float64, error) {
	all := map[string]float64{}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || !strings.HasPrefix(name, "tandian_sale_") && !strings.HasPrefix(name, repairCounter) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("parse metric %s with value %.40q: %w", name, value, err)
		}
		all[name] = n
	}
	return all, lines.Err()
}

// Counters of repairs after both stores had diverged.
const (
	repairCounter     = "tandian_reconcile_mended_total"
	reconciledCounter = "tandian_sale_reconciled_total"
)

// Repairs returns the number of repairs, in sales and by scans.
func (w *Sampler) Repairs() (n float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, times := range w.sums {
		if strings.HasPrefix(name, repairCounter) || strings.HasPrefix(name, reconciledCounter) {
			n += times
		}
	}
	return n
}

// Acts returns how often each action happened. It derives the sold-out action from the
// answers.
func (w *Sampler) Acts(events []Event) []Act {
	w.mu.Lock()
	sums := maps.Clone(w.sums)
	w.mu.Unlock()
	seen := make([]Act, 0, len(acts)+1)
	for _, a := range acts {
		one := Act{Name: a.name}
		for _, counter := range a.counters {
			one.Times += sums[counter]
		}
		seen = append(seen, one)
	}
	soldOut := Act{Name: "a customer got OUT_OF_STOCK"}
	for _, e := range events {
		if e.Op == OpOrder && e.Code == "OUT_OF_STOCK" {
			soldOut.Times++
		}
	}
	return append(seen, soldOut)
}

// Never returns the names of the actions that did not happen.
func Never(seen []Act) []string {
	var names []string
	for _, a := range seen {
		if a.Times == 0 {
			names = append(names, a.Name)
		}
	}
	return names
}
