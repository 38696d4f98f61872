package cache

import (
	"context"
	"errors"
	"sync"
	"time"
)

// through is write-through: the application talks to the cache only, which writes the row and its
// own copy, one writer of a key at a time.
//
// Right: no miss after a write, and one process preserves the order of writes. Wrong: over several
// processes nothing orders the copies (A25), and a load from before the write may set last (A1).
type through struct {
	aside
	keys sync.Map // key → *sync.Mutex
}

func newThrough(p Process) (Scheme, error) {
	return &through{aside: aside{Process: p, single: true}}, nil
}

func (s *through) Write(ctx context.Context, key string) (int64, error) {
	m, _ := s.keys.LoadOrStore(key, new(sync.Mutex))
	m.(*sync.Mutex).Lock()
	defer m.(*sync.Mutex).Unlock()
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.set(ctx, r)
}

// flushEvery is the time for which write-behind collects writes.
const flushEvery = 10 * time.Millisecond

// behind is write-behind (write-back): the cache takes the write, and the row follows a moment
// later.
//
// Right: the fastest write, and many writes of a row become one. Wrong: an acknowledged write dies
// with the process or with Redis. An entry that is evicted before its flush reads as the old row.
// All other programs read an old database. Over several processes nothing orders the copies (A25).
type behind struct {
	aside
	mu    sync.Mutex
	dirty map[string]Row
	stop  chan struct{}
	done  chan struct{}
}

func newBehind(p Process) (Scheme, error) {
	s := &behind{
		aside: aside{Process: p, single: true}, dirty: make(map[string]Row),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s, nil
}

func (s *behind) Write(ctx context.Context, key string) (int64, error) {
	r := s.DB.Reserve(ctx, key)
	if err := s.set(ctx, r); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirty[key].Version < r.Version {
		s.dirty[key] = r
	}
	return r.Version, nil
}

func (s *behind) run() {
	defer close(s.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = s.Settle(context.Background()) // applying a row here cannot fail without a deadline
		case <-s.stop:
			return
		}
	}
}

// Settle flushes.
func (s *behind) Settle(ctx context.Context) error {
	s.mu.Lock()
	dirty := s.dirty
	s.dirty = make(map[string]Row)
	s.mu.Unlock()
	var all []error
	for _, r := range dirty {
		all = append(all, s.DB.Apply(ctx, r))
	}
	return errors.Join(all...)
}

func (s *behind) Close() error {
	close(s.stop)
	<-s.done
	return s.Settle(context.Background())
}
