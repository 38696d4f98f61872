package flashsale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/sale"
)

const (
	lateAfter    = time.Minute      // maximum age of an entry without a row, unless the database was unavailable
	storeTimeout = 20 * time.Second // to store a page of overdue entries
)

// scanQueues compares the queues and buyers in Redis with the database. Each entry must become
// a row and leave its queue, and each buyer must have a row or an entry. An unavailable server
// affects only its own partitions.
func (s *Service) scanQueues(ctx context.Context, r *reconcile.Run) error {
	var failed []error
	for p := range s.admitter.partitions {
		if err := errors.Join(s.scanQueue(ctx, r, p), s.scanLost(ctx, r, p)); err != nil {
			failed = append(failed, fmt.Errorf("partition %d: %w", p, err))
		}
	}
	return joinFew(failed)
}

// queueFindings holds the problems of one page of a queue.
type queueFindings struct {
	ended      []delivery         // orders have rows
	late       []delivery         // without a row for too long, or malformed
	unreserved []sale.Reservation // without a reservation
}

func (b queueFindings) report(r *reconcile.Run, p int) {
	for _, d := range b.ended {
		r.Report(fmt.Sprintf("queue %d: entry %s of order %d, which has a row", p, d.id, d.Order))
	}
	for _, d := range b.late {
		r.Report(fmt.Sprintf("queue %d: entry %s of order %d has waited since %s", p, d.id, d.Order, writtenAt(d.id).UTC().Format(time.DateTime)))
	}
	for _, h := range b.unreserved {
		r.Report(fmt.Sprintf("queue %d: user %d is not a buyer of sale %d in Redis, but has queued order %d", p, h.User, h.Voucher, h.Order))
	}
}

func (s *Service) scanQueue(ctx context.Context, r *reconcile.Run, p int) error {
	return s.eachQueuedUntilNow(ctx, p, func(page []delivery) error {
		if err := r.Compare(ctx, len(page)); err != nil {
			return err
		}
		found, err := s.inspectQueue(ctx, page)
		if err != nil {
			return err
		}
		found.report(r, p)
		if r.DryRun {
			return nil
		}
		repaired, err := s.repairQueue(ctx, p, found)
		r.CountRepaired(repaired)
		return err
	})
}

// eachQueuedUntilNow iterates over the current entries of a queue, at most 500 at a time. It
// ignores later entries, because under load it would never end.
func (s *Service) eachQueuedUntilNow(ctx context.Context, p int, do func([]delivery) error) error {
	last, err := s.admitter.lastQueued(ctx, p)
	if err != nil || last == "" {
		return err
	}
	for from, n := "-", chunkSize; n == chunkSize; {
		entries, err := s.admitter.queuedBetween(ctx, p, from, last)
		if err != nil {
			return err
		}
		if n = len(entries); n == 0 {
			return nil
		}
		page := make([]delivery, n)
		for i, e := range entries {
			page[i] = deliveryOf(p, "", e)
		}
		if err := do(page); err != nil {
			return err
		}
		from = "(" + entries[n-1].ID
	}
	return nil
}

// lastQueued returns the id of the newest entry of a partition's stream, or "".
func (g *admitter) lastQueued(ctx context.Context, partition int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	last, err := g.state.XRevRangeN(ctx, g.keys.orders(partition), "+", "-", 1).Result()
	if err != nil {
		return "", fmt.Errorf("read end of queue of partition %d: %w", partition, err)
	}
	if len(last) == 0 {
		return "", nil
	}
	return last[0].ID, nil
}

func (g *admitter) queuedBetween(ctx context.Context, partition int, from, last string) ([]redis.XMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	entries, err := g.state.XRangeN(ctx, g.keys.orders(partition), from, last, chunkSize).Result()
	if err != nil {
		return nil, fmt.Errorf("read queue of partition %d up to %s: %w", partition, last, err)
	}
	return entries, nil
}

// inspectQueue finds the problems of a page of a queue. It reads the buyers before the rows: an
// order without a row has not released its unit.
func (s *Service) inspectQueue(ctx context.Context, page []delivery) (b queueFindings, err error) {
	var holds []sale.Reservation
	for _, d := range page {
		if d.malformed == nil {
			holds = append(holds, d.hold())
		}
	}
	absent, err := s.absent(ctx, holds)
	if err != nil {
		return b, err
	}
	rows, err := s.rowsOf(ctx, orderNumbers(holds))
	if err != nil {
		return b, err
	}
	b.unreserved = slices.DeleteFunc(absent, func(h sale.Reservation) bool { return rows[h.Order] != nil })
	for _, d := range page {
		switch {
		case s.cfg.Now().Sub(writtenAt(d.id)) < lateAfter:
		case d.malformed == nil && rows[d.Order] != nil:
			b.ended = append(b.ended, d)
		default:
			b.late = append(b.late, d)
		}
	}
	return b, nil
}

// absent returns the orders that are not reserved in Redis. It ignores removed sales.
func (s *Service) absent(ctx context.Context, holds []sale.Reservation) ([]sale.Reservation, error) {
	var vouchers []int64
	for _, h := range holds {
		vouchers = append(vouchers, h.Voucher)
	}
	slices.Sort(vouchers)
	locations, err := s.locationsOf(ctx, slices.Compact(vouchers))
	if err != nil {
		return nil, err
	}
	return s.admitter.absent(ctx, locations, holds)
}

