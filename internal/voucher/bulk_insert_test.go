package voucher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func TestBulkInsertStoresMissingDraftsOnce(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		shop := *s.db.Shop.GetX(t.Context(), w.shop).ExternalID
		drafts := []Draft{
			{ExternalID: "demo:a", Shop: shop, Title: "A", PayValue: 1, FaceValue: 2, OnePerUser: true},
			{ExternalID: "demo:b", Shop: shop, Title: "B", SubTitle: "b", Rules: "c\nd", PayValue: 1, FaceValue: 2, Stock: 3, BeginsAt: noon, EndsAt: noon.Add(time.Hour)},
			{ExternalID: "demo:c", Shop: "demo:nowhere", Title: "C", PayValue: 1, FaceValue: 2},
		}
		insert := func(want SaveCounts) {
			t.Helper()
			got, err := s.BulkInsert(t.Context(), drafts)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		insert(SaveCounts{Added: 2, Skipped: 1})
		inserted := ofShop(t, s, w.shop, false)
		if len(inserted) != 2 {
			t.Fatalf("got %v, want two vouchers", inserted)
		}
		a, b := read(t, s, inserted[1]), read(t, s, inserted[0])
		want := &Voucher{ID: a.ID, ShopID: w.shop, Title: "A", PayValue: 1, FaceValue: 2, OnePerUser: true, Version: 1}
		if diff := cmp.Diff(want, a); diff != "" {
			t.Error(diff)
		}
		partition, _ := w.sales.PartitionFor(b.ID, 3)
		want = &Voucher{
			ID: b.ID, ShopID: w.shop, Title: "B", SubTitle: new("b"), Rules: new("c\nd"), PayValue: 1, FaceValue: 2, OnePerUser: true, Version: 1,
			Sale: &Sale{VoucherID: b.ID, InitialStock: 3, BeginsAt: noon, EndsAt: noon.Add(time.Hour), Partition: partition, Buckets: 1, EditSeq: 1},
		}
		if diff := cmp.Diff(want, b); diff != "" {
			t.Error(diff)
		}
		if k := w.sales.get(b.ID); k.stock != 3 || !k.on {
			t.Errorf("got %+v in Redis, want stock 3, on sale", k)
		}

		updateFlash(t, s, w, b.ID, FlashChanges{Changes: Changes{Title: optional.Set("New")}})
		w.advance(2 * time.Hour) // the sale is over
		insert(SaveCounts{Present: 2, Skipped: 1})
		if got := read(t, s, b.ID).Title; got != "New" {
			t.Errorf("got title %q, want New", got)
		}
		drafts = append(drafts, Draft{ExternalID: "demo:d", Shop: shop, Title: "D", PayValue: 1, FaceValue: 2}, Draft{ExternalID: "demo:e", Shop: shop})
		if _, err := s.BulkInsert(t.Context(), drafts); err == nil {
			t.Error("a draft without a title is stored, want an error")
		}
		if n := len(ofShop(t, s, w.shop, true)); n != 2 {
			t.Errorf("got %d vouchers after a failure, want 2", n)
		}
		if n := jobs(t, s); n != 0 {
			t.Errorf("got %d outbox jobs, want none", n)
		}
	})
}
