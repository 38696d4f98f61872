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
// From the balance it is PAID at once. Another method opens an attempt, or joins the
// open attempt of the same method, and waits two seconds for the provider: then the
// order is PAID, or still UNPAID and [Service.Confirm] decides later. An open attempt of
// another method is abandoned: if its money still comes, it is refunded.
//
// An order in another status, an order whose time to pay is over, a refused payment and
// a balance that is too small are [fault.UserErrors], with the order as it is then.
// Another user's order is not found. Without a provider it returns [fault.Unavailable].
func (s *Service) Pay(ctx context.Context, userID, id int64, method PayMethod) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Pay")
	defer span.End()
	if s.cfg.Provider == (noProvider{}) {
		return nil, noPayments()
	}
	order, err := s.asked(ctx, id, ownOf(userID))
	if err != nil {
		return nil, err
	}
	if order.Status == Queued {
		return order, pay.refuse(order)
	}
	// What was begun must be known, also after the client hangs up.
	whole, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), s.cfg.payWait+writeTimeout)
	defer cancel()
	if method == Balance {
		return s.payFromBalance(whole, id)
	}
	patience, stop := context.WithTimeout(whole, s.cfg.payWait)
	defer stop()
	order, attempt, job, err := s.attempt(whole, id, method)
	if err != nil {
		return order, err
	}
	if len(job) > 0 {
		s.metrics.count("attempted", 1)
		err := s.ask(patience, attempt)
		if err != nil {
			s.metrics.failed(whole, "charge", err)
		}
		s.outbox.Finish(whole, err, job...)
	}
	return s.await(whole, patience, attempt)
}

// noPayments refuses what needs a provider on a server without one.
func noPayments() error {
	return apierror.New(apierror.Unavailable, "Payments are not set up on this server.")
}

// maxAttempts bounds the attempts of an order. A payment from the balance is always
// possible.
const maxAttempts = 20

var pay = transition{from: Unpaid, to: Paid, code: NotPayable, does: "paid"}

// payFromBalance takes the money and makes the order PAID, in one transaction.
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
			return refusedOrder(InsufficientBalance, "Your balance is too small. Choose another way to pay.")
		}
		t, err = s.turn(ctx, tx, []*ent.Order{row}, Paid, func(u *ent.OrderUpdate) { u.SetPayMethod(entorder.PayMethodBALANCE) })
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return order, err
	}
	if err != nil {
		return nil, fmt.Errorf("pay order %d from the balance: %w", id, err)
	}
	s.turned(ctx, t)
	return fromRow(t.rows[0]), nil
}

// attempt returns the open attempt of a method, or opens one: then there is a job, to
// ask the provider. With a refusal it returns the order.
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
			job, err = outbox.AddBatch(ctx, s.outbox, tx, askProvider, attemptOf(c))
		}
		return err
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); err != nil && !refused {
		return nil, c, nil, fmt.Errorf("pay order %d: %w", id, err)
	}
	return order, c, job, err
}

// begin returns the open attempt of a method, or inserts one and abandons that of another
// method. A payment from the balance is never open: it is CONFIRMED in the transaction
// that inserts it. The row of the order is locked.
func (s *Service) begin(ctx context.Context, tx *ent.Tx, row *ent.Order, method PayMethod) (p *ent.Payment, opened bool, err error) {
	payments, err := tx.Payment.Query().Where(payment.OrderID(row.ID)).Order(payment.ByAttempt()).All(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("select its payments: %w", err)
	}
	for _, p := range payments {
		if p.State == payment.StateOPEN && PayMethod(p.Method) == method && method != Balance {
			return p, false, nil
		}
	}
	if len(payments) >= maxAttempts && method != Balance {
		return nil, false, refusedOrder(NotPayable, "Too many attempts to pay. Cancel this order and order again.")
	}
	now := s.now().UnixMilli()
	if row.PayBefore < now {
		return nil, false, refusedOrder(NotPayable, "The time to pay this order is over.")
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
		return nil, false, fmt.Errorf("insert an attempt: %w", err)
	}
	return p, true, nil
}

// abandon ends the open attempt of an order whose row is locked. Money that still comes
// for it is refunded.
func (s *Service) abandon(ctx context.Context, tx *ent.Tx, row *ent.Order) error {
	n, err := tx.Payment.Update().Where(payment.OrderID(row.ID), payment.StateEQ(payment.StateOPEN)).
		SetState(payment.StateABANDONED).SetUpdatedAt(s.now().UnixMilli()).Save(ctx)
	if err != nil {
		return fmt.Errorf("abandon its open attempt: %w", err)
	}
	s.metrics.count("abandoned", n)
	return nil
}

// An attempt names a charge in a job of the outbox. The other fields are the row's.
type attempt struct {
	Order   int64 `json:"o"`
	Attempt int   `json:"a"` // 0: no money was taken
}

func attemptOf(c Charge) attempt { return attempt{c.Order, c.Attempt} }

func chargeOf(p *ent.Payment) Charge {
	return Charge{Order: p.OrderID, Attempt: p.Attempt, Amount: p.Amount, Method: PayMethod(p.Method)}
}

