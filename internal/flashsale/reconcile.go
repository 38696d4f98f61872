package flashsale

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/ent/schema"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
)

const (
	reconcileEvery  = 2 * time.Second
	roundTimeout    = 5 * time.Minute // of one round; enough to compare a million buyers
	maxComparePause = 5 * time.Minute // between two comparisons of a sale that find nothing
	livePage        = 2000            // rows of one SELECT
	roundSales      = 2000            // sales of one round
	roundBuckets    = 20_000          // buckets of one round; the next round continues, so Redis stays available
	noisyRounds     = 15              // rounds in which a difference may come from uncommitted orders
)

// reconciler is one run of [Service.Reconcile].
type reconciler struct {
	s       *Service
	after   int64 // last voucher of the previous round
	suspect map[int64]mismatch
}

// mismatch is a sale whose number of buyers differs from its row. Uncommitted orders cause it too.
type mismatch struct {
	before bool          // the previous round found it too, with an empty queue
	noisy  int           // rounds with a non-empty queue
	pause  time.Duration // after the last comparison
	until  time.Time     // end of the pause
}

// Reconcile compares the sales in Redis with the database and repairs them, every two seconds
// until ctx ends. A round without differences costs two SELECTs and two pipelines, or a few for
// many buckets. A round covers at most 2000 sales and 20 000 buckets; the next one continues.
// Any number of processes may run it: they take turns.
func (s *Service) Reconcile(ctx context.Context) error {
	r := &reconciler{s: s, suspect: map[int64]mismatch{}}
	for clock.Sleep(ctx, reconcileEvery) == nil {
		_, err := s.tryLocked(ctx, "sale.reconcile", r.round)
		if err != nil && ctx.Err() == nil {
			s.recordFailure(ctx, "compare sales with the database", err)
		}
	}
	return nil
}

// round checks the next running sales, within the limits of one round.
func (r *reconciler) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	sales, last, err := r.nextSales(ctx)
	if err != nil {
		return err
	}
	locations := make([]location, len(sales))
	for i, row := range sales {
		locations[i] = locationOf(row)
	}
	counts := r.s.admitter.count(ctx, locations)
	backlog, err := r.s.admitter.backlogs(ctx)
	failed := []error{err} // one server of a cluster may be unavailable
	q := queues{}
	seen := make(map[int64]bool, len(sales))
	for i, row := range sales {
		seen[row.ID] = true
		if counts[i].err != nil {
			failed = append(failed, counts[i].err)
			continue
		}
		failed = append(failed, r.check(ctx, row, counts[i], backlog[row.Partition] == 0, q))
	}
	for id := range r.suspect {
		if id > r.after && id <= last && !seen[id] {
			delete(r.suspect, id)
		}
	}
	if r.after = last; last == math.MaxInt64 {
		r.after = 0
	}
	return joinFew(append(failed, r.s.sweepEnded(ctx)))
}

// nextSales reads the sales of one round, and the last id that it covers.
func (r *reconciler) nextSales(ctx context.Context) (sales []*ent.FlashSale, last int64, err error) {
	sales, err = r.s.running(ctx, allPartitions, r.after, roundSales)
	if err != nil {
		return nil, 0, err
	}
	buckets := 0
	for i, row := range sales {
		if buckets += row.Buckets; i > 0 && buckets > roundBuckets {
			return sales[:i], sales[i-1].ID, nil
		}
	}
	if len(sales) == roundSales {
		return sales, sales[len(sales)-1].ID, nil
	}
	return sales, math.MaxInt64, nil
}

const maxJoinedErrors = 5

// joinFew joins the first errors and counts the rest: an unavailable Redis causes one per sale.
func joinFew(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > maxJoinedErrors {
		errs = append(errs[:maxJoinedErrors:maxJoinedErrors], fmt.Errorf("and %d more", len(errs)-maxJoinedErrors))
	}
	return errors.Join(errs...)
}

