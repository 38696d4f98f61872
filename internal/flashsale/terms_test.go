package flashsale

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// The statements that insert orders copy the current terms of the voucher.
func TestOrdersKeepTermsOfTheirInsert(t *testing.T) {
	const ann, bob, cid, dan = 1, 2, 3, 4
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		ctx := t.Context()
		v, sold := r.sale(t, 10, -time.Hour, time.Hour), r.sale(t, 0, -time.Hour, time.Hour)
		terms := func(order int64) int64 {
			t.Helper()
			return optional.Value(r.DB.Order.GetX(ctx, order).TermsID)
		}
		first := r.attemptOf(t, by(v, ann))
		commitAll(t, r, first)
		for _, id := range []int64{v.VoucherID, sold.VoucherID} {
			r.DB.Voucher.UpdateOneID(id).SetFirstTermsID(70).SetTermsID(id + 70).ExecX(ctx)
		}
		second, past, failed, lost := r.attemptOf(t, by(v, bob)), r.attemptOf(t, by(v, cid)), r.attemptOf(t, by(sold, ann)), r.attemptOf(t, by(v, dan))
		past.direct, past.final = true, false
		commitAll(t, r, second, past, failed)
		if _, err := r.writer.tombstone(ctx, []Entry{lost.Entry}); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name        string
			order, want int64
		}{
			{"before the edit", first.Order, 0},
			{"from the queue", second.Order, v.VoucherID + 70},
			{"bypassed", past.Order, v.VoucherID + 70},
			{"sold out", failed.Order, sold.VoucherID + 70},
			{"lost", lost.Order, v.VoucherID + 70},
		} {
			if got := terms(tt.order); got != tt.want {
				t.Errorf("%s: got terms %d, want %d", tt.name, got, tt.want)
			}
		}
	})
}
