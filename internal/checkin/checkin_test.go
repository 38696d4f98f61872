package checkin

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Every month contains the current day in the zone.
func TestMonthReturnsTodayInTheZone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		for _, tt := range []struct{ zone, now, want string }{
			{"UTC", "2026-11-23T23:59:59Z", "2026-11-23"},
			{"UTC", "2026-11-24T00:00:00Z", "2026-11-24"},
			{"Asia/Shanghai", "2026-05-10T15:59:59Z", "2026-05-10"},
			{"Asia/Shanghai", "2026-05-10T16:00:00Z", "2026-05-11"},
			{"America/New_York", "2026-07-01T03:59:59Z", "2026-06-30"},
			{"America/New_York", "2026-07-01T04:00:00Z", "2026-07-01"},
			{"Pacific/Auckland", "2026-12-31T10:59:59Z", "2026-12-31"},
			{"Pacific/Auckland", "2026-12-31T11:00:00Z", "2027-01-01"},
		} {
			p := open(t, on, tt.zone)
			ann := p.user(t)
			p.at(t, tt.now)
			for _, ask := range []string{"", "2026-05", "1999-12", "2100-01"} {
				m, err := p.Month(t.Context(), ann, ask)
				if err != nil {
					t.Fatal(err)
				}
				if got := m.Today.String(); got != tt.want {
					t.Errorf("at %s in %s, month %q: got today %s, want %s", tt.now, tt.zone, ask, got, tt.want)
				}
			}
			if got := p.checks(t, ann, Points).Today.String(); got != tt.want {
				t.Errorf("at %s in %s, check-in: got today %s, want %s", tt.now, tt.zone, got, tt.want)
			}
		}
	})
}

// Days follow the zone, not UTC.
func TestDaysEndAtMidnightOfTheZone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		for _, tt := range []struct {
			name, zone   string
			last, first  string // times on one day and the next
			month, after string // months after each check-in
			days, later  []int
		}{
			{"east of UTC", "Asia/Shanghai", "2026-05-10T15:59:59Z", "2026-05-10T16:00:00Z", "2026-05", "2026-05", []int{10}, []int{10, 11}},
			{"west of UTC, at the end of a month", "America/New_York", "2026-07-01T03:59:59Z", "2026-07-01T04:00:00Z", "2026-06", "2026-07", []int{30}, []int{1}},
			{"a day of 23 hours", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", "2026-03", "2026-03", []int{8}, []int{8, 9}},
			{"the last second of a day of 25 hours", "America/New_York", "2026-11-02T04:59:59Z", "2026-11-02T05:00:00Z", "2026-11", "2026-11", []int{1}, []int{1, 2}},
			{"a day without a midnight", "America/Santiago", "2026-09-06T03:59:59Z", "2026-09-06T04:00:00Z", "2026-09", "2026-09", []int{5}, []int{5, 6}},
			{"a leap day", "Asia/Tokyo", "2028-02-29T14:59:59Z", "2028-02-29T15:00:00Z", "2028-02", "2028-03", []int{29}, []int{1}},
			{"the end of a year", "Pacific/Auckland", "2026-12-31T10:59:59Z", "2026-12-31T11:00:00Z", "2026-12", "2027-01", []int{31}, []int{1}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p := open(t, on, tt.zone)
				ann := p.user(t)
				p.at(t, tt.last)
				wantMonth(t, p.checks(t, ann, Points), &Month{Month: tt.month, Days: tt.days, Streak: 1})
				p.checks(t, ann, 0)
				p.at(t, tt.first)
				wantMonth(t, p.checks(t, ann, Points), &Month{Month: tt.after, Days: tt.later, Streak: 2})
				p.wantMonth(t, ann, "", &Month{Month: tt.after, Days: tt.later, Streak: 2})
				p.checks(t, ann, 0)
				if n := p.points(t, ann); n != 2*Points {
					t.Errorf("got %d points, want %d", n, 2*Points)
				}
			})
		}
	})
}

