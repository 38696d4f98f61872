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

// The topics of this room's jobs in the outbox.
const (
	shopsChanged = "shops" // ids of shops that were inserted or changed
	typesChanged = "shop-types"
)

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(shopsChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
	s.outbox.Handle(typesChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.InvalidateTypes)})
}

// Invalidate tells Redis and the other processes that rows of shops were inserted,
// changed or deleted, by whomever: what is cached of them is dropped, all cached
// lists too, and those that exist are put into the GEO cells. It may be repeated,
// late too: a cell keeps places that are no longer true, and readers ask the row.
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

func (s *Service) invalidate(ctx context.Context, ids []int64, entries []geoEntry) error {
	err := errors.Join(s.shops.Invalidate(ctx, ids...), s.cells.insert(ctx, entries), s.tables.shops.Invalidate(ctx))
	return outbox.Transient(err) // Redis is away
}

// InvalidateTypes is [Service.Invalidate] for types.
func (s *Service) InvalidateTypes(ctx context.Context, ids ...int64) error {
	return outbox.Transient(errors.Join(s.types.Invalidate(ctx, ids...), s.tables.types.Invalidate(ctx)))
}

// afterEdit tells of one shop that was committed. A cached row is replaced,
// not dropped: the readers of a popular shop need no load after its edit.
//
// It has no error, because the write stands: a client that saw one would create
// its shop twice. What Redis could not be told is left to the outbox, and so is
// what a crash after the commit leaves untold.
func (s *Service) afterEdit(ctx context.Context, shop *Shop, job []outbox.JobRef) {
	entries := []geoEntry{{shop.ID, shop.TypeID, shop.At}}
	if len(job) == 0 { // nothing was written: what is cached may differ all the same, in the same version
		s.outbox.Finish(ctx, s.invalidate(ctx, []int64{shop.ID}, entries))
		return
	}
	_, err := s.shops.Put(ctx, shop.ID, *shop)
	err = errors.Join(err, s.cells.insert(ctx, entries), s.tables.shops.Invalidate(ctx))
	s.outbox.Finish(ctx, err, job...)
}
