package shop

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/save"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// setClock gives services one clock, which the result advances.
func setClock(services ...*Service) (advance func(time.Duration)) {
	now := time.Date(2026, 12, 4, 12, 0, 0, 0, time.UTC)
	for _, s := range services {
		s.now = func() time.Time { return now }
	}
	return func(d time.Duration) { now = now.Add(d) }
}

// rankedNames returns the names of a whole ranking, read in pages.
func rankedNames(t *testing.T, s *Service, kind RankingKind, typeID int64, first int) (names []string) {
	t.Helper()
	var after page.Cursor
	for {
		p, err := s.Ranking(t.Context(), kind, typeID, first, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Edges {
			names = append(names, e.Node.Name)
		}
		if !p.Info.HasNextPage {
			return names
		}
		after = *p.Info.EndCursor
	}
}

// commitRatings rates shops in a transaction.
func commitRatings(t *testing.T, s *Service, stars map[int64][5]int) {
	t.Helper()
	var ids []int64
	err := ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) error {
		for id := range stars {
			ids = append(ids, id)
		}
		locked, err := s.LockRatings(t.Context(), tx, ids)
		if err != nil {
			return err
		}
		var changed []*RatedShop
		for id, r := range locked {
			r.Ratings.Stars = stars[id]
			changed = append(changed, r)
		}
		return s.SetRatings(t.Context(), tx, changed)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.InvalidateRatings(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
}

func sell(t *testing.T, s *Service, sold map[int64]int) {
	t.Helper()
	var jobs []outbox.JobRef
	err := ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) (err error) {
		jobs, err = s.AddSold(t.Context(), tx, sold)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range sold {
		s.AfterCommit(t.Context(), []int64{id}, jobs)
	}
}

// act stores activity of shops: ratings, saves, notes and visits on random days.
func act(t *testing.T, s *Service, random *rand.Rand, shops []int64, user int64) {
	t.Helper()
	ctx := t.Context()
	for i := range 200 {
		id := shops[random.IntN(len(shops))]
		at := s.now().Add(-time.Duration(random.IntN(40*24)) * time.Hour)
		switch random.IntN(4) {
		case 0:
			s.db.Rating.Create().SetShopID(id).SetUserID(user + int64(i)).SetStars(4).SetCreatedAt(1).SetUpdatedAt(at.UnixMilli()).SaveX(ctx)
		case 1:
			s.db.Save.Create().SetKind(save.KindSHOP).SetTargetID(id).SetUserID(user + int64(i)).SetCreatedAt(at.UnixMilli()).SaveX(ctx)
			s.db.Save.Create().SetKind(save.KindNOTE).SetTargetID(id).SetUserID(user + int64(i)).SetCreatedAt(at.UnixMilli()).SaveX(ctx) // another kind
		case 2:
			n := s.db.Note.Create().SetShopID(id).SetAuthorID(user).SetTitle("t").SetContent("c").SetImages("[]").SetCreatedAt(at.UnixMilli())
			if random.IntN(3) == 0 {
				n.SetDeletedAt(at.UnixMilli())
			}
			n.SaveX(ctx)
		case 3:
			_ = s.db.VisitDay.Create().SetShopID(id).SetDay(yyyymmdd(at)).SetUniques(random.IntN(9)).SetViews(1).SetSketch([]byte{}).SetCounter("").SetCounted(0).
				OnConflictColumns("shop_id", "day").Ignore().Exec(ctx)
		}
	}
}

// plainTrends computes the trends from single rows.
func plainTrends(t *testing.T, s *Service) map[int64]float64 {
	t.Helper()
	ctx, sums := t.Context(), map[int64]float64{}
	today := s.now().Unix() / 86400
	add := func(shop, day int64, weight float64) {
		if today-day <= 28 {
			sums[shop] += weight * math.Pow(0.5, float64(today-day)/2)
		}
	}
	for _, r := range s.db.Rating.Query().AllX(ctx) {
		add(r.ShopID, r.UpdatedAt/86400000, 3)
	}
	for _, r := range s.db.Save.Query().Where(save.KindEQ(save.KindSHOP)).AllX(ctx) {
		add(r.TargetID, r.CreatedAt/86400000, 3)
	}
	for _, r := range s.db.Note.Query().AllX(ctx) {
		if r.DeletedAt == nil {
			add(r.ShopID, r.CreatedAt/86400000, 5)
		}
	}
	for _, r := range s.db.VisitDay.Query().AllX(ctx) {
		date := time.Date(r.Day/10000, time.Month(r.Day/100%100), r.Day%100, 0, 0, 0, 0, time.UTC)
		add(r.ShopID, date.Unix()/86400, float64(r.Uniques))
	}
	return sums
}

func TestRankingsAgreeWithPlainOnes(t *testing.T) {
	seed := testkit.Seed(t)
	eachRedis(t, func(t *testing.T, process func() *Service) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not a secret
		s, other := process(), process()
		advance := setClock(s, other)
		ann, types := user(t, s), typeIDs(t, s)
		var shops []int64
		for i := range 30 {
			d := noodles(types[[]string{"cafe", "bar"}[i%2]])
			d.Name = fmt.Sprintf("Shop %02d", i)
			shops = append(shops, create(t, s, ann, d).ID)
		}
		for round := range 4 {
			stars, sold := map[int64][5]int{}, map[int64]int{}
			for range 20 {
				stars[shops[random.IntN(len(shops))]] = [5]int{random.IntN(3), 0, random.IntN(2), random.IntN(9), random.IntN(9)}
				sold[shops[random.IntN(len(shops))]] = random.IntN(3)
			}
			commitRatings(t, s, stars)
			sell(t, s, sold)
			act(t, s, random, shops, int64(1000*(round+1)))
			s.Touch(shops...)
			if err := s.UpdateTouched(t.Context()); err != nil {
				t.Fatal(err)
			}
			advance(editionInterval)
			trends := plainTrends(t, s)
			rows := s.db.Shop.Query().AllX(t.Context())
			for kind, value := range map[RankingKind]func(*ent.Shop) float64{
				TopRated: func(r *ent.Shop) float64 {
					n, sum := r.Stars1+r.Stars2+r.Stars3+r.Stars4+r.Stars5, r.Stars1+2*r.Stars2+3*r.Stars3+4*r.Stars4+5*r.Stars5
					if n == 0 {
						return 0
					}
					return math.Round(1e4*(38+float64(sum))/(10+float64(n))) / 1e4
				},
				BestSelling: func(r *ent.Shop) float64 { return float64(r.Sold) },
				Trending:    func(r *ent.Shop) float64 { return math.Round(1e6 * math.Log2(trends[r.ID])) },
			} {
				for _, typeID := range []int64{0, types["cafe"], types["bar"], types["books"]} {
					list := slices.Clone(rows)
					slices.SortFunc(list, func(a, b *ent.Shop) int { return cmp.Or(cmp.Compare(value(b), value(a)), cmp.Compare(b.ID, a.ID)) })
					var want []string
					for _, r := range list {
						if v := value(r); (typeID == 0 || r.TypeID == typeID) && v != 0 && !math.IsInf(v, -1) {
							want = append(want, r.Name)
						}
					}
					for _, reader := range []*Service{s, other} {
						if d := gocmp.Diff(want, rankedNames(t, reader, kind, typeID, 1+random.IntN(12))); d != "" {
							t.Fatalf("round %d, %s of type %d (-want +got):\n%s", round, kind, typeID, d)
						}
					}
				}
			}
		}
	})
}

// Pages continue their edition while scores change, in any process.
func TestRankingPagesDoNotRepeatWhileScoresMove(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, other := process(), process()
		advance := setClock(s, other)
		ann, cafe := user(t, s), typeIDs(t, s)["cafe"]
		var shops []int64
		sold := map[int64]int{}
		for i := range 12 {
			d := noodles(cafe)
			d.Name = fmt.Sprintf("Shop %02d", i)
			shops = append(shops, create(t, s, ann, d).ID)
			sold[shops[i]] = 100 - i
		}
		sell(t, s, sold)
		advance(editionInterval)
		var got []string
		var after page.Cursor
		for i := range 6 {
			p, err := []*Service{s, other}[i%2].Ranking(t.Context(), BestSelling, 0, 2, after)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range p.Edges {
				got = append(got, e.Node.Name)
			}
			after = *p.Info.EndCursor
			sell(t, s, map[int64]int{shops[i]: -90, shops[11-i]: 500}) // shown ones fall, others rise
			advance(time.Minute)
		}
		want := []string{"Shop 00", "Shop 01", "Shop 02", "Shop 03", "Shop 04", "Shop 05", "Shop 06", "Shop 07", "Shop 08", "Shop 09", "Shop 10", "Shop 11"}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if first := rankedNames(t, s, BestSelling, 0, 5); first[0] == "Shop 00" {
			t.Errorf("got %v first, want the new best seller", first[0])
		}
		advance(editionMaxAge)
		if p, err := s.Ranking(t.Context(), BestSelling, 0, 2, after); err != nil || len(p.Edges) != 0 {
			t.Errorf("after an expired edition: got %v, %v; want the end", p, err)
		}
	})
}

