package order

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestOrdinaryOrdersKeepTermsOfTheirInsert(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p, other := w.process(t), w.process(t)
		p.seed(t)
		ctx := t.Context()
		p.db.Voucher.Create().SetID(anyTimes).SetShopID(shopID).SetKind("ORDINARY").SetTitle("Tea").SetPayValue(1).SetFaceValue(2).SetOnePerUser(false).ExecX(ctx)
		first := ordered(t, p, ann, anyTimes, "")
		p.db.Voucher.UpdateOneID(anyTimes).SetFirstTermsID(6).SetTermsID(7).ExecX(ctx)
		second := ordered(t, p, ann, anyTimes, "")
		p.db.Voucher.UpdateOneID(anyTimes).SetTermsID(8).ExecX(ctx)
		read := []*Order{first, second}
		for _, o := range []*Order{first, second} {
			again, err := other.ByID(ctx, Viewer{UserID: ann}, o.ID)
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, again)
		}
		for _, orders := range [][]*Order{read[:2], read[2:]} {
			got, err := p.TermsIDs(ctx, orders)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[int64]int64{second.ID: 7}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	})
}

// The answer of a sale has no terms, so they come from the row.
func TestTermsOfStoredFlashOrdersAreRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		ctx := t.Context()
		row := p.insertOrder(t, w, Unpaid)
		if _, err := p.db.ExecContext(ctx, "UPDATE orders SET terms_id = 7 WHERE id = $1", row.ID); err != nil {
			t.Fatal(err)
		}
		w.answer(sale.Response{Result: sale.Stored, Order: row.ID, At: row.CreatedAt, PayBefore: *row.PayBefore})
		placed := ordered(t, p, ann, flash, "")
		got, err := p.TermsIDs(ctx, []*Order{placed})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[int64]int64{row.ID: 7}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestOwnersCannotOrderFromTheirShop(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		before := ordered(t, p, mia, anyTimes, "key") // before mia owned the shop
		for _, v := range w.vouchers {
			v.Owner = mia
		}
		for _, voucher := range []int64{anyTimes, oncePerUser, offSale, flash, past} {
			if o, err := p.Place(t.Context(), mia, voucher, "new"); o != nil || codes(err) != string(OwnShop) {
				t.Errorf("voucher %d: got %v, %v, want %s", voucher, o, err, OwnShop)
			}
			w.advance(time.Second) // reset the rate limit
		}
		if len(w.requests) > 0 {
			t.Errorf("got sale requests %v, want none", w.requests)
		}
		if again := ordered(t, p, mia, anyTimes, "key"); again.ID != before.ID {
			t.Errorf("key: got order %d, want %d", again.ID, before.ID)
		}
		ordered(t, p, zoe, anyTimes, "") // owner of another shop
	})
}

func TestPlaceKindFindsNoOtherKind(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		for voucher, other := range map[int64]Kind{anyTimes: Flash, flash: Ordinary} {
			if o, err := p.PlaceKind(t.Context(), other, ann, voucher, ""); o != nil || codes(err) != "NOT_FOUND" {
				t.Errorf("voucher %d: got %v, %v, want NOT_FOUND", voucher, o, err)
			}
		}
		if _, err := p.PlaceKind(t.Context(), Ordinary, ann, anyTimes, ""); err != nil {
			t.Error(err)
		}
		if len(w.requests) > 0 {
			t.Errorf("got sale requests %v, want none", w.requests)
		}
	})
}
