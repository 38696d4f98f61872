package like

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// change is an outbox job: it names the cached sets that likes changed.
type change struct {
	Target  int64 `json:"target,omitempty"` // 0 for a change of a user only
	User    int64 `json:"user,omitempty"`   // 0 for a change of a target only
	Removed int64 `json:"gone,omitempty"`   // id of a removed like; 0 for a new like
	Behind  bool  `json:"behind,omitempty"` // whether the like is not among the target's first
}

func (s *Service) topic() string { return s.noun() + "-likes" }

// invalidate is the outbox handler. It runs if the writer fails after its commit.
func (s *Service) invalidate(ctx context.Context, changes ...change) error {
	var targets []int64
	for _, c := range changes {
		if c.Target != 0 {
			targets = append(targets, c.Target)
		}
	}
	return outbox.Transient(errors.Join(s.invalidateSets(ctx, changes...), s.target.InvalidateLikes(ctx, targets...))) // Redis is unavailable
}

// invalidateSets updates the sets in Redis. It is idempotent, and may run late and in any
// order without restoring removed likes:
//
//   - A new like drops the set of its target. Adding it instead could restore a like that
//     was removed meanwhile. The next reader loads the set.
//   - A removed like is removed by its id, which is never reused. A later like of the same
//     user has another id and stays.
//   - Both drop the set of the user. Its scores are targets, which recur when the user
//     likes a target again.
func (s *Service) invalidateSets(ctx context.Context, changes ...change) error {
	p := s.hub.Pipeline()
	s.invalidateSetsIn(p, changes...)
	return p.Exec(ctx)
}

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

// likerEntry returns a set entry: the first likers are the newest entries of their window.
func likerEntry(user, row int64) cache.Entry { return cache.Entry{Member: decimal(user), Score: -row} }
