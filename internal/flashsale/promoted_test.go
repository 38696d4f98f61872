package flashsale

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// The promoted standby lacks commits in which one user cancelled and another ordered. Redis has
// both, and the counts match: only a comparison of each buyer finds the difference.
func TestWindow19PromotedDatabaseOverridesRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.open(stagedSale{stock: 5})
		holder, buyer := int64(7), int64(8)
		g.n.ago = time.Minute // old enough to be presumed lost
		existing, lost := g.number(at), g.number(at)
		g.row(at, holder, existing, order.StatusUNPAID)
		g.reserves(at, sale.Reservation{Order: lost, User: buyer})
		g.certified()
		if g.holder(at, holder) != "" || g.holder(at, buyer) == "" {
			t.Fatal("compared before MarkSuspect")
		}
		g.MarkSuspect()
		for p := range g.admitter.partitions {
			if g.admitter.certs.expected(p) != "" {
				t.Fatalf("partition %d admits before its comparison", p)
			}
		}
		g.certified()
		if got := g.holder(at, holder); got != decimal(existing) {
			t.Errorf("holder: got order %q, want %d", got, existing)
		}
		if got := g.holder(at, buyer); got != "" {
			t.Errorf("buyer of the lost commit: got order %q, want none", got)
		}
		if row := g.DB.Order.GetX(t.Context(), lost); row.Status != order.StatusFAILED {
			t.Errorf("lost order: got %s, want a tombstone", row.Status)
		}
	})
}
