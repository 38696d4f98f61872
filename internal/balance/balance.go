// Package balance stores the money that users may spend: a ledger of entries, and the sum of
// each user's entries.
//
// Every change writes an entry and the sum in one transaction. The sum is never negative: the
// statement that lowers it requires enough money, and a CHECK guards the column.
package balance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tandian-dev/tandian/ent"
	entbalance "github.com/tandian-dev/tandian/ent/balance"
	"github.com/tandian-dev/tandian/ent/balanceentry"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	// Max is the largest balance that an adjustment may reach, and the largest adjustment, in
	// minor units. Refunds may exceed it: they return what the user paid.
	Max = 1_000_000_000_000

	maxReason    = 200 // characters
	writeTimeout = 10 * time.Second
)

// Insufficient is the code of a change that would make a balance negative.
const Insufficient apierror.Code = "INSUFFICIENT_BALANCE"

// Service reads and changes balances. It is safe for concurrent use.
type Service struct {
	db  *ent.Client
	now func() time.Time
}

// New returns a Service. now is the clock; nil means time.Now.
func New(db *ent.Client, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{db: db, now: now}
}

// Of returns a user's current balance in minor units, read from its row. It is 0 for a user
// without entries.
func (s *Service) Of(ctx context.Context, userID int64) (int64, error) {
	row, err := s.db.Balance.Get(ctx, userID)
	if ent.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the balance of user %d: %w", userID, err)
	}
	return row.Amount, nil
}

// Adjustment is a change by an administrator.
type Adjustment struct {
	UserID int64
	Amount int64  // minor units; negative subtracts
	Reason string // 1 to 200 characters
	// ActorID is the administrator; 0 means the server.
	ActorID int64
}

// Adjust changes a user's balance and returns the new one.
//
// It refuses with [apierror.UserErrors]: INVALID_INPUT, NOT_FOUND for an unknown user, and
// [Insufficient] if the balance would become negative. Each call adds an entry: a retry after
// an unknown result may add a second one.
func (s *Service) Adjust(ctx context.Context, a Adjustment) (now int64, err error) {
	a.Reason = strings.TrimSpace(a.Reason)
	if err := a.check(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err = ent.WithTxAgain(ctx, s.db, sqldb.Retryable, func(tx *ent.Tx) error {
		exists, err := tx.User.Query().Where(entuser.ID(a.UserID)).Exist(ctx)
		if err != nil {
			return fmt.Errorf("read user %d: %w", a.UserID, err)
		}
		if !exists {
			return apierror.Refuse(apierror.NotFound, "User not found.", "userId")
		}
		e := entry{user: a.UserID, amount: a.Amount, kind: balanceentry.KindADJUSTMENT, reason: a.Reason}
		if a.ActorID != 0 {
			e.actor = &a.ActorID
		}
		ok, err := s.add(ctx, tx, e)
		if err != nil {
			return err
		}
		if !ok && a.Amount > 0 {
			return apierror.Refuse(apierror.InvalidInput, fmt.Sprintf("The balance can be at most %d.", int64(Max)), "amount")
		}
		if !ok {
			return apierror.Refuse(Insufficient, "The balance is too low.", "amount")
		}
		row, err := tx.Balance.Get(ctx, a.UserID)
		if err != nil {
			return fmt.Errorf("read the balance: %w", err)
		}
		now = row.Amount
		return nil
	})
	if _, refused := errors.AsType[apierror.UserErrors](err); err != nil && !refused {
		return 0, fmt.Errorf("adjust the balance of user %d: %w", a.UserID, err)
	}
	return now, err
}

func (a Adjustment) check() error {
	var wrong apierror.UserErrors
	if a.Amount == 0 || a.Amount > Max || a.Amount < -Max {
		wrong.Add(apierror.InvalidInput, "amount", "The amount must be -%d to %d, and not 0.", int64(Max), int64(Max))
	}
	if n := utf8.RuneCountInString(a.Reason); n == 0 || n > maxReason {
		wrong.Add(apierror.InvalidInput, "reason", "The reason must have 1 to %d characters.", maxReason)
	}
	return wrong.OrNil()
}

// Pay subtracts the amount of a payment attempt, in the caller's transaction. It returns false
// and writes nothing if the balance is too low. A second call for the same attempt fails.
func (s *Service) Pay(ctx context.Context, tx *ent.Tx, userID, paymentID int64, amount int) (bool, error) {
	return s.add(ctx, tx, entry{user: userID, amount: -int64(amount), kind: balanceentry.KindPAYMENT, payment: &paymentID})
}

// Refund returns the amount that [Service.Pay] took for an attempt, in the caller's
// transaction. It does nothing for an attempt without an entry, which predates the ledger.
func (s *Service) Refund(ctx context.Context, tx *ent.Tx, userID, paymentID int64) error {
	paid, err := tx.BalanceEntry.Query().Where(balanceentry.PaymentID(paymentID), balanceentry.KindEQ(balanceentry.KindPAYMENT)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the entry of payment %d: %w", paymentID, err)
	}
	_, err = s.add(ctx, tx, entry{user: userID, amount: -paid.Amount, kind: balanceentry.KindREFUND, payment: &paymentID})
	return err
}

// AddDemoBalance adds a demo balance for a user without entries.
func (s *Service) AddDemoBalance(ctx context.Context, userID, amount int64) error {
	has, err := s.db.BalanceEntry.Query().Where(balanceentry.UserID(userID)).Exist(ctx)
	if err != nil {
		return fmt.Errorf("read the entries of user %d: %w", userID, err)
	}
	if has {
		return nil
	}
	_, err = s.Adjust(ctx, Adjustment{UserID: userID, Amount: amount, Reason: "demo balance"})
	return err
}

// entry is one row of the ledger.
type entry struct {
	user, amount   int64
	kind           balanceentry.Kind
	payment, actor *int64
	reason         string
}

// add writes an entry and the sum. It returns false and writes nothing if the sum would be
// negative, or if an adjustment would raise it above Max. The row of the sum stays locked until
// tx ends.
func (s *Service) add(ctx context.Context, tx *ent.Tx, e entry) (bool, error) {
	err := tx.Balance.Create().SetID(e.user).SetAmount(0).OnConflictColumns(entbalance.FieldID).Ignore().Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("open the balance of user %d: %w", e.user, err)
	}
	change := tx.Balance.Update().Where(entbalance.ID(e.user)).AddAmount(e.amount)
	switch {
	case e.amount < 0:
		change.Where(entbalance.AmountGTE(-e.amount))
	case e.kind == balanceentry.KindADJUSTMENT:
		change.Where(entbalance.AmountLTE(Max - e.amount))
	}
	n, err := change.Save(ctx)
	if err != nil {
		return false, fmt.Errorf("change the balance of user %d: %w", e.user, err)
	}
	if n == 0 {
		return false, nil
	}
	err = tx.BalanceEntry.Create().SetUserID(e.user).SetAmount(e.amount).SetKind(e.kind).SetNillablePaymentID(e.payment).
		SetNillableActorID(e.actor).SetReason(e.reason).SetCreatedAt(s.now().UnixMilli()).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("insert an entry of user %d: %w", e.user, err)
	}
	return true, nil
}
