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

// The names of the lists in cursors.
const (
	followersOrder = "followers"
	followeesOrder = "followees"
	commonOrder    = "common-followees"
)

// IsFollowed says which of these users the viewer follows; viewer 0 is nobody.
//
// It is asked of what the viewer follows, not of who follows the users: one key, one round
// trip for a whole page, whatever the users' fame. What the viewer's set cannot say, of
// one that does not hold all, is one statement.
func (s *Service) IsFollowed(ctx context.Context, viewer int64, users []int64) (map[int64]bool, error) {
	ctx, span := observe.Span(ctx, "follow.Followed")
	defer span.End()
	if viewer == 0 || len(users) == 0 {
		return map[int64]bool{}, nil
	}
	return s.among(ctx, viewer, each(users))
}

// among says which of these users a user follows. Those that are not are left out.
func (s *Service) among(ctx context.Context, follower int64, users []int64) (map[int64]bool, error) {
	members := make([]string, len(users))
	for i, user := range users {
		members[i] = decimal(user)
	}
	set, err := s.out.Has(ctx, follower, members)
	if err != nil {
		return nil, fmt.Errorf("look whom user %d follows: %w", follower, err)
	}
	found := make(map[int64]bool, len(users))
	var unsaid []int64
	for i, user := range users {
		switch {
		case set.Has[members[i]]:
			found[user] = true
		case !set.Whole: // the set's floor says nothing of a follow whose id is not known
			unsaid = append(unsaid, user)
		}
	}
	if len(unsaid) == 0 {
		return found, nil
	}
	rows, err := s.db.Follow.Query().Where(entfollow.FollowerID(follower), entfollow.FolloweeIDIn(unsaid...)).
		Select(entfollow.FieldID, entfollow.FieldFolloweeID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select which of %d users user %d follows: %w", len(unsaid), follower, err)
	}
	for _, row := range rows {
		found[row.FolloweeID] = true
	}
	return found, nil
}

// Followers returns a page of who follows each user, the newest follower first. The first
// fifty of all users are one round trip to the cache, and what lies below is one statement
// for all. A page that makes no sense is a fault.
func (s *Service) Followers(ctx context.Context, users []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "follow.Followers")
	defer span.End()
	below, err := placeOf(followersOrder, first, after)
	if err != nil {
		return nil, err
	}
	heads, err := s.followers.Pages(ctx, each(users), below, first)
	if err != nil {
		return nil, fmt.Errorf("list the followers of %d users: %w", len(users), err)
	}
	pages := make(map[int64]*Page, len(users))
	for _, user := range users {
		pages[user] = pageOf(followersOrder, heads[user].Items, after, heads[user].More)
	}
	return pages, nil
}

// Followees returns a page of whom each user follows, the last followed first. The first
// pages of all users are one round trip to Redis, later ones a round trip each. Only what
// lies below a set that does not hold all is one statement more. A page that makes no
// sense is a fault.
func (s *Service) Followees(ctx context.Context, users []int64, first int, after page.Cursor) (map[int64]*Page, error) {
	ctx, span := observe.Span(ctx, "follow.Followees")
	defer span.End()
	below, err := placeOf(followeesOrder, first, after)
	if err != nil {
		return nil, err
	}
	lists, err := s.newest(ctx, each(users), below, first+1)
	if err != nil {
		return nil, fmt.Errorf("list whom %d users follow: %w", len(users), err)
	}
	pages := make(map[int64]*Page, len(users))
	for _, user := range users {
		list := lists[user]
		pages[user] = pageOf(followeesOrder, list[:min(len(list), first)], after, len(list) > first)
	}
	return pages, nil
}

// Window has whom each user follows: followee in decimal → id of the follow, which grows with
// each that begins. It is loaded as a whole, and told of who is followed by invalidation.
func (s *Service) Window() *cache.Window[int64] { return s.out }

// ReadFollowers reads parts of the lists of followers from the database: ids of follows, and
// the followers, the newest first.
func (s *Service) ReadFollowers(ctx context.Context, asks []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return s.loadFollowers(ctx, asks)
}

// newest reads the most newest follows of each user that lie below a place: from the sets,
// and what lies below these from the database.
func (s *Service) newest(ctx context.Context, users []int64, below int64, most int) (map[int64][]cache.ListItem, error) {
	parts, err := s.sets(ctx, users, below, most)
	if err != nil {
		return nil, err
	}
	lists := make(map[int64][]cache.ListItem, len(users))
	var asks []cache.ListRange[int64]
	for _, user := range users {
		spots, ours := spotsIn(parts[user].Entries)
		lists[user] = spots
		if parts[user].Complete && ours || len(spots) >= most {
			continue
		}
		ask := cache.ListRange[int64]{Owner: user, Before: below, Limit: most - len(spots)}
		if n := len(spots); n > 0 {
			ask.Before = spots[n-1].Pos
		}
		asks = append(asks, ask)
	}
	if len(asks) == 0 {
		return lists, nil
	}
	older, err := s.loadFollowees(ctx, asks)
	for user, spots := range older {
		lists[user] = append(lists[user], spots...)
	}
	return lists, err
}

func (s *Service) sets(ctx context.Context, users []int64, below int64, most int) (map[int64]cache.Page, error) {
	if below == math.MaxInt64 {
		return s.out.Pages(ctx, users, most)
	}
	parts := make(map[int64]cache.Page, len(users))
	for _, user := range users {
		// No member is empty: everything of this very score comes before the place.
		entries, complete, err := s.out.Page(ctx, user, &cache.Entry{Score: below}, most)
		if err != nil {
			return nil, err
		}
		parts[user] = cache.Page{Entries: entries, Complete: complete}
	}
	return parts, nil
}

// placeOf reads the cursor of a list: what is shown lies below it.
func placeOf(order string, first int, after page.Cursor) (below int64, err error) {
	if err := page.CheckFirst(first); err != nil {
		return 0, err
	}
	if after == "" {
		return math.MaxInt64, nil
	}
	return below, page.Decode(after, order, &below)
}

// pageOf describes users in their order.
func pageOf(order string, spots []cache.ListItem, after page.Cursor, more bool) *Page {
	p := &Page{Edges: make([]Edge, len(spots))}
	cursors := make([]page.Cursor, len(spots))
	for i, at := range spots {
		cursors[i] = page.Encode(order, at.Pos)
		p.Edges[i] = Edge{Cursor: cursors[i], User: at.ID}
	}
	p.Info = page.InfoOf(cursors, after, more)
	return p
}
