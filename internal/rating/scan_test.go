package rating

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestScanRepairsCountersAndScores(t *testing.T) {
	const many = 700 // more than a page
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, many)
		p.db.Shop.UpdateOneID(2).SetScore(4.5).ExecX(t.Context())
		var seeds []Seed
		one, five := 1, 5
		for user := range int64(12) {
			for shop := range int64(6) {
				seeds = append(seeds, Seed{Draft: Draft{shop + 1, int(1 + (user+shop)%5), &five, &one, &one}, UserID: user + 1})
			}
		}
		if _, err := p.BulkInsert(t.Context(), seeds); err != nil {
			t.Fatal(err)
		}
		if o := storetest.RunScan(t, p.Scans(), "shop-ratings", true); o.Found != 0 || o.Compared != many {
			t.Fatalf("before the damage: got %+v", o)
		}
		change := p.db.Shop.UpdateOneID
		change(1).SetStars2(99).ExecX(t.Context())
		change(2).SetRatingScore(4.9).ExecX(t.Context())
		change(3).ClearRatingScore().ExecX(t.Context())
		change(4).AddServiceSum(1).ExecX(t.Context())
		change(5).AddTasteCount(-1).ExecX(t.Context())
		change(600).SetStars1(1).SetRatingScore(2).ExecX(t.Context())
		change(601).SetRatingScore(2).ExecX(t.Context())
		change(602).SetRatingScore(0).ExecX(t.Context()) // not null
		p.shops.takeInvalidated()
		p.from.CheckRepair(t, p.box, p.Scans(), "shop-ratings", 8)
		for _, shop := range []int64{1, 2, 3, 4, 5, 6, 600, 601, 602} {
			p.agree(t, shop)
		}
		if d := cmp.Diff([]int64{1, 2, 3, 4, 5, 600, 601, 602}, p.shops.takeInvalidated()); d != "" {
			t.Errorf("invalidated shops (-want +got):\n%s", d)
		}
		p.wantNoJobs(t)
	})
}

// Between the read of a scan and its lock, a user rates the shop and another scan repairs it.
func TestScanRecountsUnderTheLock(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.insertShops(t, 1)
	p.db.Shop.UpdateOneID(1).SetStars5(5).ExecX(t.Context())
	first := true
	p.shops.hook(func(ctx context.Context) error {
		if !first {
			return nil
		}
		first = false
		_, err := other.Rate(ctx, ann, Draft{ShopID: 1, Stars: 4})
		return errors.Join(err, other.repair(ctx, 1))
	})
	if o := storetest.RunScan(t, p.Scans(), "shop-ratings", false); o.Found != 1 {
		t.Errorf("got %+v, want 1 finding", o)
	}
	p.agree(t, 1)
}
