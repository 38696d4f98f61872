package checkin

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestStreakSpansMonthsAndYears(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		for _, tt := range []struct {
			name     string
			from, to string // of the check-ins; "" for none
			now      string
			want     int
			warm     [2]int // round trips and statements of a second read
		}{
			{"none", "", "", "2026-11-23", 0, [2]int{1, 0}},
			{"today alone", "2026-11-23", "2026-11-23", "2026-11-23", 1, [2]int{1, 0}},
			{"up to yesterday", "2026-11-20", "2026-11-22", "2026-11-23", 3, [2]int{1, 0}},
			{"up to the day before yesterday", "2026-11-01", "2026-11-21", "2026-11-23", 0, [2]int{1, 0}},
			{"on the first, which is open", "2026-10-30", "2026-10-31", "2026-11-01", 2, [2]int{1, 0}},
			{"on the first, and the day before was missed", "2026-10-01", "2026-10-30", "2026-11-01", 0, [2]int{1, 0}},
			{"over a month of 30 days", "2026-09-30", "2026-10-01", "2026-10-01", 2, [2]int{1, 0}},
			{"over a leap day", "2028-02-27", "2028-03-01", "2028-03-01", 4, [2]int{1, 0}},
			{"over a February without one", "2026-02-27", "2026-03-01", "2026-03-01", 3, [2]int{1, 0}},
			{"all of last month", "2026-10-01", "2026-11-23", "2026-11-23", 54, [2]int{2, 0}},
			{"over three months and a year", "2026-11-30", "2027-01-02", "2027-01-02", 34, [2]int{2, 0}},
			{"of 13 months less a day", "2025-11-02", "2026-11-23", "2026-11-23", 387, [2]int{2, 0}},
			{"of 13 months", "2025-11-01", "2026-11-23", "2026-11-23", 388, [2]int{2, 1}},
			{"longer than 400 days", "2025-06-15", "2026-11-23", "2026-11-23", 527, [2]int{2, 1}},
			{"of five years", "2021-11-24", "2026-11-22", "2026-11-23", 1825, [2]int{2, 1}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				ann := p.user(t)
				p.at(t, tt.now+"T10:00:00Z")
				if tt.from != "" {
					p.bulkInsert(t, ann, tt.from, tt.to)
				}
				p.flush(t, ann)
				readMonth := func() {
					if m, err := p.Month(t.Context(), ann, ""); err != nil || m.Streak != tt.want {
						t.Errorf("got %+v, %v, want a streak of %d", m, err, tt.want)
					}
				}
				if trips, statements := p.cost(t, readMonth); trips > 2*tt.warm[0]+1 || statements > tt.warm[0]+tt.warm[1] { // a new script is sent twice
					t.Errorf("empty Redis: got %d round trips and %d statements", trips, statements)
				}
				trips, statements := p.cost(t, readMonth)
				if d := cmp.Diff(tt.warm, [2]int{trips, statements}); d != "" {
					t.Errorf("round trips and statements (-want +got):\n%s", d)
				}
			})
		}
	})
}

func TestOldMonthsAreReadFromRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.bulkInsert(t, ann, "2025-10-30", "2025-11-02")
		p.bulkInsert(t, ann, "2026-11-22", "2026-11-23")
		for range 2 {
			p.wantMonth(t, ann, "2025-10", &Month{Month: "2025-10", Days: []int{30, 31}, Streak: 2})
			p.wantMonth(t, ann, "2025-11", &Month{Month: "2025-11", Days: []int{1, 2}, Streak: 2})
		}
		if n := p.from.Redis.Exists(t.Context(), p.bitmaps.keys.month(ann, 202510)).Val(); n != 0 {
			t.Error("Redis has a month that is never read there")
		}
	})
}

func TestLostBitmapsAreRebuilt(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.bulkInsert(t, ann, "2026-09-01", "2026-11-22")
		want := &Month{Month: "2026-11", Days: upTo(23), Streak: 84}
		p.checks(t, ann, Points)
		for name, lose := range map[string]func(){
			"everything": func() { p.flush(t, ann) },
			"the mark": func() {
				for _, m := range []month{202609, 202610, 202611} {
					if err := p.from.Redis.SetBit(t.Context(), p.bitmaps.keys.month(ann, m), 0, 0).Err(); err != nil {
						t.Fatal(err)
					}
				}
			},
			"all but the day that was told after it": func() {
				p.flush(t, ann)
				p.checks(t, ann, 0)
			},
		} {
			lose()
			p.wantMonth(t, ann, "", want)
			if d := p.bitmap(t, ann, 202611); d != on24-2|whole {
				t.Errorf("after a loss of %s: got bitmap %b", name, d)
			}
			if trips, statements := p.cost(t, func() { p.wantMonth(t, ann, "", want) }); trips != 2 || statements != 0 {
				t.Errorf("after a loss of %s: got %d round trips and %d statements", name, trips, statements)
			}
		}
	})
}