// check repairs one sale. quiet reports that the queue of its partition is empty. A busy
// partition always has uncommitted orders.
func (r *reconciler) check(ctx context.Context, row *ent.FlashSale, got stockCount, quiet bool, q queues) error {
	s := r.s
	switch {
	case !got.complete:
		return s.compareSale(ctx, row, q)
	case got.seq < row.EditSeq:
		return s.Apply(ctx, row.ID)
	case got.seq > row.EditSeq, got.initial != row.InitialStock:
		return s.revert(ctx, row.ID, got)
	case got.buyers+got.stock != got.initial:
		return s.settle(ctx, locationOf(row))
	}
	was := r.suspect[row.ID]
	differs := got.buyers != row.InitialStock-row.Stock
	switch {
	case !differs:
		delete(r.suspect, row.ID)
		return nil
	case !quiet && was.noisy < noisyRounds:
		was.before = false
		was.noisy++
	case quiet && !was.before:
		was.before = true
	case s.cfg.Now().Before(was.until):
	default:
		was.pause = min(max(2*was.pause, reconcileEvery), maxComparePause)
		was.until, was.noisy = s.cfg.Now().Add(was.pause), 0
		r.suspect[row.ID] = was
		return s.compareSale(ctx, row, q)
	}
	r.suspect[row.ID] = was
	return nil
}

const allPartitions = -1

// running returns the sales that belong in Redis, with ids above after, of one partition or of
// all. A limit of 0 means all.
func (s *Service) running(ctx context.Context, partition int, after int64, limit int) ([]*ent.FlashSale, error) {
	which := []predicate.FlashSale{flashsale.SweptAtIsNil(), flashsale.EndsAtGT(s.cutoff()), flashsale.IDGT(after)}
	if partition != allPartitions {
		which = append(which, flashsale.Partition(partition))
	}
	query := s.db.FlashSale.Query().Where(which...).Order(flashsale.ByID())
	if limit > 0 {
		query.Limit(limit)
	}
	sales, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the running sales: %w", err)
	}
	return sales, nil
}

// backlogs returns the length of each partition's stream, or -1 if it is unknown.
func (g *admitter) backlogs(ctx context.Context) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	pipe := g.state.Pipeline()
	cmds := make([]*redis.IntCmd, g.partitions)
	for p := range cmds {
		cmds[p] = pipe.XLen(ctx, g.keys.orders(p))
	}
	_, err := pipe.Exec(ctx)
	if err != nil {
		err = fmt.Errorf("read lengths of order queues: %w", err)
	}
	lengths := make([]int64, len(cmds))
	for p, cmd := range cmds {
		if lengths[p] = cmd.Val(); cmd.Err() != nil {
			lengths[p] = -1
		}
	}
	return lengths, err
}

// revert resets a sale to its row after an edit that was never stored: its writer died after
// [Service.DecreaseStock]. It skips a locked row, whose edit may still be stored.
func (s *Service) revert(ctx context.Context, id int64, got stockCount) error {
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		rows, err := tx.FlashSale.Query().Where(flashsale.ID(id)).WithVoucher().Modify(sqldb.ForUpdateSkipLocked).All(ctx)
		if err != nil {
			return fmt.Errorf("lock row: %w", err)
		}
		if len(rows) == 0 || (rows[0].EditSeq >= got.seq && rows[0].InitialStock == got.initial) {
			return nil
		}
		s.m.did(didEdit, 1)
		_, err = s.admitter.edit(ctx, true, versionOf(rows[0]))
		return err
	})
	if err != nil {
		return fmt.Errorf("revert sale %d to its row: %w", id, err)
	}
	return nil
}

func (s *Service) settle(ctx context.Context, at location) error {
	drift, err := s.admitter.settle(ctx, at)
	if errors.Is(err, errNoState) {
		return nil // removed meanwhile: the next round rebuilds it
	}
	if err == nil && drift != 0 {
		s.m.did(didSettle, 1)
		s.admitter.clearSoldOut(at.voucher)
	}
	return err
}

// compareSale compares each buyer of a sale with the database, and repairs differences with
// reserve and release. Admissions continue meanwhile.
func (s *Service) compareSale(ctx context.Context, row *ent.FlashSale, q queues) error {
	rebuilt, err := s.apply(ctx, q, row.ID)
	if err != nil {
		return err
	}
	if rebuilt == 0 { // a rebuild includes reserveAll
		if err := s.reserveAll(ctx, locationOf(row), q); err != nil {
			return err
		}
	}
	for i := range row.Buckets {
		if err := s.releaseDead(ctx, locationOf(row), i); err != nil {
			return err
		}
	}
	return s.settle(ctx, locationOf(row))
}

