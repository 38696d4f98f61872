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

// outName begins the names of the sorted sets of whom a user follows, as kit/cache makes
// them: PREFIX:follow:out:{USER}, followee → id of the follow, and with :l the right to
// load one. A lost one is loaded from the rows by the next reader. Two sets lie in two
// slots of a cluster, so nothing intersects them there: see [Service.Common].
const outName = "follow:out"

// headSize is how many of the newest followers of a user are cached.
const headSize = 50

// openCaches says how each kind is cached. What a write does to them stands in
// invalidate.go.
func (s *Service) openCaches(hub *cache.Client) {
	s.out = cache.NewWindow(hub, cache.WindowPolicy{Name: outName, Size: s.cfg.limit, TTL: 24 * time.Hour}, decimal, s.loadOut)
	// Who is followed by many gains and loses followers all the time: there is no place
	// for that in the process's own memory.
	s.followers = cache.NewFirstPages(hub, cache.Policy{
		Name: "followers", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1,
	}, headSize, cache.HeadSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.loadFollowers})
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// entry is where a set has a follow.
func entry(at cache.ListItem) cache.Entry { return cache.Entry{Member: decimal(at.ID), Score: at.Pos} }

// spotsIn is the opposite of entry. It reports false if one of them is nothing of ours.
func spotsIn(entries []cache.Entry) ([]cache.ListItem, bool) {
	spots := make([]cache.ListItem, len(entries))
	for i, e := range entries {
		id, err := parseDecimal(e.Member)
		if err != nil {
			return nil, false
		}
		spots[i] = cache.ListItem{Pos: e.Score, ID: id}
	}
	return spots, true
}

// loadOut reads whom users follow, the last followed first.
func (s *Service) loadOut(ctx context.Context, users []int64, limit int) (map[int64][]cache.Entry, error) {
	asks := make([]cache.ListRange[int64], len(users))
	for i, user := range users {
		asks[i] = cache.ListRange[int64]{Owner: user, Before: math.MaxInt64, Limit: limit}
	}
	lists, err := s.loadFollowees(ctx, asks)
	if err != nil {
		return nil, err
	}
	found := make(map[int64][]cache.Entry, len(lists))
	for user, list := range lists {
		for _, at := range list {
			found[user] = append(found[user], entry(at))
		}
	}
	return found, nil
}

func (s *Service) loadFollowees(ctx context.Context, asks []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return listed(ctx, s.db, s.sql.followees, asks)
}

func (s *Service) loadFollowers(ctx context.Context, asks []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return listed(ctx, s.db, s.sql.followers, asks)
}

// listed reads parts of lists with one statement.
func listed(ctx context.Context, db sqldb.Querier, statement string, asks []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	type argument struct {
		Owner  int64 `json:"of"`
		Before int64 `json:"below"`
		Limit  int   `json:"most"`
	}
	arguments := make([]argument, len(asks))
	for i, a := range asks {
		arguments[i] = argument(a)
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("write down %d users: %w", len(asks), err)
	}
	found := make(map[int64][]cache.ListItem, len(asks))
	err = sqldb.Each(ctx, db, statement, []any{string(text)}, func(rows *sql.Rows) error {
		var of int64
		var at cache.ListItem
		err := rows.Scan(&of, &at.Pos, &at.ID)
		found[of] = append(found[of], at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select the follows of %d users: %w", len(asks), err)
	}
	return found, nil
}
