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

// firstProbe is the number of members of the smaller set in the first lookup. It fills most pages.
// The second lookup has all others.
const firstProbe = 500

// Common returns a page of the users that both viewer and user follow, newest account first.
// Viewer 0 follows none. The order is that of user ids, which depends neither on set sizes nor on
// the times of follows. So pages stay stable while the two follow others. It returns an
// [apierror.Error] of the kind BadUserInput for an invalid page.
//
// It reads the smaller set, of at most [MaxFollowees] members, and looks them up in the larger
// one. SINTER would need both keys in one cluster slot. It would also treat an expired set as
// empty, where a read through the cache loads it.
func (s *Service) Common(ctx context.Context, viewer, user int64, first int, after page.Cursor) (*Page, error) {
	ctx, span := observe.Span(ctx, "follow.Common")
	defer span.End()
	below, err := decodeCursor(commonOrder, first, after)
	if err != nil {
		return nil, err
	}
	if viewer == 0 {
		return newPage(commonOrder, nil, after, false), nil
	}
	common, err := s.common(ctx, viewer, user, below, first+1)
	if err != nil {
		return nil, fmt.Errorf("list common followees of users %d and %d: %w", viewer, user, err)
	}
	return newPage(commonOrder, common[:min(len(common), first)], after, len(common) > first), nil
}

// common returns at most limit of the users below an id that both users follow, highest first.
func (s *Service) common(ctx context.Context, viewer, user, below int64, limit int) ([]cache.ListItem, error) {
	counts, err := s.cfg.Users.Followees(ctx, []int64{viewer, user})
	if err != nil {
		return nil, fmt.Errorf("read followee counts: %w", err)
	}
	small, large := viewer, user
	if counts[user] < counts[viewer] {
		small, large = user, viewer
	}
	candidates, err := s.allBelow(ctx, small, below)
	if err != nil {
		return nil, err
	}
	var common []cache.ListItem
	for n := s.cfg.probe; len(candidates) > 0 && len(common) < limit; n = len(candidates) {
		n = min(n, len(candidates))
		both, err := s.followsAmong(ctx, large, candidates[:n])
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
	return common[:min(len(common), limit)], nil
}

// allBelow returns the followees of a user below an id, highest first, at most [MaxFollowees].
func (s *Service) allBelow(ctx context.Context, user, below int64) ([]int64, error) {
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
