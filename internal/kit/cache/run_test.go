package cache

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// attended is a cache that counts what its hub has it do.
type attended struct{ Warmed, Tended, Remembered int }

func (m *attended) Stats() Stats               { return Stats{Name: "attended"} }
func (m *attended) tend(context.Context)       { m.Tended++ }
func (m *attended) remembers() (string, bool)  { m.Remembered++; return "", false }
func (m *attended) Warm(context.Context) error { m.Warmed++; return nil }

func TestAHubThatRunsTendsItsCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := newClient("tcp", "localhost:0") // which nobody asks
		defer func() { _ = rdb.Close() }()
		h, err := NewHub(rdb, Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := new(attended)
		h.caches = append(h.caches, m)
		h.hot.add("key", 400)
		if got := h.clock.now.Load(); got != math.MaxInt64 {
			t.Errorf("the clock stands at %d before Run", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		time.Sleep(2*fadeEvery + tendEvery/2)
		synctest.Wait()
		if behind := time.Since(h.clock.zero) - time.Duration(h.clock.now.Load()); behind < 0 || behind > tickEvery {
			t.Errorf("the clock is %v behind", behind)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(&attended{Warmed: 1, Tended: 121, Remembered: 3}, m); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]HotKey{{"key", 100}}, h.Hot(1)); diff != "" {
			t.Error(diff)
		}
		if got := h.clock.now.Load(); got != math.MaxInt64 {
			t.Errorf("the clock stands at %d after Run", got)
		}
	})
}
