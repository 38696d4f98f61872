package shop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// RankingKind is the kind of a ranking.
type RankingKind string

// Kinds of rankings.
const (
	Trending    RankingKind = "TRENDING"     // highest trend, of the shops with recent activity
	TopRated    RankingKind = "TOP_RATED"    // highest score, of the shops with a score
	BestSelling RankingKind = "BEST_SELLING" // most vouchers sold, of the shops with sales
)

// A ranking is a sorted set of the first shops in Redis. It is a window of kit/cache: missing
// sets are loaded from the rows. Pages are not read from it, because they would repeat and skip
// shops while scores change. They are read from an edition: an immutable copy that the first
// request in each interval makes, for all processes. A cursor names its edition.
const (
	rankingSize     = 500
	rankingTTL      = time.Hour // of a set without readers
	editionInterval = 2 * time.Second
	editionMaxAge   = 10 * time.Minute
	editionTTL      = 12 * time.Minute // the cache shortens TTLs by up to a tenth
)

// rankingKey identifies a ranking; type 0 is all types.
type rankingKey struct {
	kind   RankingKind
	typeID int64
}

func (k rankingKey) String() string { return string(k.kind) + ":" + decimal(k.typeID) }

// editionKey identifies a copy of a ranking.
type editionKey struct {
	rankingKey
	number int64 // time in intervals
}

func (k editionKey) String() string { return k.rankingKey.String() + ":" + decimal(k.number) }

func parseEditionKey(text string) (k editionKey, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return k, fmt.Errorf("invalid ranking %.40q", text)
	}
	var wrong error
	k.kind = RankingKind(parts[0])
	k.typeID, err = strconv.ParseInt(parts[1], 10, 64)
	k.number, wrong = strconv.ParseInt(parts[2], 10, 64)
	return k, errors.Join(err, wrong)
}

