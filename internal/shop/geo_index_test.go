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

// eachStack runs a test on SQLite with the embedded Redis and on Postgres with
// a real one. The test gets a way to make Services, as of several processes.
func eachStack(t *testing.T, test func(t *testing.T, process func() *Service)) {
	t.Helper()
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		test(t, func() *Service { return process(nil) })
	})
}

// eachWire is eachStack for a test that gives a Service a wire to Redis, to cut
// it. A nil wire is a plain one.
func eachWire(t *testing.T, test func(t *testing.T, process func(*wire) *Service)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) { test(t, processes(t, on)) })
}

// eachRedis is eachStack, and a third time on a cluster of three: for what
// scripts and pipelines do.
func eachRedis(t *testing.T, test func(t *testing.T, process func() *Service)) {
	t.Helper()
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		process := processes(t, on)
		test(t, func() *Service { return process(nil) })
	})
}

// processes returns a way to make Services on the same stores.
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

// scattered makes n drafts around a place, most of them close to it.
func scattered(rnd *rand.Rand, name string, n int) []Draft {
	drafts := make([]Draft, n)
	specs := []string{"cafe", "bar", "hotel"}
	for i := range drafts {
		spread := 0.2 * rnd.Float64() * rnd.Float64()
		drafts[i] = Draft{
			ExternalID: fmt.Sprintf("%s:%d", name, i), Type: specs[rnd.IntN(len(specs))], Name: fmt.Sprintf("%s %d", name, i),
			Lat: 21.04 + (rnd.Float64()-0.5)*spread, Lng: 105.8 + (rnd.Float64()-0.5)*spread,
		}
	}
	return drafts
}

// build rebuilds what readers have asked for, until nothing is asked for.
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

// settledWithin settles the cells around the circle and returns the ids that they
// give, sorted, those whose member is at the row's place.
func settledWithin(t *testing.T, s *Service, typeID int64, c geo.Circle) []int64 {
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
	t.Fatal("the cells do not settle")
	return nil
}

// plainly is the same from the rows.
func plainly(t *testing.T, s *Service, typeID int64, c geo.Circle) []int64 {
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

func TestCellsThatGrowTooBigAreSplitAndLoseNoShop(t *testing.T) {
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
			if got, want := settledWithin(t, s, 0, circle), plainly(t, s, 0, circle); !slices.Equal(got, want) {
				t.Fatalf("with %d shops the cells give %d of %d", total, len(got), len(want))
			}
		}
		// No set is bigger than the bound, but for those that cannot be split.
		split := 0
		for _, key := range scan(t, s.cells.rdb, "td:shop:geo:*") {
			n := s.cells.rdb.ZCard(t.Context(), key).Val()
			name := key[strings.Index(key, "{")+1 : strings.Index(key, "}")]
			if n > int64(s.cells.max) && len(name) < maxCellPrecision {
				t.Errorf("%s has %d members, more than %d", key, n, s.cells.max)
			}
			if s.cells.rdb.ZScore(t.Context(), key, markSplit).Err() == nil {
				split++
			}
		}
		if split == 0 {
			t.Error("no cell was split: the test tests nothing")
		}
	})
}

// scan returns the keys that match, on every master of a cluster.
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

func TestCellsOfATypeHoldThatTypeAlone(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		put(t, s, scattered(rand.New(rand.NewPCG(1, 1)), "typed", 60)...)
		types, err := s.typesByKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 20_000}
		for _, key := range []string{"cafe", "bar", "hotel", "cinema"} {
			got, want := settledWithin(t, s, types[key], circle), plainly(t, s, types[key], circle)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
	})
}

// Whatever happens between the moment a rebuild reads the rows and the moment
// it publishes, a shop that was committed meanwhile is in the cell.
func TestAShopCommittedDuringARebuildIsNotLost(t *testing.T) {
	eachRedis(t, func(t *testing.T, process func() *Service) {
		builder, writer := process(), process()
		circle := geo.Circle{Center: geo.Point{Lat: 21.04, Lng: 105.8}, Radius: 20_000}
		put(t, writer, scattered(rand.New(rand.NewPCG(2, 1)), "before", 5)...)
		cell := cellID{0, geo.CellOf(circle.Center, cellPrecision)}

		// The first half of a rebuild, by hand: the draft is begun, the rows are read.
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
		// The second half.
		if n := finish(t, builder.cells, cell, number, shops); n != 1 {
			t.Fatalf("publish = %d", n)
		}
		key := builder.cells.keys.cell(0, cell.cell)
		now, err := builder.cells.rows(t.Context(), cell)
		if err != nil || len(now) <= len(shops) {
			t.Fatalf("no shop was added to the cell meanwhile: %v", err)
		}
		if got := builder.cells.rdb.ZCard(t.Context(), key).Val(); int(got) != 1+len(now) {
			t.Errorf("the cell has %d members, want the mark and %d shops", got, len(now))
		}
		if got, want := settledWithin(t, builder, 0, circle), plainly(t, builder, 0, circle); !slices.Equal(got, want) {
			t.Errorf("%d of %d shops are found", len(got), len(want))
		}
	})
}

