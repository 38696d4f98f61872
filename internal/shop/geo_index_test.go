package shop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// eachStack runs a test on SQLite with the embedded Redis, and on Postgres with a real one.
// process opens a Service of another process.
func eachStack(t *testing.T, test func(t *testing.T, process func() *Service)) {
	t.Helper()
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		test(t, func() *Service { return process(nil) })
	})
}

// eachWire is eachStack with a wire to Redis, which the test can cut. A nil wire is plain.
func eachWire(t *testing.T, test func(t *testing.T, process func(*wire) *Service)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) { test(t, processes(t, on)) })
}

// eachRedis is eachStack, plus a cluster of three nodes, for scripts and pipelines.
func eachRedis(t *testing.T, test func(t *testing.T, process func() *Service)) {
	t.Helper()
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		process := processes(t, on)
		test(t, func() *Service { return process(nil) })
	})
}

// processes returns a function that opens Services on the same stores.
func processes(t *testing.T, on storetest.Stores) func(*wire) *Service {
	return func(w *wire) *Service {
		t.Helper()
		over := on
		over.Redis.Dial = w.around(on.Redis.Dial)
		from := storetest.Open(t, over)
		s := New(from.DB, from.Hub, from.NewOutbox(t), configOf(from, from.Registry))
		if err := s.SaveCatalogue(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func put(t *testing.T, s *Service, drafts ...Draft) {
	t.Helper()
	if _, err := s.Upsert(t.Context(), drafts, func(int) {}); err != nil {
		t.Fatal(err)
	}
}

// scattered returns n drafts around a point, most of them close to it.
func scattered(rnd *rand.Rand, name string, n int) []Draft {
	drafts := make([]Draft, n)
	types := []string{"cafe", "bar", "hotel"}
	for i := range drafts {
		spread := 0.2 * rnd.Float64() * rnd.Float64()
		drafts[i] = Draft{
			ExternalID: fmt.Sprintf("%s:%d", name, i), Type: types[rnd.IntN(len(types))], Name: fmt.Sprintf("%s %d", name, i),
			Lat: 21.04 + (rnd.Float64()-0.5)*spread, Lng: 105.8 + (rnd.Float64()-0.5)*spread,
		}
	}
	return drafts
}

// build runs all enqueued rebuilds.
func build(t *testing.T, s *Service) {
	t.Helper()
	for {
		select {
		case id := <-s.cells.queue:
			s.cells.rebuildOne(t.Context(), id)
		default:
			return
		}
	}
}

// searchBuilt builds the cells around the circle and returns the sorted ids in them with a
// current position.
func searchBuilt(t *testing.T, s *Service, typeID int64, c geo.Circle) []int64 {
	t.Helper()
	for range 20 {
		all, ok := s.cells.within(t.Context(), typeID, c, 100_000)
		list := all.list
		if !ok {
			build(t, s)
			continue
		}
		found, err := s.ByIDs(t.Context(), ids(list))
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, m := range list {
			if f := found[m.id]; f != nil && m.geo == geo.Hash(f.At) && c.Center.Distance(f.At) <= c.Radius-slack && (typeID == 0 || f.TypeID == typeID) {
				got = append(got, m.id)
			}
		}
		slices.Sort(got)
		return got
	}
	t.Fatal("the cells are still missing after 20 rebuilds")
	return nil
}

// searchRows is searchBuilt on the rows.
func searchRows(t *testing.T, s *Service, typeID int64, c geo.Circle) []int64 {
	t.Helper()
	rows, err := s.db.Shop.Query().All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	for _, r := range rows {
		if c.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng}) <= c.Radius-slack && (typeID == 0 || r.TypeID == typeID) {
			want = append(want, r.ID)
		}
	}
	slices.Sort(want)
	return want
}

func TestLargeCellsAreSplitWithoutLoss(t *testing.T) {
	seed := testkit.Seed(t)
	eachRedis(t, func(t *testing.T, process func() *Service) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := process()
		s.cells.max = 20
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 30_000}
		total := 0
		for round, n := range []int{10, 15, 60, 200} {
			put(t, s, scattered(rnd, fmt.Sprintf("round%d", round), n)...)
			total += n
			if got, want := searchBuilt(t, s, 0, circle), searchRows(t, s, 0, circle); !slices.Equal(got, want) {
				t.Fatalf("with %d shops: got %d in cells, want %d", total, len(got), len(want))
			}
		}
		// No set exceeds the maximum, except those that cannot be split.
		split := 0
		for _, key := range scan(t, s.cells.rdb, "td:shop:geo:*") {
			n := s.cells.rdb.ZCard(t.Context(), key).Val()
			name := key[strings.Index(key, "{")+1 : strings.Index(key, "}")]
			if n > int64(s.cells.max) && len(name) < maxCellPrecision {
				t.Errorf("%s: got %d members, want at most %d", key, n, s.cells.max)
			}
			if s.cells.rdb.ZScore(t.Context(), key, markSplit).Err() == nil {
				split++
			}
		}
		if split == 0 {
			t.Error("invalid test: no cell was split")
		}
	})
}

