package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Outcome is the result of a scenario.
type Outcome int

// All outcomes. Two processes that assume to have the lock are harmless if one of them is refused in
// time; TwoHolders means two orders.
const (
	Passes      Outcome = iota
	None                // the anomaly does not arise
	TwoHolders          // one user has two orders
	DeadLock            // no process has the lock, and none gets it
	NotNotified         // the holder of a lost lock is not notified
)

func (o Outcome) String() string {
	return [...]string{"passes", "–", "TWO HOLDERS", "DEAD LOCK", "NOT TOLD"}[o]
}

// Verdict is the result of one anomaly for one variant.
type Verdict struct {
	Outcome
	Why string
}

// Anomaly is one interleaving, forced step by step.
type Anomaly struct {
	ID, Name string
	ttl      time.Duration // 0 is life
	apart    bool          // use several processes also for a lock within one process
	arises   func(v Variant) bool
	run      func(ctx context.Context, s *stage) error
}

// fault is a bad outcome.
type fault struct {
	Outcome
	why string
}

func (f *fault) Error() string { return f.String() + ": " + f.why }

var errNone = errors.New("does not arise")

// Anomalies returns all anomalies.
func Anomalies() []Anomaly {
	leased := func(v Variant) bool { return v.Leased }
	always := func(Variant) bool { return true }
	stored := func(v Variant) bool { return !v.Single }
	redis := func(v Variant) bool { return v.Nodes > 0 }
	return []Anomaly{
		{ID: "S1", Name: "a process dies after its first command of the acquisition was answered", arises: redis, run: crash},
		{ID: "S2", Name: "a holder outlives its lease and releases the lock", arises: leased, run: lateRelease},
		{ID: "S2b", Name: "a lease ends between the two halves of a release", arises: leased, run: halfRelease},
		{ID: "S3", Name: "a clock is ahead by more than the lease", arises: always, run: clocksApart},
		{ID: "S3b", Name: "two find an expired lease at once", arises: leased, run: twoExpirers},
		{ID: "S4", Name: "two servers", arises: always, apart: true, run: twoServers},
		{ID: "S5", Name: "another process comes before the commit", arises: always, run: beforeCommit},
		{ID: "S6", Name: "a holder dies: the lock is free again, not before its lease ended", arises: stored, run: holderDies},
		{ID: "S7", Name: "a holder is paused for longer than its lease, and writes then", arises: always, run: lateWrite},
		{ID: "S7b", Name: "the work takes longer than the lease; its holder is not paused", ttl: 2 * time.Second, arises: leased, run: longWork},
		{ID: "S8", Name: "one store loses the lock: Redis is empty, or the session of the lock ends", arises: stored, run: storeLoses},
		{ID: "S8b", Name: "the holder could not reach one node, and another loses the lock", arises: func(v Variant) bool { return v.Nodes > 1 }, run: twoNodesFail},
		{ID: "S9", Name: "the lock is lost while its holder works: is it notified?", ttl: time.Second, arises: func(v Variant) bool { return stored(v) && !v.InTx }, run: lossNotified},
	}
}

// Try runs one anomaly on one variant. An error means that the anomaly could not be tried.
func (s *Servers) Try(ctx context.Context, a Anomaly, v Variant) (Verdict, error) {
	if !a.arises(v) {
		return Verdict{Outcome: None}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ttl := a.ttl
	if ttl == 0 {
		ttl = life
	}
	st, err := s.stage(ctx, v, ttl, a.apart)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s of %s: %w", a.ID, v.Name, err)
	}
	err = a.run(ctx, st)
	if failed := st.close(ctx); failed != nil {
		return Verdict{}, fmt.Errorf("%s of %s: %w", a.ID, v.Name, errors.Join(failed, err))
	}
	if f, ok := errors.AsType[*fault](err); ok {
		return Verdict{f.Outcome, f.why}, nil
	}
	if errors.Is(err, errNone) {
		return Verdict{Outcome: None}, nil
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("%s of %s: %w", a.ID, v.Name, err)
	}
	return Verdict{}, nil
}

// grace limits how long a scenario tries to get a lock that should be free. A server may need a
// moment to detect a closed connection.
const grace = 3 * time.Second

