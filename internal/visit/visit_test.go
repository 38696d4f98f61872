package visit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent/visitday"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

const tea, cake = int64(1), int64(2) // shops

func TestVisitorsCountOncePerRange(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		clock := noon()
		clock.move(-2 * 24 * time.Hour)
		p := open(t, on, clock)
		p.addVisits(t, tea, 0, 20)
		clock.move(24 * time.Hour)
		p.addVisits(t, tea, 10, 30)
		p.addVisits(t, tea, 10, 20)
		clock.move(24 * time.Hour)
		p.addVisits(t, cake, 0, 5)
		for _, when := range []string{"live", "rolled up", "after Redis forgot"} {
			switch when {
			case "rolled up":
				must(t, p.RollUp(t.Context()))
			case "after Redis forgot":
				p.flushRedis(t)
			}
			if got := p.shopCounts(t, tea, before(2), today()); got != [2]int{30, 50} {
				t.Errorf("%s: got %v, want 30 visitors and 50 views", when, got)
			}
			if got := p.shopCounts(t, tea, before(1), before(1)); got != [2]int{20, 30} {
				t.Errorf("%s: got %v on one day", when, got)
			}
			if got := p.days(t, tea, before(3), today()); got != "0/0, 20/20, 20/30, 0/0" {
				t.Errorf("%s: got days %s", when, got)
			}
			if got := p.days(t, cake, today(), before(-2)); got != "5/5, 0/0, 0/0" {
				t.Errorf("%s: got future days %s", when, got)
			}
			all, err := p.SiteStats(t.Context(), before(2), today())
			if err != nil || text(all) != "20/20, 20/30, 5/5" || *all[0].Date != before(2) || *all[2].Date != today() {
				t.Errorf("%s: got site %s, %v", when, text(all), err)
			}
		}
	})
}

func TestHistoryIsReadFromRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		clock := noon()
		p := open(t, on, clock)
		p.addVisits(t, tea, 0, 50)
		must(t, p.RollUp(t.Context()))
		clock.move(41 * 24 * time.Hour)
		p.flushRedis(t)
		p.addVisits(t, tea, 40, 60)
		first, last := today(), before(-41)
		if got := p.shopCounts(t, tea, first, last); got != [2]int{60, 70} {
			t.Errorf("42 days: got %v", got)
		}
		if got := p.days(t, tea, first, before(-1)); got != "50/50, 0/0" {
			t.Errorf("first days: got %s", got)
		}
		year := civil.Date{Year: 2026, Month: 1, Day: 1}
		list, err := p.ShopStatsByDay(t.Context(), tea, year, civil.Date{Year: 2026, Month: 12, Day: 31})
		if err != nil || len(list) != 365 {
			t.Errorf("%d days, %v", len(list), err)
		}
	})
}

func TestRedisLossDuringADayKeepsTheSum(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.addVisits(t, tea, 0, 30)
		must(t, p.RollUp(t.Context()))
		p.flushRedis(t)
		p.addVisits(t, tea, 20, 50)
		want := func(when string) {
			t.Helper()
			if got := p.shopCounts(t, tea, today(), today()); got != [2]int{50, 60} {
				t.Errorf("%s: got %v, want 50 visitors and 60 views", when, got)
			}
			if got := p.days(t, tea, today(), today()); got != "50/60" {
				t.Errorf("%s: got day %s", when, got)
			}
		}
		want("before the roll-up")
		must(t, p.RollUp(t.Context()))
		want("after it")
		p.flushRedis(t)
		want("from the row alone")
		p.addVisits(t, tea, 0, 10)
		must(t, p.RollUp(t.Context()))
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{50, 70} {
			t.Errorf("after another loss: got %v", got)
		}
	})
}

func TestRepeatedAndConcurrentRollUpsAreIdempotent(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		clock := noon()
		a, b := open(t, on, clock), open(t, on, clock)
		for round := range 5 {
			for shop := range int64(120) { // more than a page
				a.RecordPage(person(round), shop+1)
				b.RecordPage(person(round+1), shop+1)
			}
			must(t, a.Flush(t.Context()))
			must(t, b.Flush(t.Context()))
			var g errgroup.Group
			for _, p := range []process{a, b, a, b} {
				g.Go(func() error { return p.RollUp(t.Context()) })
			}
			must(t, g.Wait())
		}
		a.flushRedis(t)
		for _, shop := range []int64{1, 60, 120} {
			if got := b.shopCounts(t, shop, today(), today()); got != [2]int{6, 10} {
				t.Errorf("shop %d: got %v", shop, got)
			}
		}
		if got := b.shopCounts(t, site, today(), today()); got != [2]int{6, 1200} {
			t.Errorf("site: got %v", got)
		}
		if n := b.from.DB.VisitDay.Query().CountX(t.Context()); n != 121 {
			t.Errorf("got %d rows", n)
		}
	})
}

func TestDaysAreCleanAfterQuietTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		clock := noon()
		p := open(t, on, clock)
		dirty := func() int64 {
			t.Helper()
			must(t, p.RollUp(t.Context()))
			return p.from.Redis.ZCard(t.Context(), p.keys.dirty()).Val()
		}
		p.addVisits(t, tea, 0, 3)
		if n := dirty(); n != 2 {
			t.Errorf("after a flush: got %d dirty days", n)
		}
		clock.move(quiet + time.Second)
		p.addVisits(t, cake, 0, 3)
		if n := dirty(); n != 2 { // the site and the cake shop
			t.Errorf("got %d dirty days, want 2", n)
		}
		clock.move(quiet + time.Second)
		if n := dirty(); n != 0 {
			t.Errorf("after quiet time: got %d dirty days", n)
		}
		p.from.Redis.ZAdd(t.Context(), p.keys.dirty(), redis.Z{Score: 1, Member: "what is this"}, redis.Z{Score: 2, Member: "01:20261123"})
		if n := dirty(); n != 0 {
			t.Errorf("got %d foreign members", n)
		}
	})
}

func TestChangedCountersStayDirty(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		ctx, key := t.Context(), p.keys.dirty()
		p.from.Redis.ZAdd(ctx, key, redis.Z{Score: 1_790_000_000_000_001, Member: "a"}, redis.Z{Score: 1_790_000_000_000_002, Member: "b"})
		n, err := p.markRolledUp.Run(ctx, p.from.Redis, []string{key}, "a", "1790000000000001", "b", "1790000000000001", "c", "1").Int()
		if err != nil || n != 1 {
			t.Errorf("got %d removed, %v", n, err)
		}
		if left, err := p.from.Redis.ZRange(ctx, key, 0, 10).Result(); err != nil || strings.Join(left, " ") != "b" {
			t.Errorf("got dirty days %v, %v", left, err)
		}
		p.flushRedis(t)
	})
}

func TestLaggingReplicaLosesNoViews(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.addVisits(t, tea, 0, 10)
		must(t, p.RollUp(t.Context()))
		p.from.Redis.HSet(t.Context(), p.keys.views(bucket{tea, 20261123}), "n", 7)
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{10, 10} {
			t.Errorf("lagging replica: got %v", got)
		}
		must(t, p.RollUp(t.Context()))
		p.addVisits(t, tea, 10, 12)
		must(t, p.RollUp(t.Context()))
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{12, 12} {
			t.Errorf("after two more views: got %v", got)
		}
	})
}

func TestUnnamedCountersGetANewName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.addVisits(t, tea, 0, 10)
		p.from.Redis.HDel(t.Context(), p.keys.views(bucket{tea, 20261123}), "c")
		for range 3 {
			p.clock.move(quiet + time.Second)
			must(t, p.RollUp(t.Context()))
		}
		p.flushRedis(t)
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{10, 10} {
			t.Errorf("%v", got)
		}
	})
}

