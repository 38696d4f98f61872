package redisdb

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestBlockingClientWaitsLongerThanItsOriginal(t *testing.T) {
	for name, url := range map[string]string{"one server": testkit.Redis(t), "a cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			rdb := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: url, Role: "state", Timeout: 250 * time.Millisecond})
			blocking, err := NewBlockingClient(rdb, 30*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = blocking.Close() }()
			read := func(rdb redis.UniversalClient) error {
				_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
					p.XRead(t.Context(), &redis.XReadArgs{Streams: []string{"none", "0"}, Block: 500 * time.Millisecond})
					return nil
				})
				return err
			}
			if err := read(rdb); err == nil || err == redis.Nil { //nolint:errorlint // it is not wrapped
				t.Errorf("original client: got %v, want a timeout", err)
			}
			if err := read(blocking); err != redis.Nil { //nolint:errorlint // it is not wrapped
				t.Error(err)
			}
		})
	}
}

// A connection does not detect a failover, so its lifetime is short.
func TestBlockingClientReconnectsThroughSentinel(t *testing.T) {
	for url, want := range map[string]time.Duration{
		"redis+sentinel://host?master_name=m": masterConnLifetime,
		"redis://host":                        0,
	} {
		rdb, err := newClient(RedisConfig{URL: url, Role: "state", Dial: refuse})
		if err != nil {
			t.Fatal(err)
		}
		blocking, err := NewBlockingClient(rdb, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		o := blocking.(*redis.Client).Options() //nolint:forcetypeassert // both are
		if diff := cmp.Diff(want, o.ConnMaxLifetime); diff != "" {
			t.Errorf("%s: %s", url, diff)
		}
		if o.MaxRetries != 0 {
			t.Errorf("%s: got %d retries", url, o.MaxRetries)
		}
		_ = blocking.Close()
		_ = rdb.Close()
	}
}

// A client with maintenance notifications writes to its options when it connects. The race detector
// reports a copy of these.
func TestNewBlockingClientIsSafeDuringConnect(t *testing.T) {
	o, err := redis.ParseURL(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	var all sync.WaitGroup
	all.Go(func() { _ = rdb.Ping(t.Context()).Err() })
	all.Go(func() {
		blocking, err := NewBlockingClient(rdb, time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		_ = blocking.Close()
	})
	all.Wait()
}

func TestNewBlockingClientRejectsOtherTypes(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	if _, err := NewBlockingClient(ring, time.Second); err == nil || !strings.Contains(err.Error(), "*redis.Ring") {
		t.Error(err)
	}
}