// free returns a fault unless a process can get the lock. It orders if the user has no order yet.
func (s *stage) free(ctx context.Context, p *process) error {
	for limit := time.Now().Add(grace); ; {
		err := p.order(ctx, s.name)
		switch {
		case !errors.Is(err, ErrBusy):
			return err
		case time.Now().After(limit):
			return &fault{DeadLock, "no process has the lock, and none gets it"}
		}
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// judge counts the orders, and checks that the lock is free at the end.
func (s *stage) judge(ctx context.Context, how string) error {
	n, err := s.ledger.Orders(ctx, s.name)
	if err != nil {
		return fmt.Errorf("count the orders: %w", err)
	}
	if n > 1 {
		return &fault{TwoHolders, fmt.Sprintf("%s: one user has %d orders", how, n)}
	}
	if err := s.free(ctx, s.p[2]); err != nil {
		return err
	}
	if n, err = s.ledger.Orders(ctx, s.name); err == nil && n != 1 {
		err = fmt.Errorf("one user has %d orders at the end", n)
	}
	return err
}

// meet is the end of most scenarios: one process works, another arrives, and the first writes.
// Whether and how one of them is refused depends on the scheme. Only the written rows count.
func (s *stage) meet(ctx context.Context, first *sitting, other *process, how string) error {
	join, err := s.comes(ctx, other)
	if err != nil {
		return err
	}
	_ = first.finish(ctx, func() {}) // it may be refused
	_ = join()
	return s.judge(ctx, how)
}

func crash(ctx context.Context, s *stage) error {
	// Everything that is sent only once, such as scripts, has been sent.
	if h, err := s.p[0].Try(ctx, s.prefix+"another"); err != nil || h.Unlock(ctx) != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	s.p[0].valve.dieAfterAnswer(s.p[0].kill)
	if _, err := s.p[0].Try(ctx, s.name); err == nil {
		return errors.New("a dead process has the lock")
	}
	if err := s.lapse(ctx); err != nil {
		return err
	}
	return s.free(ctx, s.p[1])
}

func lateRelease(ctx context.Context, s *stage) error {
	late, err := s.p[0].Try(ctx, s.name)
	if err != nil {
		return err
	}
	if err := s.lapse(ctx); err != nil {
		return err
	}
	next, err := s.p[1].sit(ctx, s.name)
	if err != nil {
		return err
	}
	_ = late.Unlock(ctx) // it may report a lost lock
	return s.meet(ctx, next, s.p[2], "the release gave the next holder's lock to a third")
}

func halfRelease(ctx context.Context, s *stage) error {
	slow, err := s.p[0].Try(ctx, s.name)
	if err != nil {
		return err
	}
	g := newGate()
	s.p[0].valve.gate.Store(g)
	done := make(chan error, 1)
	go func() { done <- slow.Unlock(ctx) }()
	select {
	case <-g.arrived:
	case err := <-done:
		return errors.Join(err, errNone) // one step, or whole before the lease ended
	}
	if err := s.lapse(ctx); err != nil {
		return err
	}
	next, err := s.p[1].sit(ctx, s.name)
	g.open()
	if err := errors.Join(err, <-done); err != nil {
		return err
	}
	return s.meet(ctx, next, s.p[2], "the release gave the next holder's lock to a third")
}

func clocksApart(ctx context.Context, s *stage) error {
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return err
	}
	s.p[1].ahead.Add(int64(life + time.Second))
	return s.meet(ctx, first, s.p[1], "the other's clock said that the lease had ended")
}

func twoExpirers(ctx context.Context, s *stage) error {
	if _, err := s.p[0].Try(ctx, s.name); err != nil {
		return err
	}
	s.p[0].kill()
	if err := s.lapse(ctx); err != nil {
		return err
	}
	second, err := s.expire(ctx, s.p[1])
	if err != nil {
		return err
	}
	third, err := s.expire(ctx, s.p[2])
	if err != nil {
		return err
	}
	one, other := second(), third()
	if one == nil && other == nil {
		return errors.New("neither of two has the free lock")
	}
	if one == nil {
		one, other = other, one
	}
	if other != nil {
		_ = other.finish(ctx, func() {})
	}
	if err := one.finish(ctx, func() {}); err != nil {
		return err
	}
	err = s.judge(ctx, "both had the lock")
	if f, ok := errors.AsType[*fault](err); ok && f.Outcome == DeadLock {
		f.why = "the second put its stamp over the winner's, which cannot release the lock: it stays locked until that stamp expires"
	}
	return err
}

// expire lets a process find the expired lease. It returns when the process is about to take the
// lock over in another command, or is done.
func (s *stage) expire(ctx context.Context, p *process) (join func() *sitting, err error) {
	g := newGate()
	p.valve.gate.Store(g)
	done := make(chan *sitting, 1)
	failed := make(chan error, 1)
	go func() {
		got, err := p.sit(ctx, s.name)
		p.valve.gate.Store(nil)
		if err != nil && !errors.Is(err, ErrBusy) {
			failed <- err
		}
		done <- got
	}()
	select {
	case <-g.arrived:
		return func() *sitting { g.open(); return <-done }, nil
	case got := <-done:
		select {
		case err = <-failed:
		default:
		}
		return func() *sitting { return got }, err
	}
}

func twoServers(ctx context.Context, s *stage) error {
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return err
	}
	return s.meet(ctx, first, s.p[1], "each server has a lock of its own")
}

