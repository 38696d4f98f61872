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

	// attemptGrace is how long after its opening an open payment attempt delays the expiry.
	attemptGrace = 5 * time.Minute

	digestTTL   = 24 * time.Hour // how long an idempotency key finds its order
	digestBatch = 500            // digests per statement
	digestSteps = 10             // statements per run
	digestEvery = time.Minute
)

// Expire cancels unpaid orders about a second after their deadline, until ctx ends. A payment
// attempt delays this while it is open, for at most five minutes. Any number of processes may
// run it: the rows hold all state.
func (s *Service) Expire(ctx context.Context) error {
	for clock.Sleep(ctx, expireEvery) == nil {
		s.expireAll(ctx)
	}
	return nil
}

// expireAll cancels due orders until a batch is not full or ctx ends. It finishes the current
// batch.
func (s *Service) expireAll(ctx context.Context) {
	for n := expireBatch; n == expireBatch && ctx.Err() == nil; {
		var err error
		if n, err = s.expire(ctx); err != nil {
			s.metrics.failed(ctx, "expire", err)
			return
		}
	}
}

func (s *Service) expire(ctx context.Context) (checked int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var t *changeSet
	err = s.tx(ctx, func(tx *ent.Tx) error {
		t = nil
		rows, err := s.due(sqldb.Prepared(ctx), tx)
		if checked = len(rows); err != nil || checked == 0 {
			return err
		}
		if rows, err = s.withoutAttempts(ctx, tx, rows); err != nil || len(rows) == 0 {
			return err
		}
		t, err = s.writeTransition(ctx, tx, rows, Cancelled)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cancel due orders: %w", err)
	}
	if t != nil {
		s.metrics.count("expired", len(t.rows))
		s.afterTransition(ctx, t)
	}
	return checked, nil
}

// due locks and returns due orders that no other transaction has locked.
func (s *Service) due(ctx context.Context, tx *ent.Tx) ([]*ent.Order, error) {
	now := s.now()
	young := entorder.HasPaymentsWith(payment.StateEQ(payment.StateOPEN), payment.CreatedAtGTE(now.Add(-attemptGrace).UnixMilli()))
	batch := tx.Order.Query().Where(
		entorder.StatusEQ(entorder.StatusUNPAID), entorder.PayBeforeLT(now.UnixMilli()),
		entorder.Or(entorder.PayBeforeLT(now.Add(-attemptGrace).UnixMilli()), entorder.Not(young)),
	).Order(entorder.ByPayBefore(), entorder.ByID()).Limit(expireBatch)
	batch.Modify(sqldb.ForUpdateSkipLocked)
	rows, err := batch.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select due orders: %w", err)
	}
	return rows, nil
}

// withoutAttempts returns the locked orders without a new payment attempt. Between the select
// and the lock, one may have opened.
func (s *Service) withoutAttempts(ctx context.Context, tx *ent.Tx, rows []*ent.Order) ([]*ent.Order, error) {
	late := s.now().Add(-attemptGrace).UnixMilli()
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
		return nil, fmt.Errorf("select open payments: %w", err)
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

// clearDigests clears old digests in batches. It starts at the oldest digest, and in later
// runs where the previous run ended.
func (s *Service) clearDigests(ctx context.Context) error {
	until := s.now().Add(-digestTTL).UnixMilli()
	if s.digestCursor == 0 {
		oldest, err := s.db.Order.Query().Where(entorder.IdempotencyNotNil()).Order(entorder.ByCreatedAt()).
			Select(entorder.FieldCreatedAt).First(ctx)
		if err != nil && !ent.IsNotFound(err) {
			return fmt.Errorf("select oldest digest: %w", err)
		}
		if err != nil {
			return nil //nolint:nilerr // no digests exist
		}
		s.digestCursor = oldest.CreatedAt
	}
	for range digestSteps {
		n, err := s.clearSome(ctx, entorder.CreatedAtGTE(s.digestCursor), entorder.CreatedAtLT(until))
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
	s.digestCursor = rows[len(rows)-1].CreatedAt
	return len(rows), nil
}
