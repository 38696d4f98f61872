package like

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// A change is what is to be told of likes, as a job of the outbox has it.
type change struct {
	Target  int64 `json:"target,omitempty"` // 0: of a user alone
	User    int64 `json:"user,omitempty"`   // 0: of a target alone
	Removed int64 `json:"gone,omitempty"`   // id of the like that was taken back; 0: it is not that
	Behind  bool  `json:"behind,omitempty"` // the like is not among the target's first
}

// topic of this Service's jobs in the outbox.
func (s *Service) topic() string { return s.noun() + "-likes" }

// invalidate tells what a writer could not.
func (s *Service) invalidate(ctx context.Context, changes ...change) error {
	var targets []int64
	for _, c := range changes {
		if c.Target != 0 {
			targets = append(targets, c.Target)
		}
	}
	return outbox.Transient(errors.Join(s.invalidateSets(ctx, changes...), s.target.InvalidateLikes(ctx, targets...))) // Redis is away
}

// invalidateSets brings the sets in Redis up to changes. It may be repeated, late too, and in
// any order, so that nothing that was taken back comes back:
//
//   - A like drops its target's set, and does not add itself: it might be told after it
//     was taken back, and a like that is added then would stay. What the next reader loads
//     is what there is.
//   - A like that was taken back is removed by its id, which is never used again: a like
//     of the same user that came after has another one, and stays.
//   - What a user likes is dropped in both cases. The score there is the target, which is
//     used again when the user likes it again.
func (s *Service) invalidateSets(ctx context.Context, changes ...change) error {
	p := s.hub.Pipeline()
	s.invalidateSetsIn(p, changes...)
	return p.Exec(ctx)
}

// invalidateSetsIn is forget as a part of a pipeline.
func (s *Service) invalidateSetsIn(p *cache.Pipeline, changes ...change) {
	users, targets := map[int64]bool{}, map[int64]bool{}
	removed := map[int64][]cache.Entry{}
	for _, c := range changes {
		if c.User != 0 {
			users[c.User] = true
		}
		switch {
		case c.Target == 0 || c.Behind || s.likers == nil:
		case c.Removed != 0:
			removed[c.Target] = append(removed[c.Target], likerEntry(c.User, c.Removed))
		default:
			targets[c.Target] = true
		}
	}
	if s.likers != nil {
		s.likers.RemoveEachIn(p, removed)
		s.likers.InvalidateIn(p, slices.Collect(maps.Keys(targets))...)
	}
	s.liked.InvalidateIn(p, slices.Collect(maps.Keys(users))...)
}

// likerEntry is a user's place among the likers of a note: the first ones are the newest of
// their window.
func likerEntry(user, row int64) cache.Entry { return cache.Entry{Member: decimal(user), Score: -row} }
