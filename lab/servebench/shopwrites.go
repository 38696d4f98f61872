package servebench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// maxChanges limits the ratings of a load that changes them, because it first adds them.
const maxChanges = 6000

// choice is a customer with a shop that they have not rated or saved.
type choice struct {
	person
	shop string // global id
}

// choose returns a choice of each customer: of one new shop, or of any. taken is the statement
// that reads the existing pairs of shop and user.
func (w *writes) choose(ctx context.Context, taken string, oneShop bool) ([]choice, error) {
	if w.allShop == 0 {
		return nil, errors.New("the ids of shops have gaps")
	}
	existing := map[pair]bool{}
	err := sqldb.Each(ctx, w.db, statement(taken), nil, func(rows *sql.Rows) error {
		var one pair
		err := rows.Scan(&one.target, &one.user)
		existing[one] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read which shops are %s: %w", taken, err)
	}
	w.chosenShops++
	var all []choice
	for i, p := range w.customers() {
		user, err := numberOf(p.ID)
		if err != nil {
			return nil, err
		}
		n := w.chosenShops
		if !oneShop {
			n += int64(i) * 7 // neighbors choose different shops
		}
		one := pair{w.firstShop + n%w.allShop, user}
		if !existing[one] {
			all = append(all, choice{p, scalar.ID{Type: "Shop", N: one.target}.String()})
		}
	}
	return all, nil
}

// rate rates one new shop, or many shops, with one star.
func (w *writes) rate(oneShop bool) func(context.Context, int) ([]request, error) {
	return func(ctx context.Context, _ int) ([]request, error) {
		all, err := w.choose(ctx, "rated", oneShop)
		return w.stars(all, 1), err
	}
}

// rateAgain changes ratings from one star to two. So a change raises the sum of stars by one.
func (w *writes) rateAgain(oneShop bool) func(context.Context, int) ([]request, error) {
	return func(ctx context.Context, _ int) ([]request, error) {
		all, err := w.choose(ctx, "rated", oneShop)
		if err != nil {
			return nil, err
		}
		all = all[:min(len(all), maxChanges)]
		o := load{w.server.addr(), w.Connections, w.stars(all, 1)}.closed(ctx, time.Minute, false)
		if o.n < len(all) {
			return nil, fmt.Errorf("only %d of %d ratings were added: %s", o.n, len(all), o.example)
		}
		return w.stars(all, 2), nil
	}
}

func (w *writes) stars(all []choice, stars int) []request {
	return w.shopRequests(all, "rate", func(shop string) vars { return vars{"input": vars{"shopId": shop, "stars": stars}} })
}

// save saves one new shop, or many shops.
func (w *writes) save(oneShop bool) func(context.Context, int) ([]request, error) {
	return func(ctx context.Context, _ int) ([]request, error) {
		all, err := w.choose(ctx, "saved", oneShop)
		return w.shopRequests(all, "save", func(shop string) vars { return vars{"id": shop} }), err
	}
}

func (w *writes) shopRequests(all []choice, name string, variables func(shop string) vars) []request {
	text, requests := document(name), make([]request, len(all))
	for i, c := range all {
		requests[i] = request{wire: wire(w.server, c.person, text, variables(c.shop)), want: done}
	}
	return requests
}
