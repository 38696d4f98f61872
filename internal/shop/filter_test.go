package shop

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/openinghours"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// plainFilter is the meaning of a filter, by the row.
func plainFilter(t *testing.T, f Filter, r *ent.Shop, now time.Time) bool {
	t.Helper()
	score := r.RatingScore
	is := map[bool]bool{}
	if r.OpenHours != nil {
		if h, err := openinghours.Parse(*r.OpenHours); err == nil {
			zone, err := time.LoadLocation(r.TimeZone) // "" is UTC
			if err != nil {
				t.Fatal(err)
			}
			is[h.IsOpen(now.In(zone))] = true
		}
	}
	ms := now.UnixMilli()
	voucher := r.VouchersUntil != nil && *r.VouchersUntil > ms
	flash := r.FlashUntil != nil && *r.FlashUntil > ms
	switch {
	case f.OpenNow != nil && !is[*f.OpenNow],
		f.MinScore != nil && (score == nil || *score < *f.MinScore),
		f.MinPrice != nil && (r.AvgPrice == nil || *r.AvgPrice < *f.MinPrice),
		f.MaxPrice != nil && (r.AvgPrice == nil || *r.AvgPrice > *f.MaxPrice),
		f.HasVoucher != nil && *f.HasVoucher != voucher,
		f.HasFlashSale != nil && *f.HasFlashSale != flash:
		return false
	}
	return true
}

// Each page of each list contains the shops that a plain filter over all shops finds, in order,
// each once.
func TestFiltersAgreeWithAPlainFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 1)) //nolint:gosec // not a secret
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		now := time.Date(2026, 12, 4, 14, 30, 0, 0, time.UTC) // a Friday
		s.now = func() time.Time { return now }
		center := geo.Point{Lat: 21.03, Lng: 105.85}
		fillForFilters(t, s, random, center, now)
		rows := s.db.Shop.Query().AllX(t.Context())
		searchBuilt(t, s, 0, geo.Circle{Center: center, Radius: MaxRadius})
		cafe := typeIDs(t, s)["cafe"]
		matches := 0
		for range 150 {
			now = now.Add(time.Duration(random.IntN(50)) * time.Minute) // until Sunday night, often within an hour of change
			q := Query{Filter: randomFilter(random), First: 1 + random.IntN(30), Order: []Order{ByScore, BySold, ByNewest, ByDistance}[random.IntN(4)]}
			if random.IntN(2) == 0 || q.Order == ByDistance {
				q.Near = &geo.Circle{Center: center, Radius: 500 + 3000*random.Float64()}
			}
			if random.IntN(3) == 0 {
				q.TypeID = cafe
			}
			if random.IntN(6) == 0 {
				q.Search = "noodle"
			}
			var want, got []string
			for _, r := range sortedRows(q, rows) {
				if plainFilter(t, q.Filter, r, now) {
					want = append(want, r.Name)
				}
			}
			matches += len(want)
			for _, from := range []string{"rows", "the cache"} {
				got = nil
				for _, shop := range wholeList(t, s, q) {
					got = append(got, shop.Name)
				}
				if d := gocmp.Diff(want, got); d != "" {
					t.Fatalf("%s at %v from %s (-want +got):\n%s", describe(q), now, from, d)
				}
				now = now.Add(time.Second) // no opening hours contain seconds
			}
		}
		if matches < 500 {
			t.Errorf("got %d matches in all, want more: the test tests little", matches)
		}
	})
}

func describe(q Query) string {
	text := fmt.Sprintf("order %s, near %v, type %d, search %q, first %d:", q.Order, q.Near, q.TypeID, q.Search, q.First)
	f := q.Filter
	for name, set := range map[string]any{"openNow": f.OpenNow, "voucher": f.HasVoucher, "flash": f.HasFlashSale} {
		if p, _ := set.(*bool); p != nil {
			text += fmt.Sprintf(" %s %t", name, *p)
		}
	}
	if f.MinScore != nil {
		text += fmt.Sprint(" minScore ", *f.MinScore)
	}
	if f.MinPrice != nil {
		text += fmt.Sprint(" minPrice ", *f.MinPrice)
	}
	if f.MaxPrice != nil {
		text += fmt.Sprint(" maxPrice ", *f.MaxPrice)
	}
	return text
}

// sortedRows returns the rows in the order of a query, without its filter.
func sortedRows(q Query, rows []*ent.Shop) []*ent.Shop {
	rank := func(r *ent.Shop) float64 {
		switch {
		case q.Order == BySold:
			return float64(r.Sold)
		case q.Order == ByNewest:
			return 0
		case q.Order == ByDistance:
			return -q.Near.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng})
		case r.RatingScore != nil:
			return *r.RatingScore
		}
		return float64(r.Sold+r.SaveCount) / (1 << 30)
	}
	var list []*ent.Shop
	for _, r := range rows {
		far := q.Near != nil && q.Near.Center.Distance(geo.Point{Lat: r.Lat, Lng: r.Lng}) > q.Near.Radius
		if !far && (q.TypeID == 0 || r.TypeID == q.TypeID) && (q.Search == "" || strings.Contains(strings.ToLower(r.Name), q.Search)) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *ent.Shop) int { return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.ID, a.ID)) })
	return list
}

