package order

import (
	"testing"
	"time"
	_ "time/tzdata" // zones of the tests

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A saleOrder is an order of a shop with local times of its creation and payment.
type saleOrder struct {
	shop       int64
	made, paid string // 2006-01-02 15:04:05.000; paid may be ""
	status     Status
	amount     int
}

func (sh *listFixture) sell(t *testing.T, number int64, s saleOrder) {
	t.Helper()
	read := func(text string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04:05.000", text, sh.cfg.Zone)
		sh.must(t, err)
		return at
	}
	o := Order{ID: number, UserID: ann, ShopID: s.shop, Status: s.status, PayValue: s.amount, CreatedAt: read(s.made)}
	if s.paid != "" {
		paid := read(s.paid)
		o.PaidAt = &paid
	}
	sh.insert(t, o)
}

func TestSalesAreCountedByLocalDay(t *testing.T) {
	day := func(text string) civil.Date {
		d, err := civil.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	shop := func(id int64) *int64 { return &id }
	cases := []struct {
		name, zone string
		sold       []saleOrder
		shop       *int64
		from, to   string
		want       []DaySales
	}{
		{
			name: "days without sales", zone: "Asia/Shanghai", shop: shop(1), from: "2026-02-27", to: "2026-03-01",
			want: []DaySales{{Date: day("2026-02-27")}, {Date: day("2026-02-28")}, {Date: day("2026-03-01")}},
		},
		{
			name: "limits of a day", zone: "Asia/Shanghai", shop: shop(1), from: "2026-05-02", to: "2026-05-03",
			sold: []saleOrder{
				{1, "2026-05-01 23:59:59.999", "", Unpaid, 1},
				{1, "2026-05-02 00:00:00.000", "2026-05-02 00:00:00.000", Paid, 10},
				{1, "2026-05-02 23:59:59.999", "2026-05-02 23:59:59.999", Paid, 20},
				{1, "2026-05-03 00:00:00.000", "2026-05-03 00:00:00.000", Paid, 40},
				{1, "2026-05-04 00:00:00.000", "2026-05-04 00:00:00.000", Paid, 80},
			},
			want: []DaySales{{day("2026-05-02"), 2, 2, 30}, {day("2026-05-03"), 1, 1, 40}},
		},
		{
			name: "paid on another day", zone: "UTC", shop: shop(1), from: "2026-05-01", to: "2026-05-02",
			sold: []saleOrder{{1, "2026-05-01 23:59:00.000", "2026-05-02 00:01:00.000", Used, 7}},
			want: []DaySales{{day("2026-05-01"), 1, 0, 0}, {day("2026-05-02"), 0, 1, 7}},
		},
		{
			name: "failed, cancelled and refunded orders", zone: "UTC", shop: shop(1), from: "2026-05-01", to: "2026-05-01",
			sold: []saleOrder{
				{1, "2026-05-01 10:00:00.000", "", Failed, 1},
				{1, "2026-05-01 10:00:00.000", "", Cancelled, 2},
				{1, "2026-05-01 10:00:00.000", "2026-05-01 10:00:00.000", Refunded, 4},
			},
			want: []DaySales{{day("2026-05-01"), 2, 1, 4}},
		},
		{
			name: "one shop", zone: "UTC", shop: shop(2), from: "2026-05-01", to: "2026-05-01",
			sold: []saleOrder{
				{1, "2026-05-01 10:00:00.000", "2026-05-01 10:00:00.000", Paid, 1},
				{2, "2026-05-01 10:00:00.000", "2026-05-01 10:00:00.000", Paid, 2},
			},
			want: []DaySales{{day("2026-05-01"), 1, 1, 2}},
		},
		{
			name: "all shops", zone: "UTC", from: "2026-05-01", to: "2026-05-01",
			sold: []saleOrder{
				{1, "2026-05-01 10:00:00.000", "2026-05-01 10:00:00.000", Paid, 1},
				{2, "2026-05-01 10:00:00.000", "2026-05-01 10:00:00.000", Paid, 2},
			},
			want: []DaySales{{day("2026-05-01"), 2, 2, 3}},
		},
		{
			name: "day of 25 hours", zone: "Europe/Berlin", from: "2026-10-25", to: "2026-10-26",
			sold: []saleOrder{
				{1, "2026-10-25 00:00:00.000", "", Unpaid, 1},
				{1, "2026-10-25 23:59:59.999", "", Unpaid, 1},
				{1, "2026-10-26 00:00:00.000", "", Unpaid, 1},
			},
			want: []DaySales{{day("2026-10-25"), 2, 0, 0}, {day("2026-10-26"), 1, 0, 0}},
		},
		{
			name: "day without midnight", zone: "America/Havana", from: "2026-03-07", to: "2026-03-08",
			sold: []saleOrder{
				{1, "2026-03-07 23:59:59.999", "", Unpaid, 1}, {1, "2026-03-08 01:00:00.000", "", Unpaid, 1},
			},
			want: []DaySales{{day("2026-03-07"), 1, 0, 0}, {day("2026-03-08"), 1, 0, 0}},
		},
		{
			name: "day with two midnights", zone: "America/Havana", from: "2026-10-31", to: "2026-11-01",
			sold: []saleOrder{
				{1, "2026-10-31 23:59:59.999", "", Unpaid, 1}, {1, "2026-11-01 00:30:00.000", "", Unpaid, 1}, {1, "2026-11-01 01:00:00.000", "", Unpaid, 1},
			},
			want: []DaySales{{day("2026-10-31"), 1, 0, 0}, {day("2026-11-01"), 2, 0, 0}},
		},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		sh := newListFixture(t, on, Config{})
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				sh.clear(t)
				var err error
				sh.cfg.Zone, err = time.LoadLocation(c.zone)
				sh.must(t, err)
				for i, s := range c.sold {
					sh.sell(t, int64(i+1), s)
				}
				got, err := sh.SalesByDay(t.Context(), c.shop, day(c.from), day(c.to))
				sh.must(t, err)
				if d := gocmp.Diff(c.want, got); d != "" {
					t.Errorf("sales (-want +got):\n%s", d)
				}
			})
		}
		spans := map[[2]string]bool{
			{"2026-01-01", "2026-01-01"}: true, {"2024-01-01", "2024-12-31"}: true, {"2026-01-01", "2027-01-01"}: true,
			{"2026-01-01", "2027-01-02"}: false, {"2026-01-02", "2026-01-01"}: false, {"0001-01-01", "9999-12-31"}: false,
			{"9999-01-01", "9999-12-31"}: true, {"0001-01-01", "0001-12-31"}: true,
		}
		for span, good := range spans {
			got, err := sh.SalesByDay(t.Context(), nil, day(span[0]), day(span[1]))
			if (err == nil) != good || !good && apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("%v: %d days, %v", span, len(got), err)
			}
			if good && (got[0].Date.String() != span[0] || got[len(got)-1].Date.String() != span[1]) {
				t.Errorf("%v: from %v to %v", span, got[0].Date, got[len(got)-1].Date)
			}
		}
	})
}

func TestDaysBeginAtTheirFirstMoment(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
			begin := startOfDay(day, zone)
			if before := begin.Add(-time.Nanosecond).In(zone); !civil.DateOf(before).Before(civil.DateOf(day)) {
				t.Fatalf("%s: %v began before %v", name, civil.DateOf(day), begin)
			}
			if got := civil.DateOf(begin.In(zone)); got.Before(civil.DateOf(day)) {
				t.Fatalf("%s: %v begins at %v", name, civil.DateOf(day), begin.In(zone))
			}
		}
	}
}
