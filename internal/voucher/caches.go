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

// openCaches says how each kind is cached. What a write does to them stands in
// invalidate.go. The pieces that are left are in none of them: they change with every
// order.
func (s *Service) openCaches(hub *cache.Client) {
	s.vouchers = cache.New(hub, cache.Policy{
		Name: "voucher", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: time.Minute, StaleIfError: 10 * time.Minute,
		// The voucher of a sale that everybody waits for is read by all of them.
		// A moment's delay of an edit harms nobody: admission does not ask here.
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
	// A write to a voucher changes the lists of its shop alone: a sale that a merchant makes
	// known must not cost all other shops theirs.
	s.lists = cache.New(hub, cache.Policy{
		Name: "voucher-list", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, StaleIfError: 10 * time.Minute,
		Local: cache.Local{Share: 0.01, Criteria: cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[shopList, []listEntry]{Key: shopList.key, Load: s.loadLists, Parse: parseShopList})
	s.table = hub.Table("vouchers")
	s.running = cache.NewQueryCache(s.table, cache.Policy{
		Name: "sale-list", TTL: 10 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, StaleIfError: 10 * time.Minute,
		// One list, on the first page that anybody sees.
		Local: cache.Local{Share: 0.01, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, func(struct{}) string { return fmt.Sprintf("first %d sales that have not ended", headSize) }, s.loadRunning)
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// load reads vouchers, and then the sales of those that have one. A sale is at
// least as new as its voucher's version says: an edit raises that of the voucher.
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

// all yields the ids of all vouchers, some thousands a statement.
func (s *Service) all(ctx context.Context) iter.Seq2[int64, error] {
	return ent.AllIDs(func(after int64, limit int) ([]int64, error) {
		return s.db.Voucher.Query().Where(entvoucher.IDGT(after)).Order(entvoucher.ByID()).Limit(limit).IDs(ctx)
	})
}
