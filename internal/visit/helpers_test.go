package visit

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // each refused connection would log a line
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

// shops is a fake with all shops below 1000.
type shops struct {
	mu    sync.Mutex
	err   error
	calls int
}

func (*shops) Touch(...int64) {}

func (s *shops) Exist(_ context.Context, ids []int64) (map[int64]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	known := map[int64]bool{}
	for _, id := range ids {
		known[id] = id < 1000
	}
	return known, s.err
}

// manualClock is a clock that a test moves.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func (h *manualClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *manualClock) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// A process is one of several instances of the Service.
type process struct {
	*Service
	from  storetest.Process
	shops *shops
	clock *manualClock
}

// noon returns the usual start time of a test.
func noon() *manualClock { return &manualClock{now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)} }

func today() civil.Date { return civil.Date{Year: 2026, Month: 11, Day: 23} }

// before returns the day some days ago.
func before(days int) civil.Date {
	return civil.DateOf(time.Date(2026, 11, 23-days, 0, 0, 0, 0, time.UTC))
}

// open starts a process on stores, with a clock that processes may share.
func open(t *testing.T, on storetest.Stores, clock *manualClock, change ...func(*Config)) process {
	t.Helper()
	from := storetest.Open(t, on)
	p := process{from: from, shops: &shops{}, clock: clock}
	cfg := Config{Redis: from.Redis, Registerer: from.Registry, Log: from.Log, Prefix: storetest.Prefix, Shops: p.shops, Now: clock.Now}
	for _, c := range change {
		c(&cfg)
	}
	p.Service = New(from.DB, cfg)
	must(t, p.LoadSecret(t.Context()))
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// person returns a visitor with a cookie.
func person(n int) Visitor { return Visitor{Key: Cookie(fmt.Sprintf("person-%d", n)), Beacon: true} }

// addVisits records views of a shop by persons n to m-1, and flushes.
func (p process) addVisits(t *testing.T, shop int64, n, m int) {
	t.Helper()
	for i := n; i < m; i++ {
		p.RecordPage(person(i), shop)
	}
	must(t, p.Flush(t.Context()))
}

// shopCounts returns the unique visitors and views of a shop in a range.
func (p process) shopCounts(t *testing.T, shop int64, from, to civil.Date) [2]int {
	t.Helper()
	stats, err := p.ShopStats(t.Context(), shop, from, to)
	must(t, err)
	if stats.Date != nil {
		t.Errorf("got date %v for a range, want nil", stats.Date)
	}
	return [2]int{stats.UniqueVisitors, stats.Views}
}

// days returns the unique visitors and views of each day.
func (p process) days(t *testing.T, shop int64, from, to civil.Date) string {
	t.Helper()
	list, err := p.ShopStatsByDay(t.Context(), shop, from, to)
	must(t, err)
	return text(list)
}

func text(list []Stats) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d/%d", s.UniqueVisitors, s.Views)
	}
	return b.String()
}

// flushRedis empties Redis.
func (p process) flushRedis(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must(t, redisdb.KeyScan{}.Each(ctx, p.from.Redis, func(k redisdb.Key) { must(t, p.from.Redis.Unlink(ctx, k.Name).Err()) }))
}

// about reports whether got is within 2 % of want.
func about(got, want int) bool { return math.Abs(float64(got)-float64(want)) <= 0.02*float64(want) }
