package flashsale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
)

const (
	scanPage     = 200              // sales of one SELECT
	scanSales    = 1000             // sales a second whose pieces are counted
	scanBuyers   = 20_000           // buyers and orders a second
	countTimeout = 30 * time.Second // of the statement that counts the pieces of a page of sales
	recheckAfter = time.Second      // after which a difference that is gone was an order, a cancellation or an edit under way
	repairTries  = 2                // a dead order leaves in the first, so the live one of its user can enter in the second
)

// Scans are what this room compares: its sales, buyer by buyer, and their queues. [Service.Reconcile]
// counts every two seconds; a buyer too many beside one too few does not show there.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "pieces", Description: "initial stock less stock of each sale, with its live orders; told, never mended", Rate: scanSales, Run: s.scanPieces},
		{Name: "sales", Description: "running sales and their buyers in Redis, with sales and live orders", Rate: scanBuyers, Redis: true, Run: s.scanSales},
		{Name: "queues", Description: "queued orders, and buyers without a row, with orders and tombstones", Rate: scanBuyers, Redis: true, Run: s.scanQueues},
	}
}

// scanPieces compares the stock of sales with their orders, in the database alone.
// Nothing is mended: one of the two numbers is wrong, and neither says which. To move the
// stock would sell a piece that is not there, or withhold one that was paid for.
func (s *Service) scanPieces(ctx context.Context, r *reconcile.Run) error {
	for after, n := int64(0), scanPage; n == scanPage; {
		var err error
		if after, n, err = s.scanPiecesPage(ctx, s.db, r, after); err != nil {
			return fmt.Errorf("count the pieces of sales behind %d: %w", after, err)
		}
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// scanPiecesPage compares n sales behind an id, and returns the last of them.
func (s *Service) scanPiecesPage(ctx context.Context, db sqldb.Querier, r *reconcile.Run, after int64) (last int64, n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err = sqldb.Each(ctx, db, s.writer.sql.stockCounts, []any{after, scanPage}, func(rows *sql.Rows) error {
		var initial, stock, live int
		if err := rows.Scan(&after, &initial, &stock, &live); err != nil {
			return err
		}
		if n++; initial-stock != live {
			r.Report(fmt.Sprintf("sale %d: of %d pieces %d are left, and %d orders live", after, initial, stock, live))
		}
		return nil
	})
	return after, n, err
}

// differences are what differs, by what stays the same about it from one look to the next.
type differences map[string]string

// intersect forgets what another look did not show.
func (f differences) intersect(other differences) differences {
	maps.DeleteFunc(f, func(key, _ string) bool { _, ok := other[key]; return !ok })
	return f
}

func (f differences) report(r *reconcile.Run) {
	for _, line := range slices.Sorted(maps.Values(f)) {
		r.Report(line)
	}
}

// scanSales compares the running sales as Redis holds them with the database. While a
// server is away its sales are errors, and the others are compared.
func (s *Service) scanSales(ctx context.Context, r *reconcile.Run) error {
	var failed []error
	for after := int64(0); ; {
		sales, err := s.running(ctx, allPartitions, after, scanPage)
		if err != nil {
			return errors.Join(err, joinFew(failed))
		}
		for _, row := range sales {
			if err := s.scanSale(ctx, r, row.ID); err != nil {
				failed = append(failed, fmt.Errorf("compare sale %d: %w", row.ID, err))
			}
			if ctx.Err() != nil {
				return joinFew(failed)
			}
		}
		if len(sales) < scanPage {
			return joinFew(failed)
		}
		after = sales[len(sales)-1].ID
	}
}

// scanSale compares one sale. What differs at two looks, a moment apart, differs.
func (s *Service) scanSale(ctx context.Context, r *reconcile.Run, id int64) error {
	again := func(n int) error { return r.WaitAgain(ctx, n) } // no thing more, and as much work
	found, err := s.findDifferences(ctx, id, func(n int) error { return r.Compare(ctx, n) })
	if err != nil || len(found) == 0 {
		return err
	}
	if err := clock.Sleep(ctx, s.recheckAfter); err != nil {
		return err
	}
	now, err := s.findDifferences(ctx, id, again)
	if err != nil {
		return err
	}
	found.intersect(now).report(r)
	all := len(found)
	if r.DryRun {
		return nil
	}
	for range repairTries {
		if len(found) == 0 {
			break
		}
		if err := s.repairSale(ctx, id); err != nil {
			return err
		}
		if now, err = s.findDifferences(ctx, id, again); err != nil {
			return err
		}
		found.intersect(now)
	}
	r.CountRepaired(all - len(found))
	return nil
}

// repairSale brings a sale in Redis to what its row and its orders say.
func (s *Service) repairSale(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	row, err := s.db.FlashSale.Get(ctx, id)
	if err != nil {
		return err
	}
	got := s.admitter.count(ctx, []location{locationOf(row)})[0]
	if got.err != nil {
		return got.err
	}
	if got.complete && (got.seq > row.EditSeq || got.seq == row.EditSeq && got.initial != row.InitialStock) {
		if err := s.revert(ctx, id, got); err != nil {
			return err
		}
	}
	return s.compareSale(ctx, row, queues{})
}

// findDifferences says what differs between a sale in Redis and the database, and changes
// nothing. What is under way differs too. pace is told of what is about to be compared.
func (s *Service) findDifferences(ctx context.Context, id int64, pace func(n int) error) (differences, error) {
	if err := pace(1); err != nil {
		return nil, err
	}
	row, err := s.db.FlashSale.Query().Where(flashsale.ID(id), flashsale.SweptAtIsNil()).WithVoucher().Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case s.expired(row):
		return nil, nil
	}
	got := s.admitter.count(ctx, []location{locationOf(row)})[0]
	if got.err != nil {
		return nil, got.err
	}
	if !got.complete {
		return differences{"whole": fmt.Sprintf("sale %d: it is not complete in Redis", id)}, nil
	}
	found := differences{}
	if got.buyers+got.stock != got.initial {
		found["stock"] = fmt.Sprintf("sale %d: Redis has %d pieces and %d buyers of %d", id, got.stock, got.buyers, got.initial)
	}
	if got.seq != row.EditSeq || got.initial != row.InitialStock {
		found["edit"] = fmt.Sprintf("sale %d: Redis has %d pieces at edit %d, the row %d at %d", id, got.initial, got.seq, row.InitialStock, row.EditSeq)
	} else if same, err := s.admitter.hasWindow(ctx, versionOf(row)); err != nil {
		return nil, err
	} else if !same {
		found["window"] = fmt.Sprintf("sale %d: Redis has another window or status than the row", id)
	}
	return found, errors.Join(s.inspectLive(ctx, locationOf(row), pace, found), s.inspectBuyers(ctx, locationOf(row), pace, found))
}

// hasWindow reports whether Redis has the window and the status of a version.
func (g *admitter) hasWindow(ctx context.Context, v version) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	got, err := g.state.HMGet(ctx, g.keys.meta(v.partition, v.voucher), "begin", "end", "on").Result()
	if err != nil {
		return false, fmt.Errorf("read the window of sale %d: %w", v.voucher, err)
	}
	want := []any{decimal(v.begin), decimal(v.end), map[bool]string{true: "1", false: "0"}[v.on]}
	return slices.Equal(got, want), nil
}

