package sale

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Answered is the answer to a user.
type Answered struct {
	Wish
	Answer
}

// A Verdict counts the errors of a sale, after all of its orders are stored.
type Verdict struct {
	Oversold  int // ordered units beyond the stock
	Duplicate int // orders of users that have another one
	Lost      int // users whose promised order has no row
	Unsold    int // users that got "sold out" although their units are left at the end
	Drift     int // error of the strategy's own count of the remaining stock
}

// Add adds up verdicts.
func (v *Verdict) Add(o Verdict) {
	v.Oversold += o.Oversold
	v.Duplicate += o.Duplicate
	v.Lost += o.Lost
	v.Unsold += o.Unsold
	v.Drift += o.Drift
}

// row is an order.
type row struct {
	order, user int64
	quantity    int
}

// judge compares the initial stock, the remaining stock as the strategy counts it, the orders and
// the answers. Stock only falls during a sale, so a correct refusal would also be correct at its end.
func judge(stock, left int, rows []row, told []Answered) (v Verdict) {
	sold := 0
	byOrder, users := make(map[int64]row, len(rows)), make(map[int64]bool, len(rows))
	for _, r := range rows {
		sold += r.quantity
		if users[r.user] {
			v.Duplicate++
		}
		byOrder[r.order], users[r.user] = r, true
	}
	v.Oversold = max(0, sold-stock)
	v.Drift = max(left-(stock-sold), stock-sold-left)
	for _, t := range told {
		r, ok := byOrder[t.Order]
		switch t.Decision {
		case Admitted:
			if !ok || r.user != t.User || r.quantity != t.Quantity {
				v.Lost++
			}
		case Held:
			if !ok || r.user != t.User {
				v.Lost++
			}
		case SoldOut:
			if t.Quantity <= stock-sold {
				v.Unsold++
			}
		}
	}
	return v
}

// ordersOf reads the live orders of a sale.
func ordersOf(ctx context.Context, db *sql.DB, voucher int64) (all []row, err error) {
	err = sqldb.Each(ctx, db, text("rows"), []any{voucher}, func(found *sql.Rows) error {
		var r row
		if err := found.Scan(&r.order, &r.user, &r.quantity); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the orders of sale %d: %w", voucher, err)
	}
	return all, nil
}

// check judges a sale after Settle.
func (s *Servers) check(ctx context.Context, a Admitter, sale Sale, told []Answered) (Verdict, int, error) {
	rows, err := ordersOf(ctx, s.db, sale.Voucher)
	if err != nil {
		return Verdict{}, 0, err
	}
	left, err := a.Left(ctx, sale)
	if err != nil {
		return Verdict{}, 0, fmt.Errorf("count the remaining stock: %w", err)
	}
	return judge(sale.Stock, left, rows, told), len(rows), nil
}