// reserveAll reserves all live and queued orders of a sale.
func (s *Service) reserveAll(ctx context.Context, at location, q queues) error {
	for user := int64(0); ; {
		rows, err := s.liveAfter(ctx, at.voucher, user)
		if err != nil {
			return fmt.Errorf("read live orders of sale %d: %w", at.voucher, err)
		}
		for part := range slices.Chunk(rows, chunkSize) {
			holds := make([]sale.Reservation, len(part))
			for i, r := range part {
				holds[i] = sale.Reservation{Order: r.ID, User: r.UserID, Voucher: at.voucher}
			}
			if err := s.reserveCounted(ctx, didReserve, at, holds); err != nil {
				return err
			}
		}
		if len(rows) < livePage {
			return s.reserveQueued(ctx, at, q)
		}
		user = rows[len(rows)-1].UserID
	}
}

// liveAfter reads a page of a voucher's live orders, by user.
func (s *Service) liveAfter(ctx context.Context, voucher, user int64) (rows []*ent.Order, err error) {
	page := func(db *ent.OrderClient) error {
		rows, err = db.Query().Where(order.VoucherID(voucher), order.UserIDGT(user), live).
			Order(order.ByUserID()).Limit(livePage).Select(order.FieldID, order.FieldUserID).All(ctx)
		return err
	}
	if s.db.Dialect() != dialect.Postgres {
		return rows, page(s.db.Order)
	}
	return rows, ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		// A newly filled table has no statistics: the planner would expect few orders of a
		// voucher and sort all of them for each page.
		if _, err := tx.ExecContext(ctx, "SET LOCAL enable_sort = off"); err != nil {
			return err
		}
		return page(tx.Order)
	})
}

// live selects the orders in the index order_live: those that exclude another order of their
// user.
func live(s *entsql.Selector) { s.Where(entsql.ExprP("one_per_user AND " + schema.LiveOrder)) }

func (s *Service) reserveCounted(ctx context.Context, did string, at location, holds []sale.Reservation) error {
	moved, err := s.admitter.reserve(ctx, at, holds)
	s.m.did(did, moved)
	return err
}

// reserveQueued reserves the queued orders of a sale, in case Redis lost their bucket.
func (s *Service) reserveQueued(ctx context.Context, at location, q queues) error {
	holds, err := q.reservations(ctx, s, at)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(holds, chunkSize) {
		if err := s.reserveCounted(ctx, didQueueRow, at, part); err != nil {
			return err
		}
	}
	return nil
}

// queues caches queued orders by partition and voucher during one comparison. It reads each
// partition once, for the first of its sales. The same comparison releases orders that failed since
// the read. Admissions reserve newer orders.
type queues map[int]map[int64][]sale.Reservation

