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

// gathering is how long a reordering bus holds messages back.
const gathering = 20 * time.Millisecond

// reordering is a bus whose messages come late, in any order, and some of them
// twice. It tells its followers that they are in sync when they have heard what
// they are to have heard, not before: that much a bus owes them.
type reordering struct {
	eventbus.Bus
	shuffled *atomic.Int64 // counts batches of two and more

	mu      sync.Mutex // held while hearers and followers are called
	waiting []heard
	synced  time.Time // to be told once what waits was heard; zero: nothing is
	follow  []eventbus.Observer
}

type heard struct {
	hear func(ctx context.Context, bodies [][]byte)
	body []byte
}

func (r *reordering) Subscribe(topic string, hear func(ctx context.Context, bodies [][]byte)) {
	r.Bus.Subscribe(topic, func(_ context.Context, bodies [][]byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, body := range bodies {
			r.waiting = append(r.waiting, heard{hear, body})
		}
	})
}

func (r *reordering) AddObserver(f eventbus.Observer) {
	if r.follow = append(r.follow, f); len(r.follow) == 1 {
		r.Bus.AddObserver(follower{r})
	}
}

func (r *reordering) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() {
		every := time.NewTicker(gathering)
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

func (r *reordering) deliver(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.waiting
	r.waiting = nil
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
		h.hear(ctx, [][]byte{h.body})
	}
	if !r.synced.IsZero() {
		for _, f := range r.follow {
			f.Synced(r.synced)
		}
	}
	r.synced = time.Time{}
}

// follower is what the bus beneath tells.
type follower struct{ *reordering }

// Reset passes a gap on at once: what waits is part of what is forgotten.
func (f follower) Reset(ctx context.Context, why eventbus.Gap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting, f.synced = nil, time.Time{}
	for _, to := range f.follow {
		to.Reset(ctx, why)
	}
}

func (f follower) Synced(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = at
}
