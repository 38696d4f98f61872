package follow

import (
	"context"
	"fmt"
	"math"

	entfollow "github.com/tandian-dev/tandian/ent/follow"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// Names of lists in cursors.
const (
	followersOrder = "followers"
	followeesOrder = "followees"
	commonOrder    = "common-followees"
)

// IsFollowed reports which users the viewer follows. Viewer 0 follows none.
//
// It reads the viewer's set, not those of the users: one key and one round trip for a whole page,
// however popular the users are. If the set is incomplete, one statement decides the rest.
func (s *Service) IsFollowed(ctx context.Context, viewer int64, users []int64) (map[int64]bool, error) {
	ctx, span := observe.Span(ctx, "follow.Followed")
	defer span.End()
	if viewer == 0 || len(users) == 0 {
		return map[int64]bool{}, nil
	}
	return s.followsAmong(ctx, viewer, sortedUnique(users))
}

func (s *Service) followsAmong(ctx context.Context, follower int64, users []int64) (map[int64]bool, error) {
	members := make([]string, len(users))
	for i, user := range users {
		members[i] = decimal(user)
	}
	set, err := s.followees.Has(ctx, follower, members)
	if err != nil {
		return nil, fmt.Errorf("read followees of user %d: %w", follower, err)
	}
	found := make(map[int64]bool, len(users))
	var undecided []int64
	for i, user := range users {
		switch {
		case set.Has[members[i]]:
			found[user] = true
		case !set.Whole: // the id of this follow is unknown, so the floor does not help
			undecided = append(undecided, user)
		}
	}
	if len(undecided) == 0 {
		return found, nil
	}
	rows, err := s.db.Follow.Query().Where(entfollow.FollowerID(follower), entfollow.FolloweeIDIn(undecided...)).
		Select(entfollow.FieldID, entfollow.FieldFolloweeID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select which of %d users user %d follows: %w", len(undecided), follower, err)
	}
	for _, row := range rows {
		found[row.FolloweeID] = true
	}
	return found, nil
}

// Followers returns a page of the followers of each user, newest follow first. The first fifty of
// all users are one round trip to the cache, the others one statement. It returns an
// [apierror.Error] of the kind BadUserInput for an invalid page.
func (s *Service) Followers(ctx context.Context, users []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "follow.Followers")
	defer span.End()
	below, err := decodeCursor(followersOrder, first, after)
	if err != nil {
		return nil, err
	}
	heads, err := s.followers.Pages(ctx, sortedUnique(users), below, first)
	if err != nil {
		return nil, fmt.Errorf("list followers of %d users: %w", len(users), err)
	}
	pages := make(map[int64]*Page, len(users))
	for _, user := range users {
		pages[user] = newPage(followersOrder, heads[user].Items, after, heads[user].More)
	}
	return pages, nil
}

// Followees returns a page of the followees of each user, newest follow first. First pages of all
// users are one round trip to Redis, later ones a round trip each. Followees below an incomplete
// set cost one more statement. It returns an [apierror.Error] of the kind BadUserInput for an
// invalid page.
func (s *Service) Followees(ctx context.Context, users []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "follow.Followees")
	defer span.End()
	below, err := decodeCursor(followeesOrder, first, after)
	if err != nil {
		return nil, err
	}
	lists, err := s.newest(ctx, sortedUnique(users), below, first+1)
	if err != nil {
		return nil, fmt.Errorf("list followees of %d users: %w", len(users), err)
	}
	pages := make(map[int64]*Page, len(users))
	for _, user := range users {
		list := lists[user]
		pages[user] = newPage(followeesOrder, list[:min(len(list), first)], after, len(list) > first)
	}
	return pages, nil
}

// Window returns the followees of each user: followee in decimal → id of the follow, which grows
// with each new follow. It loads sets as a whole, and learns of new follows by invalidation.
func (s *Service) Window() *cache.Window[int64] { return s.followees }

// ReadFollowers reads parts of the lists of followers from the database, newest first: ids of
// follows, and followers.
func (s *Service) ReadFollowers(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return s.loadFollowers(ctx, ranges)
}

// newest reads at most limit of the newest follows of each user below an id, from the sets, and
// from the database below these.
func (s *Service) newest(ctx context.Context, users []int64, below int64, limit int) (map[int64][]cache.ListItem, error) {
	parts, err := s.readSets(ctx, users, below, limit)
	if err != nil {
		return nil, err
	}
	lists := make(map[int64][]cache.ListItem, len(users))
	var ranges []cache.ListRange[int64]
	for _, user := range users {
		items, valid := parseEntries(parts[user].Entries)
		lists[user] = items
		if parts[user].Complete && valid || len(items) >= limit {
			continue
		}
		older := cache.ListRange[int64]{Owner: user, Before: below, Limit: limit - len(items)}
		if n := len(items); n > 0 {
			older.Before = items[n-1].Pos
		}
		ranges = append(ranges, older)
	}
	if len(ranges) == 0 {
		return lists, nil
	}
	older, err := s.loadFollowees(ctx, ranges)
	for user, items := range older {
		lists[user] = append(lists[user], items...)
	}
	return lists, err
}

func (s *Service) readSets(ctx context.Context, users []int64, below int64, limit int) (map[int64]cache.Page, error) {
	if below == math.MaxInt64 {
		return s.followees.Pages(ctx, users, limit)
	}
	parts := make(map[int64]cache.Page, len(users))
	for _, user := range users {
		// No member is empty, so entries with this score are excluded.
		entries, complete, err := s.followees.Page(ctx, user, &cache.Entry{Score: below}, limit)
		if err != nil {
			return nil, err
		}
		parts[user] = cache.Page{Entries: entries, Complete: complete}
	}
	return parts, nil
}

// decodeCursor returns the id that a page begins below.
func decodeCursor(order string, first int, after page.Cursor) (below int64, err error) {
	if err := page.CheckFirst(first); err != nil {
		return 0, err
	}
	if after == "" {
		return math.MaxInt64, nil
	}
	return below, page.Decode(after, order, &below)
}

func newPage(order string, items []cache.ListItem, after page.Cursor, more bool) *Page {
	p := &Page{Edges: make([]Edge, len(items))}
	cursors := make([]page.Cursor, len(items))
	for i, at := range items {
		cursors[i] = page.Encode(order, at.Pos)
		p.Edges[i] = Edge{Cursor: cursors[i], User: at.ID}
	}
	p.Info = page.InfoOf(cursors, after, more)
	return p
}
