package shop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/ent/shoptype"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func fromRow(r *ent.Shop) *Shop {
	s := &Shop{
		ID: r.ID, TypeID: r.TypeID, OwnerID: r.OwnerID, Name: r.Name, Area: r.Area, Address: r.Address,
		At: geo.Point{Lat: r.Lat, Lng: r.Lng}, AvgPrice: r.AvgPrice, Sold: r.Sold,
		CommentCount: r.CommentCount, Score: r.Score, OpenHours: r.OpenHours, Version: r.Version,
	}
	for _, i := range r.Images {
		s.Images = append(s.Images, Image{URL: i.URL, ThumbnailURL: i.URL, Width: optional.OrNil(i.Width), Height: optional.OrNil(i.Height)})
	}
	return s
}

func typeFromRow(r *ent.ShopType) *Type {
	return &Type{ID: r.ID, Name: r.Name, IconURL: r.IconURL, Sort: r.Sort}
}

// Types returns all types, in the order in which they are listed.
func (s *Service) Types(ctx context.Context) ([]Type, error) {
	ctx, span := observe.Span(ctx, "shop.Types")
	defer span.End()
	ids, err := s.kinds.Get(ctx, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("list shop types: %w", err)
	}
	found, err := s.types.GetMany(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d shop types: %w", len(ids), err)
	}
	types := make([]Type, 0, len(ids))
	for _, id := range ids {
		if t, ok := found[id]; ok {
			types = append(types, t)
		}
	}
	return types, nil
}

// isKind reports whether there is a type, from the cached list: a number that
// somebody made up costs no statement and leaves nothing in the cache.
func (s *Service) isKind(ctx context.Context, id int64) (bool, error) {
	ids, err := s.kinds.Get(ctx, struct{}{})
	if err != nil {
		return false, fmt.Errorf("list shop types: %w", err)
	}
	return slices.Contains(ids, id), nil
}

// PlantCatalogue stores the types of [Catalogue] that are missing and renames
// those whose name has changed. Any number of processes may do so at once.
func (s *Service) PlantCatalogue(ctx context.Context) error {
	before, err := s.db.ShopType.Query().All(ctx)
	if err != nil {
		return fmt.Errorf("select shop types: %w", err)
	}
	stored := map[string]*ent.ShopType{}
	for _, t := range before {
		stored[t.Key] = t
	}
	var missing []*ent.ShopTypeCreate
	for _, k := range Catalogue() {
		old := stored[k.Key]
		if old != nil && old.Name == k.Name && old.Sort == k.Sort {
			continue
		}
		missing = append(missing, s.db.ShopType.Create().SetKey(k.Key).SetName(k.Name).SetSort(k.Sort))
	}
	if len(missing) == 0 {
		return s.announceTypes(ctx)
	}
	err = s.db.ShopType.CreateBulk(missing...).OnConflictColumns(shoptype.FieldKey).
		Update(func(u *ent.ShopTypeUpsert) { u.UpdateName().UpdateSort() }).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store %d shop types: %w", len(missing), err)
	}
	return s.announceTypes(ctx)
}

// announceTypes drops all that is cached of types, at every start: the start that
// stored some may have ended before it told the cache.
func (s *Service) announceTypes(ctx context.Context) error {
	ids, err := s.db.ShopType.Query().IDs(ctx)
	if err == nil {
		err = errors.Join(s.types.Invalidate(ctx, ids...), s.tables.types.Changed(ctx))
	}
	if err != nil {
		return fmt.Errorf("drop cached shop types: %w", err)
	}
	return nil
}

// Count says how many shops are stored. It reads the whole table: not for
// requests.
func (s *Service) Count(ctx context.Context) (int, error) { return s.db.Shop.Query().Count(ctx) }

// within keeps the rows whose position falls into one of the spans.
func within(spans []geo.Span) func(*sql.Selector) {
	return func(sel *sql.Selector) {
		if len(spans) == 0 {
			sel.Where(sql.False())
			return
		}
		either := make([]*sql.Predicate, len(spans))
		for i, s := range spans {
			either[i] = sql.And(sql.GTE(sel.C(entshop.FieldGeo), s.Lo), sql.LT(sel.C(entshop.FieldGeo), s.Hi))
		}
		sel.Where(sql.Or(either...))
	}
}
