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
	roundTimeout    = 5 * time.Minute // of one round; a deep comparison of a million buyers fits
	maxComparePause = 5 * time.Minute // between two deep comparisons that find nothing
	livePage        = 2000            // rows of one SELECT
	roundSales      = 2000            // that one round looks at,
	roundBuckets    = 20_000          // and buckets: more take turns, so that no number of sales keeps Redis busy
	noisyRounds     = 15              // that a difference may be orders under way
)

// A reconciler is what one run of [Service.Reconcile] remembers of sales that did not
// agree with the database.
type reconciler struct {
	s       *Service
	after   int64 // voucher behind which the next round begins
	suspect map[int64]mismatch
}

// A mismatch is a sale whose buyers are not as many as its row says. Orders under
// way look so too.
type mismatch struct {
	before bool          // the round before found it too, with nothing under way
	noisy  int           // rounds in which something was
	pause  time.Duration // after the last deep comparison
	until  time.Time     // until then
}

// Reconcile compares what Redis holds of sales with the database, every two seconds
// until ctx ends, and sets it right. A round over sales that are right is two SELECTs and two
// pipelines, or a few for many buckets; of more than 2000 sales or 20 000 buckets it looks
// at the next ones only. Any number of processes may run it: they take turns.
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

// round looks at the running sales, or at as many as it may; the next one goes on
// behind them.
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
	failed := []error{err} // one server of a cluster may be away
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

// nextSales reads the sales of one round, and the last id that it is about.
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

// joinFew joins the first of the errors, and says how many more there are: while a Redis
// is away there is one for each sale.
func joinFew(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > maxJoinedErrors {
		errs = append(errs[:maxJoinedErrors:maxJoinedErrors], fmt.Errorf("and %d more", len(errs)-maxJoinedErrors))
	}
	return errors.Join(errs...)
}

// check sets one sale right. quiet says that no order of its partition waits for its
// commit: others may, for as long as the partition has traffic.
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

// running are the sales that Redis should hold, of one partition or of any, behind an
// id; no more than limit, 0 for all.
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

// backlogs is how many entries the stream of each partition has, -1 if it does not say.
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
		err = fmt.Errorf("measure the queues of orders: %w", err)
	}
	lengths := make([]int64, len(cmds))
	for p, cmd := range cmds {
		if lengths[p] = cmd.Val(); cmd.Err() != nil {
			lengths[p] = -1
		}
	}
	return lengths, err
}

// revert brings a sale back to its row that is at an edit which was never stored: its
// writer died after [Service.DecreaseStock]. While the row is locked the edit may still come.
func (s *Service) revert(ctx context.Context, id int64, got stockCount) error {
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		rows, err := tx.FlashSale.Query().Where(flashsale.ID(id)).WithVoucher().Modify(sqldb.ForUpdateSkipLocked).All(ctx)
		if err != nil {
			return fmt.Errorf("lock its row: %w", err)
		}
		if len(rows) == 0 || (rows[0].EditSeq >= got.seq && rows[0].InitialStock == got.initial) {
			return nil
		}
		s.m.did(didEdit, 1)
		_, err = s.admitter.edit(ctx, true, versionOf(rows[0]))
		return err
	})
	if err != nil {
		return fmt.Errorf("bring sale %d back to its row: %w", id, err)
	}
	return nil
}

func (s *Service) settle(ctx context.Context, at location) error {
	drift, err := s.admitter.settle(ctx, at)
	if errors.Is(err, errNoState) {
		return nil // gone meanwhile: the next round rebuilds it
	}
	if err == nil && drift != 0 {
		s.m.did(didSettle, 1)
		s.admitter.clearSoldOut(at.voucher)
	}
	return err
}

// compareSale compares each buyer of a sale with the database, and sets right what differs
// by the pair of moves: no traffic has to stop.
func (s *Service) compareSale(ctx context.Context, row *ent.FlashSale, q queues) error {
	rebuilt, err := s.apply(ctx, q, row.ID)
	if err != nil {
		return err
	}
	if rebuilt == 0 { // which enters them too
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

// reserveAll enters who has a live order, or one that is queued.
func (s *Service) reserveAll(ctx context.Context, at location, q queues) error {
	for user := int64(0); ; {
		rows, err := s.liveAfter(ctx, at.voucher, user)
		if err != nil {
			return fmt.Errorf("read the live orders of sale %d: %w", at.voucher, err)
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
		// A table that was filled a moment ago has no statistics: the planner would take
		// the orders of a voucher for few, and sort all of them for each page.
		if _, err := tx.ExecContext(ctx, "SET LOCAL enable_sort = off"); err != nil {
			return err
		}
		return page(tx.Order)
	})
}

// live is LiveOrder as the index order_live has it: of those that exclude another.
func live(s *entsql.Selector) { s.Where(entsql.ExprP("one_per_user AND " + schema.LiveOrder)) }

func (s *Service) reserveCounted(ctx context.Context, did string, at location, holds []sale.Reservation) error {
	moved, err := s.admitter.reserve(ctx, at, holds)
	s.m.did(did, moved)
	return err
}

// reserveQueued enters the buyers of a sale whose orders wait for their commit: a
// bucket that was lost had them.
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

// queues are who waits for a commit, by partition and voucher, as one comparison of
// several sales reads them: each partition once, when the first of its sales asks. Who
// was decided since is released by the same comparison, or has his row; who came since
// was entered by his admission.
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

// eachQueued walks over the queue of a partition, at most 500 entries at a time.
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

// queued reads a page of a partition's stream.
func (g *admitter) queued(ctx context.Context, partition int, from string) ([]redis.XMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	entries, err := g.state.XRangeN(ctx, g.keys.orders(partition), from, "+", chunkSize).Result()
	if err != nil {
		return nil, fmt.Errorf("read the queue of partition %d: %w", partition, err)
	}
	return entries, nil
}

// releaseDead removes buyers of one bucket whose orders do not live, and ends those
// of which nobody knows.
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

// buyers reads a part of a bucket.
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

// reserveLive enters the live orders of users whose dead ones were in their way: a Redis that
// lost its last second has the order before the one that lives.
func (s *Service) reserveLive(ctx context.Context, at location, released []sale.Reservation) error {
	users := make([]int64, len(released))
	for i, h := range released {
		users[i] = h.User
	}
	rows, err := s.db.Order.Query().Where(order.VoucherID(at.voucher), order.UserIDIn(users...), live).
		Select(order.FieldID, order.FieldUserID).All(ctx)
	if err != nil {
		return fmt.Errorf("read the live orders of %d users of sale %d: %w", len(users), at.voucher, err)
	}
	holds := make([]sale.Reservation, len(rows))
	for i, r := range rows {
		holds[i] = sale.Reservation{Order: r.ID, User: r.UserID, Voucher: at.voucher}
	}
	return s.reserveCounted(ctx, didReserve, at, holds)
}

// abort ends orders that have a piece in Redis, but neither a row nor an entry
// there: presumed abort. The tombstone decides: who has a row by now keeps the piece.
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