func (q queues) reservations(ctx context.Context, s *Service, at location) ([]sale.Reservation, error) {
	if q[at.partition] == nil {
		all := map[int64][]sale.Reservation{}
		err := s.eachQueued(ctx, at.partition, func(page []delivery) error {
			for _, d := range page {
				if d.malformed == nil {
					all[d.Voucher] = append(all[d.Voucher], d.hold())
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		q[at.partition] = all
	}
	return q[at.partition][at.voucher], nil
}

// eachQueued iterates over the queue of a partition, at most 500 entries at a time.
func (s *Service) eachQueued(ctx context.Context, p int, do func([]delivery) error) error {
	for from := "-"; ; {
		entries, err := s.admitter.queued(ctx, p, from)
		if err != nil {
			return err
		}
		page := make([]delivery, len(entries))
		for i, e := range entries {
			page[i] = deliveryOf(p, "", e)
		}
		if err := do(page); err != nil {
			return err
		}
		if len(entries) < chunkSize {
			return nil
		}
		from = "(" + entries[len(entries)-1].ID
	}
}

func (g *admitter) queued(ctx context.Context, partition int, from string) ([]redis.XMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	entries, err := g.state.XRangeN(ctx, g.keys.orders(partition), from, "+", chunkSize).Result()
	if err != nil {
		return nil, fmt.Errorf("read queue of partition %d: %w", partition, err)
	}
	return entries, nil
}

// releaseDead releases the buyers in one bucket whose orders are dead, and fails lost orders.
func (s *Service) releaseDead(ctx context.Context, at location, bucket int) error {
	for cursor, begun := uint64(0), false; cursor != 0 || !begun; begun = true {
		holds, next, err := s.admitter.buyers(ctx, at, bucket, cursor)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(holds, chunkSize) {
			if err := s.releaseDeadOf(ctx, at, part); err != nil {
				return err
			}
		}
		cursor = next
	}
	return nil
}

func (g *admitter) buyers(ctx context.Context, at location, bucket int, cursor uint64) (holds []sale.Reservation, next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	flat, next, err := g.state.HScan(ctx, g.keys.bucket(at.partition, at.voucher, bucket), cursor, "", chunkSize).Result()
	if err != nil {
		return nil, 0, fmt.Errorf("read buyers of sale %d: %w", at.voucher, err)
	}
	for pair := range slices.Chunk(flat, 2) {
		hold, err := readReservation(at.voucher, pair)
		if err != nil {
			return nil, 0, err
		}
		holds = append(holds, hold)
	}
	return holds, next, nil
}

func (s *Service) releaseDeadOf(ctx context.Context, at location, holds []sale.Reservation) error {
	numbers := make([]int64, len(holds))
	for i, h := range holds {
		numbers[i] = h.Order
	}
	rows, err := s.rowsOf(ctx, numbers)
	if err != nil {
		return err
	}
	var dead, unknown []sale.Reservation
	for _, h := range holds {
		row := rows[h.Order]
		switch {
		case row == nil && s.cfg.Now().Sub(s.cfg.MadeAt(h.Order)) > presumeAfter:
			unknown = append(unknown, h)
		case row != nil && (!isLive(row) || row.UserID != h.User || row.VoucherID != h.Voucher):
			dead = append(dead, h)
		}
	}
	moved, err := s.admitter.release(ctx, at, dead)
	s.m.did(didRelease, moved)
	if err == nil && moved > 0 {
		err = s.reserveLive(ctx, at, dead)
	}
	return errors.Join(err, s.abort(ctx, unknown))
}

// reserveLive reserves the live orders of users whose dead orders were released. Until then the
// dead order of a Redis that lost its last writes prevents the reservation.
func (s *Service) reserveLive(ctx context.Context, at location, released []sale.Reservation) error {
	users := make([]int64, len(released))
	for i, h := range released {
		users[i] = h.User
	}
	rows, err := s.db.Order.Query().Where(order.VoucherID(at.voucher), order.UserIDIn(users...), live).
		Select(order.FieldID, order.FieldUserID).All(ctx)
	if err != nil {
		return fmt.Errorf("read live orders of %d users of sale %d: %w", len(users), at.voucher, err)
	}
	holds := make([]sale.Reservation, len(rows))
	for i, r := range rows {
		holds[i] = sale.Reservation{Order: r.ID, User: r.UserID, Voucher: at.voucher}
	}
	return s.reserveCounted(ctx, didReserve, at, holds)
}

// abort fails orders that have a unit in Redis, but neither a row nor an entry (presumed
// abort). The tombstone decides: an order that has a row by now keeps its unit.
func (s *Service) abort(ctx context.Context, holds []sale.Reservation) error {
	if len(holds) == 0 {
		return nil
	}
	numbers := make([]int64, len(holds))
	for i, h := range holds {
		numbers[i] = h.Order
	}
	queued, err := s.admitter.entries(ctx, numbers)
	if err != nil {
		return err
	}
	var lost []Entry
	for _, h := range holds {
		if queued[h.Order] == nil {
			lost = append(lost, Entry{Order: h.Order, User: h.User, Voucher: h.Voucher, At: s.cfg.MadeAt(h.Order)})
		}
	}
	if len(lost) == 0 {
		return nil
	}
	inserted, err := s.tombstone(ctx, lost)
	s.m.did(didAbort, len(inserted))
	return err
}
