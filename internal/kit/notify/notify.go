// Package live lets those who wait for a change look again when there may be one.
//
// What travels between processes is a hint, "something about this key may have
// changed", and never the state: who hears it reads the state anew. So a hint may
// come twice, late, for nothing, or for another key that looks the same, and costs
// one read each time; where hints may have been missed, everybody is hinted. A
// process has one subscriber to the bus, however many wait in it.
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

// Options tunes a Hub. The zero value is a good setting, except that it shows no
// metrics and logs nothing.
type Options struct {
	Topic      string                // of its messages on the bus; default "live"
	Debounce   time.Duration         // how long what is told is gathered, after a moment in which something was; default 20 ms
	Registerer prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log        *slog.Logger          // default slog.DiscardHandler
	MaxWatches int                   // open at a time; default 100 000
	MaxPending int                   // different keys that wait to be passed on; with more, everything counts as told; default 16 384
}

// Hub passes hints on, from those who tell to those who watch, in this process and
// by the bus in all others. Its methods are safe for concurrent use, and none but
// Run and Wait ever waits.
type Hub struct {
	bus        eventbus.Bus
	topic      string
	gather     time.Duration
	log        *slog.Logger
	metrics    metrics
	complaints clock.Throttle

	id    [idBytes]byte // on the bus
	here  *pendingKeys  // for the watches of this process
	there *pendingKeys  // for the other processes

	updates sync.WaitGroup

	mu      sync.Mutex
	watches map[key]*Watch // the first of each key
	count   int
	max     int
}

// ErrFull is returned where [Options.MaxWatches] are open.
var ErrFull = apierror.New(apierror.Unavailable, "This server has as many live subscriptions as it can bear; try again.")

const (
	maxPause  = time.Second // between two tries to publish
	lastWords = time.Second // for what was told before Run ended
	// After a gap so many watches look again at a time, for the sake of the stores
	// that they ask.
	spread      = 200
	spreadPause = 10 * time.Millisecond
)

// New builds a Hub, which subscribes to the bus and follows it: call it before
// the bus runs. It starts nothing. It panics if the Registerer has these metrics
// already.
func New(bus eventbus.Bus, o Options) *Hub {
	h := &Hub{
		bus:     bus,
		topic:   cmp.Or(o.Topic, "live"),
		gather:  cmp.Or(o.Debounce, 20*time.Millisecond),
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		metrics: newMetrics(o.Registerer),
		here:    newTally(cmp.Or(o.MaxPending, 16_384)),
		there:   newTally(cmp.Or(o.MaxPending, 16_384)),
		watches: make(map[key]*Watch),
		max:     cmp.Or(o.MaxWatches, 100_000),
	}
	_, _ = rand.Read(h.id[:]) // it never fails
	bus.Subscribe(h.topic, h.hear)
	bus.AddObserver(follower{h})
	return h
}

// Notify says that something about these keys may have changed. Call it when who
// reads finds the change, after the commit. It returns at once: Run passes on what
// was told, each key once, to the watches of this process whether the bus works or
// not.
func (h *Hub) Notify(keys ...string) {
	if len(keys) == 0 {
		return
	}
	h.metrics.told.Add(float64(len(keys)))
	b := batch{keys: make([]key, len(keys))}
	for i, k := range keys {
		b.keys[i] = keyOf(k)
	}
	h.add(h.here, b)
	h.add(h.there, b)
}

func (h *Hub) add(to *pendingKeys, b batch) {
	if to.add(b) {
		h.metrics.errors.WithLabelValues(overflowed).Inc()
	}
}

// Run passes on what is told, here and there, until ctx ends, and then what is
// left, within a second. What cannot be published is kept and tried again. It
// returns nil. It runs once at a time.
func (h *Hub) Run(ctx context.Context) error {
	var both sync.WaitGroup
	both.Go(func() { h.drain(ctx, h.here, h.hint) })
	both.Go(func() { h.drain(ctx, h.there, h.publish) })
	both.Wait()
	return nil
}

// drain gives away what comes into a tally: the first at once, what comes within
// the time of gathering together. What could not be given comes back to it.
func (h *Hub) drain(ctx context.Context, from *pendingKeys, give func(context.Context, batch) error) {
	pause := h.gather
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-from.wake:
		}
		b := from.take()
		if err := give(ctx, b); err != nil {
			h.add(from, b)
			pause = min(2*pause, maxPause)
			if ctx.Err() == nil {
				h.complain(ctx, publishing, err)
			}
		} else {
			pause = h.gather
		}
		_ = clock.Sleep(ctx, pause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := give(ctx, from.take()); err != nil {
		h.complain(ctx, publishing, err)
	}
}

// publish tells the other processes.
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

// hear is told what others published. Our own messages come too: those watches
// were hinted before.
func (h *Hub) hear(ctx context.Context, bodies [][]byte) {
	for _, body := range bodies {
		from, b, err := decode(body)
		if err != nil {
			h.complain(ctx, decoding, err)
		}
		if from != h.id {
			h.add(h.here, b)
		}
	}
}

// A follower hears of the gaps of the bus.
type follower struct{ hub *Hub }

// Reset has everybody look again.
func (f follower) Reset(context.Context, eventbus.Gap) { f.hub.here.add(batch{all: true}) }

// Synced says nothing here: no state rests on having heard all.
func (f follower) Synced(time.Time) {}

// hint has watches look again. It never fails.
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

// hintAll hints all watches, some at a time. What is told meanwhile does not wait
// for the last of them.
func (h *Hub) hintAll(ctx context.Context) {
	for some := range slices.Chunk(h.all(), spread) {
		hints := 0
		for _, w := range some {
			hints += w.hint()
		}
		h.metrics.hints.Add(float64(hints))
		_ = clock.Sleep(ctx, spreadPause)
		b := h.here.take()
		_ = h.hint(ctx, batch{keys: b.keys})
		if b.all { // once more, from the beginning
			h.here.add(b)
		}
	}
}

// Wait returns when no [Updates] is under way any more. Call it at the stop, when
// their contexts have ended, before the stores close that they read.
func (h *Hub) Wait() { h.updates.Wait() }

// complain counts a failure and logs it, at most every ten seconds.
func (h *Hub) complain(ctx context.Context, doing string, err error) {
	h.metrics.errors.WithLabelValues(doing).Inc()
	if h.complaints.Allow() {
		h.log.WarnContext(ctx, "live updates failed, and are tried again", "doing", doing, "err", err)
	}
}
