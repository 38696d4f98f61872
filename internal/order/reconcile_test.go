package order

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// compareAll compares all lists once.
func (sh *listFixture) compareAll(t *testing.T) {
	t.Helper()
	at, err := sh.compareSome(t.Context(), sh.p.DB, cache.ScanCursor{})
	for ; err == nil && at != (cache.ScanCursor{}); at, err = sh.compareSome(t.Context(), sh.p.DB, at) {
		if t.Context().Err() != nil {
			t.Fatal("the scan does not end")
		}
	}
	sh.must(t, err)
}

// isCached reports whether a user's list is in Redis.
func (sh *listFixture) isCached(t *testing.T, user int64) bool {
	t.Helper()
	n, err := sh.p.Redis.Exists(t.Context(), sh.listKey(user)).Result()
	sh.must(t, err)
	return n == 1
}

func TestWrongListsAreDropped(t *testing.T) {
	put := func(number, ms int64) listEntry { return listEntry{ann, number, baseMs + ms} }
	cases := []struct {
		name   string
		rows   int64                                     // orders 1, 2 … before the list is read; maximum ten
		change func(t *testing.T, sh *listFixture) error // changes the list, or rows without it
		kept   bool
	}{
		{"correct", 3, nil, true},
		{"empty", 0, nil, true},
		{"full", 10, nil, true},
		{"more orders below", 15, nil, true},
		{"after adds", 9, func(t *testing.T, sh *listFixture) error {
			for n := int64(10); n < 14; n++ {
				sh.order(t, at(n, n))
			}
			return nil
		}, true},
		{"wrongly empty", 0, func(t *testing.T, sh *listFixture) error {
			sh.insert(t, at(1, 1))
			return nil
		}, false},
		{"newest missing", 15, func(t *testing.T, sh *listFixture) error {
			sh.insert(t, at(16, 16))
			return nil
		}, false},
		{"middle order missing", 15, func(t *testing.T, sh *listFixture) error {
			return sh.p.Redis.ZRem(t.Context(), sh.listKey(ann), at(12, 12).entry().Member).Err()
		}, false},
		{"oldest missing", 5, func(t *testing.T, sh *listFixture) error {
			return sh.p.Redis.ZRem(t.Context(), sh.listKey(ann), at(1, 1).entry().Member).Err()
		}, false},
		{"wrongly marked complete", 15, func(t *testing.T, sh *listFixture) error {
			return sh.p.Redis.ZAddXX(t.Context(), sh.listKey(ann), redis.Z{Score: math.Inf(-1), Member: ""}).Err()
		}, false},
		{"unknown order", 5, func(t *testing.T, sh *listFixture) error {
			return sh.lists.add(t.Context(), []listEntry{put(99, 3)})
		}, false},
		{"wrong position", 5, func(t *testing.T, sh *listFixture) error {
			return sh.lists.add(t.Context(), []listEntry{put(3, 30)})
		}, false},
		{"young order missing", 5, func(t *testing.T, sh *listFixture) error {
			o := at(6, 6)
			o.CreatedAt = time.Now()
			sh.insert(t, o)
			return nil
		}, true},
	}
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{ListSize: 10})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				for n := range c.rows {
					sh.insert(t, at(n+1, n+1))
				}
				sh.page(t, ann, Filter{})
				if c.change != nil {
					sh.must(t, c.change(t, sh))
				}
				wrong := sh.count(t, "tandian_order_lists_compared_total", "wrong")
				sh.compareAll(t)
				if got := sh.isCached(t, ann); got != c.kept {
					t.Errorf("got cached = %v, want %v", got, c.kept)
				}
				if got := sh.count(t, "tandian_order_lists_compared_total", "wrong") - wrong; (got == 0) != c.kept {
					t.Errorf("got %v wrong lists, want dropped = %v", got, !c.kept)
				}
			})
		}
	})
}

// entry returns the list entry of an order.
func (o Order) entry() cache.Entry { return keyOf(&o).entry() }

// count reads a metric.
func (sh *listFixture) count(t *testing.T, name, label string) float64 {
	t.Helper()
	return counterOf(t, sh.p, name, label)
}

func counterOf(t *testing.T, p storetest.Process, name, label string) float64 {
	t.Helper()
	families, err := p.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("metric %s with label %s not found", name, label)
	return 0
}
