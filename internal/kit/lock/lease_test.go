package lock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a store that grants everything and does what a test says when it is
// asked to extend.
type script struct {
	began  time.Time
	ttl    time.Duration
	extend func(ctx context.Context) error
	mu     sync.Mutex
	at     []time.Duration // when it was asked to extend, and when given up (negative)
}

func (s *script) Try(_ context.Context, r Request) (Grant, error) {
	s.ttl = r.TTL
	return &scripted{s}, nil
}

func (s *script) Acquire(ctx context.Context, r Request) (Grant, error) { return s.Try(ctx, r) }

type scripted struct{ *script }

func (g scripted) Until() time.Time               { return time.Now().Add(g.ttl) }
func (g *scripted) Release(context.Context) error { return nil }
func (g *scripted) Expire()                       { g.note(-time.Since(g.began)) }

func (s *script) note(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, at)
}

func (g *scripted) Extend(ctx context.Context) (time.Time, error) {
	g.note(time.Since(g.began))
	until := g.Until()
	return until, g.extend(ctx)
}

func TestWhenALockIsRenewedAndWhenItsWorkEnds(t *testing.T) {
	const ttl, maxHold = 12 * time.Second, 30 * time.Second
	down := errors.New("down")
	for _, tt := range []struct {
		name   string
		lease  time.Duration
		extend func(n int, ctx context.Context) error
		asked  []time.Duration // and, negative, when it lapsed
		ended  time.Duration
		why    error
	}{
		{
			"renewed at each third, until it was held for too long", 0,
			func(int, context.Context) error { return nil },
			[]time.Duration{4 * time.Second, 8 * time.Second, 12 * time.Second, 16 * time.Second, 20 * time.Second, 24 * time.Second, 28 * time.Second, -40 * time.Second},
			maxHold, ErrMaxHold,
		},
		{
			"a store that is down is asked at each twelfth, until it is too late", 0,
			func(int, context.Context) error { return down },
			[]time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second, 9 * time.Second, 10 * time.Second, 11 * time.Second, -12 * time.Second},
			ttl - ttl/20, ErrLost,
		},
		{
			"one that is back in time is none", 0,
			func(n int, _ context.Context) error {
				if n < 3 {
					return down
				}
				return ErrGone
			},
			[]time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, -12 * time.Second},
			6 * time.Second, ErrLost,
		},
		{
			"a call that hangs stops nothing", 0,
			func(_ int, ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			[]time.Duration{4 * time.Second, -12 * time.Second},
			ttl - ttl/20, ErrLost,
		},
		{
			"a given lease is not renewed", 2 * time.Second,
			func(int, context.Context) error { return nil },
			[]time.Duration{-2 * time.Second},
			1900 * time.Millisecond, ErrMaxHold,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s := &script{began: time.Now()}
				s.extend = func(ctx context.Context) error {
					n++
					return tt.extend(n, ctx)
				}
				l, err := New(s, Options{TTL: ttl, MaxHold: maxHold})
				if err != nil {
					t.Fatal(err)
				}
				var o []Option
				if tt.lease > 0 {
					o = append(o, WithTTL(tt.lease))
				}
				lease, err := l.Acquire(t.Context(), "x", o...)
				if err != nil {
					t.Fatal(err)
				}
				<-lease.Context().Done()
				if got := time.Since(s.began); got != tt.ended {
					t.Errorf("the work ended after %v, not %v", got, tt.ended)
				}
				if got := context.Cause(lease.Context()); !errors.Is(got, tt.why) {
					t.Errorf("because %v", got)
				}
				time.Sleep(time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				if diff := cmp.Diff(tt.asked, s.at); diff != "" {
					t.Error(diff)
				}
				if err := lease.Release(t.Context()); !errors.Is(err, tt.why) {
					t.Errorf("release: %v", err)
				}
				if err := l.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLocksOfDifferentLivesEndInTime has them begin and end in any order.
func TestLocksOfDifferentLivesEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{began: time.Now(), extend: func(context.Context) error { return nil }}
		l, err := New(s, Options{TTL: time.Hour, MaxHold: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		take := func(name string, lease time.Duration) *Lease {
			h, err := l.Try(t.Context(), name, WithTTL(lease))
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		long, short, released := take("long", 10*time.Second), take("short", time.Second), take("released", 500*time.Millisecond)
		if err := released.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		middle := take("middle", 5*time.Second)
		var got []time.Duration
		for _, h := range []*Lease{short, middle, long} {
			<-h.Context().Done()
			got = append(got, time.Since(s.began))
		}
		if diff := cmp.Diff([]time.Duration{950 * time.Millisecond, 4750 * time.Millisecond, 9500 * time.Millisecond}, got); diff != "" {
			t.Error(diff)
		}
		if !errors.Is(context.Cause(released.Context()), ErrReleased) {
			t.Errorf("one that was released ended because %v", context.Cause(released.Context()))
		}
	})
}
