package shop

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Outbox topics of this package.
const (
	shopsChanged = "shops" // ids of shops that were inserted or changed
	typesChanged = "shop-types"
)

// openOutbox registers the outbox handlers. They run if the writer fails after its commit.
func (s *Service) openOutbox() {
	s.outbox.Handle(shopsChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
	s.outbox.Handle(typesChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.InvalidateTypes)})
}

// Invalidate publishes that rows of shops were inserted, changed or deleted, by any
// program. It invalidates the cached rows and all cached lists, and adds existing shops to
// the GEO cells. It is idempotent and may run late: cells tolerate old positions, because
// readers check the row.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	rows, err := s.db.Shop.Query().Where(entshop.IDIn(ids...)).
		Select(entshop.FieldID, entshop.FieldTypeID, entshop.FieldLat, entshop.FieldLng).All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d shops: %w", len(ids), err))
	}
	entries := make([]geoEntry, len(rows))
	for i, r := range rows {
		entries[i] = entryOf(r)
	}
	return s.invalidate(ctx, ids, entries)
}

func entryOf(r *ent.Shop) geoEntry {
	return geoEntry{r.ID, r.TypeID, geo.Point{Lat: r.Lat, Lng: r.Lng}}
}

// invalidate is Invalidate with the entries of the existing shops.
func (s *Service) invalidate(ctx context.Context, ids []int64, entries []geoEntry) error {
	types := make([]int64, len(entries))
	for i, e := range entries {
		types[i] = e.typeID
	}
	err := errors.Join(s.shops.Invalidate(ctx, ids...), s.cells.insert(ctx, entries), s.tables.shops.Invalidate(ctx),
		s.invalidateRankings(ctx, types, Trending, TopRated, BestSelling))
	return outbox.Transient(err) // Redis is unavailable
}

// InvalidateTypes is [Service.Invalidate] for types.
func (s *Service) InvalidateTypes(ctx context.Context, ids ...int64) error {
	return outbox.Transient(errors.Join(s.types.Invalidate(ctx, ids...), s.tables.types.Invalidate(ctx)))
}

// afterEdit updates Redis after the commit of one shop. It replaces the cached row, so
// that the readers of a popular shop need no load.
//
// It returns no error, because the write succeeded: after an error, a client would create
// the shop twice. The outbox repeats the update if Redis fails or the process crashes.
func (s *Service) afterEdit(ctx context.Context, shop *Shop, job []outbox.JobRef) {
	entries := []geoEntry{{shop.ID, shop.TypeID, shop.At}}
	if len(job) == 0 { // no write; a cached row of this version may still differ
		s.outbox.Finish(ctx, s.invalidate(ctx, []int64{shop.ID}, entries))
		return
	}
	_, err := s.shops.Put(ctx, shop.ID, *shop)
	err = errors.Join(err, s.cells.insert(ctx, entries), s.tables.shops.Invalidate(ctx),
		s.invalidateRankings(ctx, []int64{shop.TypeID}, Trending, TopRated, BestSelling))
	s.outbox.Finish(ctx, err, job...)
}