// openRankings opens the sets and the editions.
func (s *Service) openRankings(hub *cache.Client) {
	s.rankings = cache.NewWindow(hub, cache.WindowPolicy{Name: "shop:ranking", Size: rankingSize, TTL: rankingTTL}, rankingKey.String, s.loadRankings)
	s.editions = cache.New(hub, cache.Policy{
		// Editions are immutable. Every visitor of a ranking reads the current one.
		Name: "shop-ranking-edition", TTL: editionTTL, NegativeTTL: editionInterval, StaleIfError: editionMaxAge,
		Local: cache.Local{Share: 0.02, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[editionKey, []int64]{Key: editionKey.String, Load: s.loadEditions, Parse: parseEditionKey, Ephemeral: true})
}

// loadRankings reads the first shops of rankings from the rows.
func (s *Service) loadRankings(ctx context.Context, keys []rankingKey, limit int) (map[rankingKey][]cache.Entry, error) {
	lists := make(map[rankingKey][]cache.Entry, len(keys))
	for _, k := range keys {
		rows, err := s.firstRanked(ctx, k, limit)
		if err != nil {
			return nil, fmt.Errorf("select ranking %s: %w", k, err)
		}
		entries := make([]cache.Entry, len(rows))
		for i, r := range rows {
			entries[i] = cache.Entry{Member: rankingMember(r.ID), Score: k.score(r)}
		}
		lists[k] = entries
	}
	return lists, nil
}

// firstRanked reads the first rows of a ranking: id and the columns that score needs.
func (s *Service) firstRanked(ctx context.Context, k rankingKey, limit int) ([]*ent.Shop, error) {
	q := Query{TypeID: k.typeID}
	rows := s.db.Shop.Query().Where(q.filters()...).Limit(limit)
	switch k.kind {
	case Trending:
		oldest := float64(s.now().UnixMilli()/dayMillis-trendDays) / halfLife
		rows = rows.Where(entshop.TrendGTE(oldest)).Order(entshop.ByTrend(sql.OrderDesc()))
	case TopRated:
		q.Order = ByScore
		rows = rows.Where(func(sel *sql.Selector) { sel.Where(sql.ExprP(rankColumn(sel) + " >= 1")) })
	case BestSelling:
		q.Order = BySold
		rows = rows.Where(entshop.SoldGT(0))
	}
	rows = rows.Order(q.sorted) // after the trend, by id only
	return rows.Select(entshop.FieldID, entshop.FieldTrend, entshop.FieldRatingScore, entshop.FieldSold).All(ctx)
}

// score returns the score of a row in the set: a whole number, in the order of the ranking.
func (k rankingKey) score(r *ent.Shop) int64 {
	switch k.kind {
	case Trending:
		return int64(math.Round(1e6 * *r.Trend))
	case TopRated:
		return int64(math.Round(1e4 * *r.RatingScore))
	case BestSelling:
	}
	return int64(r.Sold)
}

// rankingMember returns the member of a shop. It has a fixed width: of shops with the same
// score, the newest is first.
func rankingMember(id int64) string { return fmt.Sprintf("%019d", id) }

func (s *Service) edition() int64 { return s.now().UnixMilli() / editionInterval.Milliseconds() }

// loadEditions copies rankings. For processes with slow clocks, it accepts the two numbers
// before the current one. It ignores all others: a new copy would not continue an older one.
func (s *Service) loadEditions(ctx context.Context, keys []editionKey) (map[editionKey][]int64, error) {
	found := map[editionKey][]int64{}
	for _, k := range keys {
		if d := k.number - s.edition(); d < -2 || d > 0 {
			continue
		}
		entries, _, err := s.rankings.Page(ctx, k.rankingKey, nil, rankingSize)
		if err != nil {
			return nil, fmt.Errorf("copy ranking %s: %w", k, err)
		}
		ids := make([]int64, len(entries))
		for i, e := range entries {
			if ids[i], err = parseDecimal(e.Member); err != nil {
				return nil, fmt.Errorf("copy ranking %s: %w", k, err)
			}
		}
		found[k] = ids
	}
	return found, nil
}

// Ranking returns a page of the first 500 shops of a ranking; type 0 is all types. The first
// page is at most two seconds old. The next ones read the same edition for ten minutes. Then
// they continue in the current one, after as many shops.
//
// A page needs the edition, from memory or in one round trip, and its rows. An invalid page is
// an [apierror.BadUserInput] error.
func (s *Service) Ranking(ctx context.Context, kind RankingKind, typeID int64, first int, after page.Cursor) (*Page, error) {
	ctx, span := observe.Span(ctx, "shop.Ranking")
	defer span.End()
	q := Query{TypeID: typeID, First: first, After: after}
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	if !slices.Contains([]RankingKind{Trending, TopRated, BestSelling}, kind) {
		return nil, apierror.BadInput("unknown ranking %q", kind)
	}
	if typeID != 0 {
		if known, err := s.typeExists(ctx, typeID); err != nil || !known {
			return q.page(nil), err
		}
	}
	k, seen := editionKey{rankingKey{kind, typeID}, s.edition()}, int64(0)
	if after != "" {
		if err := page.Decode(after, k.rankingKey.String(), &k.number, &seen); err != nil {
			return nil, err
		}
		if seen < 0 || seen > rankingSize {
			return nil, apierror.BadInput("invalid after: not a cursor of this list")
		}
	}
	ids, err := s.readEdition(ctx, &k)
	if err != nil {
		return nil, err
	}
	var edges []Edge
	for int(seen) < len(ids) && len(edges) <= first {
		part := ids[seen:min(int(seen)+first+1, len(ids))]
		shops, err := s.ByIDs(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, id := range part {
			seen++
			if shop := shops[id]; shop != nil && (typeID == 0 || shop.TypeID == typeID) {
				edges = append(edges, Edge{Cursor: page.Encode(k.rankingKey.String(), k.number, seen), Node: shop})
			}
		}
	}
	return q.page(edges), nil
}

// readEdition returns the ids of an edition. Expired and invented numbers are not read, so they
// cannot fill the cache: the current edition replaces them, and k becomes its key.
func (s *Service) readEdition(ctx context.Context, k *editionKey) ([]int64, error) {
	now := s.edition()
	if age := now - k.number; age >= -2 && age <= editionMaxAge.Milliseconds()/editionInterval.Milliseconds() {
		ids, err := s.editions.Get(ctx, *k)
		if err == nil || !errors.Is(err, cache.ErrNotFound) {
			return ids, err
		}
	}
	k.number = now
	ids, err := s.editions.Get(ctx, *k)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	return ids, err
}

// invalidateRankings drops the sets of some kinds that shops of some types are in, or may have
// to be in. The next edition loads them from the rows. A shop that changed its type may stay in
// a set of its old type, where readers skip it.
func (s *Service) invalidateRankings(ctx context.Context, types []int64, kinds ...RankingKind) error {
	types = append(slices.Clone(types), 0)
	slices.Sort(types)
	var keys []rankingKey
	for _, kind := range kinds {
		for _, typeID := range slices.Compact(types) {
			keys = append(keys, rankingKey{kind, typeID})
		}
	}
	return s.rankings.Invalidate(ctx, keys...)
}
