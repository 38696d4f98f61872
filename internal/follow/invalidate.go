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

// topic is that of this room's jobs in the outbox: a [change] each.
const topic = "follows"

// A change is a follow that began or ended: the follower, the followee, and the id of the
// row that was deleted, 0 of one that began. As an array it is short enough for a job.
type change [3]int64

func (c change) follower() int64 { return c[0] }
func (c change) followee() int64 { return c[1] }
func (c change) row() int64      { return c[2] }

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.tell)})
}

// tell tells Redis of follows that began or ended. It may be repeated, and come late:
// one that began drops the follower's set, for the next reader to load, because its own
// end may have been told before; one that ended takes out what stands there with its own
// row's id. So nothing that ended comes back, in whatever order they are told.
func (s *Service) tell(ctx context.Context, changes ...change) error {
	var began, followees, followers []int64
	ended := map[int64][]cache.Entry{}
	for _, c := range changes {
		followees, followers = append(followees, c.followee()), append(followers, c.follower())
		if c.row() == 0 {
			began = append(began, c.follower())
		} else {
			ended[c.follower()] = append(ended[c.follower()], entry(cache.ListItem{Pos: c.row(), ID: c.followee()}))
		}
	}
	var all errgroup.Group // at once, which makes them share round trips
	all.Go(func() error { return s.out.Invalidate(ctx, each(began)...) })
	all.Go(func() error { return s.followers.Invalidate(ctx, each(followees)...) })
	all.Go(func() error { return s.out.RemoveEach(ctx, ended) })
	err := all.Wait()
	if s.cfg.Notify != nil {
		err = errors.Join(err, s.cfg.Notify(ctx, each(followers)...))
	}
	if err != nil {
		err = fmt.Errorf("tell of %d follows: %w", len(changes), err)
	}
	return outbox.Transient(err) // Redis is away
}

// each returns ids in ascending order, each once.
func each(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
