package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// event returns the data of the next event of a socket with one subscription, or its error
// code or end.
func (c *socket) event(t *testing.T) string {
	t.Helper()
	for {
		m, closed := c.read(t)
		switch {
		case closed != 0:
			return fmt.Sprintf("closed %d", closed)
		case m.Type == "next":
			var payload struct {
				Data   json.RawMessage
				Errors []struct{ Extensions struct{ Code string } }
			}
			if err := json.Unmarshal(m.Payload, &payload); err != nil {
				t.Fatal(err)
			}
			if len(payload.Errors) > 0 {
				return payload.Errors[0].Extensions.Code
			}
			return string(payload.Data)
		case m.Type == "error":
			var errs []struct{ Extensions struct{ Code string } }
			if err := json.Unmarshal(m.Payload, &errs); err != nil {
				t.Fatal(err)
			}
			return errs[0].Extensions.Code
		case m.Type == "complete":
			return "complete"
		}
	}
}

// becomes waits for an event that contains want. It skips earlier events.
func (c *socket) becomes(t *testing.T, want string) {
	t.Helper()
	var seen []string
	for range 50 {
		got := c.event(t)
		if strings.Contains(got, want) {
			return
		}
		if seen = append(seen, got); !strings.HasPrefix(got, "{") {
			break
		}
	}
	t.Fatalf("got no %s, but\n%s", want, strings.Join(seen, "\n"))
}

// Subscribers on one server get the current state, and then changes by another server.
func TestSaleIsUpdatedLive(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		a := stack.Start(t)
		b := a
		if stack.Name == "real" {
			b = stack.Start(t)
		}
		v := m.flash(t, a, 2, -time.Hour, time.Hour)
		crowd := dial(t, b, "")
		crowd.follow(t, `subscription S($v: ID!) { stockUpdates(voucherId: $v) { voucherId stock initialStock phase } }`, map[string]any{"v": v})
		crowd.becomes(t, `"stock":2,"initialStock":2,"phase":"OPEN"`)

		all, one := dial(t, b, m.customers[0].token), dial(t, b, m.customers[0].token)
		all.follow(t, `subscription { orderUpdates { id status } }`, nil)
		var p placed
		a.As(m.customers[0].token).Must(t, orderVoucher, map[string]any{"v": v}, &p)
		order := p.OrderVoucher.Order.ID
		crowd.becomes(t, `"stock":1`)
		all.becomes(t, order+`","status":"UNPAID"`)
		one.follow(t, `subscription O($id: ID) { orderUpdates(orderId: $id) { id status } }`, map[string]any{"id": order})
		one.becomes(t, `"status":"UNPAID"`)

		if status, code := step(t, a.As(m.customers[0].token), "pay", order); status != "PAID" {
			t.Fatalf("pay: %s %s", status, code)
		}
		one.becomes(t, `"status":"PAID"`)
		all.becomes(t, `"status":"PAID"`)
		if status, code := step(t, a.As(m.owner.token), "redeem", order); status != "USED" {
			t.Fatalf("redeem: %s %s", status, code)
		}
		one.becomes(t, `"status":"USED"`)
		one.becomes(t, "complete") // it is final
		all.becomes(t, `"status":"USED"`)

		a.As(m.customers[1].token).Must(t, orderVoucher, map[string]any{"v": v}, &p)
		crowd.becomes(t, `"phase":"SOLD_OUT"`)
		step(t, a.As(m.customers[1].token), "cancel", p.OrderVoucher.Order.ID)
		crowd.becomes(t, `"stock":1,"initialStock":2,"phase":"OPEN"`)
		a.As(m.owner.token).Must(t, changeFlash, map[string]any{"input": map[string]any{"id": v, "stockDelta": 5}}, nil)
		crowd.becomes(t, `"stock":6,"initialStock":7`)
		a.As(m.owner.token).Must(t, changeFlash, map[string]any{"input": map[string]any{"id": v, "endsAt": time.Now().Add(300 * time.Millisecond).Format(time.RFC3339Nano)}}, nil)
		crowd.becomes(t, `"phase":"ENDED"`)
		crowd.becomes(t, "complete")
	})
}