func beforeCommit(ctx context.Context, s *stage) error {
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return err
	}
	var join func() error
	var failed error
	err = first.finish(ctx, func() { join, failed = s.comes(ctx, s.p[1]) })
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	_ = join() // it may have found the lock held
	return s.judge(ctx, "the next one counted before the first had committed")
}

func holderDies(ctx context.Context, s *stage) error {
	if _, err := s.p[0].sit(ctx, s.name); err != nil {
		return err
	}
	s.p[0].kill()
	if s.v.Leased && !s.v.Session {
		if err := s.p[1].order(ctx, s.name); !errors.Is(err, ErrBusy) {
			return &fault{TwoHolders, fmt.Sprintf("the lock was free before its lease had ended: %v", err)}
		}
		if err := s.lapse(ctx); err != nil {
			return err
		}
	}
	return s.judge(ctx, "the dead process wrote")
}

func lateWrite(ctx context.Context, s *stage) error {
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return err
	}
	if err := s.lapse(ctx); err != nil {
		return err
	}
	return s.meet(ctx, first, s.p[1], "the late write was not refused")
}

func longWork(ctx context.Context, s *stage) error {
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return err
	}
	if err := clock.Sleep(ctx, s.p[0].TTL*5/4); err != nil {
		return err
	}
	return s.meet(ctx, first, s.p[1], "the lease ended while its holder worked")
}

func storeLoses(ctx context.Context, s *stage) error {
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return err
	}
	if err := s.everywhere(ctx); err != nil {
		return err
	}
	if err := s.lose(ctx, 1, s.p[0]); err != nil {
		return err
	}
	return s.meet(ctx, first, s.p[1], "another process got the lock, and the first wrote anyway")
}

func twoNodesFail(ctx context.Context, s *stage) error {
	s.p[0].nodes[s.v.Nodes-1].cut()
	first, err := s.p[0].sit(ctx, s.name)
	if err != nil {
		return s.judge(ctx, "the lock was refused") // right: it was not everywhere
	}
	if err := s.lose(ctx, 1, s.p[0]); err != nil {
		return err
	}
	return s.meet(ctx, first, s.p[1], "another process got the lock from another majority")
}

func lossNotified(ctx context.Context, s *stage) error {
	h, err := s.p[0].Try(ctx, s.name)
	if err != nil {
		return err
	}
	t, ok := h.(Notifier)
	if !ok {
		_ = h.Unlock(ctx)
		return &fault{NotNotified, "the scheme has no notification"}
	}
	if err := s.everywhere(ctx); err != nil {
		return err
	}
	if err := s.lose(ctx, s.v.Nodes, s.p[0]); err != nil {
		return err
	}
	select {
	case <-t.Context().Done():
		return nil
	case <-time.After(patience):
		return &fault{NotNotified, fmt.Sprintf("its context is not cancelled after %v", patience)}
	}
}
