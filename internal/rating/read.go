package rating

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// topic is the outbox topic for pairs whose ratings changed.
const topic = "ratings"

func (s *Service) openCache(hub *cache.Client) {
	s.ratings = cache.New(hub, cache.Policy{
		// Users rate and read their rating on any server at once, so memory does not hold it.
		Name: "rating", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: time.Minute,
	}, cache.Source[Pair, Rating]{Key: key, Load: s.load})
}

func key(p Pair) string { return strconv.FormatInt(p.Shop, 10) + ":" + strconv.FormatInt(p.User, 10) }

// ByPairs returns the existing ratings. User 0 has none. It reflects all writes that returned
// before, of any process. It needs one round trip to the cache and at most one statement.
//
// If Redis is unavailable, it reads the rows. All errors come from the database.
func (s *Service) ByPairs(ctx context.Context, pairs []Pair) (map[Pair]*Rating, error) {
	ctx, span := observe.Span(ctx, "rating.ByPairs")
	defer span.End()
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.User == 0 })
	if len(pairs) == 0 {
		return nil, nil
	}
	found, err := s.ratings.Refs(ctx, pairs)
	if err != nil {
		return nil, fmt.Errorf("read %d ratings: %w", len(pairs), err)
	}
	return found, nil
}

func (s *Service) load(ctx context.Context, pairs []Pair) (map[Pair]Rating, error) {
	rows, err := s.find(ctx, s.db, pairs)
	found := make(map[Pair]Rating, len(rows))
	for p, r := range rows {
		found[p] = *r
	}
	return found, err
}

// pageSize is the number of ratings per statement.
const pageSize = 500

// find returns the existing ratings from the rows.
func (s *Service) find(ctx context.Context, db sqldb.Querier, pairs []Pair) (map[Pair]*Rating, error) {
	found := make(map[Pair]*Rating)
	for page := range slices.Chunk(pairs, pageSize) {
		err := sqldb.Each(sqldb.Prepared(ctx), db, s.sql.find, []any{sqldb.JSON(page)}, func(rows *sql.Rows) error {
			var r Rating
			var updated int64
			err := rows.Scan(&r.ShopID, &r.UserID, &r.Stars, &r.Taste, &r.Environment, &r.Service, &updated)
			r.UpdatedAt = time.UnixMilli(updated).UTC()
			found[r.pair()] = &r
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("select %d ratings: %w", len(page), err)
		}
	}
	return found, nil
}

// invalidate publishes that ratings changed. A pair without a user stands for the counters of
// a shop only. It is idempotent and may run late. It is also the outbox handler, which runs if
// the writer fails after its commit.
func (s *Service) invalidate(ctx context.Context, pairs ...Pair) error {
	rated := slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.User == 0 })
	err := errors.Join(s.ratings.Invalidate(ctx, rated...), s.shops.InvalidateRatings(ctx, shopsOf(pairs)...))
	return outbox.Transient(err) // Redis is unavailable
}

// shopsOf returns the distinct shops of pairs, ascending.
func shopsOf(pairs []Pair) []int64 {
	ids := make([]int64, len(pairs))
	for i, p := range pairs {
		ids[i] = p.Shop
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
