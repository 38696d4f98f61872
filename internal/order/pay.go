package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Pay pays a user's unpaid order.
//
// From the balance, the order is PAID at once. Another method opens an attempt, or joins the
// open attempt of that method, and waits two seconds for the provider. Then the order is PAID,
// or still UNPAID until [Service.Confirm]. Pay abandons an open attempt of another method:
// money that still arrives is refunded.
//
// An order in another status, an expired order, a refused payment and a balance that is too
// small are [apierror.UserErrors], with the current order. An order of another user is not
// found. Without a provider it returns [apierror.Unavailable].
func (s *Service) Pay(ctx context.Context, userID, id int64, method PayMethod) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Pay")
	defer span.End()
	if s.cfg.Provider == (noProvider{}) {
		return nil, noPayments()
	}
	order, err := s.authorized(ctx, id, ownedBy(userID))
	if err != nil {
		return nil, err
	}
	if order.Status == Queued {
		return order, pay.refuse(order)
	}
	// An attempt that has begun continues after the client disconnects.
	writeCtx, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), s.cfg.payWait+writeTimeout)
	defer cancel()
	if method == Balance {
		return s.payFromBalance(writeCtx, id)
	}
	waitCtx, stop := context.WithTimeout(writeCtx, s.cfg.payWait)
	defer stop()
	order, attempt, job, err := s.attempt(writeCtx, id, method)
	if err != nil {
		return order, err
	}
	if len(job) > 0 {
		s.metrics.count("attempted", 1)
		err := s.processCharge(waitCtx, attempt)
		if err != nil {
			s.metrics.failed(writeCtx, "charge", err)
		}
		s.outbox.Finish(writeCtx, err, job...)
	}
	return s.await(writeCtx, waitCtx, attempt)
}

func noPayments() error {
	return apierror.New(apierror.Unavailable, "Payments are not set up on this server.")
}

// maxAttempts bounds the payment attempts of an order. Payments from the balance are exempt.
const maxAttempts = 20

var pay = transition{from: Unpaid, to: Paid, code: NotPayable, verb: "paid"}

// payFromBalance takes the money and makes the order PAID in one transaction.
func (s *Service) payFromBalance(ctx context.Context, id int64) (order *Order, err error) {
	var t *changeSet
	err = s.tx(ctx, func(tx *ent.Tx) error {
		row, err := lockRow(ctx, tx, id)
		if err != nil {
			return err
		}
		if order = fromRow(row); order.Status != Unpaid {
			return pay.refuse(order)
		}
		p, _, err := s.begin(ctx, tx, row, Balance)
		if err != nil {
			return err
		}
		ok, err := s.cfg.Ledger.Pay(ctx, tx, row.UserID, p.ID, p.Amount)
		if err != nil {
			return err
		}
		if !ok {
			return refusedOrder(InsufficientBalance, "Your balance is too low. Choose another payment method.")
		}
		t, err = s.writeTransition(ctx, tx, []*ent.Order{row}, Paid, func(u *ent.OrderUpdate) { u.SetPayMethod(entorder.PayMethodBALANCE) })
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return order, err
	}
	if err != nil {
		return nil, fmt.Errorf("pay order %d from the balance: %w", id, err)
	}
	s.afterTransition(ctx, t)
	return fromRow(t.rows[0]), nil
}

// attempt returns the open attempt of a method, or opens one. A new attempt has a job to call
// the provider. With a refusal it returns the order.
func (s *Service) attempt(ctx context.Context, id int64, method PayMethod) (order *Order, c Charge, job []outbox.JobRef, err error) {
	err = s.tx(ctx, func(tx *ent.Tx) error {
		job = nil
		row, err := lockRow(ctx, tx, id)
		if err != nil {
			return err
		}
		if order = fromRow(row); order.Status != Unpaid {
			return pay.refuse(order)
		}
		p, opened, err := s.begin(ctx, tx, row, method)
		if err != nil {
			return err
		}
		c = chargeOf(p)
		if opened {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, chargeTopic, attemptOf(c))
		}
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); err != nil && !refused {
		return nil, c, nil, fmt.Errorf("pay order %d: %w", id, err)
	}
	return order, c, job, err
}

// begin returns the open attempt of a method, or inserts one and abandons the attempt of
// another method. A payment from the balance is never open: the same transaction inserts it as
// CONFIRMED. The row of the order must be locked.
func (s *Service) begin(ctx context.Context, tx *ent.Tx, row *ent.Order, method PayMethod) (p *ent.Payment, opened bool, err error) {
	payments, err := tx.Payment.Query().Where(payment.OrderID(row.ID)).Order(payment.ByAttempt()).All(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("select payments: %w", err)
	}
	for _, p := range payments {
		if p.State == payment.StateOPEN && PayMethod(p.Method) == method && method != Balance {
			return p, false, nil
		}
	}
	if len(payments) >= maxAttempts && method != Balance {
		return nil, false, refusedOrder(NotPayable, "Too many payment attempts. Cancel this order and order again.")
	}
	now := s.now().UnixMilli()
	if row.PayBefore < now {
		return nil, false, refusedOrder(NotPayable, "The payment deadline for this order has passed. Please order again.")
	}
	if err := s.abandon(ctx, tx, row); err != nil {
		return nil, false, err
	}
	state := payment.StateOPEN
	if method == Balance {
		state = payment.StateCONFIRMED
	}
	p, err = tx.Payment.Create().SetOrderID(row.ID).SetAttempt(len(payments) + 1).SetMethod(payment.Method(method)).
		SetAmount(row.PayValue).SetCurrency(Currency).SetState(state).SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("insert attempt: %w", err)
	}
	return p, true, nil
}

