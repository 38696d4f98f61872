package follow

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// askAtOnce is how many members of one set the other is asked for at first: most pages
// are full with these, and a page never takes more than two questions.
const askAtOnce = 500

// Common returns a page of whom both the viewer and the user follow, the newest account
// first; viewer 0 follows nobody. The order is that of user ids: it does not depend on
// which of the two sets is the smaller one, nor on who followed when, so a page stays
// where it is while the two follow others. A page that makes no sense is a fault.
//
// The smaller set, of at most [MaxFollowees], is read whole, and the larger one is asked
// for its members. An intersection in Redis would need both keys in one slot, which they
// are not on a cluster; and it would take a set that expired for an empty one, where a
// read of ours loads it.
func (s *Service) Common(ctx context.Context, viewer, user int64, first int, after page.Cursor) (*Page, error) {
	ctx, span := observe.Span(ctx, "follow.Common")
	defer span.End()
	below, err := placeOf(commonOrder, first, after)
	if err != nil {
		return nil, err
	}
	if viewer == 0 {
		return pageOf(commonOrder, nil, after, false), nil
	}
	common, err := s.common(ctx, viewer, user, below, first+1)
	if err != nil {
		return nil, fmt.Errorf("list whom users %d and %d follow: %w", viewer, user, err)
	}
	return pageOf(commonOrder, common[:min(len(common), first)], after, len(common) > first), nil
}

// common returns the most highest ids below a place that both users follow, each at its
// own id.
func (s *Service) common(ctx context.Context, viewer, user, below int64, most int) ([]cache.ListItem, error) {
	counts, err := s.cfg.Users.Followees(ctx, []int64{viewer, user})
	if err != nil {
		return nil, fmt.Errorf("read how many each follows: %w", err)
	}
	small, large := viewer, user
	if counts[user] < counts[viewer] {
		small, large = user, viewer
	}
	candidates, err := s.whole(ctx, small, below)
	if err != nil {
		return nil, err
	}
	var common []cache.ListItem
	for n := s.cfg.ask; len(candidates) > 0 && len(common) < most; n = len(candidates) {
		n = min(n, len(candidates))
		both, err := s.among(ctx, large, candidates[:n])
		if err != nil {
			return nil, err
		}
		for _, id := range candidates[:n] {
			if both[id] {
				common = append(common, cache.ListItem{Pos: id, ID: id})
			}
		}
		candidates = candidates[n:]
	}
	return common[:min(len(common), most)], nil
}

// whole returns all whom a user follows and whose ids lie below a place, highest first.
func (s *Service) whole(ctx context.Context, user, below int64) ([]int64, error) {
	lists, err := s.newest(ctx, []int64{user}, math.MaxInt64, MaxFollowees)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, at := range lists[user] {
		if at.ID < below {
			ids = append(ids, at.ID)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}
