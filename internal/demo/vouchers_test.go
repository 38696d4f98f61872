package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/shop"
)

func TestVouchersCoverAllKinds(t *testing.T) {
	first := time.Date(2026, 11, 22, 11, 59, 58, 7, time.UTC)
	kinds, ids := map[string]int{}, map[string]bool{}
	for _, d := range Vouchers(first) {
		if ids[d.ExternalID] || !strings.HasPrefix(d.ExternalID, "demo:") {
			t.Errorf("%q: invalid or duplicate external id", d.ExternalID)
		}
		ids[d.ExternalID] = true
		if !slices.ContainsFunc(Shops(), func(s shop.Draft) bool { return s.ExternalID == d.Shop }) {
			t.Errorf("%s: unknown shop %s", d.ExternalID, d.Shop)
		}
		switch opens := d.BeginsAt.Sub(first); {
		case d.Stock == 0 && d.OnePerUser:
			kinds["one per user"]++
		case d.Stock == 0:
			kinds["ordinary"]++
		case opens <= 0 && d.EndsAt.Sub(first) > 24*time.Hour:
			kinds["open"]++
		case opens > 5*time.Minute && opens < time.Hour && d.EndsAt.After(d.BeginsAt):
			kinds["opens soon"]++
		default:
			t.Errorf("%s runs from %v to %v", d.ExternalID, d.BeginsAt, d.EndsAt)
		}
	}
	for _, kind := range []string{"one per user", "ordinary", "open", "opens soon"} {
		if kinds[kind] != 1 {
			t.Errorf("got %d vouchers of kind %q, want 1", kinds[kind], kind)
		}
	}
}