// abandon ends the open attempt of an order whose row is locked. Money that still arrives for
// it is refunded.
func (s *Service) abandon(ctx context.Context, tx *ent.Tx, row *ent.Order) error {
	n, err := tx.Payment.Update().Where(payment.OrderID(row.ID), payment.StateEQ(payment.StateOPEN)).
		SetState(payment.StateABANDONED).SetUpdatedAt(s.now().UnixMilli()).Save(ctx)
	if err != nil {
		return fmt.Errorf("abandon open attempt: %w", err)
	}
	s.metrics.count("abandoned", n)
	return nil
}

// An attempt identifies a charge in an outbox job. Its row has the other fields.
type attempt struct {
	Order   int64 `json:"o"`
	Attempt int   `json:"a"` // 0: no charge
}

func attemptOf(c Charge) attempt { return attempt{c.Order, c.Attempt} }

func chargeOf(p *ent.Payment) Charge {
	return Charge{Order: p.OrderID, Attempt: p.Attempt, Amount: p.Amount, Method: PayMethod(p.Method)}
}

func (s *Service) processCharge(ctx context.Context, c Charge) error {
	state, err := s.cfg.Provider.Charge(ctx, c)
	if err != nil {
		return fmt.Errorf("charge attempt %d of order %d: %w", c.Attempt, c.Order, err)
	}
	if state == Pending {
		return nil
	}
	return s.Confirm(ctx, c.Order, c.Attempt, state)
}

// retryCharges is processCharge for attempts without an answer. It skips attempts whose order
// has ended: if money was taken, the provider reports it and it is refunded.
func (s *Service) retryCharges(ctx context.Context, attempts ...attempt) error {
	for _, a := range attempts {
		p, err := s.payment(ctx, a)
		if err != nil {
			return outbox.Transient(err)
		}
		if p == nil || p.State != payment.StateOPEN || p.Edges.Order.Status != entorder.StatusUNPAID ||
			p.Method == payment.MethodBALANCE { // from a version before the ledger
			continue
		}
		if err := s.processCharge(ctx, chargeOf(p)); err != nil {
			s.metrics.failed(ctx, "charge", err)
			return outbox.Transient(err) // the provider is unavailable
		}
	}
	return nil
}

// payment returns an attempt with its order, or nil.
func (s *Service) payment(ctx context.Context, a attempt) (*ent.Payment, error) {
	p, err := s.db.Payment.Query().Where(payment.OrderID(a.Order), payment.Attempt(a.Attempt)).WithOrder().Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("select attempt %d of order %d: %w", a.Attempt, a.Order, err)
	}
	return p, nil
}

// await waits until any process decides the attempt, or until waitCtx ends.
func (s *Service) await(ctx, waitCtx context.Context, c Charge) (*Order, error) {
	for pause := 25 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		p, err := s.payment(ctx, attemptOf(c))
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("await attempt %d of order %d: no such attempt", c.Attempt, c.Order)
		}
		order := fromRow(p.Edges.Order)
		switch p.State {
		case payment.StateOPEN:
			if order.Status != Unpaid {
				return order, pay.refuse(order)
			}
			select {
			case <-waitCtx.Done():
				return order, nil
			case <-time.After(pause):
			}
		case payment.StateREFUSED:
			return order, refusedOrder(NotPayable, "The payment was declined. Try again or choose another payment method.")
		case payment.StateABANDONED, payment.StateREFUNDING, payment.StateREFUNDED:
			if order.Status != Unpaid {
				return order, pay.refuse(order)
			}
			return order, refusedOrder(NotPayable, "You chose another payment method.")
		case payment.StateCONFIRMED:
			return order, nil
		}
	}
}

