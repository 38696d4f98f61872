package app_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// held starts a server on real stores whose warm-up waits for a lock on the shops. It returns
// a reader of /readyz, a function that releases the lock, and a channel of the ready server.
func held(t *testing.T, warm time.Duration) (readyz func() (int, string), release func(), ready <-chan *apptest.Server) {
	t.Helper()
	stack := apptest.Real(t)
	stack.Start(t) // creates the initial rows
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	later := *stack
	later.Config.Addr, later.Warm, later.Config.Run = free.Addr().String(), warm, []string{"api"}
	_ = free.Close()
	tx, err := stack.SQL(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE shops IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	started := make(chan *apptest.Server, 1)
	go func() { started <- later.Start(t) }()
	readyz = func() (int, string) {
		res, err := http.Get("http://" + later.Config.Addr + "/readyz")
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, strings.TrimSpace(string(text))
	}
	testkit.Eventually(t, 20*time.Second, func() bool { _, text := readyz(); return text == "warming" })
	return readyz, func() { _ = tx.Rollback() }, started
}

func TestNotReadyUntilWarm(t *testing.T) {
	readyz, release, ready := held(t, time.Minute)
	for range 5 {
		if status, text := readyz(); status != 503 || text != "warming" {
			t.Errorf("cold: got %d, %s", status, text)
		}
		time.Sleep(100 * time.Millisecond) // the status must not change
	}
	release()
	s := <-ready
	if status, text := readyz(); status != 200 || text != "ready" {
		t.Errorf("warm: got %d, %s", status, text)
	}
	if s.Counter(t, "tandian_warmup_finished") != 1 || s.Counter(t, "tandian_warmup_seconds") < 0.5 || s.Counter(t, "tandian_warmup_failures_total") != 0 {
		t.Errorf("the warm-up failed:\n%s", s.Log)
	}
	if n := s.Counter(t, "tandian_warmup_entries_total", "what", "shop-types"); n != 14 {
		t.Errorf("got %v warm types, want 14", n)
	}
}

func TestServerIsReadyWithColdCaches(t *testing.T) {
	const maxWait = time.Second
	begun := time.Now()
	readyz, release, ready := held(t, maxWait)
	s := <-ready
	if took := time.Since(begun); took < maxWait {
		t.Errorf("ready after %v, want at least %v", took, maxWait)
	}
	if status, text := readyz(); status != 200 || text != "ready" || s.Counter(t, "tandian_warmup_finished") != 0 {
		t.Errorf("got %d, %s", status, text)
	}
	if !strings.Contains(s.Log.String(), "ready before the caches are warm") {
		t.Error("got no warning")
	}
	release()
	testkit.Eventually(t, 20*time.Second, func() bool { return s.Counter(t, "tandian_warmup_finished") == 1 })
}

// A failed part of a warm-up neither stops the start nor other parts.
func TestFailedWarmUpIsReported(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	s := stack.Start(t)
	key := "td:warm:shop:" + time.Now().UTC().Format("20060102")
	if err := s.Components().Cache.Set(t.Context(), key, "no list", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	next := *stack
	next.Warm, next.Config.Run = time.Minute, []string{"api"}
	s = next.Start(t)
	if n := s.Counter(t, "tandian_warmup_failures_total", "what", "remembered"); n != 1 || s.Counter(t, "tandian_warmup_failures_total") != 1 {
		t.Errorf("got %v failed parts, want 1:\n%s", n, s.Log)
	}
	if s.Counter(t, "tandian_warmup_finished") != 1 || s.Counter(t, "tandian_warmup_entries_total", "what", "shop-types") != 14 {
		t.Errorf("other parts are cold:\n%s", s.Log)
	}
	s.Components().Cache.Del(t.Context(), key) // the test of all keys would reject it
}

func TestWarmingEmptyStoresIsFast(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Warm = time.Minute
	s := stack.Start(t)
	if took := s.Counter(t, "tandian_warmup_seconds"); took <= 0 || took > 2 {
		t.Errorf("the demo town was warm after %v s", took)
	} else {
		t.Logf("the demo town was warm after %v s", took)
	}
}

// The first client of a new server reads a hot key of yesterday without a statement, even
// after Redis lost the records.
func TestColdServerWarmsYesterdaysKeys(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	stack.Seed(t, "--shops", "1500")
	stack.Config.Run = []string{"api"}
	first := *stack
	first.Warm = time.Minute
	s := first.Start(t)
	s.Recovered(t)
	rdb, record := s.Components().Cache, func(n int64) string { return fmt.Sprintf("td:cache:shop:{%d}", n) }
	var cold []int64 // shops on no first page
	for n := int64(1); n <= 1500 && len(cold) < 2; n++ {
		if rdb.Exists(t.Context(), record(n)).Val() == 0 {
			cold = append(cold, n)
		}
	}
	if len(cold) < 2 {
		t.Fatal("every shop is on some first page")
	}
	hot, other := cold[0], cold[1]
	read := func(s *apptest.Server, n int64) {
		s.Must(t, shopByID, map[string]any{"id": scalar.ID{Type: "Shop", N: n}.String()}, nil)
	}
	for range 20 {
		read(s, hot)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	today, yesterday := "td:warm:shop:"+now.Format("20060102"), "td:warm:shop:"+now.AddDate(0, 0, -1).Format("20060102")
	clean := *stack
	probe := clean.Start(t) // a client of Redis, and a cold server
	rdb = probe.Components().Cache
	if n := rdb.ZScore(t.Context(), today, strconv.FormatInt(hot, 10)).Val(); n < 10 {
		t.Fatalf("got %v saved hits of the shop, want at least 10", n)
	}
	if err := rdb.Rename(t.Context(), today, yesterday).Err(); err != nil {
		t.Fatal(err)
	}
	rdb.Unlink(t.Context(), record(hot), record(other))
	again := first.Start(t)
	awaitIdle(t, again)
	for n, want := range map[int64]float64{hot: 0, other: 1} {
		if statements, _ := storeCalls(t, again, func() { read(again, n) }); statements != want {
			t.Errorf("shop %d (the hot one is %d) cost %v statements, want %v", n, hot, statements, want)
		}
	}
}

// A sale is cached locally ten minutes before it opens.
func TestSoonOpeningSaleIsPinned(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		soon, open, late := m.flash(t, s, 10, 9*time.Minute, time.Hour), m.flash(t, s, 10, -time.Minute, time.Hour), m.flash(t, s, 10, 20*time.Minute, time.Hour)
		warm := *stack
		if warm.Warm = time.Minute; stack.Config.RedisURL == "" {
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		warm.Config.Run = []string{"api"}
		s = warm.Start(t)
		s.Recovered(t)
		if n := s.Counter(t, "tandian_warmup_entries_total", "what", "sales"); n < 2 {
			t.Errorf("got %v warm sales, want at least 2", n)
		}
		for _, tt := range []struct {
			name, voucher string
			near          bool
		}{{"opens soon", soon, true}, {"open", open, true}, {"opens late", late, false}} {
			c, id := s.Components(), number(t, tt.voucher)
			near := func() bool {
				before := localHits(s, "voucher")
				v, err := c.Vouchers.ByID(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				beforeShop := localHits(s, "shop")
				if _, err := c.Shops.ByID(t.Context(), v.ShopID); err != nil {
					t.Fatal(err)
				}
				return localHits(s, "voucher") == before+1 && localHits(s, "shop") == beforeShop+1
			}
			if tt.near {
				testkit.Eventually(t, 5*time.Second, near) // the failover detector first invalidates all values
				continue
			}
			if near() {
				t.Errorf("%s: the sale is pinned", tt.name)
			}
		}
	})
}

// localHits returns the local hits of a policy, or -1.
func localHits(s *apptest.Server, policy string) int64 {
	for _, of := range s.Components().Caches.Stats() {
		if of.Name == policy {
			return of.LocalHits
		}
	}
	return -1
}
