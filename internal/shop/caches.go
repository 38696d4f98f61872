package shop

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/ent/shoptype"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// openCaches sets the policy of each cache. For their invalidation see invalidate.go.
func (s *Service) openCaches(hub *cache.Client) {
	s.shops = cache.New(hub, cache.Policy{
		Name: "shop", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: time.Minute, StaleIfError: 10 * time.Minute,
		// Memory holds the frequently read shops. A short delay of a change, such as new opening
		// hours, is harmless.
		Local: cache.Local{Share: 0.37, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, Shop]{
		Key: decimal, Load: s.loadShops, All: s.allShops, Parse: parseDecimal,
		Version: func(shop Shop) int64 { return shop.Version },
	})
	s.types = cache.New(hub, cache.Policy{
		Name: "shop-type", TTL: time.Hour, StaleTTL: time.Hour, Beta: 1, NegativeTTL: time.Minute, StaleIfError: time.Hour,
		// A few dozen types, shown on every page; they rarely change.
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, Type]{Key: decimal, Load: s.loadTypes, Parse: parseDecimal})

	s.tables.shops, s.tables.types = hub.Table("shops"), hub.Table("shop_types")
	s.heads = cache.NewQueryCache(s.tables.shops, cache.Policy{
		Name: "shop-list", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, StaleIfError: 10 * time.Minute,
		// A few dozen small lists that most visitors read first. Each new shop invalidates all of
		// them, in all processes.
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, firstPage.statement, s.loadHead)
	s.filtered = cache.NewQueryCache(s.tables.shops, cache.Policy{
		// Clients choose the filters. They cannot create 100 lists of 6 KB a second, because
		// each costs a statement: a flood of filters fills at most 18 MB.
		Name: "shop-list-filtered", TTL: 30 * time.Second,
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, firstPage.statement, s.loadHead)
	s.typeList = cache.NewQueryCache(s.tables.types, cache.Policy{
		Name: "shop-type-list", TTL: 30 * time.Minute, StaleTTL: time.Hour, Beta: 1, StaleIfError: time.Hour,
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, func(struct{}) string { return "all types" }, s.loadTypeList)
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (s *Service) loadShops(ctx context.Context, ids []int64) (map[int64]Shop, error) {
	found := make(map[int64]Shop, len(ids))
	scan := ent.Scanner[ent.Shop]()
	err := s.sql.shops.Each(ctx, s.db, ids, func(rows *sql.Rows) error {
		r, err := scan(rows)
		if err != nil {
			return err
		}
		shop, err := fromRow(r)
		found[r.ID] = *shop
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d shops: %w", len(ids), err)
	}
	return found, nil
}

func (s *Service) allShops(ctx context.Context) iter.Seq2[int64, error] {
	return ent.AllIDs(func(after int64, limit int) ([]int64, error) {
		return s.db.Shop.Query().Where(entshop.IDGT(after)).Order(entshop.ByID()).Limit(limit).IDs(ctx)
	})
}

func (s *Service) loadTypes(ctx context.Context, ids []int64) (map[int64]Type, error) {
	found := make(map[int64]Type, len(ids))
	err := s.sql.types.Each(ctx, s.db, ids, func(rows *sql.Rows) error {
		var t Type
		err := rows.Scan(&t.ID, &t.Name, &t.IconURL, &t.Sort)
		found[t.ID] = t
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d shop types: %w", len(ids), err)
	}
	return found, nil
}

func (s *Service) loadTypeList(ctx context.Context, _ struct{}) ([]int64, error) {
	ids, err := s.db.ShopType.Query().Order(shoptype.BySort(), shoptype.ByID()).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("select shop types: %w", err)
	}
	return ids, nil
}
