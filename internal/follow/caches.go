package follow

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// followeesName begins the keys of the followees, sorted sets of kit/cache:
// PREFIX:follow:out:{USER} maps followee to id of the follow. The key with the suffix :l is the
// lock of a load. The next reader loads a lost set from the rows. Two sets are in two cluster
// slots, so no command intersects them: see [Service.Common].
const followeesName = "follow:out"

// headSize is the number of cached followers per user, the newest.
const headSize = 50

func (s *Service) openCaches(hub *cache.Client) {
	s.followees = cache.NewWindow(hub, cache.WindowPolicy{Name: followeesName, Size: s.cfg.limit, TTL: 24 * time.Hour}, decimal, s.loadSets)
	// Followers of popular users change constantly, so they are not cached in the process.
	s.followers = cache.NewFirstPages(hub, cache.Policy{
		Name: "followers", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1,
	}, headSize, cache.FirstPagesSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.loadFollowers})
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func cacheEntry(at cache.ListItem) cache.Entry {
	return cache.Entry{Member: decimal(at.ID), Score: at.Pos}
}

// parseEntries is the inverse of cacheEntry. It reports false if a member has another format.
func parseEntries(entries []cache.Entry) ([]cache.ListItem, bool) {
	items := make([]cache.ListItem, len(entries))
	for i, e := range entries {
		id, err := parseDecimal(e.Member)
		if err != nil {
			return nil, false
		}
		items[i] = cache.ListItem{Pos: e.Score, ID: id}
	}
	return items, true
}

// loadSets reads the followees of users, newest follow first.
func (s *Service) loadSets(ctx context.Context, users []int64, limit int) (map[int64][]cache.Entry, error) {
	ranges := make([]cache.ListRange[int64], len(users))
	for i, user := range users {
		ranges[i] = cache.ListRange[int64]{Owner: user, Before: math.MaxInt64, Limit: limit}
	}
	lists, err := s.loadFollowees(ctx, ranges)
	if err != nil {
		return nil, err
	}
	found := make(map[int64][]cache.Entry, len(lists))
	for user, list := range lists {
		for _, at := range list {
			found[user] = append(found[user], cacheEntry(at))
		}
	}
	return found, nil
}

func (s *Service) loadFollowees(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return readLists(ctx, s.db, s.sql.followees, ranges)
}

func (s *Service) loadFollowers(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return readLists(ctx, s.db, s.sql.followers, ranges)
}

func readLists(ctx context.Context, db sqldb.Querier, statement string, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	type argument struct {
		Owner  int64 `json:"of"`
		Before int64 `json:"below"`
		Limit  int   `json:"most"`
	}
	arguments := make([]argument, len(ranges))
	for i, a := range ranges {
		arguments[i] = argument(a)
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("encode %d users: %w", len(ranges), err)
	}
	found := make(map[int64][]cache.ListItem, len(ranges))
	err = sqldb.Each(ctx, db, statement, []any{string(text)}, func(rows *sql.Rows) error {
		var of int64
		var at cache.ListItem
		err := rows.Scan(&of, &at.Pos, &at.ID)
		found[of] = append(found[of], at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select follows of %d users: %w", len(ranges), err)
	}
	return found, nil
}
