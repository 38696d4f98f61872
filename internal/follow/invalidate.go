package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// topic is the outbox topic of follows. A job is a [change].
const topic = "follows"

// A change is a follow that began or ended: follower, followee, and id of the deleted row, 0 for
// a new follow. An array keeps jobs short.
type change [3]int64

func (c change) follower() int64 { return c[0] }
func (c change) followee() int64 { return c[1] }
func (c change) row() int64      { return c[2] }

// openOutbox registers the outbox handler. It runs if the writer fails after its commit.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidate)})
}

// invalidate updates Redis for follows that began or ended. It is idempotent, and may run late and
// in any order. For a new follow it drops the follower's set: adding the member could restore a
// follow that has ended. For an ended follow it removes the member only if its score is the id of
// the deleted row.
func (s *Service) invalidate(ctx context.Context, changes ...change) error {
	var began, followees, followers []int64
	ended := map[int64][]cache.Entry{}
	for _, c := range changes {
		followees, followers = append(followees, c.followee()), append(followers, c.follower())
		if c.row() == 0 {
			began = append(began, c.follower())
		} else {
			ended[c.follower()] = append(ended[c.follower()], cacheEntry(cache.ListItem{Pos: c.row(), ID: c.followee()}))
		}
	}
	var all errgroup.Group // concurrently, to share round trips
	all.Go(func() error { return s.followees.Invalidate(ctx, sortedUnique(began)...) })
	all.Go(func() error { return s.followers.Invalidate(ctx, sortedUnique(followees)...) })
	all.Go(func() error { return s.followees.RemoveEach(ctx, ended) })
	err := all.Wait()
	if s.cfg.Notify != nil {
		err = errors.Join(err, s.cfg.Notify(ctx, sortedUnique(followers)...))
	}
	if err != nil {
		err = fmt.Errorf("invalidate %d follows: %w", len(changes), err)
	}
	return outbox.Transient(err) // Redis is unavailable
}

func sortedUnique(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
