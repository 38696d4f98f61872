package order

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// lockWait is the maximum wait for another order of the same user and voucher.
const lockWait = 300 * time.Millisecond

// insertTries bounds the retries of an insert whose conflicting order has disappeared.
const insertTries = 5

// placeOrdinary orders a voucher without a sale. For a voucher with one order per user, it
// holds a lock for (voucher, user) until after the commit, so two tabs do not race. Only the
// unique index order_live prevents a second order. So the order proceeds without the lock if
// its holder is slow or Redis is unavailable.
func (s *Service) placeOrdinary(ctx context.Context, w placement) (*Order, error) {
	// The write outlives the request: a committed order must be published.
	writeCtx, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), writeTimeout)
	defer cancel()
	if w.voucher.OnePerUser {
		release := s.lockOrder(ctx, writeCtx, w)
		defer release()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for range insertTries {
		row, job, err := s.insert(writeCtx, w)
		if err != nil {
			return nil, err
		}
		if row != nil {
			s.metrics.count("placed", 1)
			s.AfterCommit(writeCtx, []StoredOrder{storedOrderOf(row)}, job)
			return fromRow(row), nil
		}
		if first, err := s.byDigest(writeCtx, w.digest); first != nil || err != nil {
			return first, err
		}
		if other, err := s.liveOrder(writeCtx, w.user, w.voucher.ID); err != nil {
			return nil, err
		} else if other != nil {
			return other, alreadyOrdered()
		}
	}
	return nil, errors.New("insert order: conflicting order disappeared each time")
}

func (s *Service) lockOrder(ctx, writeCtx context.Context, w placement) (release func()) {
	lease, err := s.cfg.Locks.Acquire(ctx, fmt.Sprintf("order:%d:%d", w.voucher.ID, w.user), lock.WithWait(lockWait))
	if err != nil {
		if _, busy := errors.AsType[*lock.BusyError](err); !busy {
			s.metrics.failed(ctx, "lock", err)
		}
		return func() {}
	}
	return func() {
		if err := lease.Release(writeCtx); err != nil {
			s.metrics.failed(writeCtx, "lock", err)
		}
	}
}

// termsOf returns the current terms of a voucher in the transaction that stores an order; nil
// means the first terms.
func termsOf(ctx context.Context, tx *ent.Tx, voucherID int64) (*int64, error) {
	row, err := tx.Voucher.Query().Where(entvoucher.ID(voucherID)).Select(entvoucher.FieldTermsID).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("select the terms of voucher %d: %w", voucherID, err)
	}
	return row.TermsID, nil
}

// insert stores an unpaid order. It returns nil if another order has the same key, or is the
// live order of the same user.
func (s *Service) insert(ctx context.Context, w placement) (*ent.Order, []outbox.JobRef, error) {
	number, err := s.cfg.Numbers.Next(ctx, ordinary)
	if err != nil {
		return nil, nil, fmt.Errorf("create order number: %w", err)
	}
	v, now := w.voucher, s.now()
	row := &ent.Order{
		ID: number, UserID: w.user, VoucherID: v.ID, ShopID: v.ShopID, Status: entorder.StatusUNPAID, OnePerUser: v.OnePerUser,
		PayValue: v.Price, Version: 1, CreatedAt: now.UnixMilli(), PayBefore: now.Add(s.cfg.PayWithin).UnixMilli(),
	}
	var job []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		if row.TermsID, err = termsOf(ctx, tx, v.ID); err != nil {
			return err
		}
		err = tx.Order.Create().SetID(number).SetUserID(w.user).SetVoucherID(v.ID).SetShopID(v.ShopID).SetStatus(row.Status).
			SetOnePerUser(v.OnePerUser).SetFlash(false).SetPayValue(v.Price).SetNillableTermsID(row.TermsID).SetNillableIdempotency(optional.OrNil(w.digest)).
			SetVersion(row.Version).SetCreatedAt(row.CreatedAt).SetPayBefore(row.PayBefore).
			OnConflict().DoNothing().Exec(ctx)
		if err != nil {
			return err
		}
		job, err = s.EnqueueJobs(ctx, tx, []int64{number})
		return err
	})
	if errors.Is(err, stdsql.ErrNoRows) { // nothing was inserted
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("insert order %d: %w", number, err)
	}
	return row, job, nil
}
