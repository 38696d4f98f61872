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

// MaxOfShop is how many vouchers a shop shows.
const MaxOfShop = 50

// listSize is how many are cached of those on sale: some of them may end while the
// list is kept.
const listSize = 2 * MaxOfShop

//go:embed sql/*.sql
var files embed.FS

// ofShops is the statement of that name.
func ofShops(dialect string) (text string) {
	if err := sqldb.Read(files, dialect, map[string]*string{"ofshops": &text}); err != nil {
		panic(fmt.Sprintf("voucher: %v", err))
	}
	return text
}

// shopList names the list of a shop's newest vouchers.
type shopList struct {
	Shop int64
	All  bool // those that are off sale or over too
}

// allSuffix ends the keys of lists with all vouchers.
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

// listsOfShop are the lists that a write to one of a shop's vouchers changes.
func listsOfShop(shop int64) []shopList { return []shopList{{shop, false}, {shop, true}} }

// most is how many of them the list holds.
func (l shopList) most() int {
	if l.All {
		return MaxOfShop
	}
	return listSize
}

// listEntry is a voucher's place in such a list.
type listEntry struct {
	ID   int64 `json:"id"`
	Ends int64 `json:"ends,omitempty"` // end of its sale, milliseconds; 0 of an ordinary one
}

// ByShops returns the vouchers of each shop, newest first and at most 50: those that
// are on sale and whose sale is not over; where all says so (nil: nowhere), the
// others too. A shop without any is left out. It is as fresh as [Service.ByID].
//
// It costs two round trips to the cache, whatever the number of shops, and one
// statement for all lists that it does not have.
func (s *Service) ByShops(ctx context.Context, shopIDs []int64, all func(shopID int64) bool) (map[int64][]*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.OfShops")
	defer span.End()
	asked := make([]shopList, len(shopIDs))
	for i, id := range shopIDs {
		asked[i] = shopList{id, all != nil && all(id)}
	}
	now := s.now()
	lists, err := s.listsOf(ctx, asked, now)
	if err != nil {
		return nil, fmt.Errorf("list the vouchers of %d shops: %w", len(shopIDs), err)
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

// listsOf returns lists as they are at a time, cut to what a shop shows.
func (s *Service) listsOf(ctx context.Context, asked []shopList, now time.Time) (map[shopList][]listEntry, error) {
	lists, err := s.lists.GetMany(ctx, asked)
	if err != nil {
		return nil, err
	}
	var short []shopList
	for l, list := range lists {
		kept := l.at(list, now)
		if len(kept) < MaxOfShop && len(list) == l.most() { // too many have ended since: there may be older ones
			short = append(short, l)
		}
		lists[l] = kept
	}
	if len(short) == 0 {
		return lists, nil
	}
	anew, err := s.loadLists(ctx, short)
	for _, l := range short {
		lists[l] = l.at(anew[l], now)
	}
	return lists, err
}

// at is what is shown of a list at a time. The list itself stays: it is the cache's.
func (l shopList) at(list []listEntry, now time.Time) []listEntry {
	kept := make([]listEntry, 0, min(len(list), MaxOfShop))
	for _, v := range list {
		if len(kept) < MaxOfShop && (l.All || v.Ends == 0 || v.Ends > now.UnixMilli()) {
			kept = append(kept, v)
		}
	}
	return kept
}

// loadLists reads lists with one statement, empty ones too.
func (s *Service) loadLists(ctx context.Context, asked []shopList) (map[shopList][]listEntry, error) {
	type argument struct {
		Shop int64 `json:"shop"`
		All  bool  `json:"all"`
		Most int   `json:"most"`
	}
	arguments := make([]argument, len(asked))
	found := make(map[shopList][]listEntry, len(asked))
	for i, l := range asked {
		arguments[i] = argument{l.Shop, l.All, l.most()}
		found[l] = nil
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("write down %d shops: %w", len(asked), err)
	}
	err = sqldb.Each(ctx, s.db, s.ofShops, []any{string(text), s.now().UnixMilli()}, func(rows *sql.Rows) error {
		var l shopList
		var v listEntry
		if err := rows.Scan(&l.Shop, &l.All, &v.ID, &v.Ends); err != nil {
			return err
		}
		found[l] = append(found[l], v)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("select the vouchers of %d shops: %w", len(asked), err)
	}
	return found, nil
}

// stored is [Service.ByIDs] for vouchers that a list has: what the cache calls
// absent, because it has not heard of the insert yet, comes from the rows.
func (s *Service) stored(ctx context.Context, ids []int64) (map[int64]*Voucher, error) {
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var unheard []int64
	for _, id := range ids {
		if found[id] == nil {
			unheard = append(unheard, id)
		}
	}
	if len(unheard) == 0 {
		return found, nil
	}
	s.vouchers.MarkExisting(unheard...)
	rows, err := s.load(ctx, unheard)
	maps.Copy(found, cache.Pointers(rows))
	return found, err
}