func TestRankingSurvivesALostRedis(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		advance := setClock(s)
		shop := create(t, s, user(t, s), noodles(typeIDs(t, s)["cafe"]))
		sell(t, s, map[int64]int{shop.ID: 3})
		advance(editionInterval)
		before := rankedNames(t, s, BestSelling, 0, 10)
		if err := s.rankings.Invalidate(t.Context(), rankingKey{BestSelling, 0}); err != nil {
			t.Fatal(err)
		}
		advance(editionInterval)
		if after := rankedNames(t, s, BestSelling, 0, 10); len(before) != 1 || len(after) != 1 {
			t.Errorf("got %v before and %v after, want the shop", before, after)
		}
	})
}

func TestInvalidRankingsAreBadInput(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		other := page.Encode(string(Trending)+":0", s.edition(), int64(1))
		for name, call := range map[string]func() (*Page, error){
			"an unknown kind":     func() (*Page, error) { return s.Ranking(t.Context(), "BEST", 0, 1, "") },
			"no shops":            func() (*Page, error) { return s.Ranking(t.Context(), TopRated, 0, 0, "") },
			"a cursor of another": func() (*Page, error) { return s.Ranking(t.Context(), TopRated, 0, 1, other) },
			"a position before all": func() (*Page, error) {
				return s.Ranking(t.Context(), Trending, 0, 1, page.Encode("TRENDING:0", s.edition(), int64(-1)))
			},
		} {
			if _, err := call(); apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("%s: got %v, want BAD_USER_INPUT", name, err)
			}
		}
		if p, err := s.Ranking(t.Context(), TopRated, 1<<40, 5, ""); err != nil || len(p.Edges) != 0 {
			t.Errorf("unknown type: got %v, %v; want an empty page", p, err)
		}
	})
}

