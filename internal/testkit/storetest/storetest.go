// Package storetest gives a room's tests both pairs of stores. It stands apart
// from testkit because it needs kit/store, whose tests need testkit.
package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/store"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// Stores are where a room's test keeps its data: empty at first, shared by all
// who open them.
type Stores struct {
	SQL   store.SQLConfig
	Redis store.RedisConfig
}

// Each runs a test on SQLite with the embedded Redis, and on PostgreSQL
// with a real one.
func Each(t *testing.T, test func(*testing.T, Stores)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, embedded(t)) })
	t.Run("real", func(t *testing.T) {
		test(t, Stores{store.SQLConfig{URL: testkit.Postgres(t)}, store.RedisConfig{URL: testkit.Redis(t), Role: "state"}})
	})
}

// EachAndCluster is Each, and a third time with a Redis Cluster of
// three: for what scripts and pipelines do.
func EachAndCluster(t *testing.T, test func(*testing.T, Stores)) {
	t.Helper()
	Each(t, test)
	t.Run("cluster", func(t *testing.T) {
		test(t, Stores{store.SQLConfig{URL: testkit.Postgres(t)}, store.RedisConfig{URL: testkit.RedisCluster(t), Role: "state"}})
	})
}

func embedded(t *testing.T) Stores {
	s, err := embedredis.Start(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Without its clock nothing expires.
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var clock sync.WaitGroup
	clock.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() {
		stop()
		clock.Wait()
		_ = s.Close()
	})
	return Stores{store.SQLConfig{DataDir: t.TempDir()}, store.RedisConfig{URL: "redis://embedded", Role: "state", Dial: s.Dial}}
}
