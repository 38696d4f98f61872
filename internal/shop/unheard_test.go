package shop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// alone is a Service as the embedded mode has it: L1 and guard on.
// configOf returns the Config of a Service on the stores of a process.
func configOf(from storetest.Process, reg prometheus.Registerer) Config {
	return Config{
		Redis: from.Redis, Prefix: storetest.Prefix, Pictures: storetest.AnyPictures{}, Icons: storetest.AnyPictures{},
		Registerer: reg, Log: from.Log,
	}
}

func alone(t *testing.T, from storetest.Process) *Service {
	t.Helper()
	hub, err := cache.NewClient(from.Redis, cache.Options{Prefix: storetest.Prefix, Log: from.Log, SingleProcess: true, LocalBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := New(from.DB, hub, from.NewOutbox(t), configOf(from, prometheus.NewRegistry()))
	if err := s.SaveCatalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { _ = hub.Run(ctx) })
	t.Cleanup(func() { cancel(); g.Wait(); hub.Wait() })
	return s
}

// A new type that somebody asked for before it was there.
func TestANewTypeIsListedAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		from := storetest.Open(t, on)
		s := New(from.DB, from.Hub, from.NewOutbox(t), configOf(from, from.Registry))
		if _, err := s.TypesByID(t.Context(), []int64{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveCatalogue(t.Context()); err != nil {
			t.Fatal(err)
		}
		types, err := s.Types(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(types) != len(Catalogue()) {
			t.Errorf("%d types listed, %d stored", len(types), len(Catalogue()))
		}
		page, err := s.List(t.Context(), Query{TypeID: 1, First: 5})
		_ = page
		if err != nil {
			t.Error(err)
		}
	})
}

// A start that stored a type's new name and could not tell Redis.
func TestPlantingIsToldByAnotherProcess(t *testing.T) {
	eachWire(t, func(t *testing.T, process func(*wire) *Service) {
		var w wire
		s, other := process(&w), process(nil)
		first, err := other.Types(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		name := func() string {
			types, err := other.Types(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return types[0].Name
		}
		// An older release's name, cached.
		s.db.ShopType.UpdateOneID(first[0].ID).SetName("Old").ExecX(t.Context())
		if err := other.InvalidateTypes(t.Context(), first[0].ID); err != nil || name() != "Old" {
			t.Fatal(name(), err)
		}
		w.become(cut)
		if err := s.SaveCatalogue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := name(); got != "Old" {
			t.Fatalf("the cache says %q: the test tests nothing", got)
		}
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 10*time.Second, func() bool { return name() == first[0].Name })
	})
}

func many(n int, typ string) []Draft {
	var d []Draft
	for i := range n {
		d = append(d, Draft{ExternalID: fmt.Sprint("r", i), Type: typ, Name: fmt.Sprint("Shop ", i), Address: "a", Lat: 21, Lng: 105, Score: 3})
	}
	return d
}

// A row in the database that the entity cache calls absent: committed, and not
// announced yet (or never: the reply to the INSERT was lost).
func TestAnUnannouncedRowDoesNotEndTheList(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s := alone(t, storetest.Open(t, on))
		put(t, s, many(10, Catalogue()[0].Key)...)
		deadline := time.Now().Add(5 * time.Second)
		for id := int64(1000); ; id++ { // until the guard is built; that there is no such shop stays in memory
			if _, err := s.ByID(t.Context(), id); err == nil {
				t.Fatalf("there is %d", id)
			}
			excluded := int64(0)
			for _, st := range s.hubStats() {
				excluded += st.Excluded
			}
			if excluded > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("no guard")
			}
			time.Sleep(20 * time.Millisecond)
		}
		first, err := s.List(t.Context(), Query{Order: ByNewest, First: 1})
		if err != nil {
			t.Fatal(err)
		}
		model := s.db.Shop.GetX(t.Context(), first.Edges[0].Node.ID)
		orphan := s.db.Shop.Create().SetTypeID(model.TypeID).SetName("Orphan").SetLat(21).SetLng(105).SetGeo(geo.Hash(geo.Point{Lat: 21, Lng: 105})).SetSearch("orphan").SaveX(t.Context())
		// any later write to the table
		put(t, s, Draft{ExternalID: "later", Type: Catalogue()[0].Key, Name: "Later", Address: "a", Lat: 21, Lng: 105, Score: 3})
		page, err := s.List(t.Context(), Query{Order: ByNewest, First: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Edges) != 5 || !page.Info.HasNextPage {
			t.Errorf("12 shops stored; first 5: %d edges, hasNextPage %v", len(page.Edges), page.Info.HasNextPage)
		}
		if _, err := s.ByID(t.Context(), orphan.ID); err != nil {
			t.Errorf("a committed row cannot be read: %v", err)
		}
		_ = ent.IsNotFound
	})
}

func (s *Service) hubStats() []cache.Stats { return []cache.Stats{s.shops.Stats()} }
