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

// updateRefresh limits the delay of a change whose notification was lost.
const updateRefresh = 15 * time.Second

// newestWatched is the number of newest orders of a user that updates include, in addition to
// orders that are not final. So they include an order that fails immediately.
const newestWatched = 20

// ordersKey is the notification key of a user's orders.
func ordersKey(user int64) string { return "orders:" + decimal(user) }

// Final reports whether the order has ended. Only a dispute can still change a USED order.
func (o *Order) Final() bool {
	return o.Status == Used || o.Status == Cancelled || o.Status == Refunded || o.Status == Failed
}

func (o *Order) same(other *Order) bool {
	return o.Status == other.Status && o.Version == other.Version
}

// Updates sends the current state of an order and then each changed state. It may skip states
// between two reads. When the order is final or ctx ends, it closes the channel. An order that
// the viewer must not see is an [apierror.BadUserInput] error. With too many open watches it
// returns [notify.ErrFull].
//
// Number 0 means all orders of the viewer: it sends the orders that are not final, and then
// each new or changed one.
func (s *Service) Updates(ctx context.Context, hub *notify.Hub, v Viewer, number int64) (<-chan *Order, error) {
	if number == 0 {
		return s.allUpdates(ctx, hub, v.UserID)
	}
	first, err := s.ByID(ctx, v, number)
	if errors.Is(err, apierror.ErrNotFound) {
		return nil, apierror.BadInput("order not found")
	}
	if err != nil {
		return nil, err
	}
	return notify.Updates(ctx, hub, ordersKey(first.UserID), notify.UpdateOptions[*Order]{
		Read:    func(ctx context.Context) (*Order, error) { return s.ByID(ctx, v, number) },
		Same:    func(a, b *Order) bool { return a.same(b) },
		Final:   (*Order).Final,
		Refresh: updateRefresh,
	})
}

// allUpdates sends the differences between consecutive snapshots of a user's orders.
func (s *Service) allUpdates(ctx context.Context, hub *notify.Hub, user int64) (<-chan *Order, error) {
	snapshots, err := notify.Updates(ctx, hub, ordersKey(user), notify.UpdateOptions[map[int64]*Order]{
		Read:    func(ctx context.Context) (map[int64]*Order, error) { return s.currentOrders(ctx, user) },
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
			snapshot, ok := <-snapshots
			if !ok {
				return
			}
			changed, err := s.changes(ctx, user, seen, snapshot, first)
			if err != nil && ctx.Err() == nil {
				s.metrics.failed(ctx, "updates", err) // the next snapshot has the rest
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

// currentOrders returns a user's orders that are not final, and the newest orders.
func (s *Service) currentOrders(ctx context.Context, user int64) (map[int64]*Order, error) {
	ctx, span := observe.Span(ctx, "order.present")
	defer span.End()
	queued, err := s.queued(ctx, user) // before the rows: an order that is stored in between is in both
	if err != nil {
		return nil, err
	}
	q := query{first: newestWatched, from: newestKey}
	rows, err := s.newest(ctx, user, q)
	if err != nil {
		return nil, err
	}
	newest := q.merge(queued, rows)
	unfinished, err := s.live(ctx, user, queued)
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

// changes returns the orders of a snapshot that differ from seen, sorted by number. It removes
// final orders that are not in the snapshot from seen. Final orders of the first snapshot are
// not changes.
func (s *Service) changes(ctx context.Context, user int64, seen, snapshot map[int64]*Order, first bool) (changed []*Order, err error) {
	var missing []int64
	for id, o := range seen {
		switch {
		case snapshot[id] != nil:
		case o.Final():
			delete(seen, id)
		default:
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		found, errMissing := s.ByIDs(ctx, Viewer{UserID: user}, missing)
		if errMissing != nil {
			err = fmt.Errorf("read %d orders outside the newest: %w", len(missing), errMissing)
		}
		snapshot = maps.Clone(snapshot)
		maps.Copy(snapshot, found)
	}
	for _, id := range slices.Sorted(maps.Keys(snapshot)) {
		o := snapshot[id]
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