// ask asks the provider for the money, and does what it says.
func (s *Service) ask(ctx context.Context, c Charge) error {
	state, err := s.cfg.Provider.Charge(ctx, c)
	if err != nil {
		return fmt.Errorf("charge attempt %d of order %d: %w", c.Attempt, c.Order, err)
	}
	if state == Pending {
		return nil
	}
	return s.Confirm(ctx, c.Order, c.Attempt, state)
}

// askAgain is ask for an attempt whose opener did not get an answer. One whose order
// ended meanwhile is not asked for: if money was taken, the provider will say so, and
// it goes back.
func (s *Service) askAgain(ctx context.Context, attempts ...attempt) error {
	for _, a := range attempts {
		p, err := s.payment(ctx, a)
		if err != nil {
			return outbox.Transient(err)
		}
		if p == nil || p.State != payment.StateOPEN || p.Edges.Order.Status != entorder.StatusUNPAID ||
			p.Method == payment.MethodBALANCE { // of a version before the ledger
			continue
		}
		if err := s.ask(ctx, chargeOf(p)); err != nil {
			s.metrics.failed(ctx, "charge", err)
			return outbox.Transient(err) // the provider is away
		}
	}
	return nil
}

// payment returns an attempt with its order, or nil if there is none.
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

// await waits until an attempt is decided, by whichever process, or patience ends.
func (s *Service) await(ctx, patience context.Context, c Charge) (*Order, error) {
	for pause := 25 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		p, err := s.payment(ctx, attemptOf(c))
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("attempt %d of order %d is gone", c.Attempt, c.Order)
		}
		order := fromRow(p.Edges.Order)
		switch p.State {
		case payment.StateOPEN:
			if order.Status != Unpaid {
				return order, pay.refuse(order)
			}
			select {
			case <-patience.Done():
				return order, nil
			case <-time.After(pause):
			}
		case payment.StateREFUSED:
			return order, refusedOrder(NotPayable, "The payment was refused.")
		case payment.StateABANDONED, payment.StateREFUNDING, payment.StateREFUNDED:
			if order.Status != Unpaid {
				return order, pay.refuse(order)
			}
			return order, refusedOrder(NotPayable, "You chose another way to pay.")
		case payment.StateCONFIRMED:
			return order, nil
		}
	}
}

// Confirm takes the provider's word about an attempt to pay: the money is here, it
// will not come, or it went back as it was to. To be told twice, late or in any order does no harm. Money for an
// order that is not unpaid any more goes back. It returns [fault.ErrNotFound] if there
// was no such attempt; any other error means that nothing was done, and it is to be
// repeated.
func (s *Service) Confirm(ctx context.Context, order int64, number int, state PaymentState) error {
	if state == Returned {
		return s.confirmRefund(ctx, attempt{order, number})
	}
	if state != Confirmed && state != Refused {
		return fmt.Errorf("a provider cannot say %q", state)
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
		return fmt.Errorf("take the word %s about attempt %d of order %d: %w", state, number, order, err)
	}
	if t != nil {
		s.turned(ctx, t)
	}
	if len(void) > 0 {
		s.metrics.count("void", 1)
		s.outbox.Finish(ctx, s.giveBack(ctx, a), void...)
	}
	return nil
}

// confirmRefund takes the word that money went back. Of money that is not to go back
// it is overlooked.
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

// confirm is the transaction of Confirm. It returns the turn of an order that is paid
// now, or the job to give money back.
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
		return nil, nil, fmt.Errorf("select it: %w", err)
	}
	undecided := p.State == payment.StateOPEN
	to := payment.StateREFUSED
	switch {
	case state == Refused && undecided:
		s.metrics.count("refused", 1)
	case state == Confirmed && p.State == payment.StateABANDONED:
		to = payment.StateREFUNDING
	case state == Confirmed && (undecided || p.State == payment.StateREFUSED): // it may change its mind in this way only
		to = payment.StateCONFIRMED
		if row.Status != entorder.StatusUNPAID {
			to = payment.StateREFUNDING
		}
	default:
		return nil, nil, nil
	}
	if err := tx.Payment.UpdateOne(p).SetState(to).SetUpdatedAt(s.now().UnixMilli()).Exec(ctx); err != nil {
		return nil, nil, fmt.Errorf("update it: %w", err)
	}
	if to == payment.StateCONFIRMED {
		t, err = s.turn(ctx, tx, []*ent.Order{row}, Paid, func(u *ent.OrderUpdate) { u.SetPayMethod(entorder.PayMethod(p.Method)) })
	}
	if to == payment.StateREFUNDING {
		void, err = outbox.AddBatch(ctx, s.outbox, tx, payBack, a)
	}
	return t, void, err
}

// Refund gives a user's paid order back. It is REFUNDED when the provider has given
// the money back within two seconds, else REFUNDING until it does; then its piece is
// for sale again. An order in another status is a [fault.UserErrors], with the order
// as it is now. An order of another user is not found. Without a provider it returns
// [fault.Unavailable] for money that did not come from the balance.
func (s *Service) Refund(ctx context.Context, userID, id int64) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Refund")
	defer span.End()
	return s.refundBy(ctx, id, ownOf(userID), transition{from: Paid, to: Refunding, code: NotRefundable, does: "refunded"})
}

