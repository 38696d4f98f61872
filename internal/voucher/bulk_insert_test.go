package voucher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func TestPlantStoresOnceWhatIsMissing(t *testing.T) {
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
		s := process()
		shop := *s.db.Shop.GetX(t.Context(), w.shop).ExternalID
		drafts := []Draft{
			{ExternalID: "demo:a", Shop: shop, Title: "A", PayValue: 1, FaceValue: 2, OnePerUser: true},
			{ExternalID: "demo:b", Shop: shop, Title: "B", SubTitle: "b", Rules: "c\nd", PayValue: 1, FaceValue: 2, Stock: 3, BeginsAt: noon, EndsAt: noon.Add(time.Hour)},
			{ExternalID: "demo:c", Shop: "demo:nowhere", Title: "C", PayValue: 1, FaceValue: 2},
		}
		plant := func(want SaveCounts) {
			t.Helper()
			got, err := s.BulkInsert(t.Context(), drafts)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		plant(SaveCounts{Added: 2, Skipped: 1})
		planted := ofShop(t, s, w.shop, false)
		if len(planted) != 2 {
			t.Fatalf("shown are %v", planted)
		}
		a, b := read(t, s, planted[1]), read(t, s, planted[0])
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
			t.Errorf("Redis has %+v", k)
		}

		updateFlash(t, s, w, b.ID, FlashChanges{Changes: Changes{Title: optional.Set("New")}})
		w.pass(2 * time.Hour) // the sale could not be stored any more
		plant(SaveCounts{Present: 2, Skipped: 1})
		if got := read(t, s, b.ID).Title; got != "New" {
			t.Errorf("the title is %q again", got)
		}
		drafts = append(drafts, Draft{ExternalID: "demo:d", Shop: shop, Title: "D", PayValue: 1, FaceValue: 2}, Draft{ExternalID: "demo:e", Shop: shop})
		if _, err := s.BulkInsert(t.Context(), drafts); err == nil {
			t.Error("a draft without a title is planted")
		}
		if n := len(ofShop(t, s, w.shop, true)); n != 2 {
			t.Errorf("%d vouchers after a failure, want still 2", n)
		}
		if n := jobs(t, s); n != 0 {
			t.Errorf("%d jobs are left to the outbox", n)
		}
	})
}
