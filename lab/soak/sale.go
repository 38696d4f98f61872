package soak

import (
	"context"
	"crypto/rand"
	_ "embed" // statements
	"fmt"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

var (
	//go:embed sql/sale.sql
	saleSQL string
	//go:embed sql/order.sql
	orderSQL string
)

const (
	salePatience = time.Minute            // until the last order is stored
	thinking     = time.Second            // before a buyer pays
	saleLead     = 10 * time.Second       // from the creation of a sale to its start
	pollOrder    = 250 * time.Millisecond // of an order that is QUEUED
)

// A sale is one flash voucher.
type sale struct {
	opens time.Duration // since the begin of the run
	stock int
	id    string // global; "" before it is made; mu guards it and the fields below

	mu       sync.Mutex
	trouble  error             // of its last failed creation
	reported map[string]string // orders reported to buyers: global id → "", or PAID
}

// schedule creates sales, each some seconds before it opens, until ctx ends. After a refusal the
// merchant tries again. A sale that cannot be created counts as one that does not add up.
func (c *crowd) schedule(ctx context.Context, begin time.Time) error {
	for i, s := range c.sales {
		wait := time.Until(begin.Add(s.opens - saleLead))
		for s.known() == "" {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
			wait = time.Second
			err := c.make(ctx, s, i+1, begin)
			s.mu.Lock()
			s.trouble = err
			s.mu.Unlock()
			if time.Since(begin) > s.opens+raceTime {
				break
			}
		}
	}
	return nil
}

// make creates one sale.
func (c *crowd) make(ctx context.Context, s *sale, n int, begin time.Time) error {
	var got struct {
		CreateFlashVoucher struct {
			Voucher    *struct{ ID string }
			UserErrors userErrors
		}
	}
	input := vars{
		"shopId": scalar.ID{Type: c.shops.kind, N: c.shops.first}.String(), "title": fmt.Sprintf("Noon %d", n), "payValue": 100, "faceValue": 500,
		"stock": s.stock, "beginsAt": begin.Add(s.opens).UTC().Format(time.RFC3339Nano), "endsAt": begin.Add(s.opens + time.Hour).UTC().Format(time.RFC3339Nano),
	}
	if err := c.api.ask(ctx, c.people[1], "CreateFlashVoucher", vars{"input": input}, &got); err != nil {
		return err
	}
	if err := got.CreateFlashVoucher.UserErrors.refused(); err != nil {
		return err
	}
	if got.CreateFlashVoucher.Voucher == nil {
		return wrong("no voucher")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = got.CreateFlashVoucher.Voucher.ID
	return nil
}

// known returns the sale's voucher, "" before its creation.
func (s *sale) known() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// viewSale reads the page of the newest sale, if there is one.
func (c *crowd) viewSale(ctx context.Context, v *visit) error {
	id := ""
	for _, s := range c.sales {
		if known := s.known(); known != "" {
			id = known
		}
	}
	if id == "" {
		return c.hot(ctx, v)
	}
	var got struct {
		Voucher *struct{ ID string }
	}
	if err := c.api.ask(ctx, v.reader(), "Sale", vars{"id": id}, &got); err != nil {
		return err
	}
	if got.Voucher == nil || got.Voucher.ID != id {
		return wrong("another sale, or none")
	}
	return nil
}

// order is a buyer's tap when a sale opens. The usual refusals of a sale are correct responses.
func (c *crowd) order(ctx context.Context, v *visit) error {
	s := c.sales[v.sale]
	id := s.known()
	if id == "" {
		return failure{"NO_SALE", "not created"}
	}
	// Each arrival at a sale is a random user, not the visitor.
	who := c.people[2+v.rnd.IntN(len(c.people)-2)]
	var got struct {
		OrderVoucher struct {
			Order      *struct{ ID, Status string }
			UserErrors userErrors
		}
	}
	if err := c.api.ask(ctx, who, "OrderVoucher", vars{"voucherId": id, "idempotencyKey": rand.Text()}, &got); err != nil {
		return err
	}
	if err := got.OrderVoucher.UserErrors.refused(); err != nil {
		switch codeOf(err) {
		case "OUT_OF_STOCK", "ALREADY_ORDERED":
			return nil
		case "SALE_NOT_STARTED": // the user's clock is early
			return nil
		}
		return err
	}
	o := got.OrderVoucher.Order
	if o == nil {
		return wrong("neither an order nor a refusal")
	}
	s.recordOrder(o.ID, "")
	if v.rnd.IntN(10) < 8 {
		c.after(ctx, thinking, c.paying, func(ctx context.Context) error { return c.pay(ctx, who, s, o.ID, o.Status) })
	}
	return nil
}

func (s *sale) recordOrder(order, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reported == nil {
		s.reported = map[string]string{}
	}
	s.reported[order] = status
}

// pay waits until an order is stored, and pays it.
func (c *crowd) pay(ctx context.Context, who person, s *sale, order, status string) error {
	for deadline := time.Now().Add(salePatience); status == "QUEUED"; {
		if time.Now().After(deadline) {
			return failure{"STILL_QUEUED", "an order"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // it names the operation
		case <-time.After(pollOrder):
		}
		var got struct{ Order *struct{ Status string } }
		err := c.api.ask(ctx, who, "Order", vars{"id": order}, &got)
		switch {
		case err != nil:
			return err
		case got.Order == nil:
			return wrong("a reported order is not found")
		}
		status = got.Order.Status
	}
	if status == "FAILED" {
		return nil // its buyer received this; the check counts them
	}
	var got struct {
		PayOrder struct {
			Order      *struct{ Status string }
			UserErrors userErrors
		}
	}
	if err := c.api.ask(ctx, who, "PayOrder", vars{"orderId": order, "method": "ALIPAY"}, &got); err != nil {
		return err
	}
	if err := got.PayOrder.UserErrors.refused(); err != nil {
		return err
	}
	if got.PayOrder.Order == nil || got.PayOrder.Order.Status != "PAID" {
		return wrong("a paid order is not PAID")
	}
	s.recordOrder(order, "PAID")
	return nil
}

// A tally is the final state of a sale.
type tally struct {
	initial, left, live, users, paid int
	reported, failed                 int
	wrong                            []string
}

// settled waits until a sale adds up, and returns its differences.
func (s *sale) settled(ctx context.Context, db *sqldb.SQL, api *client) (t tally, err error) {
	id := s.known()
	if id == "" {
		return tally{wrong: []string{fmt.Sprintf("it was never created: %v", s.trouble)}}, nil
	}
	for deadline := time.Now().Add(salePatience); ; {
		if t, err = s.tally(ctx, db, api, id); err != nil || len(t.wrong) == 0 || time.Now().After(deadline) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err() //nolint:wrapcheck // it names the operation
		case <-time.After(time.Second):
		}
	}
}

func (s *sale) tally(ctx context.Context, db *sqldb.SQL, api *client, id string) (t tally, err error) {
	voucher, err := scalar.ParseID(id)
	if err != nil {
		return t, fmt.Errorf("read the id of a sale: %w", err)
	}
	err = db.QueryRowContext(ctx, sqldb.Statement(saleSQL), voucher.N).Scan(&t.initial, &t.left, &t.live, &t.users, &t.paid)
	if err != nil {
		return t, fmt.Errorf("count the orders of a sale: %w", err)
	}
	say := func(format string, args ...any) { t.wrong = append(t.wrong, fmt.Sprintf(format, args...)) }
	if t.left+t.live != t.initial {
		say("%d units, but %d left and %d ordered", t.initial, t.left, t.live)
	}
	if t.users != t.live {
		say("%d orders of %d users, with at most one each", t.live, t.users)
	}
	var shown struct {
		Voucher *struct{ Sale struct{ Stock int } }
	}
	if err := api.ask(ctx, person{}, "Sale", vars{"id": id}, &shown); err != nil {
		say("the sale is not shown: %v", err)
	} else if shown.Voucher == nil || shown.Voucher.Sale.Stock != t.left {
		say("%d units are left, and the page shows %+v", t.left, shown.Voucher)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	paid := 0
	for order, status := range s.reported {
		t.reported++
		if status == "PAID" {
			paid++
		}
		number, err := scalar.ParseID(order)
		if err != nil {
			return t, fmt.Errorf("read the id of an order: %w", err)
		}
		var of int64
		var now string
		if err := db.QueryRowContext(ctx, sqldb.Statement(orderSQL), number.N).Scan(&of, &now); err != nil {
			say("a reported order is absent: %v", err)
			continue
		}
		switch {
		case of != voucher.N:
			say("order %d is of another sale", number.N)
		case status == "PAID" && now != "PAID":
			say("order %d was paid, and is %s", number.N, now)
		case now == "FAILED":
			t.failed++
		}
	}
	if t.paid < paid {
		say("%d were reported as paid, and %d are", paid, t.paid)
	}
	return t, nil
}