// refundBy makes the transition v of a refund and returns the money.
func (s *Service) refundBy(ctx context.Context, id int64, may authorizer, v transition) (*Order, error) {
	var a attempt
	var job []outbox.JobRef
	v.also = func(ctx context.Context, tx *ent.Tx, row *ent.Order) (err error) {
		a, err = s.beginRefund(ctx, tx, row)
		if err == nil {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, payBack, a)
		}
		return err
	}
	order, err := s.move(ctx, id, may, v)
	if err != nil {
		return order, err
	}
	whole, cancel := context.WithTimeout(sqldb.Prepared(context.WithoutCancel(ctx)), s.cfg.payWait+writeTimeout)
	defer cancel()
	err = s.giveBack(whole, a)
	s.outbox.Finish(whole, err, job...)
	if err != nil {
		return order, nil // it is REFUNDING; the outbox goes on
	}
	row, err := s.db.Order.Get(whole, id)
	if err != nil {
		return nil, fmt.Errorf("select order %d: %w", id, err)
	}
	return fromRow(row), nil
}

// beginRefund marks the payment that made an order paid.
func (s *Service) beginRefund(ctx context.Context, tx *ent.Tx, row *ent.Order) (attempt, error) {
	p, err := tx.Payment.Query().Where(payment.OrderID(row.ID), payment.StateEQ(payment.StateCONFIRMED)).Only(ctx)
	if ent.IsNotFound(err) {
		return attempt{Order: row.ID}, nil
	}
	if err != nil {
		return attempt{}, fmt.Errorf("select its payment: %w", err)
	}
	if p.Method != payment.MethodBALANCE && s.cfg.Provider == (noProvider{}) {
		return attempt{}, noPayments()
	}
	err = tx.Payment.UpdateOne(p).SetState(payment.StateREFUNDING).SetUpdatedAt(s.now().UnixMilli()).Exec(ctx)
	return attempt{row.ID, p.Attempt}, err
}

// giveBack has the provider give the money of an attempt back, and ends what waited
// for that; a provider that will call back has [Service.Confirm] end it. It may be
// repeated.
func (s *Service) giveBack(ctx context.Context, a attempt) error {
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
		return Returned, nil // finishRefund gives back what came from the balance
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.payWait)
	defer cancel()
	state, err := s.cfg.Provider.Refund(ctx, chargeOf(p))
	if err == nil && state != Returned && state != Pending {
		err = fmt.Errorf("a provider cannot say %q", state)
	}
	if err != nil {
		return "", fmt.Errorf("refund attempt %d of order %d: %w", a.Attempt, a.Order, err)
	}
	return state, nil
}

// finishRefund writes down that the money of an attempt went back; what came from the
// balance goes back to it in the same transaction. An order that was waiting for that,
// and for no other money, is REFUNDED.
func (s *Service) finishRefund(ctx context.Context, a attempt) error {
	var t *changeSet
	err := s.tx(ctx, func(tx *ent.Tx) error {
		t = nil
		row, err := lockRow(ctx, tx, a.Order)
		if err != nil {
			return err
		}
		if err := s.returned(ctx, tx, row, a); err != nil {
			return err
		}
		if row.Status != entorder.StatusREFUNDING {
			return nil
		}
		waits, err := tx.Payment.Query().Where(payment.OrderID(a.Order), payment.StateEQ(payment.StateREFUNDING)).Exist(ctx)
		if err != nil || waits {
			return err
		}
		t, err = s.turn(ctx, tx, []*ent.Order{row}, Refunded)
		return err
	})
	if err != nil {
		return fmt.Errorf("end the refund of order %d: %w", a.Order, err)
	}
	if t != nil {
		s.turned(ctx, t)
	}
	return nil
}

// returned marks a payment as REFUNDED. One that is not REFUNDING is left as it is.
func (s *Service) returned(ctx context.Context, tx *ent.Tx, row *ent.Order, a attempt) error {
	p, err := tx.Payment.Query().Where(payment.OrderID(a.Order), payment.Attempt(a.Attempt), payment.StateEQ(payment.StateREFUNDING)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("select its payment: %w", err)
	}
	if err := tx.Payment.UpdateOne(p).SetState(payment.StateREFUNDED).SetUpdatedAt(s.now().UnixMilli()).Exec(ctx); err != nil {
		return fmt.Errorf("update its payment: %w", err)
	}
	if p.Method != payment.MethodBALANCE {
		return nil
	}
	return s.cfg.Ledger.Refund(ctx, tx, row.UserID, p.ID)
}

// giveBackAgain is giveBack for what was begun and not ended.
func (s *Service) giveBackAgain(ctx context.Context, attempts ...attempt) error {
	for _, a := range attempts {
		if err := s.giveBack(ctx, a); err != nil {
			return outbox.Transient(err) // the provider is away, or a store
		}
	}
	return nil
}