func randomFilter(random *rand.Rand) Filter {
	var f Filter
	flag := func() *bool { return new(random.IntN(3) > 0) }
	if random.IntN(2) == 0 {
		f.OpenNow = flag()
	}
	if random.IntN(4) == 0 {
		f.MinScore = new(1 + 4*random.Float64())
	}
	if random.IntN(4) == 0 {
		f.MinPrice = new(1000 * random.IntN(10))
	}
	if random.IntN(4) == 0 {
		f.MaxPrice = new(1000 * random.IntN(15))
	}
	if random.IntN(5) == 0 {
		f.HasVoucher = flag()
	}
	if random.IntN(5) == 0 {
		f.HasFlashSale = flag()
	}
	return f
}

// fillForFilters stores shops with all kinds of values.
func fillForFilters(t *testing.T, s *Service, random *rand.Rand, center geo.Point, now time.Time) {
	t.Helper()
	hours := []string{
		"", "", "9 to 5, call us", "24/7", "Mo-Su 08:00-22:00", "Mo-Fr 09:00-12:00,14:00-18:00; Sa 10:00-16:00", "18:00-02:00", "Fr,Sa 20:00-28:00",
		"Mo off; Tu-Su 11:00-14:30,17:30-21:45", "Apr-Oct 10:00-20:00; Nov-Mar 10:00-17:00", "Mo-Su 06:15-14:15; PH off",
	}
	zones := []string{"", "Asia/Ho_Chi_Minh", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"}
	var drafts []Draft
	for i := range 300 {
		d := Draft{
			ExternalID: fmt.Sprintf("x:%03d", i), Type: []string{"cafe", "bar"}[random.IntN(2)], Name: fmt.Sprintf("%s %03d", []string{"Noodles", "Tea"}[random.IntN(2)], i),
			Lat: center.Lat + (random.Float64()-0.5)*0.04, Lng: center.Lng + (random.Float64()-0.5)*0.04,
			OpenHours: hours[random.IntN(len(hours))], TimeZone: zones[random.IntN(len(zones))],
		}
		if random.IntN(3) == 0 {
			d.Score = 1 + float64(random.IntN(41))/10
		}
		if random.IntN(4) > 0 {
			d.AvgPrice = new(500 * random.IntN(30))
		}
		drafts = append(drafts, d)
	}
	put(t, s, drafts...)
	for i := range 300 {
		change := s.db.Shop.Update().Where(entshop.ExternalID(fmt.Sprintf("x:%03d", i))).SetSold(random.IntN(5)).SetSaveCount(random.IntN(5))
		if random.IntN(3) == 0 {
			change.SetRatingScore(1 + float64(random.IntN(41))/10)
		}
		if random.IntN(3) == 0 {
			until := now.Add(time.Duration(random.IntN(100)-50) * time.Hour).UnixMilli()
			change.SetVouchersUntil(until + int64(random.IntN(2))<<50).SetFlashUntil(until)
		}
		change.ExecX(t.Context())
	}
}

func TestInvalidFiltersAreBadInput(t *testing.T) {
	for name, f := range map[string]Filter{
		"score 0": {MinScore: new(0.0)}, "score 5.1": {MinScore: new(5.1)}, "a negative price": {MinPrice: new(-1)}, "a negative maximum": {MaxPrice: new(-1)},
	} {
		if _, err := (Query{First: 1, Filter: f}).checked(); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%s: got %v, want BAD_USER_INPUT", name, err)
		}
	}
}

// A mask is never wrong: where it is certain, the shop is open or closed in each minute of a year.
func TestMaskIsNeverWrong(t *testing.T) {
	for _, text := range []string{"24/7", "Mo-Fr 09:00-12:00,14:00-18:00", "18:00-02:30", "Su 23:00-25:00", "Dec 10:00-12:00"} {
		for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati"} {
			at, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			h, err := openinghours.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			mask := *openMask(&text, at)
			certain := 0
			for now := time.Now().Truncate(time.Hour); time.Until(now) < 365*24*time.Hour; now = now.Add(13 * time.Minute) {
				digit := mask[maskIndex(now)-1]
				if digit != uncertain {
					certain++
				}
				if is := h.IsOpen(now.In(at)); is && digit == closed || !is && digit == open {
					t.Fatalf("%s in %s at %v: open is %t, the mask has %c", text, zone, now, is, digit)
				}
			}
			if certain == 0 && !h.Varies() {
				t.Errorf("%s in %s: got no certain hour", text, zone)
			}
		}
	}
}
