package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestMetricsArePresentFromTheStart(t *testing.T) {
	m := miniredis.RunT(t)
	rdb := newClient("tcp", m.Addr())
	defer func() { _ = rdb.Close() }()
	reg := prometheus.NewPedanticRegistry()
	h, err := NewClient(rdb, Options{Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	rows := newTable(1)
	c := cacheOf(h, rows.load, Policy{})
	newCache(h, Policy{Name: "idle"}, strconv.Itoa, rows.load)

	names := []string{
		"hits", "misses", "loads", "load_calls", "load_errors", "stores_refused", "negative_hits", "waits",
		"redis_errors", "undecodable", "oversize", "local_hits", "excluded", "stale_served", "limited", "busy", "refreshes", "local_evictions",
	}
	want := make(map[string]float64)
	for _, name := range names {
		for _, policy := range []string{"row", "idle"} {
			want[fmt.Sprintf("tandian_cache_%s_total %s", name, policy)] = 0
		}
	}
	for _, name := range []string{"local_bytes", "local_limit_bytes"} {
		for _, policy := range []string{"row", "idle"} {
			want[fmt.Sprintf("tandian_cache_%s %s", name, policy)] = 0
		}
	}
	if diff := cmp.Diff(want, gather(t, reg)); diff != "" {
		t.Error("at the start", diff)
	}
	mustGet(t, c, 1)
	mustGet(t, c, 1)
	mustGet(t, c, 1)
	want["tandian_cache_hits_total row"] = 2
	for _, name := range []string{"misses", "loads", "load_calls"} {
		want["tandian_cache_"+name+"_total row"] = 1
	}
	if diff := cmp.Diff(want, gather(t, reg)); diff != "" {
		t.Error("after three reads", diff)
	}
	if _, err := NewClient(rdb, Options{Registerer: reg}); err == nil {
		t.Error("a second client on one registry is no error")
	}
}

func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return got
}

func TestNewRejectsInvalidNames(t *testing.T) {
	h, err := NewClient(newClient("tcp", "localhost:0"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if client, ok := h.rdb.(io.Closer); ok {
		defer func() { _ = client.Close() }()
	}
	rows := newTable()
	newCache(h, Policy{Name: "taken"}, strconv.Itoa, rows.load)
	for _, name := range []string{"", "taken", "a:b", "a{b}", "Shop", "店"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New accepted %q", name)
				}
			}()
			newCache(h, Policy{Name: name}, strconv.Itoa, rows.load)
		}()
	}
	if _, err := NewClient(h.rdb, Options{Prefix: "td{1}"}); err == nil {
		t.Error("NewClient accepted a prefix with braces")
	}
}

func TestReadsWithoutRedisCallTheLoader(t *testing.T) {
	var logged bytes.Buffer
	rdb := newClient("unix", filepath.Join(t.TempDir(), "missing"))
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	rows := newTable(1, 2, 3)
	var ended error
	c := cacheOf(h, func(ctx context.Context, ids []int) (map[int]row, error) {
		ended = context.Cause(ctx)
		return rows.load(ctx, ids)
	}, Policy{})

	if diff := cmp.Diff(row{1, 1}, mustGet(t, c, 1)); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Get(t.Context(), 9); !errors.Is(err, ErrNotFound) {
		t.Errorf("absent: got %v, want ErrNotFound", err)
	}
	got, err := c.GetMany(t.Context(), []int{1, 2, 3, 4})
	if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff([][]int{{1}, {9}, {1, 2, 3, 4}}, rows.loads()); diff != "" {
		t.Error("loads", diff)
	}
	if ended != nil {
		t.Errorf("the load's context had ended: %v", ended)
	}
	if err := c.Invalidate(t.Context(), 1, 2); err == nil || !strings.Contains(err.Error(), "invalidate 2 keys of cache row") {
		t.Errorf("Invalidate: %v, want an error", err)
	}
	if diff := cmp.Diff(Stats{Name: "row", Misses: 6, Loads: 6, LoadCalls: 3, RedisErrors: 4}, c.Stats()); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(logged.String(), "\n"); n != 1 {
		t.Errorf("got %d log lines, want one:\n%s", n, &logged)
	}
}

// A load whose result cannot be stored ends when its reader leaves.
func TestLoadWithoutRedisEndsWithItsReader(t *testing.T) {
	rdb := newClient("unix", filepath.Join(t.TempDir(), "missing"))
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	if err != nil {
		t.Fatal(err)
	}
	loading := make(chan struct{})
	c := cacheOf(h, func(ctx context.Context, _ []int) (map[int]row, error) {
		close(loading)
		<-ctx.Done()
		return nil, ctx.Err()
	}, Policy{})
	ctx, leave := context.WithCancel(t.Context())
	got := getLater(ctx, c, 1)
	receive(t, loading)
	leave()
	receive(t, got)
	h.Wait()
}

func TestReadsSurviveRedisFailureDuringLoad(t *testing.T) {
	m := miniredis.RunT(t)
	rdb := newClient("tcp", m.Addr())
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := newTable(1, 2)
	c := cacheOf(h, func(ctx context.Context, ids []int) (map[int]row, error) {
		m.Close()
		return rows.load(ctx, ids)
	}, Policy{})
	got, err := c.GetMany(t.Context(), []int{1, 2})
	if diff := cmp.Diff(rows.all(), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(Stats{Name: "row", Misses: 2, Loads: 2, LoadCalls: 1, RedisErrors: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
}

// A Redis that accepts connections and never replies delays a reader by one round-trip
// deadline. The key stays unlocked.
func TestHungRedisCostsOneTimeout(t *testing.T) {
	rdb := newClient("unix", hungServer(t))
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{RedisTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	rows := newTable(1)
	c := cacheOf(h, rows.load, Policy{})
	began := time.Now()
	mustGet(t, c, 1)
	if took := time.Since(began); took < 50*time.Millisecond || took > 2*time.Second {
		t.Errorf("took %v, want about 50ms", took)
	}
	if diff := cmp.Diff(Stats{Name: "row", Misses: 1, Loads: 1, LoadCalls: 1, RedisErrors: 1}, c.Stats()); diff != "" {
		t.Error(diff)
	}
}
