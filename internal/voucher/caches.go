package voucher

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// openCaches creates the caches. See invalidate.go for their invalidation. None has the stock,
// because every order changes it.
func (s *Service) openCaches(hub *cache.Client) {
	s.vouchers = cache.New(hub, cache.Policy{
		Name: "voucher", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: time.Minute, StaleIfError: 10 * time.Minute,
		// All visitors of a popular sale read its voucher. A short delay of an edit does no
		// harm, because admission does not use this cache.
		Local: cache.Local{Share: 0.05, Criteria: cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, Voucher]{
		Key: decimal, Load: s.load, All: s.all, Parse: parseDecimal,
		Version: func(v Voucher) int64 { return v.Version },
	})
	// Rows of terms never change, and an id is not read before its row is committed.
	s.terms = cache.New(hub, cache.Policy{
		Name: "voucher-terms", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: -1, StaleIfError: 10 * time.Minute,
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, Terms]{Key: decimal, Load: s.loadTerms})
	// A write to a voucher invalidates only the lists of its shop: a popular sale must not
	// cost other shops their lists.
	s.lists = cache.New(hub, cache.Policy{
		Name: "voucher-list", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, StaleIfError: 10 * time.Minute,
		Local: cache.Local{Share: 0.01, Criteria: cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[shopList, []listEntry]{Key: shopList.key, Load: s.loadLists, Parse: parseShopList})
	s.table = hub.Table("vouchers")
	s.running = cache.NewQueryCache(s.table, cache.Policy{
		Name: "sale-list", TTL: 10 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, StaleIfError: 10 * time.Minute,
		// One list, shown on the first page.
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, func(struct{}) string { return fmt.Sprintf("first %d sales that have not ended", headSize) }, s.loadRunning)
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// load reads vouchers and then their sales. A sale is at least as new as the version of its
// voucher, because an edit of the sale increments that version.
func (s *Service) load(ctx context.Context, ids []int64) (map[int64]Voucher, error) {
	rows, err := s.db.Voucher.Query().Where(entvoucher.IDIn(ids...)).WithSale().All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d vouchers: %w", len(ids), err)
	}
	found := make(map[int64]Voucher, len(rows))
	for _, r := range rows {
		found[r.ID] = *fromRow(r, r.Edges.Sale)
	}
	return found, nil
}

func (s *Service) all(ctx context.Context) iter.Seq2[int64, error] {
	return ent.AllIDs(func(after int64, limit int) ([]int64, error) {
		return s.db.Voucher.Query().Where(entvoucher.IDGT(after)).Order(entvoucher.ByID()).Limit(limit).IDs(ctx)
	})
}
