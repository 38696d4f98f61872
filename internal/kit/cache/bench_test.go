package cache

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

type profile struct {
	ID   int
	Name string
	Text string
}

// BenchmarkHit compares a hit with its lower bound: the same GET with the same deadline, and
// decoding the same JSON.
func BenchmarkHit(b *testing.B) {
	r := startRedis(b)
	rdb := r.client()
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := newCache(h, Policy{Name: "profile"}, strconv.Itoa, func(_ context.Context, ids []int) (map[int]profile, error) {
		m := make(map[int]profile)
		for _, id := range ids {
			m[id] = profile{id, "Noodles", strings.Repeat("x", 430)}
		}
		return m, nil
	})
	ctx := b.Context()
	ids := make([]int, 100)
	for i := range ids {
		ids[i] = i
	}
	if _, err := c.GetMany(ctx, ids); err != nil {
		b.Fatal(err)
	}
	keys := names(c.inside().wants(ids))
	decode := func(b *testing.B, record []byte) {
		var p profile
		if err := json.Unmarshal(record[headerSize:], &p); err != nil {
			b.Error(err)
		}
	}
	runs := []struct {
		name string
		once func(b *testing.B)
	}{
		{"raw GET", func(b *testing.B) {
			ctx, cancel := context.WithTimeout(ctx, h.timeout)
			defer cancel()
			record, err := rdb.Get(ctx, keys[0]).Bytes()
			if err != nil {
				b.Error(err)
			}
			decode(b, record)
		}},
		{"Get", func(b *testing.B) {
			if _, err := c.Get(ctx, 0); err != nil {
				b.Error(err)
			}
		}},
		{"raw MGET of 100", func(b *testing.B) {
			ctx, cancel := context.WithTimeout(ctx, h.timeout)
			defer cancel()
			records, err := rdb.MGet(ctx, keys...).Result()
			if err != nil {
				b.Error(err)
			}
			for _, record := range records {
				decode(b, []byte(record.(string)))
			}
		}},
		{"GetMany of 100", func(b *testing.B) {
			if _, err := c.GetMany(ctx, ids); err != nil {
				b.Error(err)
			}
		}},
	}
	for _, run := range runs {
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					run.once(b)
				}
			})
		})
	}
}

// BenchmarkLocalHit compares a local hit with a lookup in otter.
func BenchmarkLocalHit(b *testing.B) {
	h, err := NewClient(newClient("tcp", "localhost:0"), Options{LocalBytes: 1 << 20, SingleProcess: true}) // never used
	if err != nil {
		b.Fatal(err)
	}
	h.clock.now.Store(1)
	c := newCache(h, Policy{Name: "profile", Local: Local{Share: 1, Criteria: Hot | RarelyChanged | Small | MayBeStale}},
		func(id int64) string { return strconv.FormatInt(id, 10) },
		func(_ context.Context, ids []int64) (map[int64]profile, error) { return nil, nil })
	const keys = 1000
	for id := range int64(keys) {
		w := c.inside().want(id)
		f := c.inside().encode(b.Context(), &profile{int(id), "Noodles", "x"}, true, h.wall(), header{})
		c.inside().storeLocal(&w, f)
	}
	ctx := b.Context()
	b.Run("otter", func(b *testing.B) {
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			if _, ok := c.inside().local.entries.get(i % keys); !ok {
				b.Fatal("key is missing")
			}
		}
	})
	b.Run("Get", func(b *testing.B) {
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			if _, err := c.Get(ctx, i%keys); err != nil {
				b.Fatal(err)
			}
		}
	})
}
