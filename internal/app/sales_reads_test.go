package app_test

import (
	"math"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// Children of list elements are read in batches.
func TestVoucherAndOrderListsCostFewRoundTrips(t *testing.T) {
	t.Parallel()
	const many = 10
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.L1Bytes = 0 // otherwise local hits hide the cost
		m := openMarket(t, stack, 1)
		stack.Config.Run = []string{"api"} // workers read on their own
		s := stack.Start(t)
		s.Recovered(t)
		ann := s.As(m.customers[0].token)
		for i := range many {
			v := m.flash(t, s, 5, -time.Hour, time.Hour)
			if i%3 == 0 { // fewer ordinary vouchers than flash vouchers
				v = m.ordinary(t, s, true)
			}
			time.Sleep(200 * time.Millisecond) // five attempts a second
			ann.Must(t, orderVoucher, map[string]any{"v": v}, nil)
		}
		for _, tt := range []struct {
			name, query string
			vars        map[string]any
			as          *apptest.Server
			max         float64
		}{
			{"a shop's vouchers", `query S($id: ID!) { shop(id: $id) { vouchers { id shop { name } ... on FlashVoucher { sale { stock } } } } }`, map[string]any{"id": m.shop}, s, 8},
			{"shops' vouchers", `{ shops { edges { node { vouchers { id shop { name } ... on FlashVoucher { sale { stock } } } } } } }`, nil, s, 8},
			{"flash sales", `{ flashSales { edges { node { id sale { stock } shop { name } } } } }`, nil, s, 8},
			{"a user's orders", `{ me { orders { edges { node { id voucher { id title shop { id name } ... on FlashVoucher { sale { stock } } } } } } } }`, nil, ann, 10},
		} {
			tt.as.Must(t, tt.query, tt.vars, nil)
			trips := math.Inf(1)
			for range 3 { // background work adds to the cost
				_, n := storeCalls(t, s, func() { tt.as.Must(t, tt.query, tt.vars, nil) })
				trips = min(trips, n)
			}
			if trips > tt.max {
				t.Errorf("%s: %v round trips, want at most %v", tt.name, trips, tt.max)
			}
		}
	})
}
