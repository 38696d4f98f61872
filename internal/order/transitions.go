package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
)

// The transitions of an order:
//
//	UNPAID ─▶ PAID ─▶ USED
//	  │         │       └─▶ REFUNDING, by an administrator, after a dispute
//	  │         └───▶ REFUNDING ─▶ REFUNDED
//	  └─▶ CANCELLED
//
// A transition locks the row of the order, checks it, and updates it on the condition that it
// has not changed. The loser of a race returns the changed order. Payment attempts are opened
// and decided under the same lock.
//
// Locks have one order everywhere: SELECT FOR UPDATE of orders, balance rows, flash sale rows,
// UPDATE of orders. The statement that commits a flash sale locks the sale. Then it may wait for a
// transaction that has updated a live order of the same user. So a transaction locks the sale
// before it updates orders; otherwise both would wait for each other.

// Cancel cancels a user's unpaid order. It abandons an open payment attempt: money that still
// arrives is refunded. For an order in another status it returns an [apierror.UserErrors] with
// the current order. An order of another user is not found.
func (s *Service) Cancel(ctx context.Context, userID, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Cancel")
	defer span.End()
	return s.move(ctx, id, ownedBy(userID), transition{from: Unpaid, to: Cancelled, code: NotCancellable, verb: "cancelled", inTx: s.abandon})
}

// Redeem marks a paid order as used. The viewer must be the merchant of its shop or an
// administrator; otherwise the error is [apierror.Forbidden]. For an order in another status
// it returns an [apierror.UserErrors] with the current order.
func (s *Service) Redeem(ctx context.Context, v Viewer, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Redeem")
	defer span.End()
	allow := func(ctx context.Context, o *Order) (bool, error) {
		ok, err := s.owns(ctx, v, o.ShopID)
		if err == nil && !ok {
			err = apierror.New(apierror.Forbidden, "Only the shop's merchant can redeem this order.")
		}
		return ok, err
	}
	by := func(u *ent.OrderUpdate) { u.SetRedeemedBy(v.UserID) }
	return s.move(ctx, id, allow, transition{from: Paid, to: Used, code: NotRedeemable, verb: "redeemed", set: by})
}

// A transition is a requested change of status.
type transition struct {
	from, to Status
	code     apierror.Code // code of the refusal
	verb     string        // past participle for messages: "cancelled"
	// check returns another reason to refuse, for messages, or "". May be nil.
	check func(row *ent.Order) string
	// inTx runs in the transaction before the update. May be nil.
	inTx func(ctx context.Context, tx *ent.Tx, row *ent.Order) error
	// set writes more columns of the order. May be nil.
	set func(u *ent.OrderUpdate)
}

func (v transition) refuse(o *Order) error {
	return refusedOrder(v.code, fmt.Sprintf("Only %s can be %s; this one is %s.", article(v.from), v.verb, statusText(o.Status)))
}

func refusedOrder(code apierror.Code, message string) apierror.UserErrors {
	return apierror.Refuse(code, message, "orderId")
}

func statusText(s Status) string {
	switch s {
	case Queued:
		return "not confirmed yet"
	case Refunding:
		return "being refunded"
	default:
		return strings.ToLower(string(s))
	}
}

func article(s Status) string {
	if s == Unpaid {
		return "an unpaid order"
	}
	return "a " + statusText(s) + " order"
}

// An authorizer reports whether the caller may change an order.
type authorizer func(ctx context.Context, o *Order) (bool, error)

func ownedBy(userID int64) authorizer {
	return func(_ context.Context, o *Order) (bool, error) { return o.UserID == userID, nil }
}

// authorized returns an order that the caller may change. Use only its immutable fields: read
// the row again under its lock.
func (s *Service) authorized(ctx context.Context, id int64, allow authorizer) (*Order, error) {
	found, err := s.find(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	o := found[id]
	if o != nil {
		ok, err := allow(ctx, o)
		if err != nil {
			return nil, err
		}
		if ok {
			return o, nil
		}
	}
	return nil, refusedOrder(apierror.NotFound, "This order doesn't exist.")
}

// move runs a transition. With a refusal it returns the current order.
func (s *Service) move(ctx context.Context, id int64, allow authorizer, v transition) (*Order, error) {
	order, err := s.authorized(ctx, id, allow)
	if err != nil {
		return nil, err
	}
	if order.Status == Queued {
		return order, v.refuse(order)
	}
	// The write outlives the request: a committed change must be published.
	ctx, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), writeTimeout)
	defer cancel()
	var t *changeSet
	err = s.tx(ctx, func(tx *ent.Tx) error {
		row, err := lockRow(ctx, tx, id)
		if err != nil {
			return err
		}
		order = fromRow(row)
		if order.Status != v.from {
			return v.refuse(order)
		}
		if v.check != nil {
			if why := v.check(row); why != "" {
				return refusedOrder(v.code, why)
			}
		}
		if v.inTx != nil {
			if err := v.inTx(ctx, tx, row); err != nil {
				return err
			}
		}
		var more []func(*ent.OrderUpdate)
		if v.set != nil {
			more = append(more, v.set)
		}
		t, err = s.writeTransition(ctx, tx, []*ent.Order{row}, v.to, more...)
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return order, err
	}
	if err != nil {
		return nil, fmt.Errorf("change order %d to %s: %w", id, v.to, err)
	}
	s.afterTransition(ctx, t)
	return fromRow(t.rows[0]), nil
}