const on24 = days(1 << 24)

// A slow reader finds no bitmap and reads the row. Meanwhile the user checks in.
func TestSlowRebuildKeepsConcurrentCheckIns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		for name, added := range map[string]func(ann int64){
			"between the row and the bitmap": func(ann int64) { p.checks(t, ann, Points) },
			"and somebody else rebuilt it, too": func(ann int64) {
				p.checks(t, ann, Points)
				p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{20, 23}, Streak: 1})
			},
		} {
			ann := p.user(t)
			p.bulkInsert(t, ann, "2026-11-20", "2026-11-20")
			p.flush(t, ann)
			rows, err := p.rowsOf(t.Context(), p.db, []bitRef{{ann, 202611}})
			if err != nil {
				t.Fatal(err)
			}
			added(ann)
			if err := p.bitmaps.complete(t.Context(), ann, map[month]days{202611: rows[bitRef{ann, 202611}]}); err != nil {
				t.Fatal(err)
			}
			if d := p.bitmap(t, ann, 202611); d != whole|dayBit(20)|dayBit(23) {
				t.Errorf("%s: got days %v", name, d.list())
			}
			p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{20, 23}, Streak: 1})
		}
	})
}

// A month without a day lives for a day, a month with days for 400. No write shortens this.
func TestBitmapLifetime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		lives := func(m month, want string) {
			t.Helper()
			ttl := p.from.Redis.PTTL(t.Context(), p.bitmaps.keys.month(ann, m)).Val()
			if got := fmt.Sprintf("%.0f days", ttl.Hours()/24); got != want {
				t.Errorf("%v: got lifetime %s, want %s", m, got, want)
			}
		}
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0})
		lives(202611, "1 days")
		p.checks(t, ann, Points)
		lives(202611, "400 days")
		lives(202610, "1 days")
		if err := p.bitmaps.complete(t.Context(), ann, map[month]days{202611: 0}); err != nil {
			t.Fatal(err)
		}
		lives(202611, "400 days")
		p.flush(t, ann)
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{23}, Streak: 1})
		lives(202611, "400 days")
	})
}

// Both ways to read a bitmap agree, for all lengths.
func TestBitfieldAndGetReadTheSame(t *testing.T) {
	p := open(t, storetest.Real(t), "UTC")
	ctx := t.Context()
	for day := range 33 { // 32 is an empty bitmap
		want := days(0)
		for _, bit := range []int{day, day / 2} {
			if bit < 32 {
				if err := p.from.Redis.SetBit(ctx, p.bitmaps.keys.month(int64(day+1), 202611), int64(bit), 1).Err(); err != nil {
					t.Fatal(err)
				}
				want |= dayBit(bit)
			}
		}
		if day == 32 {
			want |= dayBit(16)
		}
		refs := []bitRef{{int64(day + 1), 202611}, {int64(day + 1), 202610}}
		for name, l := range map[string]bitmapRead{"BITFIELD_RO": byBitfield, "GET": byGet} {
			b := p.bitmaps
			b.readBitmap = l
			got, err := b.read(ctx, refs)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(map[bitRef]days{refs[0]: want, refs[1]: 0}, got); d != "" {
				t.Errorf("%s of bit %d (-want +got):\n%s", name, day, d)
			}
		}
		if err := p.from.Redis.Expire(ctx, p.bitmaps.keys.month(int64(day+1), 202611), life).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMonthsAreCountedOverYears(t *testing.T) {
	for _, tt := range []struct {
		m    month
		n    int
		want month
	}{{202611, 0, 202611}, {202611, 1, 202610}, {202601, 1, 202512}, {202612, 12, 202512}, {202601, 25, 202312}, {202612, -1, 202701}} {
		if got := tt.m.before(tt.n); got != tt.want {
			t.Errorf("%d months before %v: got %v, want %v", tt.n, tt.m, got, tt.want)
		}
	}
	for m, want := range map[month]int{202601: 31, 202602: 28, 202802: 29, 190002: 28, 200002: 29, 202604: 30, 202612: 31} {
		if got := m.last(); got != want {
			t.Errorf("%v: got %d days, want %d", m, got, want)
		}
	}
}
