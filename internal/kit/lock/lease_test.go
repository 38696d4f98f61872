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

// fakeStore grants every lock. Its extend function answers renewals.
type fakeStore struct {
	began  time.Time
	ttl    time.Duration
	extend func(ctx context.Context) error
	mu     sync.Mutex
	at     []time.Duration // times of renewals, and of the expiry (negative)
}

func (s *fakeStore) Try(_ context.Context, r Request) (Grant, error) {
	s.ttl = r.TTL
	return &fakeGrant{s}, nil
}

func (s *fakeStore) Acquire(ctx context.Context, r Request) (Grant, error) { return s.Try(ctx, r) }

type fakeGrant struct{ *fakeStore }

func (g fakeGrant) Until() time.Time               { return time.Now().Add(g.ttl) }
func (g *fakeGrant) Release(context.Context) error { return nil }
func (g *fakeGrant) Expire()                       { g.record(-time.Since(g.began)) }

func (s *fakeStore) record(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, at)
}

func (g *fakeGrant) Extend(ctx context.Context) (time.Time, error) {
	g.record(time.Since(g.began))
	until := g.Until()
	return until, g.extend(ctx)
}

func TestRenewalsAndEndOfContext(t *testing.T) {
	const ttl, maxHold = 12 * time.Second, 30 * time.Second
	down := errors.New("down")
	for _, tt := range []struct {
		name     string
		lease    time.Duration
		extend   func(n int, ctx context.Context) error
		renewals []time.Duration // and, negative, of the expiry
		ended    time.Duration
		why      error
	}{
		{
			"renewed at each third until MaxHold", 0,
			func(int, context.Context) error { return nil },
			[]time.Duration{4 * time.Second, 8 * time.Second, 12 * time.Second, 16 * time.Second, 20 * time.Second, 24 * time.Second, 28 * time.Second, -40 * time.Second},
			maxHold, ErrMaxHold,
		},
		{
			"a failing store is retried at each twelfth", 0,
			func(int, context.Context) error { return down },
			[]time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second, 9 * time.Second, 10 * time.Second, 11 * time.Second, -12 * time.Second},
			ttl - ttl/20, ErrLost,
		},
		{
			"a store that recovers in time", 0,
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
			"a hung renewal", 0,
			func(_ int, ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			[]time.Duration{4 * time.Second, -12 * time.Second},
			ttl - ttl/20, ErrLost,
		},
		{
			"a fixed TTL is not renewed", 2 * time.Second,
			func(int, context.Context) error { return nil },
			[]time.Duration{-2 * time.Second},
			1900 * time.Millisecond, ErrMaxHold,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s := &fakeStore{began: time.Now()}
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
					t.Errorf("context ended after %v, want %v", got, tt.ended)
				}
				if got := context.Cause(lease.Context()); !errors.Is(got, tt.why) {
					t.Errorf("got cause %v", got)
				}
				time.Sleep(time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				if diff := cmp.Diff(tt.renewals, s.at); diff != "" {
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

// The locks begin and end in any order.
func TestLocksWithDifferentTTLsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{began: time.Now(), extend: func(context.Context) error { return nil }}
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
			t.Errorf("got cause %v of a released lease", context.Cause(released.Context()))
		}
	})
}
