package shop

import (
	"context"
	"fmt"
	"strconv"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/ent/shoptype"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func fromRow(r *ent.Shop) *Shop {
	s := &Shop{
		ID: r.ID, TypeID: r.TypeID, OwnerID: r.OwnerID, Name: r.Name, Area: r.Area, Address: r.Address,
		At: geo.Point{Lat: r.Lat, Lng: r.Lng}, AvgPrice: r.AvgPrice, Sold: r.Sold,
		CommentCount: r.CommentCount, Score: r.Score, OpenHours: r.OpenHours,
	}
	for _, i := range r.Images {
		s.Images = append(s.Images, Image{URL: i.URL, ThumbnailURL: i.URL, Width: optional.OrNil(i.Width), Height: optional.OrNil(i.Height)})
	}
	return s
}

func typeFromRow(r *ent.ShopType) *Type {
	return &Type{ID: r.ID, Name: r.Name, IconURL: r.IconURL, Sort: r.Sort}
}

func (s *Service) loadShops(ctx context.Context, ids []int64) (map[int64]Shop, error) {
	rows, err := s.db.Shop.Query().Where(entshop.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d shops: %w", len(ids), err)
	}
	found := make(map[int64]Shop, len(rows))
	for _, r := range rows {
		found[r.ID] = *fromRow(r)
	}
	return found, nil
}

func (s *Service) loadTypes(ctx context.Context, ids []int64) (map[int64]Type, error) {
	rows, err := s.db.ShopType.Query().Where(shoptype.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d shop types: %w", len(ids), err)
	}
	found := make(map[int64]Type, len(rows))
	for _, r := range rows {
		found[r.ID] = *typeFromRow(r)
	}
	return found, nil
}

// Types returns all types, in the order in which they are listed.
func (s *Service) Types(ctx context.Context) ([]Type, error) {
	ctx, span := observe.Span(ctx, "shop.Types")
	defer span.End()
	rows, err := s.db.ShopType.Query().Order(shoptype.BySort(), shoptype.ByID()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select shop types: %w", err)
	}
	types := make([]Type, len(rows))
	for i, r := range rows {
		types[i] = *typeFromRow(r)
	}
	return types, nil
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
	var changed []int64
	for _, k := range Catalogue() {
		old := stored[k.Key]
		if old != nil && old.Name == k.Name && old.Sort == k.Sort {
			continue
		}
		missing = append(missing, s.db.ShopType.Create().SetKey(k.Key).SetName(k.Name).SetSort(k.Sort))
		if old != nil {
			changed = append(changed, old.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err = s.db.ShopType.CreateBulk(missing...).OnConflictColumns(shoptype.FieldKey).
		Update(func(u *ent.ShopTypeUpsert) { u.UpdateName().UpdateSort() }).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store %d shop types: %w", len(missing), err)
	}
	if err := s.types.Invalidate(ctx, changed...); err != nil {
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
