package order

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/notify"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// updateRefresh is how long a hint that was lost can hide a change.
const updateRefresh = 15 * time.Second

// newestWatched is how many of a user's newest orders are looked at, besides those
// that are not final: one that fails at once is seen all the same.
const newestWatched = 20

// watched is the name by which a user's orders are watched.
func watched(user int64) string { return "orders:" + decimal(user) }

// Final reports whether the order has ended. Only a dispute can still change a USED order.
func (o *Order) Final() bool {
	return o.Status == Used || o.Status == Cancelled || o.Status == Refunded || o.Status == Failed
}

func (o *Order) same(other *Order) bool {
	return o.Status == other.Status && o.Version == other.Version
}

// Updates sends how an order stands, at once, and then each change of it, until it is
// final or ctx ends; then it closes the channel. An order that the viewer may not see
// is a fault, and so is [live.ErrFull].
//
// Number 0 stands for all of the viewer's: those that are not final, at once, and then
// each that comes or changes.
func (s *Service) Updates(ctx context.Context, hub *notify.Hub, v Viewer, number int64) (<-chan *Order, error) {
	if number == 0 {
		return s.allUpdates(ctx, hub, v.UserID)
	}
	first, err := s.ByID(ctx, v, number)
	if errors.Is(err, apierror.ErrNotFound) {
		return nil, apierror.BadInput("there is no such order")
	}
	if err != nil {
		return nil, err
	}
	return notify.Updates(ctx, hub, watched(first.UserID), notify.UpdateOptions[*Order]{
		Read:    func(ctx context.Context) (*Order, error) { return s.ByID(ctx, v, number) },
		Same:    func(a, b *Order) bool { return a.same(b) },
		Final:   (*Order).Final,
		Refresh: updateRefresh,
	})
}

// allUpdates sends what differs between two looks at a user's orders.
func (s *Service) allUpdates(ctx context.Context, hub *notify.Hub, user int64) (<-chan *Order, error) {
	looks, err := notify.Updates(ctx, hub, watched(user), notify.UpdateOptions[map[int64]*Order]{
		Read:    func(ctx context.Context) (map[int64]*Order, error) { return s.present(ctx, user) },
		Refresh: updateRefresh,
	})
	if err != nil {
		return nil, err
	}
	out := make(chan *Order)
	go func() {
		defer close(out)
		seen := map[int64]*Order{}
		for first := true; ; first = false {
			look, ok := <-looks
			if !ok {
				return
			}
			changed, err := s.changes(ctx, user, seen, look, first)
			if err != nil && ctx.Err() == nil {
				s.metrics.failed(ctx, "updates", err) // what is missing comes with the next look
			}
			for _, o := range changed {
				select {
				case out <- o:
					seen[o.ID] = o
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

// present is a user's orders that are not final, and the newest of all.
func (s *Service) present(ctx context.Context, user int64) (map[int64]*Order, error) {
	ctx, span := observe.Span(ctx, "order.present")
	defer span.End()
	waiting, err := s.waiting(ctx, user) // before the rows: an order that is stored meanwhile is in both
	if err != nil {
		return nil, err
	}
	q := query{first: newestWatched, from: newestPlace}
	rows, err := s.newest(ctx, user, q)
	if err != nil {
		return nil, err
	}
	newest := q.merge(waiting, rows)
	unfinished, err := s.live(ctx, user, waiting)
	if err != nil {
		return nil, err
	}
	present := make(map[int64]*Order, len(unfinished)+newestWatched)
	for _, o := range newest[:min(len(newest), newestWatched)] {
		present[o.ID] = o
	}
	for _, o := range unfinished {
		present[o.ID] = o
	}
	return present, nil
}

// changes returns what of a look was not seen before, in the order of their numbers,
// and forgets what is final and gone from it. What was final at the first look is no
// news.
func (s *Service) changes(ctx context.Context, user int64, seen, look map[int64]*Order, first bool) (changed []*Order, err error) {
	var gone []int64
	for id, o := range seen {
		switch {
		case look[id] != nil:
		case o.Final():
			delete(seen, id)
		default:
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		found, errGone := s.ByIDs(ctx, Viewer{UserID: user}, gone)
		if errGone != nil {
			err = fmt.Errorf("read %d orders that are not among the newest any more: %w", len(gone), errGone)
		}
		look = maps.Clone(look)
		maps.Copy(look, found)
	}
	for _, id := range slices.Sorted(maps.Keys(look)) {
		o := look[id]
		if first && o.Final() {
			seen[id] = o
			continue
		}
		if last := seen[id]; last == nil || !last.same(o) {
			changed = append(changed, o)
		}
	}
	return changed, err
}