// The job corrects all derived columns.
func TestDerivedColumnsAreCorrected(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, ctx := process(), t.Context()
		setClock(s)
		d := noodles(typeIDs(t, s)["cafe"])
		d.OpenHours = new("Mo-Fr 09:00-17:00")
		shop := create(t, s, user(t, s), d)
		good := s.db.Shop.GetX(ctx, shop.ID).OpenMask
		s.db.Save.Create().SetKind(save.KindSHOP).SetTargetID(shop.ID).SetUserID(1).SetCreatedAt(s.now().UnixMilli()).SaveX(ctx)
		v := s.db.Voucher.Create().SetShopID(shop.ID).SetKind("FLASH").SetTitle("x").SetPayValue(1).SetFaceValue(2).SetOnePerUser(true).SaveX(ctx)
		s.db.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(1).SetInitialStock(1).SetBeginsAt(1).SetEndsAt(7).SetPartition(0).SetBuckets(1).SaveX(ctx)
		s.db.Shop.UpdateOneID(shop.ID).ClearOpenMask().SetVouchersUntil(5).SaveX(ctx)
		read(t, s, shop.ID) // cached
		for range 2 {
			if err := s.Derived().Do(ctx); err != nil {
				t.Fatal(err)
			}
		}
		row := s.db.Shop.GetX(ctx, shop.ID)
		if good == nil || row.OpenMask == nil || *row.OpenMask != *good || row.Trend == nil || row.FlashUntil == nil || *row.FlashUntil != 7 || *row.VouchersUntil != 7 {
			t.Errorf("got mask %v, trend %v, flash until %v, vouchers until %v", row.OpenMask, row.Trend, row.FlashUntil, row.VouchersUntil)
		}
		if got := read(t, s, shop.ID); got.FlashUntil != 7 || got.Version != shop.Version+1 {
			t.Errorf("got flash until %d in version %d, want 7 in one more than %d", got.FlashUntil, got.Version, shop.Version)
		}
		s.db.Voucher.UpdateOne(v).SetStatus("OFF_SALE").SaveX(ctx)
		s.db.Voucher.Create().SetShopID(shop.ID).SetKind("ORDINARY").SetTitle("x").SetPayValue(1).SetFaceValue(2).SetOnePerUser(true).SaveX(ctx)
		s.now = func() time.Time { return time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC) }
		if err := s.Derived().Do(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
		if row := s.db.Shop.GetX(ctx, shop.ID); row.Trend != nil || row.FlashUntil != nil || *row.VouchersUntil != 1<<53-1 {
			t.Errorf("got trend %v, flash until %v, vouchers until %v", row.Trend, row.FlashUntil, row.VouchersUntil)
		}
	})
}
