package shop

import (
	"context"
	"embed"
	"fmt"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/ent/shoptype"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql/*.sql
var files embed.FS

type lookups struct {
	shops, types, lockCounts, lockRatings, updateVouchers sqldb.IDQuery
	addCounts, setRatings, addSaves, activity, setTrends  string
	searchTexts, rewrite                                  string
}

func openLookups(dialect string) lookups {
	var shops, types, lockCounts, lockRatings, updateVouchers string
	var l lookups
	if err := sqldb.ReadStatements(files, dialect, map[string]*string{
		"shops": &shops, "types": &types, "lock_counts": &lockCounts, "lock_ratings": &lockRatings,
		"add_counts": &l.addCounts, "set_ratings": &l.setRatings, "add_saves": &l.addSaves,
		"update_vouchers": &updateVouchers, "activity": &l.activity, "set_trends": &l.setTrends, "searchtexts": &l.searchTexts, "rewrite": &l.rewrite,
	}); err != nil {
		panic(fmt.Sprintf("shop: %v", err)) // the files are embedded
	}
	l.shops, l.types, l.lockCounts = sqldb.NewIDQuery(dialect, shops), sqldb.NewIDQuery(dialect, types), sqldb.NewIDQuery(dialect, lockCounts)
	l.updateVouchers = sqldb.NewIDQuery(dialect, updateVouchers)
	l.lockRatings = sqldb.NewIDQuery(dialect, lockRatings)
	return l
}

// Types returns all types, in list order.
func (s *Service) Types(ctx context.Context) ([]Type, error) {
	ctx, span := observe.Span(ctx, "shop.Types")
	defer span.End()
	ids, err := s.typeList.Get(ctx, struct{}{})
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

// typeExists reports whether a type exists, from the cached list. Invented ids cost no
// statement and no cache entry.
func (s *Service) typeExists(ctx context.Context, id int64) (bool, error) {
	ids, err := s.typeList.Get(ctx, struct{}{})
	if err != nil {
		return false, fmt.Errorf("list shop types: %w", err)
	}
	return slices.Contains(ids, id), nil
}

// SaveCatalogue stores the missing types of [Catalogue] and updates changed names and sort
// values. It is safe to run in several processes at once.
func (s *Service) SaveCatalogue(ctx context.Context) error {
	before, err := s.db.ShopType.Query().All(ctx)
	if err != nil {
		return fmt.Errorf("select shop types: %w", err)
	}
	stored := map[string]*ent.ShopType{}
	for _, t := range before {
		stored[t.Key] = t
	}
	var missing []TypeSpec
	for _, k := range Catalogue() {
		old := stored[k.Key]
		if old != nil && old.Name == k.Name && old.Sort == k.Sort {
			continue
		}
		missing = append(missing, k)
	}
	if len(missing) == 0 {
		return nil
	}
	var ids []int64
	var job []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		ids, err = upsertTypes(ctx, tx, missing)
		if err == nil {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, typesChanged, ids...)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store %d shop types: %w", len(missing), err)
	}
	s.outbox.Finish(ctx, s.InvalidateTypes(ctx, ids...), job...)
	return nil
}

func upsertTypes(ctx context.Context, tx *ent.Tx, specs []TypeSpec) ([]int64, error) {
	writes, keys := make([]*ent.ShopTypeCreate, len(specs)), make([]string, len(specs))
	for i, k := range specs {
		writes[i], keys[i] = tx.ShopType.Create().SetKey(k.Key).SetName(k.Name).SetSort(k.Sort), k.Key
	}
	err := tx.ShopType.CreateBulk(writes...).OnConflictColumns(shoptype.FieldKey).
		Update(func(u *ent.ShopTypeUpsert) { u.UpdateName().UpdateSort() }).Exec(ctx)
	if err != nil {
		return nil, err
	}
	return tx.ShopType.Query().Where(shoptype.KeyIn(keys...)).IDs(ctx)
}

// Count returns the number of shops. It scans the table, so do not call it in requests.
func (s *Service) Count(ctx context.Context) (int, error) { return s.db.Shop.Query().Count(ctx) }

const namesPerStatement = 500 // external ids

// IDsByExternalID returns the ids of shops by external id, without unknown ones. It runs one
// statement per 500 external ids, without caches, so do not call it in requests.
func (s *Service) IDsByExternalID(ctx context.Context, externalIDs []string) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, upsertTimeout)
	defer cancel()
	ids := make(map[string]int64, len(externalIDs))
	for names := range slices.Chunk(externalIDs, namesPerStatement) {
		rows, err := s.db.Shop.Query().Where(entshop.ExternalIDIn(names...)).Select(entshop.FieldID, entshop.FieldExternalID).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("select the ids of %d shops: %w", len(names), err)
		}
		for _, r := range rows {
			ids[*r.ExternalID] = r.ID
		}
	}
	return ids, nil
}

// Identities returns shops by external id, at the cost of [Service.IDsByExternalID].
func (s *Service) Identities(ctx context.Context, externalIDs []string) (map[string]Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, upsertTimeout)
	defer cancel()
	known := make(map[string]Identity, len(externalIDs))
	for names := range slices.Chunk(externalIDs, namesPerStatement) {
		rows, err := s.db.Shop.Query().Where(entshop.ExternalIDIn(names...)).
			Select(entshop.FieldExternalID, entshop.FieldName, entshop.FieldLat, entshop.FieldLng).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("select %d shops by external id: %w", len(names), err)
		}
		for _, r := range rows {
			known[*r.ExternalID] = Identity{Name: r.Name, At: geo.Point{Lat: r.Lat, Lng: r.Lng}}
		}
	}
	return known, nil
}

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

// IsNode marks a Shop as a GraphQL Node.
func (Shop) IsNode() {}

// IsNode marks a Type as a GraphQL Node.
func (Type) IsNode() {}
