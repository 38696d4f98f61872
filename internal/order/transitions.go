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

// The life of an order:
//
//	UNPAID ─▶ PAID ─▶ USED
//	  │         │       └─▶ REFUNDING, by an administrator, of a disputed one
//	  │         └───▶ REFUNDING ─▶ REFUNDED
//	  └─▶ CANCELLED
//
// A transition locks the row of the order, looks, and updates it on the condition that
// it still is what it was. Who comes second finds it changed, and is told what it is
// now. Attempts to pay are opened and decided under the same lock.
//
// Locks are taken in one order everywhere: orders' rows to read, rows of balances, rows
// of flash sales, orders' rows to write. The statement that commits a flash sale locks the sale
// and then may wait for the live order of a user to be decided, which must not wait
// for the sale then.

// Cancel ends a user's unpaid order. It abandons an open attempt to pay: if its money
// still comes, it is refunded. An order in another status is a [fault.UserErrors], with
// the order as it is now. Another user's order is not found.
func (s *Service) Cancel(ctx context.Context, userID, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Cancel")
	defer span.End()
	return s.move(ctx, id, ownOf(userID), transition{from: Unpaid, to: Cancelled, code: NotCancellable, does: "cancelled", also: s.abandon})
}

// Redeem marks a paid order as used: by the merchant of its shop, or an
// administrator. An order in another status is a [fault.UserErrors], with the order as
// it is now. An order at somebody else's shop is a [fault.Forbidden].
func (s *Service) Redeem(ctx context.Context, v Viewer, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Redeem")
	defer span.End()
	may := func(ctx context.Context, o *Order) (bool, error) {
		ok, err := s.owns(ctx, v, o.ShopID)
		if err == nil && !ok {
			err = apierror.New(apierror.Forbidden, "Only the shop's merchant may redeem an order.")
		}
		return ok, err
	}
	by := func(u *ent.OrderUpdate) { u.SetRedeemedBy(v.UserID) }
	return s.move(ctx, id, may, transition{from: Paid, to: Used, code: NotRedeemable, does: "redeemed", set: by})
}

// A transition is a transition that somebody asks for.
type transition struct {
	from, to Status
	code     apierror.Code // of the refusal
	does     string        // what becomes of the order, for people
	// check returns what else prevents the transition, for people; nil: nothing does.
	check func(row *ent.Order) string
	// also does what belongs to it in the transaction; nil: nothing.
	also func(ctx context.Context, tx *ent.Tx, row *ent.Order) error
	// set writes more columns of the order; nil: none.
	set func(u *ent.OrderUpdate)
}

// refuse says why an order stays what it is.
func (v transition) refuse(o *Order) error {
	return refusedOrder(v.code, fmt.Sprintf("Only %s can be %s; this one is %s.", article(v.from), v.does, word(o.Status)))
}

func refusedOrder(code apierror.Code, message string) apierror.UserErrors {
	return apierror.Refuse(code, message, "orderId")
}

// word says a status to people.
func word(s Status) string {
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
	return "a " + word(s) + " order"
}

// A authorizer says whether an order may be changed by who asks.
type authorizer func(ctx context.Context, o *Order) (bool, error)

func ownOf(userID int64) authorizer {
	return func(_ context.Context, o *Order) (bool, error) { return o.UserID == userID, nil }
}

// asked returns the order that somebody wants to change. It is for what never changes
// of one: the row is to be looked at again, under its lock.
func (s *Service) asked(ctx context.Context, id int64, may authorizer) (*Order, error) {
	found, err := s.find(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	o := found[id]
	if o != nil {
		ok, err := may(ctx, o)
		if err != nil {
			return nil, err
		}
		if ok {
			return o, nil
		}
	}
	return nil, refusedOrder(apierror.NotFound, "There is no such order.")
}

// move makes a transition. With a refusal it returns the order as it is then.
func (s *Service) move(ctx context.Context, id int64, may authorizer, v transition) (*Order, error) {
	order, err := s.asked(ctx, id, may)
	if err != nil {
		return nil, err
	}
	if order.Status == Queued {
		return order, v.refuse(order)
	}
	// Not until the client hangs up: what was committed must be announced.
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
		if v.also != nil {
			if err := v.also(ctx, tx, row); err != nil {
				return err
			}
		}
		var more []func(*ent.OrderUpdate)
		if v.set != nil {
			more = append(more, v.set)
		}
		t, err = s.turn(ctx, tx, []*ent.Order{row}, v.to, more...)
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return order, err
	}
	if err != nil {
		return nil, fmt.Errorf("make order %d %s: %w", id, v.to, err)
	}
	s.turned(ctx, t)
	return fromRow(t.rows[0]), nil
}

// lockRow locks the row of an order until the end of the transaction.
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

// A changeSet is a transition of some orders that is written, for what follows its commit.
type changeSet struct {
	to     Status
	rows   []*ent.Order // as they are then
	jobs   []outbox.JobRef
	holds  []sale.Reservation // pieces that go back
	pieces []outbox.JobRef
}

// turn writes a transition of orders whose rows the transaction has locked, and which
// have one status. Pieces of flash sales go back with it.
func (s *Service) turn(ctx context.Context, tx *ent.Tx, rows []*ent.Order, to Status, more ...func(*ent.OrderUpdate)) (t *changeSet, err error) {
	t = &changeSet{to: to}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		if r.Flash && (to == Cancelled || to == Refunded) {
			t.holds = append(t.holds, sale.Reservation{Order: r.ID, User: r.UserID, Voucher: r.VoucherID})
		}
	}
	if len(t.holds) > 0 {
		slices.SortFunc(t.holds, func(a, b sale.Reservation) int {
			return cmp.Or(cmp.Compare(a.Voucher, b.Voucher), cmp.Compare(a.Order, b.Order))
		})
		if t.pieces, err = s.cfg.Sales.Release(ctx, tx, t.holds); err != nil {
			return nil, fmt.Errorf("return %d pieces: %w", len(t.holds), err)
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
		return nil, fmt.Errorf("update %d orders: %d were changed under the lock", len(ids), len(ids)-n)
	}
	if t.rows, err = tx.Order.Query().Where(entorder.IDIn(ids...)).All(ctx); err != nil {
		return nil, fmt.Errorf("select %d orders: %w", len(ids), err)
	}
	t.jobs, err = outbox.AddBatch(ctx, s.outbox, tx, ordersChanged, ids...)
	return t, err
}

// stamp writes down when it happened.
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
	default: // the others have no time of their own
	}
}

// turned does what follows the commit of a transition. What it cannot do, the outbox
// does.
func (s *Service) turned(ctx context.Context, t *changeSet) {
	s.metrics.count(strings.ToLower(string(t.to)), len(t.rows))
	ids, hints := make([]int64, len(t.rows)), map[string]bool{}
	for i, r := range t.rows {
		ids[i] = r.ID
		hints[watched(r.UserID)] = true
	}
	var err error
	if len(t.rows) == 1 {
		_, err = s.rows.Put(ctx, ids[0], *fromRow(t.rows[0]))
	} else {
		err = s.rows.Invalidate(ctx, ids...)
	}
	if len(t.holds) > 0 {
		s.cfg.Sales.AfterRelease(ctx, t.holds, t.pieces)
		for _, h := range t.holds {
			hints[s.cfg.StockKey(h.Voucher)] = true
		}
	}
	s.tell(hints)
	s.outbox.Finish(ctx, err, t.jobs...)
}