// repairQueue reserves queued orders, and decides late entries like a consumer. If a row
// exists, it counts; a tombstone releases its unit. It returns the number of repairs.
func (s *Service) repairQueue(ctx context.Context, p int, b queueFindings) (repaired int, err error) {
	if err := s.reserve(ctx, b.unreserved); err != nil {
		return 0, err
	}
	absent, err := s.absent(ctx, b.unreserved)
	if err != nil {
		return 0, err
	}
	repaired = len(b.unreserved) - len(absent)
	ended, err := s.storeLate(ctx, p, slices.Concat(b.ended, b.late))
	return repaired + ended, err
}

// storeLate decides at most [maxBatch] entries, even if a consumer has them: the first row owns
// the number. It returns how many have left the queue.
func (s *Service) storeLate(ctx context.Context, p int, late []delivery) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	c := newConsumer(s, s.admitter.state)
	var valid []delivery
	for _, d := range late {
		if d.malformed != nil {
			c.park(ctx, d, d.malformed)
		} else {
			valid = append(valid, d)
		}
	}
	if len(valid) > 0 {
		c.storeBatch(ctx, valid, func() {})
	}
	left := 0
	for _, d := range late {
		entries, err := s.admitter.state.XRangeN(ctx, s.admitter.keys.orders(p), d.id, d.id, 1).Result()
		if err != nil {
			return 0, fmt.Errorf("read entry %s: %w", d.id, err)
		}
		left += len(entries)
	}
	return len(late) - left, nil
}

// scanLost finds buyers of a partition whose orders have neither a row nor an entry: these
// orders were lost, and fail.
func (s *Service) scanLost(ctx context.Context, r *reconcile.Run, p int) error {
	var rowless []sale.Reservation // without a row: few, unless the database is far behind
	for after, n := int64(0), scanPage; n == scanPage; {
		sales, err := s.running(ctx, p, after, scanPage)
		if err != nil {
			return err
		}
		for _, row := range sales {
			found, err := s.rowlessBuyers(ctx, r, locationOf(row))
			if err != nil {
				return fmt.Errorf("read buyers of sale %d: %w", row.ID, err)
			}
			rowless = append(rowless, found...)
		}
		if n = len(sales); n > 0 {
			after = sales[n-1].ID
		}
	}
	lost, err := s.lostOrders(ctx, p, rowless)
	if err != nil {
		return err
	}
	for _, h := range lost {
		r.Report(fmt.Sprintf("sale %d: Redis has user %d with order %d, which has neither a row nor an entry", h.Voucher, h.User, h.Order))
	}
	if r.DryRun {
		return nil
	}
	repaired, err := s.failLost(ctx, p, lost)
	r.CountRepaired(repaired)
	return err
}

// rowlessBuyers returns a sale's buyers whose orders are older than lateAfter and have no row.
func (s *Service) rowlessBuyers(ctx context.Context, r *reconcile.Run, at location) (rowless []sale.Reservation, err error) {
	err = s.eachBuyers(ctx, at, func(holds []sale.Reservation) error {
		if err := r.Compare(ctx, len(holds)); err != nil {
			return err
		}
		rows, err := s.rowsOf(ctx, orderNumbers(holds))
		if err != nil {
			return err
		}
		for _, h := range holds {
			if rows[h.Order] == nil && s.cfg.Now().Sub(s.cfg.MadeAt(h.Order)) > lateAfter {
				rowless = append(rowless, h)
			}
		}
		return nil
	})
	return rowless, err
}

// lostOrders returns the orders of one partition with neither an entry nor a row. An entry
// leaves the queue when its row exists, so the queue is read after the buyers and before the
// rows.
func (s *Service) lostOrders(ctx context.Context, p int, holds []sale.Reservation) (lost []sale.Reservation, err error) {
	if len(holds) == 0 {
		return nil, nil
	}
	waits, err := s.queuedOrders(ctx, p)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(holds, chunkSize) {
		rows, err := s.rowsOf(ctx, orderNumbers(part))
		if err != nil {
			return nil, err
		}
		for _, h := range part {
			if rows[h.Order] == nil && !waits[h.Order] {
				lost = append(lost, h)
			}
		}
	}
	return lost, nil
}

func (s *Service) queuedOrders(ctx context.Context, p int) (map[int64]bool, error) {
	waits := map[int64]bool{}
	err := s.eachQueuedUntilNow(ctx, p, func(page []delivery) error {
		for _, d := range page {
			waits[d.Order] = true
		}
		return nil
	})
	return waits, err
}

// failLost inserts tombstones for lost orders, releases their units and deletes their entries. It
// returns how many of the orders have rows afterwards.
func (s *Service) failLost(ctx context.Context, p int, lost []sale.Reservation) (repaired int, err error) {
	for part := range slices.Chunk(lost, maxBatch) {
		entries := make([]Entry, len(part))
		for i, h := range part {
			entries[i] = Entry{Order: h.Order, User: h.User, Voucher: h.Voucher, At: s.cfg.MadeAt(h.Order)}
		}
		inserted, err := s.tombstone(ctx, entries)
		s.m.did(didAbort, len(inserted))
		if err != nil {
			return repaired, err
		}
		if err := s.admitter.done(ctx, p, nil, inserted); err != nil {
			return repaired, err
		}
		rows, err := s.rowsOf(ctx, orderNumbers(part))
		if err != nil {
			return repaired, err
		}
		repaired += len(rows)
	}
	return repaired, nil
}
