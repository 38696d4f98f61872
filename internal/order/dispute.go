package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Redeeming needs nothing that only the buyer has, so a merchant can redeem an order without
// its buyer. Therefore the buyer can dispute a redemption. A dispute moves no money by itself:
// an administrator decides about a refund.

// DisputeWithin limits the time between a redemption and its dispute.
const DisputeWithin = 24 * time.Hour

// Dispute records that the buyer did not redeem a used order. It is possible within
// [DisputeWithin] of the redemption. A second dispute returns the order unchanged.
//
// For an order in another status or an older redemption, it returns an [apierror.UserErrors]
// with the order. An order of another user is not found.
func (s *Service) Dispute(ctx context.Context, userID, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Dispute")
	defer span.End()
	order, err := s.authorized(ctx, id, ownedBy(userID))
	if err != nil {
		return nil, err
	}
	if order.Status == Queued {
		return order, dispute.refuse(order)
	}
	// The client may disconnect now, but a committed change must be published.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var job []outbox.JobRef
	err = s.tx(ctx, func(tx *ent.Tx) error {
		job = nil
		row, err := lockRow(ctx, tx, id)
		if err != nil {
			return err
		}
		if order = fromRow(row); order.DisputedAt != nil {
			return nil
		}
		if err := s.mayDispute(order); err != nil {
			return err
		}
		if row, err = tx.Order.UpdateOne(row).SetRedemptionDisputedAt(s.now().UnixMilli()).AddVersion(1).Save(ctx); err != nil {
			return fmt.Errorf("update the order: %w", err)
		}
		order = fromRow(row)
		job, err = outbox.AddBatch(ctx, s.outbox, tx, ordersChanged, id)
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return order, err
	}
	if err != nil {
		return nil, fmt.Errorf("dispute the redemption of order %d: %w", id, err)
	}
	if len(job) > 0 {
		s.metrics.count("disputed", 1)
		_, err = s.rows.Put(ctx, id, *order)
		s.notify(map[string]bool{ordersKey(userID): true})
		s.outbox.Finish(ctx, err, job...)
	}
	return order, nil
}

var dispute = transition{from: Used, code: NotDisputable, verb: "disputed"}

func (s *Service) mayDispute(o *Order) error {
	switch {
	case o.Status != Used:
		return dispute.refuse(o)
	case o.UsedAt == nil || s.now().After(o.UsedAt.Add(DisputeWithin)):
		return refusedOrder(NotDisputable, "You can dispute a redemption only within 24 hours.")
	}
	return nil
}

// RefundDisputed is [Service.Refund] for a used order whose buyer disputed the redemption. The
// caller must be an administrator. For an order without a dispute it returns an
// [apierror.UserErrors] with the order.
func (s *Service) RefundDisputed(ctx context.Context, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.RefundDisputed")
	defer span.End()
	anyone := func(context.Context, *Order) (bool, error) { return true, nil }
	return s.refundBy(ctx, id, anyone, transition{
		from: Used, to: Refunding, code: NotRefundable, verb: "refunded by an administrator",
		check: func(row *ent.Order) string {
			if row.RedemptionDisputedAt == nil {
				return "The buyer didn't dispute the redemption of this order."
			}
			return ""
		},
	})
}

// Disputed returns a page of the orders with a disputed redemption, newest order first. The
// caller must be an administrator.
func (s *Service) Disputed(ctx context.Context, f Filter) (*Page, error) {
	ctx, span := observe.Span(ctx, "order.Disputed")
	defer span.End()
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, entorder.RedemptionDisputedAtNotNil(), q)
	if err != nil {
		return nil, fmt.Errorf("list disputed orders: %w", err)
	}
	return q.page(rows), nil
}
