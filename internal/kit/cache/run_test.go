package cache

import (
	"context"
	"errors"
	"math"
	"net"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// maintainedFake counts the calls of its client.
type maintainedFake struct{ Maintained, PrefixReads int }

func (m *maintainedFake) Stats() Stats                      { return Stats{Name: "attended"} }
func (m *maintainedFake) maintain(context.Context)          { m.Maintained++ }
func (m *maintainedFake) warmPrefix() (string, bool)        { m.PrefixReads++; return "", false }
func (m *maintainedFake) Warm(context.Context) (int, error) { return 0, nil }

func TestRunMaintainsCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) {
			t.Errorf("unexpected Redis dial:\n%s", debug.Stack())
			return nil, errors.New("unexpected dial")
		}})
		defer func() { _ = rdb.Close() }()
		h, err := NewClient(rdb, Options{SingleProcess: true})
		if err != nil {
			t.Fatal(err)
		}
		h.epoch.Store(1) // known, so it is not read
		m := new(maintainedFake)
		h.caches = append(h.caches, m)
		h.hot.add("key", 400)
		if got := h.clock.now.Load(); got != math.MaxInt64 {
			t.Errorf("before Run: got clock %d, want stopped", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		time.Sleep(2*hotKeysEvery + maintainEvery/2)
		synctest.Wait()
		if behind := time.Since(h.clock.zero) - time.Duration(h.clock.now.Load()); behind < 0 || behind > tickEvery {
			t.Errorf("got clock %v late, want at most a tick", behind)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(&maintainedFake{Maintained: 121, PrefixReads: 3}, m); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]HotKey{{"key", 100}}, h.HotKeys(1)); diff != "" {
			t.Error(diff)
		}
		if got := h.clock.now.Load(); got != math.MaxInt64 {
			t.Errorf("after Run: got clock %d, want stopped", got)
		}
	})
}
