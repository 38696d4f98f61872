package flashsale

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Another process, which is cut off from Redis, sold a piece past it: this one, which is
// not, must know the holder although Redis says that all are sold.
func TestBypassedBuyerIsNotRefusedAsSoldOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = 100 * time.Millisecond }}) // nothing commits here
		v := r.open(t, 2)
		r.runCertify(t)
		past := r.attemptOf(t, by(v, 1))
		past.direct = true
		commitAll(t, r, past) // and dies, or waits, before Redis hears of it
		for user := range int64(2) {
			if got := r.order(t, by(v, 10+user)); got.Result != sale.Queued {
				t.Fatalf("by Redis: %+v", got)
			}
		}
		if got := r.order(t, by(v, 2)); got.Result != sale.OutOfStock {
			t.Errorf("who has none: %+v", got)
		}
		if got := r.order(t, by(v, 1)); got.Result != sale.Held || got.Order != past.Order {
			t.Errorf("who has one: %+v, want order %d", got, past.Order)
		}
	})
}
