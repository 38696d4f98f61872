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
	witnessEvery   = time.Second
	samplePatience = 800 * time.Millisecond
)

// An Act is something that servers do of themselves when they are harmed. A run in
// which it never happened proves nothing about it.
type Act struct {
	Name  string
	Times float64
}

// acts are what a long run has to show, each with the counters whose sum says so.
var acts = []struct {
	name     string
	counters []string // as /metrics writes them
}{
	{"a sale was rebuilt", []string{`tandian_sale_reconciled_total{did="rebuilt"}`}},
	{"an entry was taken over", []string{`tandian_sale_queue_events_total{event="taken_over"}`}},
	{"an order was presumed lost", []string{`tandian_sale_queue_events_total{event="presumed"}`, `tandian_sale_reconciled_total{did="tombstoned"}`}},
	{"an order was reserved again", []string{`tandian_sale_reconciled_total{did="reserved"}`, `tandian_sale_reconciled_total{did="requeued"}`}},
	{"a batch was halved, or an entry parked", []string{`tandian_sale_queue_events_total{event="bisected"}`, `tandian_sale_queue_events_total{event="parked"}`}},
	{"an incarnation was certified", []string{"tandian_sale_incarnations_total"}},
	{"an order went past Redis", []string{`tandian_sale_queue_events_total{event="direct"}`}},
}

// A Witness sums what the servers of a place count, over their restarts: counters
// begin anew with each process, and what was counted between the last look and a kill is
// not seen. It is safe for concurrent use.
type Witness struct {
	place  Place
	client *http.Client

	mu   sync.Mutex
	last []map[string]float64 // of each server
	sums map[string]float64
}

// NewWitness begins a Witness. It looks when it runs.
func NewWitness(place Place) *Witness {
	return &Witness{
		place: place, client: &http.Client{Timeout: samplePatience},
		last: make([]map[string]float64, place.Servers()), sums: map[string]float64{},
	}
}

// Run looks at every server once a second until ctx ends, and then once more. A
// server that does not answer is passed over.
func (w *Witness) Run(ctx context.Context) {
	defer w.client.CloseIdleConnections()
	tick := time.NewTicker(witnessEvery)
	defer tick.Stop()
	for {
		var all sync.WaitGroup
		for server := range w.place.Servers() {
			all.Go(func() { w.look(context.WithoutCancel(ctx), server) })
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

func (w *Witness) look(ctx context.Context, server int) {
	now, err := w.sample(ctx, server)
	if err != nil {
		return // it is being harmed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, value := range now {
		before := w.last[server][name]
		if value < before { // another process
			before = 0
		}
		w.sums[name] += value - before
	}
	w.last[server] = now
}

// sample reads the counters of sales.
func (w *Witness) sample(ctx context.Context, server int) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.place.URL(server)+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics is %d", res.StatusCode)
	}
	return countersOf(res.Body)
}

// countersOf reads those counters of a page of metrics that are about sales, or about what
// scans mended.
func countersOf(page io.Reader) (map[string]float64, error) {
	all := map[string]float64{}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || !strings.HasPrefix(name, "tandian_sale_") && !strings.HasPrefix(name, mendedCounter) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("the metric %s is %.40q: %w", name, value, err)
		}
		all[name] = n
	}
	return all, lines.Err()
}

// These count what was set right after both stores had come apart.
const (
	mendedCounter     = "tandian_reconcile_mended_total"
	reconciledCounter = "tandian_sale_reconciled_total"
)

// Mended is how many things were set right: in sales, and by scans.
func (w *Witness) Mended() (n float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, times := range w.sums {
		if strings.HasPrefix(name, mendedCounter) || strings.HasPrefix(name, reconciledCounter) {
			n += times
		}
	}
	return n
}

// Acts says how often each act was seen; that a sale was sold out, by the answers.
func (w *Witness) Acts(events []Event) []Act {
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
	soldOut := Act{Name: "somebody was told that all are sold"}
	for _, e := range events {
		if e.Op == OpOrder && e.Code == "OUT_OF_STOCK" {
			soldOut.Times++
		}
	}
	return append(seen, soldOut)
}

// Never are the names of the acts that were not seen.
func Never(seen []Act) []string {
	var names []string
	for _, a := range seen {
		if a.Times == 0 {
			names = append(names, a.Name)
		}
	}
	return names
}
