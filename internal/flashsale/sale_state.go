package flashsale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/ent/voucher"
)

// retention is the time that a sale stays in Redis after its end, to answer "ended" and to find
// existing orders.
const retention = 24 * time.Hour

func locationOf(row *ent.FlashSale) location { return location{row.ID, row.Partition, row.Buckets} }

// versionOf returns the version in a row. The voucher must be read with the row or later: then
// its status is at least as new as the edit number.
func versionOf(row *ent.FlashSale) version {
	return version{
		location: locationOf(row), initial: row.InitialStock, begin: row.BeginsAt, end: row.EndsAt,
		on: row.Edges.Voucher.Status == voucher.StatusON_SALE, seq: row.EditSeq,
	}
}

// expired reports whether a sale has left Redis or is about to.
func (s *Service) expired(row *ent.FlashSale) bool { return row.EndsAt <= s.cutoff() }

// cutoff returns the end time, in milliseconds, before which sales leave Redis.
func (s *Service) cutoff() int64 { return s.cfg.Now().Add(-retention).UnixMilli() }

// Apply updates sales in Redis from their rows. It opens missing sales and edits running ones.
// It ignores ids without a sale, and sales that ended more than a day ago.
//
// It is idempotent and may run in any order and in several processes: an older version never
// replaces a newer one. After an error some sales may be unchanged; the reconciler repairs
// them.
func (s *Service) Apply(ctx context.Context, voucherIDs ...int64) error {
	_, err := s.apply(ctx, queues{}, voucherIDs...)
	return err
}

// apply is Apply. It also returns the number of rebuilt sales.
func (s *Service) apply(ctx context.Context, q queues, voucherIDs ...int64) (rebuilt int, err error) {
	for ids := range slices.Chunk(voucherIDs, chunkSize) {
		rows, err := s.db.FlashSale.Query().Where(flashsale.IDIn(ids...)).WithVoucher().All(ctx)
		if err != nil {
			return rebuilt, fmt.Errorf("read %d sales: %w", len(ids), err)
		}
		rows = slices.DeleteFunc(rows, s.expired)
		versions := make([]version, len(rows))
		for i, row := range rows {
			if versions[i] = versionOf(row); row.SweptAt != nil {
				if err := s.unsweep(ctx, row.ID); err != nil {
					return rebuilt, err
				}
			}
		}
		incomplete, err := s.admitter.edit(ctx, false, versions...)
		for _, v := range incomplete {
			did, e := s.rebuild(ctx, v.voucher, q)
			if did {
				rebuilt++
			}
			err = errors.Join(err, e)
		}
		if err != nil {
			return rebuilt, err
		}
	}
	return rebuilt, nil
}

// unsweep marks a removed sale as present again, because its end has moved.
func (s *Service) unsweep(ctx context.Context, id int64) error {
	if err := s.db.FlashSale.UpdateOneID(id).ClearSweptAt().Exec(ctx); err != nil {
		return fmt.Errorf("unmark removed sale %d: %w", id, err)
	}
	return nil
}

