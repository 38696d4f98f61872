package cache

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkWindow compares a page of 20 of 200 entries with its lower bound: the same ZRANGE
// with the same deadline.
func BenchmarkWindow(b *testing.B) {
	r := startRedis(b)
	rdb := r.client()
	defer func() { _ = rdb.Close() }()
	h, err := NewClient(rdb, Options{})
	if err != nil {
		b.Fatal(err)
	}
	var all []Entry
	for i := range 200 {
		all = append(all, Entry{fmt.Sprintf("%019d", i), 1_795_303_468_123 + int64(i)})
	}
	all = newestFirst(all)
	win := windowOf(h, newLists(1, all...).load, WindowPolicy{})
	ctx := b.Context()
	if _, _, err := win.Page(ctx, 1, nil, 20); err != nil {
		b.Fatal(err)
	}
	runs := []struct {
		name string
		once func() error
	}{
		{"raw ZRANGE REV", func() error {
			ctx, cancel := context.WithTimeout(ctx, h.timeout)
			defer cancel()
			return rdb.ZRevRangeWithScores(ctx, win.nameOf(1), 0, 19).Err()
		}},
		{"first page", func() error { _, _, err := win.Page(ctx, 1, nil, 20); return err }},
		{"fifth page", func() error { _, _, err := win.Page(ctx, 1, &all[79], 20); return err }},
		{"Add", func() error { return win.Add(ctx, 1, all[0]) }},
	}
	for _, run := range runs {
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := run.once(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
