package order

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// compareAll walks over all lists once.
func (sh *shelf) compareAll(t *testing.T) {
	t.Helper()
	at, err := sh.compareSome(t.Context(), sh.p.DB, cache.ScanCursor{})
	for ; err == nil && at != (cache.ScanCursor{}); at, err = sh.compareSome(t.Context(), sh.p.DB, at) {
		if t.Context().Err() != nil {
			t.Fatal("the walk does not end")
		}
	}
	sh.must(t, err)
}

// kept reports whether a user's list is in Redis.
func (sh *shelf) kept(t *testing.T, user int64) bool {
	t.Helper()
	n, err := sh.p.Redis.Exists(t.Context(), sh.listKey(user)).Result()
	sh.must(t, err)
	return n == 1
}

func TestListsThatAreWrongAreDropped(t *testing.T) {
	put := func(number, ms int64) listEntry { return listEntry{ann, number, someDay + ms} }
	cases := []struct {
		name   string
		rows   int64                               // orders 1, 2 … before the list is read; it holds ten
		change func(t *testing.T, sh *shelf) error // of the list, or of the rows behind its back
		kept   bool
	}{
		{"a right one stays", 3, nil, true},
		{"an empty one stays", 0, nil, true},
		{"a full one stays", 10, nil, true},
		{"one that goes on below stays", 15, nil, true},
		{"one that was added to stays", 9, func(t *testing.T, sh *shelf) error {
			for n := int64(10); n < 14; n++ {
				sh.order(t, at(n, n))
			}
			return nil
		}, true},
		{"an empty one that should not be is dropped", 0, func(t *testing.T, sh *shelf) error {
			sh.insert(t, at(1, 1))
			return nil
		}, false},
		{"one that lacks the newest is dropped", 15, func(t *testing.T, sh *shelf) error {
			sh.insert(t, at(16, 16))
			return nil
		}, false},
		{"one that lacks an order in between is dropped", 15, func(t *testing.T, sh *shelf) error {
			return sh.p.Redis.ZRem(t.Context(), sh.listKey(ann), at(12, 12).entry().Member).Err()
		}, false},
		{"one that lacks the oldest is dropped", 5, func(t *testing.T, sh *shelf) error {
			return sh.p.Redis.ZRem(t.Context(), sh.listKey(ann), at(1, 1).entry().Member).Err()
		}, false},
		{"one that says it is whole and is not is dropped", 15, func(t *testing.T, sh *shelf) error {
			return sh.p.Redis.ZAddXX(t.Context(), sh.listKey(ann), redis.Z{Score: math.Inf(-1), Member: ""}).Err()
		}, false},
		{"one with an order that there is not is dropped", 5, func(t *testing.T, sh *shelf) error {
			return sh.lists.add(t.Context(), []listEntry{put(99, 3)})
		}, false},
		{"one with an order in another place is dropped", 5, func(t *testing.T, sh *shelf) error {
			return sh.lists.add(t.Context(), []listEntry{put(3, 30)})
		}, false},
		{"one that an order may be on its way to stays", 5, func(t *testing.T, sh *shelf) error {
			o := at(6, 6)
			o.CreatedAt = time.Now()
			sh.insert(t, o)
			return nil
		}, true},
	}
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		sh := openShelf(t, on, Config{ListSize: 10})
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
				if got := sh.kept(t, ann); got != c.kept {
					t.Errorf("kept is %v", got)
				}
				if got := sh.count(t, "tandian_order_lists_compared_total", "wrong") - wrong; (got == 0) != c.kept {
					t.Errorf("%v lists counted as wrong", got)
				}
			})
		}
	})
}

// entry is where the list has an order.
func (o Order) entry() cache.Entry { return placeOf(&o).entry() }

// count reads a metric.
func (sh *shelf) count(t *testing.T, name, label string) float64 {
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
	t.Fatalf("there is no %s of %s", name, label)
	return 0
}