// inspectLive looks for live orders that have no piece in Redis.
func (s *Service) inspectLive(ctx context.Context, at location, pace func(n int) error, found differences) error {
	for user := int64(0); ; {
		rows, err := s.liveAfter(ctx, at.voucher, user)
		if err != nil {
			return fmt.Errorf("read its live orders: %w", err)
		}
		if err := pace(len(rows)); err != nil {
			return err
		}
		for part := range slices.Chunk(rows, chunkSize) {
			holds := make([]sale.Reservation, len(part))
			for i, r := range part {
				holds[i] = sale.Reservation{Order: r.ID, User: r.UserID, Voucher: at.voucher}
			}
			absent, err := s.admitter.absent(ctx, map[int64]location{at.voucher: at}, holds)
			if err != nil {
				return err
			}
			for _, h := range absent {
				found["live "+decimal(h.Order)] = fmt.Sprintf("sale %d: user %d holds the live order %d, not in Redis", at.voucher, h.User, h.Order)
			}
		}
		if len(rows) < livePage {
			return nil
		}
		user = rows[len(rows)-1].UserID
	}
}

// inspectBuyers looks for buyers in Redis whose orders do not live, or are another's.
// Those of whose orders there is no row are for [Service.scanQueues].
func (s *Service) inspectBuyers(ctx context.Context, at location, pace func(n int) error, found differences) error {
	return s.eachBuyers(ctx, at, func(holds []sale.Reservation) error {
		if err := pace(len(holds)); err != nil {
			return err
		}
		rows, err := s.rowsOf(ctx, orderNumbers(holds))
		if err != nil {
			return err
		}
		for _, h := range holds {
			if row := rows[h.Order]; row != nil && !livesAs(h, row) {
				found["dead "+decimal(h.User)+" "+decimal(h.Order)] = fmt.Sprintf("sale %d: Redis has a piece of user %d for order %d, which is %s", at.voucher, h.User, h.Order, row.Status)
			}
		}
		return nil
	})
}

// eachBuyers walks over the buyers of a sale in Redis, at most 500 at a time.
func (s *Service) eachBuyers(ctx context.Context, at location, do func([]sale.Reservation) error) error {
	for bucket := range at.buckets {
		for cursor, begun := uint64(0), false; cursor != 0 || !begun; begun = true {
			holds, next, err := s.admitter.buyers(ctx, at, bucket, cursor)
			if err != nil {
				return err
			}
			for part := range slices.Chunk(holds, chunkSize) {
				if err := do(part); err != nil {
					return err
				}
			}
			cursor = next
		}
	}
	return nil
}

// absent returns those of the holds that Redis does not have, of sales at these
// places; other sales are passed over.
func (g *admitter) absent(ctx context.Context, locations map[int64]location, holds []sale.Reservation) ([]sale.Reservation, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	pipe := g.state.Pipeline()
	cmds := make([]*redis.StringCmd, len(holds))
	for i, h := range holds {
		if at, ok := locations[h.Voucher]; ok {
			cmds[i] = pipe.HGet(ctx, g.keys.bucket(at.partition, at.voucher, at.bucketOf(h.User)), decimal(h.User))
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var absent []sale.Reservation
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		order, err := cmd.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("look for %d buyers in Redis: %w", len(holds), err)
		}
		if order != decimal(holds[i].Order) {
			absent = append(absent, holds[i])
		}
	}
	return absent, nil
}

// livesAs reports whether a row is of this order, and alive.
func livesAs(h sale.Reservation, row *ent.Order) bool {
	return isLive(row) && row.UserID == h.User && row.VoucherID == h.Voucher
}

func orderNumbers(holds []sale.Reservation) []int64 {
	numbers := make([]int64, len(holds))
	for i, h := range holds {
		numbers[i] = h.Order
	}
	return numbers
}

// writtenAt is when an entry of a stream was written, by the clock of Redis; the zero
// time if its id does not say.
func writtenAt(id string) time.Time {
	text := id
	for i, c := range id {
		if c == '-' {
			text = id[:i]
			break
		}
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
