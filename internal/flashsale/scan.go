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
	scanSales    = 1000             // counted sales per second
	scanBuyers   = 20_000           // buyers and orders per second
	countTimeout = 30 * time.Second // to count the live orders of a page of sales
	recheckAfter = time.Second      // between two comparisons; an uncommitted change differs only in the first
	repairTries  = 2                // the first releases a dead order, the second reserves the live order of its user
)

// Scans returns the scans of sales and their queues, buyer by buyer. [Service.Reconcile] only
// counts, every two seconds: it misses one excess buyer that offsets a missing one.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "pieces", Description: "sold stock of each sale, with its live orders; reported, never repaired", Rate: scanSales, Run: s.scanStocks},
		{Name: "sales", Description: "running sales and their buyers in Redis, with sales and live orders", Rate: scanBuyers, Redis: true, Run: s.scanSales},
		{Name: "queues", Description: "queued orders, and buyers without a row, with orders and tombstones", Rate: scanBuyers, Redis: true, Run: s.scanQueues},
	}
}

// scanStocks compares the stock of sales with their live orders, in the database only. It
// repairs nothing, because it cannot know which number is wrong. A change of the stock could
// oversell, or withhold a paid unit.
func (s *Service) scanStocks(ctx context.Context, r *reconcile.Run) error {
	for after, n := int64(0), scanPage; n == scanPage; {
		var err error
		if after, n, err = s.scanStocksPage(ctx, s.db, r, after); err != nil {
			return fmt.Errorf("count live orders of sales after %d: %w", after, err)
		}
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// scanStocksPage compares n sales after an id, and returns the last id.
func (s *Service) scanStocksPage(ctx context.Context, db sqldb.Querier, r *reconcile.Run, after int64) (last int64, n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err = sqldb.Each(ctx, db, s.writer.sql.stockCounts, []any{after, scanPage}, func(rows *sql.Rows) error {
		var initial, stock, live int
		if err := rows.Scan(&after, &initial, &stock, &live); err != nil {
			return err
		}
		if n++; initial-stock != live {
			r.Report(fmt.Sprintf("sale %d: %d units, %d left, %d live orders", after, initial, stock, live))
		}
		return nil
	})
	return after, n, err
}

// differences holds findings by a key that is the same in repeated comparisons.
type differences map[string]string

// intersect deletes findings that other does not have.
func (f differences) intersect(other differences) differences {
	maps.DeleteFunc(f, func(key, _ string) bool { _, ok := other[key]; return !ok })
	return f
}

func (f differences) report(r *reconcile.Run) {
	for _, line := range slices.Sorted(maps.Values(f)) {
		r.Report(line)
	}
}

// scanSales compares the running sales in Redis with the database. It returns errors for the
// sales of unavailable servers, and compares the others.
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

// scanSale compares one sale. It reports differences that two comparisons find.
func (s *Service) scanSale(ctx context.Context, r *reconcile.Run, id int64) error {
	again := func(n int) error { return r.WaitAgain(ctx, n) } // paced, but not counted again
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

// repairSale updates a sale in Redis from its row and its orders.
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

// findDifferences compares a sale in Redis with the database. Uncommitted changes differ too.
// It calls pace before each comparison.
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
		return differences{"whole": fmt.Sprintf("sale %d: incomplete in Redis", id)}, nil
	}
	found := differences{}
	if got.buyers+got.stock != got.initial {
		found["stock"] = fmt.Sprintf("sale %d: Redis has %d units and %d buyers of %d", id, got.stock, got.buyers, got.initial)
	}
	if got.seq != row.EditSeq || got.initial != row.InitialStock {
		found["edit"] = fmt.Sprintf("sale %d: Redis has %d units at edit %d, the row %d at %d", id, got.initial, got.seq, row.InitialStock, row.EditSeq)
	} else if same, err := s.admitter.hasWindow(ctx, versionOf(row)); err != nil {
		return nil, err
	} else if !same {
		found["window"] = fmt.Sprintf("sale %d: Redis and row differ in window or status", id)
	}
	return found, errors.Join(s.inspectLive(ctx, locationOf(row), pace, found), s.inspectBuyers(ctx, locationOf(row), pace, found))
}

func (g *admitter) hasWindow(ctx context.Context, v version) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	got, err := g.state.HMGet(ctx, g.keys.meta(v.partition, v.voucher), "begin", "end", "on").Result()
	if err != nil {
		return false, fmt.Errorf("read window of sale %d: %w", v.voucher, err)
	}
	want := []any{decimal(v.begin), decimal(v.end), map[bool]string{true: "1", false: "0"}[v.on]}
	return slices.Equal(got, want), nil
}

// inspectLive finds live orders that are not reserved in Redis.
func (s *Service) inspectLive(ctx context.Context, at location, pace func(n int) error, found differences) error {
	for user := int64(0); ; {
		rows, err := s.liveAfter(ctx, at.voucher, user)
		if err != nil {
			return fmt.Errorf("read live orders: %w", err)
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

// inspectBuyers finds buyers in Redis whose orders are dead or another user's.
// [Service.scanQueues] checks buyers without a row.
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
				found["dead "+decimal(h.User)+" "+decimal(h.Order)] = fmt.Sprintf("sale %d: Redis has user %d with order %d, which is %s", at.voucher, h.User, h.Order, row.Status)
			}
		}
		return nil
	})
}

// eachBuyers iterates over the buyers of a sale in Redis, at most 500 at a time.
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

// absent returns the orders that are not reserved in Redis. It ignores sales without a location.
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
			return nil, fmt.Errorf("read %d buyers in Redis: %w", len(holds), err)
		}
		if order != decimal(holds[i].Order) {
			absent = append(absent, holds[i])
		}
	}
	return absent, nil
}

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

// writtenAt returns the time in a stream entry id, by the clock of Redis, or the zero time.
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