func TestCountedVisitors(t *testing.T) {
	app := Visitor{Key: Cookie("with-a-beacon"), Beacon: true}
	client := Visitor{Key: User("7")}
	bot := Visitor{Key: "s:bot", Bot: true}
	tests := []struct {
		name       string
		do         func(s *Service, clock *manualClock)
		site, shop int // views
	}{
		{"no visitor", func(s *Service, _ *manualClock) {
			s.RecordOperation(Visitor{})
			s.RecordShop(context.Background(), tea)
		}, 0, 0},
		{"no known visitor", func(s *Service, _ *manualClock) {
			s.RecordPage(Visitor{}, tea)
			s.RecordShop(With(context.Background(), Visitor{}), tea)
		}, 0, 0},
		{"a bot", func(s *Service, _ *manualClock) {
			s.RecordOperation(bot)
			s.RecordShop(With(context.Background(), bot), tea)
			s.RecordPage(bot, tea)
		}, 0, 0},
		{"a page of the app", func(s *Service, _ *manualClock) { s.RecordPage(app, 0) }, 1, 0},
		{"a shop's page of the app, and what it asks for it", func(s *Service, _ *manualClock) {
			s.RecordOperation(app)
			s.RecordShop(With(context.Background(), app), tea)
			s.RecordPage(app, tea)
		}, 1, 1},
		{"a client that asks much at once", func(s *Service, clock *manualClock) {
			for range 10 {
				s.RecordOperation(client)
				clock.move(2 * time.Second)
			}
		}, 1, 0},
		{"a client that asks for a minute", func(s *Service, clock *manualClock) {
			for range 60 {
				s.RecordOperation(client)
				clock.move(time.Second)
			}
		}, 2, 0},
		{"a client that looks at a shop twice", func(s *Service, _ *manualClock) {
			for range 2 {
				s.RecordOperation(client)
				s.RecordShop(With(context.Background(), client), tea)
			}
		}, 1, 2},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		for i, tt := range tests {
			clock := &manualClock{now: time.Date(2026, 1, 1+i, 12, 0, 0, 0, time.UTC)} // a separate day
			p := open(t, on, clock)
			day := civil.DateOf(clock.now)
			tt.do(p.Service, clock)
			must(t, p.Flush(t.Context()))
			if got := [2]int{p.shopCounts(t, site, day, day)[1], p.shopCounts(t, tea, day, day)[1]}; got != [2]int{tt.site, tt.shop} {
				t.Errorf("%s: got %v views of site and shop, want %d and %d", tt.name, got, tt.site, tt.shop)
			}
			if got := [2]float64{testutil.ToFloat64(p.counts.site), testutil.ToFloat64(p.counts.shop)}; got != [2]float64{float64(tt.site), float64(tt.shop)} {
				t.Errorf("%s: got metrics %v", tt.name, got)
			}
		}
	})
}

func TestDaysFollowTheZone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		clock := &manualClock{now: time.Date(2026, 11, 22, 15, 59, 59, 0, time.UTC)} // a second before midnight there
		p := open(t, on, clock, func(c *Config) { c.Zone = time.FixedZone("", 8*3600) })
		p.RecordPage(person(1), tea)
		clock.move(time.Second)
		p.RecordPage(person(2), tea)
		p.RecordPage(person(1), tea)
		must(t, p.Flush(t.Context()))
		if got := p.days(t, tea, before(1), today()); got != "1/1, 2/2" {
			t.Errorf("%s", got)
		}
	})
}

func TestRangesHaveOneTo366Days(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		for _, from := range []civil.Date{before(-1), before(366)} {
			_, one := p.ShopStats(t.Context(), tea, from, today())
			_, each := p.ShopStatsByDay(t.Context(), tea, from, today())
			_, all := p.SiteStats(t.Context(), from, today())
			for _, err := range []error{one, each, all} {
				if apierror.KindOf(err) != apierror.BadUserInput {
					t.Errorf("from %v: got %v", from, err)
				}
			}
		}
		if list, err := p.SiteStats(t.Context(), before(365), today()); err != nil || len(list) != 366 || *list[0].Date != before(365) || *list[365].Date != today() {
			t.Errorf("%d days, %v", len(list), err)
		}
	})
}

// trips counts round trips.
type trips struct{ n int }

func (*trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.n++; return next(ctx, cmd) }
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.n++; return next(ctx, cmds) }
}

func TestRoundTripsOfReadAndFlush(t *testing.T) {
	p := open(t, storetest.Real(t), noon())
	p.addVisits(t, tea, 0, 1) // opens a connection
	for shop := range int64(100) {
		p.RecordPage(person(int(shop)), shop+1)
	}
	c := &trips{}
	p.from.Redis.AddHook(c)
	must(t, p.Flush(t.Context()))
	if c.n > 2 {
		t.Errorf("flush: got %d round trips, want 2", c.n)
	}
	var year []Day
	for i := range 366 {
		year = append(year, Day{Shop: tea, Date: before(i), Visitors: []string{"u:1", "u:" + fmt.Sprint(i)}, Views: 2})
	}
	must(t, p.BulkInsert(t.Context(), year))
	c.n = 0
	if got := p.shopCounts(t, tea, before(365), today()); !about(got[0], 367) || got[1] != 2*366+2 {
		t.Errorf("year: got %v", got)
	}
	if c.n > 3 {
		t.Errorf("year: got %d round trips, want 3", c.n)
	}
}