// finish is the second half of a rebuild: it fills the draft with rows that
// were read before and publishes it.
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

// A builder that was asleep must not publish a draft that was begun after it
// had read the rows: the draft lacks what was committed in between.
func TestALateBuilderDoesNotPublishAnothersDraft(t *testing.T) {
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
		// Meanwhile another process publishes; the cell is lost; a shop is added.
		if err := other.cells.rebuild(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		other.cells.rdb.Unlink(t.Context(), other.cells.keys.cell(0, id.cell))
		put(t, other, at("second"))
		if _, err := other.cells.begin(t.Context(), other.cells.keys.cellDraft(0, id.cell)); err != nil {
			t.Fatal(err)
		}
		if n := finish(t, late.cells, id, number, shops); n != 0 {
			t.Errorf("the late builder published the new draft: %d", n)
		}
		if got := settledWithin(t, other, 0, circle); len(got) != 2 {
			t.Errorf("%d of 2 shops are found", len(got))
		}
	})
}

// A cell that was split, became whole and is split again must not show what
// its parts held the first time.
func TestPartsOfAnEarlierSplitAreNotTrusted(t *testing.T) {
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
		if got := settledWithin(t, s, 0, circle); len(got) != 12 { // split, with parts
			t.Fatalf("%d of 12 shops", len(got))
		}
		move(0, 8, 10) // most go away
		s.cells.rdb.Unlink(t.Context(), s.cells.keys.cell(0, parent.cell))
		if got := settledWithin(t, s, 0, circle); len(got) != 4 { // whole again
			t.Fatalf("%d of 4 shops", len(got))
		}
		move(20, 28, 21.04) // and others come
		if got := settledWithin(t, s, 0, circle); len(got) != 12 {
			t.Errorf("%d of 12 shops after the second split", len(got))
		}
	})
}

func TestAMovedShopIsFoundOnlyWhereItIs(t *testing.T) {
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
			settledWithin(t, s, 0, geo.Circle{Center: geo.Point{Lat: lat, Lng: 105.8}, Radius: 5010}) // builds the cells
		}
		for _, lat := range places {
			put(t, s, at(lat))
			for _, look := range []float64{21.00, 21.01, 22.00} {
				if got := around(look, 500); (len(got) == 1) != (look == lat) {
					t.Errorf("at %v: %d shops are found at %v", lat, len(got), look)
				}
			}
			if got := around(21.005, 5000); len(got) > 1 {
				t.Errorf("at %v: the shop is found %d times by a circle over two of its places", lat, len(got))
			}
		}
	})
}

func TestNoCellStaysForEver(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		sea := geo.Circle{Center: geo.Point{Lat: 10, Lng: -150}, Radius: 1000}
		if got := settledWithin(t, s, 0, sea); len(got) != 0 {
			t.Fatalf("shops in the sea: %v", got)
		}
		key := s.cells.keys.cell(0, geo.CellOf(sea.Center, cellPrecision))
		ttl := s.cells.rdb.PTTL(t.Context(), key).Val()
		if ttl <= 0 || ttl > emptyCellTTL {
			t.Errorf("the empty cell lives for %v, want at most %v", ttl, emptyCellTTL)
		}
		put(t, s, Draft{ExternalID: "isle", Type: "bar", Name: "Isle", Lat: 10, Lng: -150})
		if got := settledWithin(t, s, 0, sea); len(got) != 1 {
			t.Errorf("the shop on the island is not found")
		}
	})
}

func TestCirclesOverTheDateLineAreAnsweredFromRows(t *testing.T) {
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
			t.Errorf("found %+v, want West and then East", p.Edges)
		}
	})
}

func TestManyProcessesMayBuildAndWriteAtOnce(t *testing.T) {
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
		want := plainly(t, all[0], 0, circle)
		for i, s := range all {
			if got := settledWithin(t, s, 0, circle); !slices.Equal(got, want) {
				t.Errorf("process %d finds %d of %d shops", i, len(got), len(want))
			}
		}
	})
}
