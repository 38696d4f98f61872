package flashsale

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// In the commits that a promoted standby lacks one user cancelled and another bought. Redis
// heard of both, and the numbers add up: only who compares each buyer sees it.
func TestWindow19PromotedDatabaseOverridesRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 5})
		holder, buyer := int64(7), int64(8)
		g.n.ago = time.Minute // long enough to be presumed lost
		kept, lost := g.number(at), g.number(at)
		g.row(at, holder, kept, order.StatusUNPAID)
		g.reserves(at, sale.Reservation{Order: lost, User: buyer})
		g.certified()
		if g.holder(at, holder) != "" || g.holder(at, buyer) == "" {
			t.Fatal("it was compared before anybody doubted it")
		}
		g.MarkSuspect()
		for p := range g.admitter.partitions {
			if g.admitter.certs.expected(p) != "" {
				t.Fatalf("partition %d admits by Redis before it was compared", p)
			}
		}
		g.certified()
		if got := g.holder(at, holder); got != decimal(kept) {
			t.Errorf("who holds an order is entered with %q, want %d", got, kept)
		}
		if got := g.holder(at, buyer); got != "" {
			t.Errorf("who bought in a lost commit is entered with %q", got)
		}
		if row := g.DB.Order.GetX(t.Context(), lost); row.Status != order.StatusFAILED {
			t.Errorf("the lost order is %s, want a tombstone", row.Status)
		}
	})
}