func TestFailedFlushesAreRepeated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.addVisits(t, tea, 0, 1)
		wire := &storetest.FaultyRedis{}
		p.from.Redis.AddHook(wire)
		wire.Down.Store(true)
		p.RecordPage(person(1), tea)
		if p.Flush(t.Context()) == nil {
			t.Error("got no error for a flush without Redis")
		}
		p.RecordPage(person(2), tea)
		if _, err := p.ShopStats(t.Context(), tea, today(), today()); err == nil {
			t.Error("got stats of today without Redis")
		}
		wire.Down.Store(false)
		must(t, p.Flush(t.Context()))
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{3, 3} {
			t.Errorf("%v", got)
		}
	})
}

func TestUnknownShopsCreateNoKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		for i := range 700 {
			p.RecordPage(person(i), 5000+int64(i))
		}
		p.addVisits(t, tea, 0, 1)
		if n := testutil.ToFloat64(p.counts.unknown); n != 700 {
			t.Errorf("got %v dropped visits", n)
		}
		if n := p.from.Redis.DBSize(t.Context()).Val(); n != 5 { // two for the site, two for the shop, and dirty
			t.Errorf("got %d keys, want 5", n)
		}
		if p.shops.calls != 2 {
			t.Errorf("got %d calls of Shops.Known", p.shops.calls)
		}
	})
}

func TestUncheckedShopsWaitButTheSiteDoesNot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.shops.err = errors.New("away")
		p.RecordPage(person(1), tea)
		if p.Flush(t.Context()) == nil {
			t.Error("got no error")
		}
		p.shops.err = nil
		if got := [2][2]int{p.shopCounts(t, site, today(), today()), p.shopCounts(t, tea, today(), today())}; got != [2][2]int{{1, 1}, {0, 0}} {
			t.Errorf("meanwhile: got %v", got)
		}
		must(t, p.Flush(t.Context()))
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{1, 1} {
			t.Errorf("then: got %v", got)
		}
	})
}

func TestFullBufferDropsAndCountsVisitors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon(), func(c *Config) { c.max = 100 })
		for i := range 150 {
			p.RecordPage(person(i), 0)
		}
		p.RecordPage(person(3), 0) // already in the buffer
		must(t, p.Flush(t.Context()))
		if got := p.shopCounts(t, site, today(), today()); got != [2]int{99, 100} {
			t.Errorf("%v", got)
		}
		if n := testutil.ToFloat64(p.counts.full); n != 51 {
			t.Errorf("got %v dropped visits", n)
		}
	})
}

func TestRunFlushesAtShutdown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.RecordPage(person(1), tea)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		must(t, p.Run(ctx))
		must(t, p.RollUp(t.Context()))
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{1, 1} {
			t.Errorf("%v", got)
		}
	})
}

func TestBulkInsertedDaysAreExtended(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		planted := []Day{
			{Shop: tea, Date: before(100), Visitors: []string{"u:1", "u:2"}, Views: 7},
			{Shop: tea, Date: today(), Visitors: []string{person(1).Key, "u:1"}, Views: 3},
		}
		must(t, p.BulkInsert(t.Context(), planted))
		p.addVisits(t, tea, 1, 3)
		must(t, p.RollUp(t.Context()))
		planted[0].Views = 1000
		must(t, p.BulkInsert(t.Context(), planted))
		if got := p.shopCounts(t, tea, before(100), today()); got != [2]int{4, 12} {
			t.Errorf("%v", got)
		}
		if got := p.days(t, tea, today(), today()); got != "3/5" {
			t.Errorf("today: got %s", got)
		}
	})
}

func TestInvalidSketchesDoNotBlockRollUps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, noon())
		p.addVisits(t, tea, 0, 5)
		must(t, p.RollUp(t.Context()))
		p.from.DB.VisitDay.Update().Where(visitday.ShopID(tea)).SetSketch([]byte("hello")).ExecX(t.Context())
		p.addVisits(t, tea, 5, 7)
		must(t, p.RollUp(t.Context()))
		p.flushRedis(t)
		if got := p.shopCounts(t, tea, today(), today()); got != [2]int{7, 7} {
			t.Errorf("%v", got)
		}
	})
}