func lockRow(ctx context.Context, tx *ent.Tx, id int64) (*ent.Order, error) {
	one := tx.Order.Query().Where(entorder.ID(id))
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	if ent.IsNotFound(err) {
		return nil, apierror.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("select order %d: %w", id, err)
	}
	return row, nil
}

// A changeSet is a written transition of some orders, for the work after its commit.
type changeSet struct {
	to           Status
	rows         []*ent.Order // after the update
	jobs         []outbox.JobRef
	reservations []sale.Reservation // stock to release
	stockJobs    []outbox.JobRef
}

// writeTransition writes a transition of orders with one status, whose rows the transaction
// has locked. It releases the stock of flash sales.
func (s *Service) writeTransition(ctx context.Context, tx *ent.Tx, rows []*ent.Order, to Status, more ...func(*ent.OrderUpdate)) (t *changeSet, err error) {
	t = &changeSet{to: to}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		if r.Flash && (to == Cancelled || to == Refunded) {
			t.reservations = append(t.reservations, sale.Reservation{Order: r.ID, User: r.UserID, Voucher: r.VoucherID})
		}
	}
	if len(t.reservations) > 0 {
		slices.SortFunc(t.reservations, func(a, b sale.Reservation) int {
			return cmp.Or(cmp.Compare(a.Voucher, b.Voucher), cmp.Compare(a.Order, b.Order))
		})
		if t.stockJobs, err = s.cfg.Sales.Release(ctx, tx, t.reservations); err != nil {
			return nil, fmt.Errorf("release %d items: %w", len(t.reservations), err)
		}
	}
	update := tx.Order.Update().Where(entorder.IDIn(ids...), entorder.StatusEQ(rows[0].Status)).
		SetStatus(entorder.Status(to)).AddVersion(1)
	s.stamp(update, to)
	for _, set := range more {
		set(update)
	}
	switch n, err := update.Save(ctx); {
	case err != nil:
		return nil, fmt.Errorf("update %d orders: %w", len(ids), err)
	case n != len(ids):
		return nil, fmt.Errorf("update %d orders: %d changed under the lock", len(ids), len(ids)-n)
	}
	if t.rows, err = tx.Order.Query().Where(entorder.IDIn(ids...)).All(ctx); err != nil {
		return nil, fmt.Errorf("select %d orders: %w", len(ids), err)
	}
	t.jobs, err = outbox.AddBatch(ctx, s.outbox, tx, ordersChanged, ids...)
	return t, err
}

func (s *Service) stamp(u *ent.OrderUpdate, to Status) {
	now := s.now().UnixMilli()
	switch to {
	case Paid:
		u.SetPaidAt(now)
	case Used:
		u.SetUsedAt(now)
	case Cancelled:
		u.SetCancelledAt(now)
	case Refunded:
		u.SetRefundedAt(now)
	default: // other statuses have no time
	}
}

// afterTransition does the work after the commit of a transition. The outbox retries failures.
func (s *Service) afterTransition(ctx context.Context, t *changeSet) {
	s.metrics.count(strings.ToLower(string(t.to)), len(t.rows))
	ids, hints := make([]int64, len(t.rows)), map[string]bool{}
	for i, r := range t.rows {
		ids[i] = r.ID
		hints[ordersKey(r.UserID)] = true
	}
	var err error
	if len(t.rows) == 1 {
		_, err = s.rows.Put(ctx, ids[0], *fromRow(t.rows[0]))
	} else {
		err = s.rows.Invalidate(ctx, ids...)
	}
	if len(t.reservations) > 0 {
		s.cfg.Sales.AfterRelease(ctx, t.reservations, t.stockJobs)
		for _, h := range t.reservations {
			hints[s.cfg.StockKey(h.Voucher)] = true
		}
	}
	s.notify(hints)
	s.outbox.Finish(ctx, err, t.jobs...)
}
