package cachetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// holdTime is the delay of messages on a reordering bus.
const holdTime = 20 * time.Millisecond

// reorderingBus is a bus that delays, reorders and partly repeats messages. It forwards a sync
// only after all earlier messages, as every bus must.
type reorderingBus struct {
	eventbus.Bus
	shuffled *atomic.Int64 // batches of at least two messages

	mu        sync.Mutex // held while handlers and observers run
	pending   []delivery
	synced    time.Time // of the sync to forward after the pending messages; zero: none
	observers []eventbus.Observer
}

type delivery struct {
	handler func(ctx context.Context, bodies [][]byte)
	body    []byte
}

func (r *reorderingBus) Subscribe(topic string, handler func(ctx context.Context, bodies [][]byte)) {
	r.Bus.Subscribe(topic, func(_ context.Context, bodies [][]byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, body := range bodies {
			r.pending = append(r.pending, delivery{handler, body})
		}
	})
}

func (r *reorderingBus) AddObserver(f eventbus.Observer) {
	if r.observers = append(r.observers, f); len(r.observers) == 1 {
		r.Bus.AddObserver(observer{r})
	}
}

func (r *reorderingBus) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() {
		every := time.NewTicker(holdTime)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				r.deliver(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	err := r.Bus.Run(ctx)
	all.Wait()
	return err
}

func (r *reorderingBus) deliver(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.pending
	r.pending = nil
	if len(list) > 1 {
		r.shuffled.Add(1)
	}
	for _, again := range slices.Clone(list) {
		if rand.IntN(4) == 0 {
			list = append(list, again)
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, h := range list {
		h.handler(ctx, [][]byte{h.body})
	}
	if !r.synced.IsZero() {
		for _, f := range r.observers {
			f.Synced(r.synced)
		}
	}
	r.synced = time.Time{}
}

// observer receives the events of the underlying bus.
type observer struct{ *reorderingBus }

// Reset forwards a gap at once and drops the pending messages.
func (f observer) Reset(ctx context.Context, why eventbus.Gap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending, f.synced = nil, time.Time{}
	for _, to := range f.observers {
		to.Reset(ctx, why)
	}
}

func (f observer) Synced(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = at
}
