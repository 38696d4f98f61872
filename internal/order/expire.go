package order

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	expireEvery = time.Second
	expireBatch = 100 // orders cancelled in one transaction

	// grace is how long an open attempt to pay keeps its order from being cancelled by
	// time, from the opening of the attempt.
	grace = 5 * time.Minute

	keepDigest  = 24 * time.Hour // how long a client's key stands for its order
	digestBatch = 500            // digests cleared in one statement
	digestSteps = 10             // such statements in a row
	digestEvery = time.Minute
)

// Expire cancels unpaid orders whose time is over, a second after that, until ctx
// ends. An attempt that was opened in the last five minutes delays it. Any number of
// processes may run it: the rows hold all state.
func (s *Service) Expire(ctx context.Context) error {
	for clock.Sleep(ctx, expireEvery) == nil {
		s.expireAll(ctx)
	}
	return nil
}

// expireAll cancels what is due, until there is no full batch or ctx ends. A batch in
// hand is finished.
func (s *Service) expireAll(ctx context.Context) {
	for n := expireBatch; n == expireBatch && ctx.Err() == nil; {
		var err error
		if n, err = s.expire(ctx); err != nil {
			s.metrics.failed(ctx, "expire", err)
			return
		}
	}
}

// expire cancels a batch of orders that are due, and returns how many it looked at.
func (s *Service) expire(ctx context.Context) (looked int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var t *changeSet
	err = s.tx(ctx, func(tx *ent.Tx) error {
		t = nil
		rows, err := s.due(sqldb.Prepared(ctx), tx)
		if looked = len(rows); err != nil || looked == 0 {
			return err
		}
		if rows, err = s.unattempted(ctx, tx, rows); err != nil || len(rows) == 0 {
			return err
		}
		t, err = s.turn(ctx, tx, rows, Cancelled)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cancel orders by time: %w", err)
	}
	if t != nil {
		s.metrics.count("expired", len(t.rows))
		s.turned(ctx, t)
	}
	return looked, nil
}

// due locks orders whose time is over, those that nobody else has locked.
func (s *Service) due(ctx context.Context, tx *ent.Tx) ([]*ent.Order, error) {
	now := s.now()
	young := entorder.HasPaymentsWith(payment.StateEQ(payment.StateOPEN), payment.CreatedAtGTE(now.Add(-grace).UnixMilli()))
	batch := tx.Order.Query().Where(
		entorder.StatusEQ(entorder.StatusUNPAID), entorder.PayBeforeLT(now.UnixMilli()),
		entorder.Or(entorder.PayBeforeLT(now.Add(-grace).UnixMilli()), entorder.Not(young)),
	).Order(entorder.ByPayBefore(), entorder.ByID()).Limit(expireBatch)
	batch.Modify(sqldb.ForUpdateSkipLocked)
	rows, err := batch.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select what is due: %w", err)
	}
	return rows, nil
}

// unattempted leaves out locked orders to which a payment was opened after they were
// looked at, and before they were locked.
func (s *Service) unattempted(ctx context.Context, tx *ent.Tx, rows []*ent.Order) ([]*ent.Order, error) {
	late := s.now().Add(-grace).UnixMilli()
	var ids []int64
	for _, r := range rows {
		if r.PayBefore >= late {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return rows, nil
	}
	open, err := tx.Payment.Query().Where(payment.OrderIDIn(ids...), payment.StateEQ(payment.StateOPEN), payment.CreatedAtGTE(late)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select their payments: %w", err)
	}
	attempted := map[int64]bool{}
	for _, p := range open {
		attempted[p.OrderID] = true
	}
	var rest []*ent.Order
	for _, r := range rows {
		if !attempted[r.ID] {
			rest = append(rest, r)
		}
	}
	return rest, nil
}

// clearDigests clears digests that are too old, some at a time: the first time in this
// process beginning at the oldest, and then where it ended.
func (s *Service) clearDigests(ctx context.Context) error {
	until := s.now().Add(-keepDigest).UnixMilli()
	if s.digested == 0 {
		oldest, err := s.db.Order.Query().Where(entorder.IdempotencyNotNil()).Order(entorder.ByCreatedAt()).
			Select(entorder.FieldCreatedAt).First(ctx)
		if err != nil && !ent.IsNotFound(err) {
			return fmt.Errorf("select the oldest digest: %w", err)
		}
		if err != nil {
			return nil //nolint:nilerr // there is no digest at all
		}
		s.digested = oldest.CreatedAt
	}
	for range digestSteps {
		n, err := s.clearSome(ctx, entorder.CreatedAtGTE(s.digested), entorder.CreatedAtLT(until))
		if err != nil || n < digestBatch {
			return err
		}
	}
	return nil
}

func (s *Service) clearSome(ctx context.Context, within ...predicate.Order) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	rows, err := s.db.Order.Query().Where(entorder.IdempotencyNotNil()).Where(within...).
		Order(entorder.ByCreatedAt(), entorder.ByID()).Limit(digestBatch).Select(entorder.FieldID, entorder.FieldCreatedAt).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("select old digests: %w", err)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	if err := s.db.Order.Update().Where(entorder.IDIn(ids...)).ClearIdempotency().Exec(ctx); err != nil {
		return 0, fmt.Errorf("clear %d digests: %w", len(ids), err)
	}
	s.digested = rows[len(rows)-1].CreatedAt
	return len(rows), nil
}
