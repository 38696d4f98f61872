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

// attended is a cache that counts what its hub has it do.
type maintainedFake struct{ Tended, Remembered int }

func (m *maintainedFake) Stats() Stats                      { return Stats{Name: "attended"} }
func (m *maintainedFake) maintain(context.Context)          { m.Tended++ }
func (m *maintainedFake) warmPrefix() (string, bool)        { m.Remembered++; return "", false }
func (m *maintainedFake) Warm(context.Context) (int, error) { return 0, nil }

func TestRunMaintainsCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) {
			t.Errorf("somebody asks Redis:\n%s", debug.Stack())
			return nil, errors.New("nobody is to ask")
		}})
		defer func() { _ = rdb.Close() }()
		h, err := NewClient(rdb, Options{SingleProcess: true})
		if err != nil {
			t.Fatal(err)
		}
		h.epoch.Store(1) // not to be asked for
		m := new(maintainedFake)
		h.caches = append(h.caches, m)
		h.hot.add("key", 400)
		if got := h.clock.now.Load(); got != math.MaxInt64 {
			t.Errorf("the clock stands at %d before Run", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		time.Sleep(2*hotKeysEvery + maintainEvery/2)
		synctest.Wait()
		if behind := time.Since(h.clock.zero) - time.Duration(h.clock.now.Load()); behind < 0 || behind > tickEvery {
			t.Errorf("the clock is %v behind", behind)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(&maintainedFake{Tended: 121, Remembered: 3}, m); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]HotKey{{"key", 100}}, h.HotKeys(1)); diff != "" {
			t.Error(diff)
		}
		if got := h.clock.now.Load(); got != math.MaxInt64 {
			t.Errorf("the clock stands at %d after Run", got)
		}
	})
}