// Confirm applies a provider's decision about a payment attempt: CONFIRMED, REFUSED or REFUNDED.
// Decisions may be repeated, late and reordered. Money for an order that is no longer unpaid is
// refunded. It returns [apierror.ErrNotFound] for an unknown attempt. After any other error, repeat
// the call.
func (s *Service) Confirm(ctx context.Context, order int64, number int, state PaymentState) error {
	if state == Returned {
		return s.confirmRefund(ctx, attempt{order, number})
	}
	if state != Confirmed && state != Refused {
		return fmt.Errorf("unknown provider state %q", state)
	}
	ctx, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), writeTimeout)
	defer cancel()
	a := attempt{order, number}
	var t *changeSet
	var void []outbox.JobRef
	err := s.tx(ctx, func(tx *ent.Tx) (err error) {
		t, void, err = s.confirm(ctx, tx, a, state)
		return err
	})
	if err != nil {
		return fmt.Errorf("apply state %s to attempt %d of order %d: %w", state, number, order, err)
	}
	if t != nil {
		s.afterTransition(ctx, t)
	}
	if len(void) > 0 {
		s.metrics.count("void", 1)
		s.outbox.Finish(ctx, s.processRefund(ctx, a), void...)
	}
	return nil
}

// confirmRefund records that money was refunded. It ignores attempts that are not being refunded.
func (s *Service) confirmRefund(ctx context.Context, a attempt) error {
	ctx, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), writeTimeout)
	defer cancel()
	p, err := s.payment(ctx, a)
	switch {
	case err != nil:
		return err
	case p == nil:
		return apierror.ErrNotFound
	case p.State != payment.StateREFUNDING && p.State != payment.StateREFUNDED:
		return nil
	}
	return s.finishRefund(ctx, a)
}

// confirm is the transaction of Confirm. It returns the change of an order that is now paid,
// or the job to refund money.
func (s *Service) confirm(ctx context.Context, tx *ent.Tx, a attempt, state PaymentState) (t *changeSet, void []outbox.JobRef, err error) {
	row, err := lockRow(ctx, tx, a.Order)
	if err != nil {
		return nil, nil, err
	}
	p, err := tx.Payment.Query().Where(payment.OrderID(a.Order), payment.Attempt(a.Attempt)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil, apierror.ErrNotFound
	}
	if err != nil {
		return nil, nil, fmt.Errorf("select attempt: %w", err)
	}
	undecided := p.State == payment.StateOPEN
	to := payment.StateREFUSED
	switch {
	case state == Refused && undecided:
		s.metrics.count("refused", 1)
	case state == Confirmed && p.State == payment.StateABANDONED:
		to = payment.StateREFUNDING
	case state == Confirmed && (undecided || p.State == payment.StateREFUSED): // a late confirmation overrides a refusal
		to = payment.StateCONFIRMED
		if row.Status != entorder.StatusUNPAID {
			to = payment.StateREFUNDING
		}
	default:
		return nil, nil, nil
	}
	if err := tx.Payment.UpdateOne(p).SetState(to).SetUpdatedAt(s.now().UnixMilli()).Exec(ctx); err != nil {
		return nil, nil, fmt.Errorf("update attempt: %w", err)
	}
	if to == payment.StateCONFIRMED {
		t, err = s.writeTransition(ctx, tx, []*ent.Order{row}, Paid, func(u *ent.OrderUpdate) { u.SetPayMethod(entorder.PayMethod(p.Method)) })
	}
	if to == payment.StateREFUNDING {
		void, err = outbox.AddBatch(ctx, s.outbox, tx, refundTopic, a)
	}
	return t, void, err
}

// Refund refunds a user's paid order. The order is REFUNDED if the provider returns the money
// within two seconds; otherwise it is REFUNDING until the provider does. A refunded order
// releases its stock.
//
// For an order in another status it returns an [apierror.UserErrors] with the current order.
// An order of another user is not found. Without a provider it returns [apierror.Unavailable],
// except for money from the balance.
func (s *Service) Refund(ctx context.Context, userID, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Refund")
	defer span.End()
	return s.refundBy(ctx, id, ownedBy(userID), transition{from: Paid, to: Refunding, code: NotRefundable, verb: "refunded"})
}

// refundBy runs the transition v of a refund and returns the money.
func (s *Service) refundBy(ctx context.Context, id int64, allow authorizer, v transition) (*Order, error) {
	var a attempt
	var job []outbox.JobRef
	v.inTx = func(ctx context.Context, tx *ent.Tx, row *ent.Order) (err error) {
		a, err = s.beginRefund(ctx, tx, row)
		if err == nil {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, refundTopic, a)
		}
		return err
	}
	order, err := s.move(ctx, id, allow, v)
	if err != nil {
		return order, err
	}
	writeCtx, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), s.cfg.payWait+writeTimeout)
	defer cancel()
	err = s.processRefund(writeCtx, a)
	s.outbox.Finish(writeCtx, err, job...)
	if err != nil {
		return order, nil // REFUNDING; the outbox retries
	}
	row, err := s.db.Order.Get(writeCtx, id)
	if err != nil {
		return nil, fmt.Errorf("select order %d: %w", id, err)
	}
	return fromRow(row), nil
}

