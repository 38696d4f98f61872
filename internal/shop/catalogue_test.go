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

// configOf returns the Config of a Service on the stores of a process.
func configOf(from storetest.Process, reg prometheus.Registerer) Config {
	return Config{
		Redis: from.Redis, Prefix: storetest.Prefix, Pictures: storetest.AnyPictures{}, Icons: storetest.AnyPictures{},
		Registerer: reg, Log: from.Log,
	}
}

// singleProcess opens a Service of the embedded mode, with memory cache and existence filter.
func singleProcess(t *testing.T, from storetest.Process) *Service {
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

// Reads of a type before it exists do not hide it.
func TestNewTypeIsListedAtOnce(t *testing.T) {
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
			t.Errorf("got %d types, want %d", len(types), len(Catalogue()))
		}
		page, err := s.List(t.Context(), Query{TypeID: 1, First: 5})
		_ = page
		if err != nil {
			t.Error(err)
		}
	})
}

// A process stores the new name of a type, but cannot reach Redis.
func TestCatalogueChangeIsPublishedByAnotherProcess(t *testing.T) {
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
		// Cache the name of an older release.
		s.db.ShopType.UpdateOneID(first[0].ID).SetName("Old").ExecX(t.Context())
		if err := other.InvalidateTypes(t.Context(), first[0].ID); err != nil || name() != "Old" {
			t.Fatal(name(), err)
		}
		w.set(cut)
		if err := s.SaveCatalogue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := name(); got != "Old" {
			t.Fatalf("invalid test: the cache has %q", got)
		}
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 10*time.Second, func() bool { return name() == first[0].Name })
	})
}

func manyDrafts(n int, typ string) []Draft {
	var d []Draft
	for i := range n {
		d = append(d, Draft{ExternalID: fmt.Sprint("r", i), Type: typ, Name: fmt.Sprint("Shop ", i), Address: "a", Lat: 21, Lng: 105, Score: 3})
	}
	return d
}

// The cache reports a committed row as absent before its invalidation, or without one if the
// reply to the INSERT was lost.
func TestRowUnknownToCacheDoesNotEndList(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s := singleProcess(t, storetest.Open(t, on))
		put(t, s, manyDrafts(10, Catalogue()[0].Key)...)
		deadline := time.Now().Add(5 * time.Second)
		for id := int64(1000); ; id++ { // until the filter exists; memory holds absent ids
			if _, err := s.ByID(t.Context(), id); err == nil {
				t.Fatalf("got missing shop %d", id)
			}
			excluded := int64(0)
			for _, st := range s.hubStats() {
				excluded += st.Excluded
			}
			if excluded > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("got no existence filter")
			}
			time.Sleep(20 * time.Millisecond)
		}
		first, err := s.List(t.Context(), Query{Order: ByNewest, First: 1})
		if err != nil {
			t.Fatal(err)
		}
		model := s.db.Shop.GetX(t.Context(), first.Edges[0].Node.ID)
		orphan := s.db.Shop.Create().SetTypeID(model.TypeID).SetName("Orphan").SetLat(21).SetLng(105).SetGeo(geo.Hash(geo.Point{Lat: 21, Lng: 105})).SetSearch("orphan").SaveX(t.Context())
		// Any later write to the table.
		put(t, s, Draft{ExternalID: "later", Type: Catalogue()[0].Key, Name: "Later", Address: "a", Lat: 21, Lng: 105, Score: 3})
		page, err := s.List(t.Context(), Query{Order: ByNewest, First: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Edges) != 5 || !page.Info.HasNextPage {
			t.Errorf("first 5 of 12 shops: got %d edges, hasNextPage %v", len(page.Edges), page.Info.HasNextPage)
		}
		if _, err := s.ByID(t.Context(), orphan.ID); err != nil {
			t.Errorf("cannot read a committed row: %v", err)
		}
		_ = ent.IsNotFound
	})
}

func (s *Service) hubStats() []cache.Stats { return []cache.Stats{s.shops.Stats()} }
