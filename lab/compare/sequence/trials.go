package sequence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A hand sets the clock of a trial.
type hand struct{ nanos atomic.Int64 }

func newHand() *hand {
	h := new(hand)
	h.nanos.Store(time.Date(2026, time.June, 18, 9, 0, 0, 0, time.UTC).UnixNano())
	return h
}

func (h *hand) now() time.Time       { return time.Unix(0, h.nanos.Load()) }
func (h *hand) step(d time.Duration) { h.nanos.Add(int64(d)) }

// A trial is one scheme under one clock, with a name of its own.
type trial struct {
	*Servers
	Scheme
	*hand
	called string
	seen   map[ID]bool
	all    []Maker
}

func (s *Servers) trial(sc Scheme) *trial {
	return &trial{s, sc, newHand(), s.name(), map[ID]bool{}, nil}
}

// process begins a further process with the clock of the trial.
func (t *trial) process(ctx context.Context) (Maker, error) { return t.begin(ctx, 1, t.now) }

// begin begins a process.
func (t *trial) begin(ctx context.Context, node uint64, now func() time.Time) (Maker, error) {
	m, err := t.New(ctx, Process{t.rdb, t.db, t.called, node, now})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	t.all = append(t.all, m)
	return m, nil
}

// end waits for the background work of the processes.
func (t *trial) end() {
	for _, m := range t.all {
		if w, ok := m.(interface{ Wait() }); ok {
			w.Wait()
		}
	}
}

// make makes ids, with a pause after each, and returns the number of repeated ones.
func (t *trial) make(ctx context.Context, m Maker, count int, pause time.Duration) (repeated int, err error) {
	for range count {
		id, err := m.Next(ctx)
		if err != nil {
			return repeated, fmt.Errorf("%s: %w", t.Name, err)
		}
		if t.seen[id] {
			repeated++
		}
		t.seen[id] = true
		t.step(pause)
	}
	return repeated, nil
}

// lost returns the number of repeated ids if Redis loses the last hundred, and continues after some
// time.
func (s *Servers) lost(ctx context.Context, sc Scheme, after time.Duration) (repeated int, err error) {
	t := s.trial(sc)
	defer t.end()
	m, err := t.process(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := t.make(ctx, m, 900, 0); err != nil {
		return 0, err
	}
	restore, err := s.snapshot(ctx, t.called)
	if err != nil {
		return 0, err
	}
	if _, err := t.make(ctx, m, 100, 0); err != nil {
		return 0, err
	}
	if err := restore(); err != nil {
		return 0, err
	}
	t.step(after)
	return t.make(ctx, m, 100, 0)
}

// steps sets the clock back by a second in which a thousand ids were made, and returns the number
// of repeated ids. It returns errClockBehind if the scheme refuses.
func (s *Servers) steps(ctx context.Context, sc Scheme, restarted bool) (repeated int, err error) {
	t := s.trial(sc)
	defer t.end()
	m, err := t.process(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := t.make(ctx, m, 1000, time.Millisecond); err != nil {
		return 0, err
	}
	t.step(-time.Second)
	if restarted {
		if m, err = t.process(ctx); err != nil {
			return 0, err
		}
	}
	return t.make(ctx, m, 1000, time.Millisecond)
}

// ordered describes how exactly ids are in the order of time, those of two processes that take
// turns.
func (s *Servers) ordered(ctx context.Context, sc Scheme) (string, error) {
	for _, by := range []struct {
		pause time.Duration
		name  string
	}{{0, "strictly"}, {time.Millisecond, "to the ms"}, {time.Second, "to the second"}} {
		yes, err := s.ascending(ctx, sc, by.pause)
		if yes || err != nil {
			return by.name, err
		}
	}
	return "no", nil
}

func (s *Servers) ascending(ctx context.Context, sc Scheme, pause time.Duration) (bool, error) {
	t := s.trial(sc)
	defer t.end()
	for node := range uint64(2) {
		if _, err := t.begin(ctx, node, t.now); err != nil {
			return false, err
		}
	}
	var last ID
	for i := range 1000 {
		id, err := t.all[i%2].Next(ctx) // they take turns
		if err != nil {
			return false, fmt.Errorf("%s: %w", sc.Name, err)
		}
		if i > 0 && !last.less(id) {
			return false, nil
		}
		last = id
		t.step(pause)
	}
	return true, nil
}

// betrays describes how exactly the first and the last id of a day reveal its volume.
func (s *Servers) betrays(ctx context.Context, sc Scheme, random *rand.Rand) (string, error) {
	if sc.Read == nil {
		return "no", nil
	}
	t := s.trial(sc)
	defer t.end()
	m, err := t.process(ctx)
	if err != nil {
		return "", err
	}
	const days = 11
	var off []float64 // the greater by the smaller
	for range days {
		volume := 50 + random.IntN(1000)
		first, err := m.Next(ctx)
		if err != nil {
			return "", err
		}
		if _, err := t.make(ctx, m, volume-1, 8*time.Hour/time.Duration(volume)); err != nil {
			return "", err
		}
		last, err := m.Next(ctx)
		if err != nil {
			return "", err
		}
		read, truth := max(float64(sc.Read(first, last)), 0.5), float64(volume)
		off = append(off, max(read/truth, truth/read))
		t.step(16 * time.Hour)
	}
	slices.Sort(off)
	switch {
	case off[days-1] == 1:
		return "exactly", nil
	case off[days/2] < 2:
		return "about", nil
	}
	return "no", nil
}

// fits reports whether ids fit into a signed integer of 8 bytes. It makes them from many
// goroutines, and returns an error if two are equal.
func (s *Servers) fits(ctx context.Context, sc Scheme) (bool, error) {
	t := s.trial(sc)
	defer t.end()
	m, err := t.begin(ctx, 1, time.Now)
	if err != nil {
		return false, err
	}
	const each = 500
	var crowd sync.WaitGroup
	ids, errs := make([]ID, workers*each), make([]error, workers)
	for i := range workers {
		crowd.Go(func() {
			for j := range each {
				if ids[i*each+j], errs[i] = m.Next(ctx); errs[i] != nil {
					return
				}
			}
		})
	}
	crowd.Wait()
	if err := errors.Join(errs...); err != nil {
		return false, fmt.Errorf("%s: %w", sc.Name, err)
	}
	for _, id := range ids {
		if t.seen[id] {
			return false, fmt.Errorf("%s repeated an id without a fault", sc.Name)
		}
		t.seen[id] = true
	}
	return !slices.ContainsFunc(ids, func(id ID) bool { return id.High != 0 || id.Low>>63 != 0 }), nil
}