// rebuild opens a sale that is incomplete in Redis. It adds the buyers first, with
// [admitter.reserve], and the stock last. Other rebuilders wait; it returns false if another
// one was faster.
//
// Reservations may change meanwhile: [admitter.open] computes the stock from the buyers.
func (s *Service) rebuild(ctx context.Context, id int64, q queues) (opened bool, err error) {
	err = s.locked(ctx, "sale.voucher."+strconv.FormatInt(id, 10), func(ctx context.Context) error {
		row, err := s.db.FlashSale.Query().Where(flashsale.ID(id)).WithVoucher().Only(ctx)
		if err != nil {
			return err
		}
		v := versionOf(row)
		if incomplete, err := s.admitter.edit(ctx, false, v); err != nil || len(incomplete) == 0 {
			return err // another process was faster
		}
		if err := s.reserveAll(ctx, v.location, q); err != nil {
			return err
		}
		if opened, err = s.admitter.open(ctx, v); opened {
			s.m.did(didRebuild, 1)
			s.admitter.clearSoldOut(id)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("rebuild sale %d: %w", id, err)
	}
	return opened, nil
}

func (s *Service) rebuildIncomplete(ctx context.Context) error {
	ids := s.admitter.certs.takeIncomplete()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	return s.Apply(ctx, ids...)
}

// DecreaseStock takes units out of a sale in Redis, before the database does. It returns false
// if fewer are left, or if Redis has a later edit. On success, edit becomes the edit number of
// the sale in Redis. After an error the result is unknown; the reconciler repairs it.
func (s *Service) DecreaseStock(ctx context.Context, voucherID int64, by int, edit int64) (bool, error) {
	return s.admitter.lower(ctx, s.admitter.locate(voucherID), by, edit)
}

// UndoDecrease reverts a [Service.DecreaseStock] whose edit was not stored.
func (s *Service) UndoDecrease(ctx context.Context, voucherID int64, by int, edit int64) error {
	return s.admitter.restore(ctx, s.admitter.locate(voucherID), by, edit)
}

// Stocks returns the number of units left, from Redis, or from the database for sales that
// Redis does not have. It omits ids without a sale. An error means that both failed.
func (s *Service) Stocks(ctx context.Context, voucherIDs []int64) (map[int64]int, error) {
	left, unknown := s.admitter.stocks(ctx, voucherIDs)
	for ids := range slices.Chunk(unknown, chunkSize) {
		rows, err := s.db.FlashSale.Query().Where(flashsale.IDIn(ids...)).Select(flashsale.FieldID, flashsale.FieldStock).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the stock of %d sales: %w", len(ids), err)
		}
		for _, row := range rows {
			left[row.ID] = row.Stock
		}
	}
	return left, nil
}

// stocks reads Redis. It also returns the ids without a stock.
func (g *admitter) stocks(ctx context.Context, ids []int64) (left map[int64]int, unknown []int64) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	left = make(map[int64]int, len(ids))
	for part := range slices.Chunk(ids, chunkSize) {
		pipe := g.state.Pipeline()
		cmds := make([]*redis.StringCmd, len(part))
		for i, id := range part {
			cmds[i] = pipe.Get(ctx, g.keys.stock(g.locate(id).partition, id))
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, id := range part {
			if n, err := cmds[i].Int(); err == nil {
				left[id] = max(0, n)
			} else {
				unknown = append(unknown, id)
			}
		}
	}
	return left, unknown
}

// sweepEnded removes sales from Redis that ended more than a day ago.
func (s *Service) sweepEnded(ctx context.Context) error {
	rows, err := s.db.FlashSale.Query().
		Where(flashsale.SweptAtIsNil(), flashsale.EndsAtLTE(s.cutoff())).
		Order(flashsale.ByEndsAt(), flashsale.ByID()).Limit(chunkSize).All(ctx)
	if err != nil {
		return fmt.Errorf("read the ended sales: %w", err)
	}
	var failed []error // one server of a cluster may be unavailable
	for _, row := range rows {
		if err := s.admitter.remove(ctx, locationOf(row)); err != nil {
			failed = append(failed, err)
			continue
		}
		// If the end has moved meanwhile, the row stays and the next round rebuilds the sale.
		n, err := s.db.FlashSale.Update().
			Where(flashsale.ID(row.ID), flashsale.EndsAtLTE(s.cutoff())).
			SetSweptAt(s.cfg.Now().UnixMilli()).Save(ctx)
		if err != nil {
			return fmt.Errorf("mark sale %d as removed from Redis: %w", row.ID, err)
		}
		s.m.did(didSweep, n)
	}
	return joinFew(failed)
}

func (g *admitter) remove(ctx context.Context, at location) error {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	if err := g.state.Unlink(ctx, g.keys.ofSale(at)...).Err(); err != nil {
		return fmt.Errorf("remove sale %d from Redis: %w", at.voucher, err)
	}
	return nil
}
