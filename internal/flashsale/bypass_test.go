package flashsale

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Another process, without Redis, stored an order past it. This process has Redis, and must
// find that order although Redis reports "sold out".
func TestBypassedBuyerIsNotRefusedAsSoldOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = 100 * time.Millisecond }}) // no consumer runs
		v := r.open(t, 2)
		r.runCertify(t)
		past := r.attemptOf(t, by(v, 1))
		past.direct = true
		commitAll(t, r, past) // Redis does not have this order yet
		for user := range int64(2) {
			if got := r.order(t, by(v, 10+user)); got.Result != sale.Queued {
				t.Fatalf("through Redis: got %+v, want queued", got)
			}
		}
		if got := r.order(t, by(v, 2)); got.Result != sale.OutOfStock {
			t.Errorf("user without an order: got %+v, want out of stock", got)
		}
		if got := r.order(t, by(v, 1)); got.Result != sale.Held || got.Order != past.Order {
			t.Errorf("user with an order: got %+v, want held order %d", got, past.Order)
		}
	})
}