// A user checks in twice a day from December 28 to January 5, with a missed day. The streak
// must not end at the border of a month.
func TestStreakAroundNewYear(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "Asia/Shanghai")
		ann, bob := p.user(t), p.user(t)
		p.at(t, "2026-12-28T08:00:00+08:00")
		december, january := []int{}, []int{}
		for n, day := range []int{28, 29, 30, 31, 1, 2, 3} {
			if n > 0 { // before the check-in, the streak is that of yesterday
				shown := &Month{Month: "2026-12", Days: december, Streak: n}
				if day < 28 {
					shown = &Month{Month: "2027-01", Days: january, Streak: n}
				}
				p.wantMonth(t, ann, "", shown)
			}
			m := &Month{Streak: n + 1}
			if day >= 28 {
				december = append(december, day)
				m.Month, m.Days = "2026-12", december
			} else {
				january = append(january, day)
				m.Month, m.Days = "2027-01", january
			}
			wantMonth(t, p.checks(t, ann, Points), m)
			p.pass(15*time.Hour + 59*time.Minute) // 23:59
			p.checks(t, ann, 0)
			p.wantMonth(t, ann, "", m)
			p.wantMonth(t, ann, "2026-12", &Month{Month: "2026-12", Days: december, Streak: n + 1})
			p.pass(8*time.Hour + time.Minute)
		}
		p.pass(24 * time.Hour) // the 5th: the 4th was missed
		p.wantMonth(t, ann, "", &Month{Month: "2027-01", Days: []int{1, 2, 3}, Streak: 0})
		wantMonth(t, p.checks(t, ann, Points), &Month{Month: "2027-01", Days: []int{1, 2, 3, 5}, Streak: 1})
		p.wantMonth(t, ann, "2027-02", &Month{Month: "2027-02", Days: []int{}, Streak: 1})
		p.wantMonth(t, bob, "", &Month{Month: "2027-01", Days: []int{}, Streak: 0})
		if n := p.points(t, ann); n != 8*Points {
			t.Errorf("got %d points, want %d", n, 8*Points)
		}
	})
}

func TestMonthRejectsInvalidText(t *testing.T) {
	p := open(t, storetest.Real(t), "UTC")
	for _, text := range []string{"2026", "2026-1", "2026-00", "2026-13", "0000-01", "2026-01-01", "202601", "01-2026", " 2026-01", "2026-01 ", "２026-01", "-026-01", "2026/01", "now"} {
		if _, err := p.Month(t.Context(), 1, text); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"0001-01", "9999-12", "2026-11"} {
		p.wantMonth(t, 1, text, &Month{Month: text, Days: []int{}, Streak: 0})
	}
}

func TestConcurrentCheckInsEarnOnce(t *testing.T) {
	const taps = 200
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := open(t, on, "UTC"), (*process)(nil)
		if b = a; on.Redis.Dial == nil {
			b = open(t, on, "UTC")
		}
		ann := a.user(t)
		var mu sync.Mutex
		sum := 0
		var g errgroup.Group
		for i := range taps {
			g.Go(func() error {
				m, earned, err := []*process{a, b}[i%2].CheckIn(t.Context(), ann)
				if err != nil {
					return err
				}
				if !cmp.Equal(m, &Month{Month: "2026-11", Days: []int{23}, Streak: 1, Today: date(t, "2026-11-23")}) {
					t.Errorf("%+v", m)
				}
				mu.Lock()
				defer mu.Unlock()
				sum += earned
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := a.points(t, ann); sum != Points || n != Points {
			t.Errorf("got %d earned and %d points, want %d", sum, n, Points)
		}
		row := a.db.CheckInMonth.Query().OnlyX(t.Context())
		if row.Points != Points || days(row.Days) != on23 || row.Month != 202611 { //nolint:gosec // bits
			t.Errorf("got row %v", row)
		}
	})
}

const on23 = days(1 << 23)

// Two calls found no check-in; the statement lets one of them earn.
func TestRacingCheckInsEarnOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, other := open(t, on, "UTC"), open(t, on, "UTC")
		ann := p.user(t)
		p.db = p.from.AtFirstTx(func() { other.checks(t, ann, Points) }, nil)
		p.checks(t, ann, 0)
		if n := p.points(t, ann); n != Points {
			t.Errorf("%d points, want %d", n, Points)
		}
	})
}

// Concurrent check-ins share a transaction. One user had checked in, one checks in twice,
// and for one the next day has begun.
func TestConcurrentCheckInsShareATransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, other := open(t, on, "UTC"), open(t, on, "UTC")
		ann, bob, cid := p.user(t), p.user(t), p.user(t)
		today, tomorrow := p.today(), date(t, "2026-11-24")
		p.checks(t, bob, Points)
		for _, user := range []int64{ann, bob, cid} {
			if _, err := other.Month(t.Context(), user, ""); err != nil { // cached
				t.Fatal(err)
			}
		}
		var group []*batch.Call[Draft, checkedIn]
		for _, d := range []Draft{{cid, today}, {ann, today}, {bob, today}, {ann, today}, {cid, tomorrow}} {
			group = append(group, &batch.Call[Draft, checkedIn]{In: d})
		}
		after, err := p.checkInAll(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
		after()
		for i, want := range []int{Points, Points, 0, 0, Points} {
			if c := group[i]; c.Out.earned != want || !c.Out.days.has(c.In.Day.Day) || c.Err != nil {
				t.Errorf("call %d: %+v, %v, want %d points", i+1, c.Out, c.Err, want)
			}
		}
		for user, want := range map[int64][]int{ann: {23}, bob: {23}, cid: {23, 24}} {
			m, err := other.Month(t.Context(), user, "")
			if err != nil || !cmp.Equal(m.Days, want) || p.points(t, user) != Points*len(want) {
				t.Errorf("user %d: %+v, %v, and %d points, want days %v", user, m, err, p.points(t, user), want)
			}
		}
		if n := p.pendingJobs(t); n != 0 {
			t.Errorf("got %d pending jobs", n)
		}
	})
}

