package balance

import (
	"context"
	"database/sql"
	_ "embed" // statement
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entbalance "github.com/tandian-dev/tandian/ent/balance"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage  = 500
	scanRate  = 5000             // balances per second
	scanLimit = 30 * time.Second // timeout of one page
)

// Scans returns the scan that compares each balance with the sum of its entries. The entries
// are the source of truth: a repair sets the balance to their sum.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "balances", Description: "balances, with the sums of their entries", Rate: scanRate, Run: s.scan},
	}
}

func (s *Service) scan(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]total, error) {
		return totals(ctx, s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, total.differs, s.repair)
}

type total struct {
	user        int64
	amount, sum int64
}

func (t total) differs() (user int64, how string) {
	if t.amount != t.sum {
		how = fmt.Sprintf("user %d: balance is %d, sum of entries is %d", t.user, t.amount, t.sum)
	}
	return t.user, how
}

//go:embed sql/totals.sql
var totalsText string

func totals(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []total, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, sqldb.Statement(totalsText), []any{after, limit}, func(rows *sql.Rows) error {
		var t total
		err := rows.Scan(&t.user, &t.amount, &t.sum)
		page = append(page, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sum the entries of balances after user %d: %w", after, err)
	}
	return page, nil
}

// repair sets a balance to the sum of its entries, under a row lock. It fails if that is negative.
func (s *Service) repair(ctx context.Context, user int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := ent.WithTxAgain(ctx, s.db, sqldb.Retryable, func(tx *ent.Tx) error {
		row := tx.Balance.Query().Where(entbalance.ID(user))
		row.Modify(sqldb.ForUpdate)
		if _, err := row.IDs(ctx); err != nil {
			return fmt.Errorf("lock balance: %w", err)
		}
		found, err := totals(ctx, tx, user-1, 1)
		if err != nil || len(found) == 0 || found[0].user != user || found[0].amount == found[0].sum {
			return err
		}
		return tx.Balance.UpdateOneID(user).SetAmount(found[0].sum).Exec(ctx)
	})
	if err != nil {
		return fmt.Errorf("repair the balance of user %d: %w", user, err)
	}
	return nil
}