// scan returns the matching keys of all masters.
func scan(t *testing.T, rdb redis.Cmdable, match string) []string {
	t.Helper()
	var mu sync.Mutex
	var keys []string
	one := func(ctx context.Context, c *redis.Client) error {
		iter := c.Scan(ctx, 0, match, 1000).Iterator()
		for iter.Next(ctx) {
			mu.Lock()
			keys = append(keys, iter.Val())
			mu.Unlock()
		}
		return iter.Err()
	}
	var err error
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(t.Context(), one)
	case *redis.Client:
		err = one(t.Context(), c)
	}
	if err != nil || len(keys) == 0 {
		t.Fatalf("no keys %s: %v", match, err)
	}
	return keys
}

func TestTypeCellsHoldOnlyThatType(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		put(t, s, scattered(rand.New(rand.NewPCG(1, 1)), "typed", 60)...)
		types, err := s.typesByKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 20_000}
		for _, key := range []string{"cafe", "bar", "hotel", "cinema"} {
			got, want := searchBuilt(t, s, types[key], circle), searchRows(t, s, types[key], circle)
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", key, got, want)
			}
		}
	})
}

// A shop that is committed between the read of the rows and the publication is in the cell.
func TestShopCommittedDuringRebuildIsNotLost(t *testing.T) {
	eachRedis(t, func(t *testing.T, process func() *Service) {
		builder, writer := process(), process()
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 20_000}
		put(t, writer, scattered(rand.New(rand.NewPCG(2, 1)), "before", 5)...)
		cell := cellID{0, geo.CellOf(circle.Center, cellPrecision)}

		// First half of a rebuild: begin the draft and read the rows.
		draft := builder.cells.keys.cellDraft(0, cell.cell)
		number, err := builder.cells.begin(t.Context(), draft)
		if err != nil {
			t.Fatal(err)
		}
		shops, err := builder.cells.rows(t.Context(), cell)
		if err != nil {
			t.Fatal(err)
		}
		put(t, writer, scattered(rand.New(rand.NewPCG(2, 2)), "meanwhile", 5)...)
		// Second half.
		if n := finish(t, builder.cells, cell, number, shops); n != 1 {
			t.Fatalf("publish: got %d, want 1", n)
		}
		key := builder.cells.keys.cell(0, cell.cell)
		now, err := builder.cells.rows(t.Context(), cell)
		if err != nil || len(now) <= len(shops) {
			t.Fatalf("invalid test: the cell got no shop meanwhile: %v", err)
		}
		if got := builder.cells.rdb.ZCard(t.Context(), key).Val(); int(got) != 1+len(now) {
			t.Errorf("got %d members, want the mark and %d shops", got, len(now))
		}
		if got, want := searchBuilt(t, builder, 0, circle), searchRows(t, builder, 0, circle); !slices.Equal(got, want) {
			t.Errorf("got %d shops, want %d", len(got), len(want))
		}
	})
}