func TestSubscriptionAccess(t *testing.T) {
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 2)
	s := stack.Start(t)
	v := m.flash(t, s, 2, -time.Hour, time.Hour)
	var p placed
	s.As(m.customers[0].token).Must(t, orderVoucher, map[string]any{"v": v}, &p)
	one := `subscription O($id: ID) { orderUpdates(orderId: $id) { status } }`
	for _, tt := range []struct {
		name, token, query string
		vars               map[string]any
		want               string
	}{
		{"anonymous, orders", "", `subscription { orderUpdates { status } }`, nil, "UNAUTHENTICATED"},
		{"another's order", m.customers[1].token, one, map[string]any{"id": p.OrderVoucher.Order.ID}, "BAD_USER_INPUT"},
		{"the shop's merchant", m.owner.token, one, map[string]any{"id": p.OrderVoucher.Order.ID}, `{"orderUpdates":{"status":"UNPAID"}}`},
		{"an id of a shop", m.customers[1].token, one, map[string]any{"id": m.shop}, "BAD_USER_INPUT"},
		{"an ordinary voucher", "", `subscription S($v: ID!) { stockUpdates(voucherId: $v) { stock } }`, map[string]any{"v": m.ordinary(t, s, false)}, "BAD_USER_INPUT"},
		{"a missing voucher", "", `subscription S($v: ID!) { stockUpdates(voucherId: $v) { stock } }`, map[string]any{"v": scalar.ID{Type: "FlashVoucher", N: 1 << 40}.String()}, "BAD_USER_INPUT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, s, tt.token)
			c.follow(t, tt.query, tt.vars)
			if got := c.event(t); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// Users with access find each object by its only id.
func TestVouchersAndOrdersAreNodes(t *testing.T) {
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 2)
	s := stack.Start(t)
	flash, ordinary := m.flash(t, s, 2, -time.Hour, time.Hour), m.ordinary(t, s, false)
	var p placed
	s.As(m.customers[0].token).Must(t, orderVoucher, map[string]any{"v": flash}, &p)
	order := p.OrderVoucher.Order
	ids := []string{
		m.shop, flash, ordinary, order.ID, m.owner.id, scalar.ID{Type: "ShopType", N: 1}.String(),
		scalar.ID{Type: "FlashVoucher", N: number(t, ordinary)}.String(), scalar.ID{Type: "OrdinaryVoucher", N: number(t, flash)}.String(),
	}
	for _, tt := range []struct{ name, token, want string }{
		{"anonymous", "", "Shop FlashVoucher OrdinaryVoucher - User ShopType - -"},
		{"the buyer", m.customers[0].token, "Shop FlashVoucher OrdinaryVoucher Order User ShopType - -"},
		{"another user", m.customers[1].token, "Shop FlashVoucher OrdinaryVoucher - User ShopType - -"},
		{"the shop's merchant", m.owner.token, "Shop FlashVoucher OrdinaryVoucher Order User ShopType - -"},
		{"an administrator", m.admin.token, "Shop FlashVoucher OrdinaryVoucher Order User ShopType - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			as := s
			if tt.token != "" {
				as = s.As(tt.token)
			}
			var found struct {
				Nodes []*struct {
					Type string `json:"__typename"`
				}
			}
			as.Must(t, `query N($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }`, map[string]any{"ids": ids}, &found)
			var types []string
			for _, n := range found.Nodes {
				if n == nil {
					types = append(types, "-")
					continue
				}
				types = append(types, n.Type)
			}
			if got := strings.Join(types, " "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if tt.token == "" {
				return
			}
			var by struct{ OrderByNumber *shownOrder }
			as.Must(t, `query O($n: String!) { orderByNumber(number: $n) { id } }`, map[string]any{"n": order.Number}, &by)
			if visible := strings.Contains(tt.want, "Order User"); (by.OrderByNumber != nil) != visible {
				t.Errorf("by its number: %+v", by.OrderByNumber)
			}
		})
	}
}
