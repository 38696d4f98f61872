// Package notify wakes readers that wait for a change.
//
// Processes exchange hints, "this key may have changed", and never the state: a receiver
// reads the state again. So a hint may come twice, late, without a change, or for another
// key with the same hash. Each costs one read. If hints may have been missed, all watches
// are hinted. A process has one subscription to the bus, whatever the number of watches.
package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// Options tunes a Hub. The zero value is a good setting, but has no metrics and no log.
type Options struct {
	Topic      string                // of its messages on the bus; default "live"
	Debounce   time.Duration         // how long hints collect after each delivery; default 20 ms
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log
	MaxWatches int                   // open at a time; default 100 000
	MaxPending int                   // different keys that wait for delivery; with more, all watches are hinted; default 16 384
}

// Hub delivers hints to the watches in this process, and by the bus to those in other processes.
// Its methods are safe for concurrent use. Only Run and Wait block.
type Hub struct {
	bus      eventbus.Bus
	topic    string
	debounce time.Duration
	log      *slog.Logger
	metrics  metrics
	warnings clock.Throttle

	id     [idBytes]byte // sender id on the bus
	local  *pendingKeys  // for the watches of this process
	remote *pendingKeys  // for the other processes

	updates sync.WaitGroup

	mu      sync.Mutex
	watches map[key]*Watch // the first of each key
	count   int
	max     int
}

// ErrFull is returned if [Options.MaxWatches] watches are open.
var ErrFull = apierror.New(apierror.Unavailable, "This server has too many live subscriptions. Try again later.")

const (
	maxPause     = time.Second // between two attempts to publish
	flushTimeout = time.Second // for the last hints when Run ends
	// After a gap, groups of this many watches are hinted, to limit the load on the stores.
	hintBatch = 200
	hintPause = 10 * time.Millisecond
)

// New returns a Hub that subscribes to the bus: call it before the bus runs. It starts
// nothing. It panics if the Registerer has these metrics already.
func New(bus eventbus.Bus, o Options) *Hub {
	h := &Hub{
		bus:      bus,
		topic:    cmp.Or(o.Topic, "live"),
		debounce: cmp.Or(o.Debounce, 20*time.Millisecond),
		log:      cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		metrics:  newMetrics(o.Registerer),
		local:    newPendingKeys(cmp.Or(o.MaxPending, 16_384)),
		remote:   newPendingKeys(cmp.Or(o.MaxPending, 16_384)),
		watches:  make(map[key]*Watch),
		max:      cmp.Or(o.MaxWatches, 100_000),
	}
	_, _ = rand.Read(h.id[:]) // never fails
	bus.Subscribe(h.topic, h.receive)
	bus.AddObserver(observer{h})
	return h
}

// Notify reports that these keys may have changed. Call it when readers can see the change,
// after the commit. It returns at once. Run delivers the hints, each key once; the watches of
// this process get them even if the bus fails.
func (h *Hub) Notify(keys ...string) {
	if len(keys) == 0 {
		return
	}
	h.metrics.notified.Add(float64(len(keys)))
	b := batch{keys: make([]key, len(keys))}
	for i, k := range keys {
		b.keys[i] = keyOf(k)
	}
	h.add(h.local, b)
	h.add(h.remote, b)
}

func (h *Hub) add(to *pendingKeys, b batch) {
	if to.add(b) {
		h.metrics.errors.WithLabelValues(overflowed).Inc()
	}
}

// Run delivers hints until ctx ends, and then the remaining ones, within a second. It retries
// failed publications. It returns nil. It must not run twice at a time.
func (h *Hub) Run(ctx context.Context) error {
	var both sync.WaitGroup
	both.Go(func() { h.forward(ctx, h.local, h.hint) })
	both.Go(func() { h.forward(ctx, h.remote, h.publish) })
	both.Wait()
	return nil
}

// forward delivers pending keys: the first at once, the next ones together after debounce.
// Failed deliveries become pending again.
func (h *Hub) forward(ctx context.Context, from *pendingKeys, send func(context.Context, batch) error) {
	pause := h.debounce
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-from.wake:
		}
		b := from.take()
		if err := send(ctx, b); err != nil {
			h.add(from, b)
			pause = min(2*pause, maxPause)
			if ctx.Err() == nil {
				h.recordFailure(ctx, publishing, err)
			}
		} else {
			pause = h.debounce
		}
		_ = clock.Sleep(ctx, pause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := send(ctx, from.take()); err != nil {
		h.recordFailure(ctx, publishing, err)
	}
}

func (h *Hub) publish(ctx context.Context, b batch) error {
	if b.empty() {
		return nil
	}
	var ms []eventbus.Message
	for _, body := range encode(h.id, b) {
		ms = append(ms, eventbus.Message{Topic: h.topic, Body: body})
	}
	return h.bus.Publish(ctx, ms...)
}

// receive handles hints from the bus, except those of this process: its watches got them before.
func (h *Hub) receive(ctx context.Context, bodies [][]byte) {
	for _, body := range bodies {
		from, b, err := decode(body)
		if err != nil {
			h.recordFailure(ctx, decoding, err)
		}
		if from != h.id {
			h.add(h.local, b)
		}
	}
}

// An observer handles the gaps of the bus.
type observer struct{ hub *Hub }

// Reset hints all watches.
func (f observer) Reset(context.Context, eventbus.Gap) { f.hub.local.add(batch{all: true}) }

// Synced does nothing: no state depends on complete hints.
func (f observer) Synced(time.Time) {}

// hint hints the watches of a batch. It never fails.
func (h *Hub) hint(ctx context.Context, b batch) error {
	if b.all {
		h.hintAll(ctx)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	hints := 0
	for _, k := range b.keys {
		for w := h.watches[k]; w != nil; w = w.next {
			hints += w.hint()
		}
	}
	h.metrics.hints.Add(float64(hints))
	return nil
}

// hintAll hints all watches in groups. New hints do not wait for the last group.
func (h *Hub) hintAll(ctx context.Context) {
	for chunk := range slices.Chunk(h.all(), hintBatch) {
		hints := 0
		for _, w := range chunk {
			hints += w.hint()
		}
		h.metrics.hints.Add(float64(hints))
		_ = clock.Sleep(ctx, hintPause)
		b := h.local.take()
		_ = h.hint(ctx, batch{keys: b.keys})
		if b.all { // start again
			h.local.add(b)
		}
	}
}

// Wait returns when no [Updates] runs any more. Call it at shutdown, after their contexts have
// ended and before the stores that they read close.
func (h *Hub) Wait() { h.updates.Wait() }

// recordFailure counts a failure and logs it, at most every ten seconds.
func (h *Hub) recordFailure(ctx context.Context, doing string, err error) {
	h.metrics.errors.WithLabelValues(doing).Inc()
	if h.warnings.Allow() {
		h.log.WarnContext(ctx, "live updates failed, retrying", "doing", doing, "err", err)
	}
}