// beginRefund marks an order's confirmed payment as REFUNDING. Without one it returns attempt 0.
func (s *Service) beginRefund(ctx context.Context, tx *ent.Tx, row *ent.Order) (attempt, error) {
	p, err := tx.Payment.Query().Where(payment.OrderID(row.ID), payment.StateEQ(payment.StateCONFIRMED)).Only(ctx)
	if ent.IsNotFound(err) {
		return attempt{Order: row.ID}, nil
	}
	if err != nil {
		return attempt{}, fmt.Errorf("select payment: %w", err)
	}
	if p.Method != payment.MethodBALANCE && s.cfg.Provider == (noProvider{}) {
		return attempt{}, noPayments()
	}
	err = tx.Payment.UpdateOne(p).SetState(payment.StateREFUNDING).SetUpdatedAt(s.now().UnixMilli()).Exec(ctx)
	return attempt{row.ID, p.Attempt}, err
}

// processRefund calls the provider to refund an attempt, and finishes the refund unless the
// provider sends a notice later. It may be repeated.
func (s *Service) processRefund(ctx context.Context, a attempt) error {
	state, err := s.refund(ctx, a)
	if err != nil {
		s.metrics.failed(ctx, "refund", err)
		return err
	}
	if state == Pending {
		return nil
	}
	return s.finishRefund(ctx, a)
}

func (s *Service) refund(ctx context.Context, a attempt) (PaymentState, error) {
	if a.Attempt == 0 {
		return Returned, nil
	}
	p, err := s.payment(ctx, a)
	if err != nil {
		return "", err
	}
	if p == nil || p.State != payment.StateREFUNDING || p.Method == payment.MethodBALANCE {
		return Returned, nil // finishRefund returns money to the balance
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.payWait)
	defer cancel()
	state, err := s.cfg.Provider.Refund(ctx, chargeOf(p))
	if err == nil && state != Returned && state != Pending {
		err = fmt.Errorf("unknown provider state %q", state)
	}
	if err != nil {
		return "", fmt.Errorf("refund attempt %d of order %d: %w", a.Attempt, a.Order, err)
	}
	return state, nil
}

// finishRefund records that the money of an attempt was refunded. Money from the balance
// returns to it in the same transaction. The order becomes REFUNDED when no other refund is
// open.
func (s *Service) finishRefund(ctx context.Context, a attempt) error {
	var t *changeSet
	err := s.tx(ctx, func(tx *ent.Tx) error {
		t = nil
		row, err := lockRow(ctx, tx, a.Order)
		if err != nil {
			return err
		}
		if err := s.markRefunded(ctx, tx, row, a); err != nil {
			return err
		}
		if row.Status != entorder.StatusREFUNDING {
			return nil
		}
		waiting, err := tx.Payment.Query().Where(payment.OrderID(a.Order), payment.StateEQ(payment.StateREFUNDING)).Exist(ctx)
		if err != nil || waiting {
			return err
		}
		t, err = s.writeTransition(ctx, tx, []*ent.Order{row}, Refunded)
		return err
	})
	if err != nil {
		return fmt.Errorf("finish refund of order %d: %w", a.Order, err)
	}
	if t != nil {
		s.afterTransition(ctx, t)
	}
	return nil
}

// markRefunded marks a REFUNDING payment as REFUNDED, and returns money from the balance to it. It
// ignores other payments.
func (s *Service) markRefunded(ctx context.Context, tx *ent.Tx, row *ent.Order, a attempt) error {
	p, err := tx.Payment.Query().Where(payment.OrderID(a.Order), payment.Attempt(a.Attempt), payment.StateEQ(payment.StateREFUNDING)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("select payment: %w", err)
	}
	if err := tx.Payment.UpdateOne(p).SetState(payment.StateREFUNDED).SetUpdatedAt(s.now().UnixMilli()).Exec(ctx); err != nil {
		return fmt.Errorf("update payment: %w", err)
	}
	if p.Method != payment.MethodBALANCE {
		return nil
	}
	return s.cfg.Ledger.Refund(ctx, tx, row.UserID, p.ID)
}

// retryRefunds is processRefund for refunds that have not finished.
func (s *Service) retryRefunds(ctx context.Context, attempts ...attempt) error {
	for _, a := range attempts {
		if err := s.processRefund(ctx, a); err != nil {
			return outbox.Transient(err) // the provider or a store is unavailable
		}
	}
	return nil
}