// finish is the second half of a rebuild: it fills the draft with rows and publishes it.
func finish(t *testing.T, c *geoIndex, id cellID, number int64, shops []geoEntry) int {
	t.Helper()
	draft := c.keys.cellDraft(id.typeID, id.cell)
	if _, err := c.fill.Run(t.Context(), c.rdb, []string{draft}, geoArgs(shops, number, 60_000)...).Int(); err != nil {
		t.Fatal(err)
	}
	n, err := c.publish.Run(t.Context(), c.rdb, []string{c.keys.cell(id.typeID, id.cell), draft}, number, c.max, 1000, 60_000, "").Int()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A slow builder must not publish a draft that began after it read the rows: the draft lacks
// the shops committed in between.
func TestLateBuilderPublishesNoNewerDraft(t *testing.T) {
	eachRedis(t, func(t *testing.T, process func() *Service) {
		late, other := process(), process()
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.7}, Radius: 5_000}
		id := cellID{0, geo.CellOf(circle.Center, cellPrecision)}
		at := func(name string) Draft {
			return Draft{ExternalID: name, Type: "bar", Name: name, Lat: 21.04, Lng: 105.7}
		}
		put(t, other, at("first"))
		number, err := late.cells.begin(t.Context(), late.cells.keys.cellDraft(0, id.cell))
		if err != nil {
			t.Fatal(err)
		}
		shops, err := late.cells.rows(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		// Meanwhile another process publishes, the cell is lost, and a shop is added.
		if err := other.cells.rebuild(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		other.cells.rdb.Unlink(t.Context(), other.cells.keys.cell(0, id.cell))
		put(t, other, at("second"))
		if _, err := other.cells.begin(t.Context(), other.cells.keys.cellDraft(0, id.cell)); err != nil {
			t.Fatal(err)
		}
		if n := finish(t, late.cells, id, number, shops); n != 0 {
			t.Errorf("the late builder published the new draft: got %d", n)
		}
		if got := searchBuilt(t, other, 0, circle); len(got) != 2 {
			t.Errorf("got %d shops, want 2", len(got))
		}
	})
}

// A cell is split, merged and split again. Its children must not have the old content.
func TestChildrenOfEarlierSplitAreDropped(t *testing.T) {
	eachRedis(t, func(t *testing.T, process func() *Service) {
		s := process()
		s.cells.max = 10
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.7}, Radius: 5_000}
		parent := cellID{0, geo.CellOf(circle.Center, cellPrecision)}
		row := func(i int, lat float64) Draft {
			return Draft{ExternalID: fmt.Sprint("s", i), Type: "bar", Name: fmt.Sprint("S", i), Lat: lat, Lng: 105.7 + float64(i)*1e-4}
		}
		move := func(from, to int, lat float64) {
			for i := from; i < to; i++ {
				put(t, s, row(i, lat))
			}
		}
		move(0, 12, 21.04)
		if got := searchBuilt(t, s, 0, circle); len(got) != 12 { // split, with children
			t.Fatalf("got %d shops, want 12", len(got))
		}
		move(0, 8, 10) // most shops move away
		s.cells.rdb.Unlink(t.Context(), s.cells.keys.cell(0, parent.cell))
		if got := searchBuilt(t, s, 0, circle); len(got) != 4 { // not split
			t.Fatalf("got %d shops, want 4", len(got))
		}
		move(20, 28, 21.04) // others are added
		if got := searchBuilt(t, s, 0, circle); len(got) != 12 {
			t.Errorf("after the second split: got %d shops, want 12", len(got))
		}
	})
}