// Redis rejects writes and has an old bitmap that is marked as whole.
func TestCheckInReturnsTodayWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0})
		p.wire.FailScripts.Store(true)
		for _, earns := range []int{Points, 0} {
			wantMonth(t, p.checks(t, ann, earns), &Month{Month: "2026-11", Days: []int{23}, Streak: 1})
		}
	})
}

func TestCheckInAndPointsAreAtomic(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.people.fails = errors.New("no luck")
		if _, _, err := p.CheckIn(t.Context(), ann); !errors.Is(err, p.people.fails) {
			t.Errorf("%v", err)
		}
		p.people.fails = nil
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0})
		p.checks(t, ann, Points)
		if d := cmp.Diff([]int64{ann}, p.people.invalidated); d != "" {
			t.Errorf("invalidated users (-want +got):\n%s", d)
		}
	})
}

// Redis is unavailable during a check-in, and returns with an old bitmap that is marked as
// whole. The caller sees the check-in at once, and all readers after the outbox has run.
func TestRowsServeReadsWhileRedisIsUnavailable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.bulkInsert(t, ann, "2025-01-01", "2026-11-22")
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: upTo(22), Streak: 691})
		p.wire.Down.Store(true)
		wantMonth(t, p.checks(t, ann, Points), &Month{Month: "2026-11", Days: upTo(23), Streak: 692})
		p.checks(t, ann, 0)
		for ask, want := range map[string][]int{"": upTo(23), "2026-10": upTo(31), "2025-02": upTo(28), "2027-01": {}} {
			month := ask
			if ask == "" {
				month = "2026-11"
			}
			if _, statements := p.cost(t, func() { p.wantMonth(t, ann, ask, &Month{Month: month, Days: want, Streak: 692}) }); statements != 1 {
				t.Errorf("%q without Redis: got %d statements, want 1", ask, statements)
			}
		}
		if n := p.pendingJobs(t); n != 1 {
			t.Errorf("got %d pending jobs, want 1", n)
		}
		p.wire.Down.Store(false)
		testkit.Eventually(t, 20*time.Second, func() bool { return p.from.Redis.Ping(t.Context()).Err() == nil })
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: upTo(22), Streak: 691}) // out of date
		storetest.Relay(t, p.box)
		testkit.Eventually(t, 20*time.Second, func() bool {
			m, err := p.Month(t.Context(), ann, "")
			return err == nil && m.Streak == 692
		})
	})
}

// A failover loses the last write of a whole bitmap. A repeated check-in restores it, and so
// does the replay of the outbox.
func TestWritesLostByRedisAreRepeated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0})
		p.checks(t, ann, Points)
		p.box.Wait()
		lose := func() {
			if err := p.from.Redis.SetBit(t.Context(), p.bitmaps.keys.month(ann, 202611), 23, 0).Err(); err != nil {
				t.Fatal(err)
			}
			p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0})
		}
		lose()
		p.checks(t, ann, 0)
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{23}, Streak: 1})
		lose()
		storetest.Relay(t, p.box)
		if n, err := p.box.Replay(t.Context(), time.Minute); n != 1 || err != nil {
			t.Fatalf("got %d replayed jobs, %v", n, err)
		}
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{23}, Streak: 1})
		p.wantMonth(t, ann, "2026-10", &Month{Month: "2026-10", Days: []int{}, Streak: 1})
	})
}

// The client disconnects after the commit: Redis and the users are updated anyway.
func TestCheckInCompletesAfterDisconnect(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0})
		ctx, cancel := context.WithCancel(t.Context())
		p.db = p.from.AtFirstTx(nil, cancel)
		if done, err := p.change(ctx, Draft{ann, p.today()}); done.earned != Points || err != nil {
			t.Fatalf("%+v, %v", done, err)
		}
		if p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{23}, Streak: 1}); p.pendingJobs(t) != 0 || len(p.people.invalidated) != 1 {
			t.Errorf("got %d pending jobs and invalidated users %v", p.pendingJobs(t), p.people.invalidated)
		}
	})
}

func upTo(n int) []int {
	list := []int{}
	for day := 1; day <= n; day++ {
		list = append(list, day)
	}
	return list
}
