package voucher

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// MaxPerShop is the maximum number of vouchers that a shop shows.
const MaxPerShop = 50

// listSize is the number of cached vouchers that are on sale. Some may end while the list is
// cached.
const listSize = 2 * MaxPerShop

//go:embed sql/*.sql
var files embed.FS

func byShopsStatement(dialect string) (text string) {
	if err := sqldb.ReadStatements(files, dialect, map[string]*string{"by_shops": &text}); err != nil {
		panic(fmt.Sprintf("voucher: %v", err))
	}
	return text
}

// A shopList identifies a list of a shop's newest vouchers.
type shopList struct {
	Shop int64
	All  bool // including vouchers that are off sale or ended
}

const allSuffix = "-all"

func (l shopList) key() string {
	if l.All {
		return decimal(l.Shop) + allSuffix
	}
	return decimal(l.Shop)
}

func parseShopList(text string) (l shopList, err error) {
	number, all := strings.CutSuffix(text, allSuffix)
	l.All = all
	l.Shop, err = parseDecimal(number)
	return l, err
}

// listsOfShop returns the lists that a write to a shop's voucher changes.
func listsOfShop(shop int64) []shopList { return []shopList{{shop, false}, {shop, true}} }

func (l shopList) limit() int {
	if l.All {
		return MaxPerShop
	}
	return listSize
}

// A listEntry is a voucher in a shopList.
type listEntry struct {
	ID   int64 `json:"id"`
	Ends int64 `json:"ends,omitempty"` // end of its sale in milliseconds; 0 for an ordinary voucher
}

// ByShops returns the vouchers of each shop, newest first, at most 50. It returns vouchers that
// are on sale and have not ended, but all vouchers of shops for which all reports true. all may
// be nil. Shops without vouchers are omitted. It is as fresh as [Service.ByID].
//
// It takes two round trips to the cache for any number of shops, and one statement for all
// lists that are not cached.
func (s *Service) ByShops(ctx context.Context, shopIDs []int64, all func(shopID int64) bool) (map[int64][]*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.OfShops")
	defer span.End()
	requested := make([]shopList, len(shopIDs))
	for i, id := range shopIDs {
		requested[i] = shopList{id, all != nil && all(id)}
	}
	now := s.now()
	lists, err := s.listsOf(ctx, requested, now)
	if err != nil {
		return nil, fmt.Errorf("list vouchers of %d shops: %w", len(shopIDs), err)
	}
	var ids []int64
	for _, list := range lists {
		for _, at := range list {
			ids = append(ids, at.ID)
		}
	}
	rows, err := s.stored(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[int64][]*Voucher, len(lists))
	for l, list := range lists {
		for _, at := range list {
			// The row may be newer than the list.
			if v := rows[at.ID]; v != nil && (l.All || v.Status(now) == OnSale) {
				found[l.Shop] = append(found[l.Shop], v)
			}
		}
	}
	return found, nil
}

// listsOf returns lists as they are at a time, with at most [MaxPerShop] vouchers each.
func (s *Service) listsOf(ctx context.Context, requested []shopList, now time.Time) (map[shopList][]listEntry, error) {
	lists, err := s.lists.GetMany(ctx, requested)
	if err != nil {
		return nil, err
	}
	var short []shopList
	for l, list := range lists {
		shown := l.at(list, now)
		if len(shown) < MaxPerShop && len(list) == l.limit() { // many have ended: older ones may exist
			short = append(short, l)
		}
		lists[l] = shown
	}
	if len(short) == 0 {
		return lists, nil
	}
	reloaded, err := s.loadLists(ctx, short)
	for _, l := range short {
		lists[l] = l.at(reloaded[l], now)
	}
	return lists, err
}

// at returns the visible part of a list at a time. It does not change list, which the cache
// owns.
func (l shopList) at(list []listEntry, now time.Time) []listEntry {
	shown := make([]listEntry, 0, min(len(list), MaxPerShop))
	for _, v := range list {
		if len(shown) < MaxPerShop && (l.All || v.Ends == 0 || v.Ends > now.UnixMilli()) {
			shown = append(shown, v)
		}
	}
	return shown
}

// loadLists reads lists, including empty ones, with one statement.
func (s *Service) loadLists(ctx context.Context, requested []shopList) (map[shopList][]listEntry, error) {
	type argument struct {
		Shop int64 `json:"shop"`
		All  bool  `json:"all"`
		Most int   `json:"most"`
	}
	arguments := make([]argument, len(requested))
	found := make(map[shopList][]listEntry, len(requested))
	for i, l := range requested {
		arguments[i] = argument{l.Shop, l.All, l.limit()}
		found[l] = nil
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("encode %d shops: %w", len(requested), err)
	}
	err = sqldb.Each(ctx, s.db, s.byShops, []any{string(text), s.now().UnixMilli()}, func(rows *sql.Rows) error {
		var l shopList
		var v listEntry
		if err := rows.Scan(&l.Shop, &l.All, &v.ID, &v.Ends); err != nil {
			return err
		}
		found[l] = append(found[l], v)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("select vouchers of %d shops: %w", len(requested), err)
	}
	return found, nil
}

// stored is [Service.ByIDs] for vouchers in a list. If the cache reports a voucher absent, because
// it has not received the insert yet, stored reads the row.
func (s *Service) stored(ctx context.Context, ids []int64) (map[int64]*Voucher, error) {
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var missing []int64
	for _, id := range ids {
		if found[id] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	s.vouchers.MarkExisting(missing...)
	rows, err := s.load(ctx, missing)
	maps.Copy(found, cache.Pointers(rows))
	return found, err
}