func TestMovedShopIsFoundOnlyAtNewPosition(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		at := func(lat float64) Draft {
			return Draft{ExternalID: "mover", Type: "cafe", Name: "Mover", Lat: lat, Lng: 105.8}
		}
		around := func(lat, radius float64) []Edge {
			p, err := s.List(t.Context(), Query{Near: &geo.Circle{Center: geo.Point{Lat: lat, Lng: 105.8}, Radius: radius}, First: 10})
			if err != nil {
				t.Fatal(err)
			}
			return p.Edges
		}
		places := []float64{21.00, 21.01, 21.00, 22.00, 21.00} // within a cell, out of it, and back
		put(t, s, at(places[0]))
		for _, lat := range places {
			searchBuilt(t, s, 0, geo.Circle{Center: geo.Point{Lat: lat, Lng: 105.8}, Radius: 5010}) // builds the cells
		}
		for _, lat := range places {
			put(t, s, at(lat))
			for _, look := range []float64{21.00, 21.01, 22.00} {
				if got := around(look, 500); (len(got) == 1) != (look == lat) {
					t.Errorf("shop at %v: got %d shops at %v", lat, len(got), look)
				}
			}
			if got := around(21.005, 5000); len(got) > 1 {
				t.Errorf("shop at %v: got %d shops in a circle with two of its positions", lat, len(got))
			}
		}
	})
}

func TestCellsExpire(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		sea := geo.Circle{Center: geo.Point{Lat: 10, Lng: -150}, Radius: 1000}
		if got := searchBuilt(t, s, 0, sea); len(got) != 0 {
			t.Fatalf("got shops in the sea: %v", got)
		}
		key := s.cells.keys.cell(0, geo.CellOf(sea.Center, cellPrecision))
		ttl := s.cells.rdb.PTTL(t.Context(), key).Val()
		if ttl <= 0 || ttl > emptyCellTTL {
			t.Errorf("empty cell: got TTL %v, want at most %v", ttl, emptyCellTTL)
		}
		put(t, s, Draft{ExternalID: "isle", Type: "bar", Name: "Isle", Lat: 10, Lng: -150})
		if got := searchBuilt(t, s, 0, sea); len(got) != 1 {
			t.Errorf("got no shop on the island")
		}
	})
}

func TestCirclesAcrossDateLineUseRows(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		put(t, s,
			Draft{ExternalID: "west", Type: "bar", Name: "West", Lat: -17, Lng: 179.999},
			Draft{ExternalID: "east", Type: "bar", Name: "East", Lat: -17, Lng: -179.998},
		)
		p, err := s.List(t.Context(), Query{Near: &geo.Circle{Center: geo.Point{Lat: -17, Lng: 180}, Radius: 5000}, First: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Edges) != 2 || p.Edges[0].Node.Name != "West" || p.Edges[1].Node.Name != "East" {
			t.Errorf("got %+v, want West, East", p.Edges)
		}
	})
}

func TestProcessesBuildAndWriteConcurrently(t *testing.T) {
	seed := testkit.Seed(t)
	eachRedis(t, func(t *testing.T, process func() *Service) {
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 30_000}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		all := []*Service{process(), process(), process()}
		done := make(chan error, len(all))
		for i, s := range all {
			s.cells.max = 40
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			go func() {
				for round := range 8 {
					if _, err := s.Upsert(ctx, scattered(rnd, fmt.Sprintf("p%d-%d", i, round), 12), func(int) {}); err != nil {
						done <- err
						return
					}
					_, _ = s.cells.within(ctx, 0, circle, 100)
					for len(s.cells.queue) > 0 {
						s.cells.rebuildOne(ctx, <-s.cells.queue)
					}
				}
				done <- nil
			}()
		}
		for range all {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		want := searchRows(t, all[0], 0, circle)
		for i, s := range all {
			if got := searchBuilt(t, s, 0, circle); !slices.Equal(got, want) {
				t.Errorf("process %d: got %d shops, want %d", i, len(got), len(want))
			}
		}
	})
}
