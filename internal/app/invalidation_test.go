package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// rename changes the name of a shop on a server.
func rename(t *testing.T, on *apptest.Server, id int64, name string) {
	t.Helper()
	if _, err := on.Components().Shops.Update(t.Context(), shop.Editor{IsAdmin: true}, id, shop.Changes{Name: optional.Set(name)}); err != nil {
		t.Fatal(err)
	}
}

func nameOn(t *testing.T, s *apptest.Server, id int64) string {
	t.Helper()
	one, err := s.Components().Shops.ByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return one.Name
}

// until waits until cond is true and returns the time that it took.
func until(t *testing.T, cond func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !cond() {
		if time.Since(began) > 20*time.Second {
			t.Fatal("not within 20 seconds")
		}
		time.Sleep(200 * time.Microsecond)
	}
	return time.Since(began)
}

// warmLocalCache makes a key hot enough for the local cache of a server.
func warmLocalCache(t *testing.T, s *apptest.Server, id int64) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, func() bool {
		for range 100 {
			nameOn(t, s, id)
		}
		for _, p := range s.Components().Caches.Stats() {
			if p.Name == "shop" {
				return p.LocalHits > 0
			}
		}
		return false
	})
}

const (
	healthy = 50 * time.Millisecond // documented delay of a change on another server
	slack   = 10                    // factor that tests allow
)

// Changed rows, lists, roles and sessions reach the local caches of another server.
func TestChangesAreVisibleOnOtherServers(t *testing.T) {
	stack := apptest.Real(t)
	stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
	importCSV(t, stack, 1)
	a, b := stack.Start(t), stack.Start(t)
	awaitIdle(t, a)
	id := onlyShop(t, a)
	warmLocalCache(t, b, id)
	const rounds = 50
	measure := func(what string, round func(i int) time.Duration) {
		t.Helper()
		var took []time.Duration
		for i := range rounds {
			took = append(took, round(i))
		}
		slices.Sort(took)
		t.Logf("%s: visible on another server after %v (median), %v (maximum)", what, took[rounds/2], took[rounds-1])
		if worst := took[rounds-1]; worst > slack*healthy {
			t.Errorf("%s: visible after %v, want at most %v", what, worst, slack*healthy)
		}
	}
	measure("a shop", func(i int) time.Duration {
		name := fmt.Sprint("Renamed ", i)
		nameOn(t, b, id)
		rename(t, a, id, name)
		return until(t, func() bool { return nameOn(t, b, id) == name })
	})
	measure("a list of shops", func(i int) time.Duration {
		count := func(s *apptest.Server) int {
			page, err := s.Components().Shops.List(t.Context(), shop.Query{First: 100})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Edges)
		}
		before := count(b)
		upsert(t, a, []draft{{ExternalID: fmt.Sprint("listed ", i), Type: "cafe", Name: "Listed", Lat: 21, Lng: 105, Score: 5}})
		return until(t, func() bool { return count(b) == before+1 })
	})
	ann, _ := a.Login(t, "13800001111")
	onB := ann.OnServer(b)
	me(t, onB)
	measure("a role", func(i int) time.Duration {
		role := []account.Role{account.Merchant, account.Customer}[i%2]
		if _, _, err := a.Components().Accounts.Grant(t.Context(), "+8613800001111", role); err != nil {
			t.Fatal(err)
		}
		return until(t, func() bool {
			var who struct{ Me struct{ Role string } }
			onB.Must(t, `{ me { role } }`, nil, &who)
			return who.Me.Role == string(role)
		})
	})
	if me(t, onB) == "" {
		t.Fatal("not logged in")
	}
	ann.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
	if who := me(t, ann); who != "" {
		t.Error("the session is still valid on the server of the logout")
	}
	took := until(t, func() bool { return me(t, onB) == "" })
	if took > slack*healthy {
		t.Errorf("a logout is visible after %v", took)
	}
	t.Logf("a logout: visible on another server after %v", took)
}

// detour is an address of a Redis. It can be redirected, like a name that Sentinel moves,
// or frozen.
type detour struct {
	net.Listener
	frozen atomic.Bool // drops all bytes but keeps connections open

	mu    sync.Mutex
	to    string // path of a Unix socket
	conns []net.Conn
}

func newDetour(t *testing.T, url string) *detour {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &detour{Listener: l, to: strings.TrimPrefix(url, "unix://")}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { d.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		d.redirect(url)
		all.Wait()
	})
	return d
}

func (d *detour) url() string { return "redis://" + d.Addr().String() }

func (d *detour) carry(near net.Conn) {
	defer func() { _ = near.Close() }()
	d.mu.Lock()
	to := d.to
	d.conns = append(d.conns, near)
	d.mu.Unlock()
	far, err := net.Dial("unix", to)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	go func() { _, _ = io.Copy(thaw{far, d}, near); _ = far.Close() }()
	_, _ = io.Copy(thaw{near, d}, far)
}

// thaw is a connection that drops writes while its detour is frozen.
type thaw struct {
	net.Conn
	on *detour
}

func (w thaw) Write(p []byte) (int, error) {
	if w.on.frozen.Load() {
		return len(p), nil
	}
	return w.Conn.Write(p)
}

// redirect changes the target to another Redis and closes the connections to the old one.
func (d *detour) redirect(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = strings.TrimPrefix(url, "unix://")
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

// direct returns a client of a Redis, without a detour.
func direct(t *testing.T, url string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: strings.TrimPrefix(url, "unix://")})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// A failover to a replica with a lag restores deleted values. Servers stop using them within
// a second.
func TestFailoverStaleValuesEndWithinASecond(t *testing.T) {
	stack := apptest.Real(t)
	importCSV(t, stack, 1)
	stack.Config.RateUser = 0
	master, replica := stack.Config.RedisURL, testkit.Redis(t)
	way := newDetour(t, master)
	stack.Config.RedisURL = way.url()
	stack.Config.L1Bytes = 0 // every read reaches Redis
	s := stack.Start(t)
	stack.Config.L1Bytes = 1 << 20
	near := stack.Start(t)
	awaitIdle(t, s)
	id := onlyShop(t, s)
	rename(t, s, id, "Old")
	ann, _ := s.Login(t, "13800001111")
	testkit.Eventually(t, 10*time.Second, func() bool { return nameOn(t, s, id) == "Old" && nameOn(t, near, id) == "Old" })
	if me(t, ann) == "" {
		t.Fatal("not logged in")
	}

	// The replica misses all later writes.
	m, r := testkit.AdminClient(t, direct(t, master)), testkit.AdminClient(t, direct(t, replica))
	copyAll(t, m, r)
	rename(t, s, id, "New")
	ann.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
	time.Sleep(1500 * time.Millisecond) // the lag of the replica

	way.redirect(replica)
	failed := time.Now()
	var old time.Time // last time of an old value
	sawOld, sawSession := false, false
	testkit.Eventually(t, 10*time.Second, func() bool {
		for _, server := range []*apptest.Server{s, near} {
			if one, err := server.Components().Shops.ByID(t.Context(), id); err == nil && one.Name == "Old" {
				old, sawOld = time.Now(), true
			}
		}
		if me(t, ann) != "" {
			old, sawSession = time.Now(), true
		}
		return time.Since(failed) > 3*time.Second
	})
	if !sawOld {
		t.Error("the old value did not come back, so the test checks nothing")
	}
	took := old.Sub(failed)
	t.Logf("old values were visible for %v after the failover (a session: %v)", took, sawSession)
	if took > 2*time.Second {
		t.Errorf("the old value was served for %v", took)
	}
}

// copyAll copies all keys, like a replica without a lag.
func copyAll(t *testing.T, from, to redis.UniversalClient) {
	t.Helper()
	if err := to.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	keys, err := from.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatal(len(keys), err)
	}
	for _, key := range keys {
		dump, err := from.Dump(t.Context(), key).Result()
		if err != nil {
			continue // it expired
		}
		ttl := max(from.PTTL(t.Context(), key).Val(), 0)
		if err := to.RestoreReplace(t.Context(), key, ttl, dump).Err(); err != nil {
			t.Fatal(key, err)
		}
	}
}

// Without the bus, a server stops using its local caches within a second.
func TestLogoutIsVisibleWithinASecondWithoutBus(t *testing.T) {
	stack := apptest.Real(t)
	stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
	caches := testkit.Redis(t)
	way := newDetour(t, caches)
	cut := *stack
	cut.Config.RedisCacheURL = way.url()
	stack.Config.RedisCacheURL = caches
	a, b := stack.Start(t), cut.Start(t)
	ann, _ := a.Login(t, "13800001111")
	onB := ann.OnServer(b)
	near := func() int64 {
		for _, p := range b.Components().Caches.Stats() {
			if p.Name == "session" {
				return p.LocalHits
			}
		}
		return 0
	}
	testkit.Eventually(t, 10*time.Second, func() bool { return me(t, onB) != "" && near() > 0 })
	way.frozen.Store(true)
	ann.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
	took := until(t, func() bool { return me(t, onB) == "" })
	t.Logf("visible after %v", took)
	if took > slack*time.Second {
		t.Errorf("a logout is visible after %v", took)
	}
	way.frozen.Store(false)
}

// The log reader invalidates local caches, too.
func TestDatabaseChangesInvalidateCaches(t *testing.T) {
	stack := apptest.Real(t)
	stack.Config.LogReader = "auto"
	stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
	importCSV(t, stack, 1)
	a, b := stack.Start(t), stack.Start(t)
	awaitIdle(t, a)
	id := onlyShop(t, a)
	ann, _ := a.Login(t, "13800001111")
	psql := func(query string, args ...any) {
		t.Helper()
		if _, err := a.Components().DB.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	waitForLogReader(t, 30*time.Second, a, b)
	for _, s := range []*apptest.Server{a, b} {
		warmLocalCache(t, s, id)
		me(t, ann.OnServer(s))
	}
	for i := range 5 {
		name := fmt.Sprint("By psql ", i)
		psql(`UPDATE shops SET name = $1 WHERE id = $2`, name, id)
		took := until(t, func() bool { return nameOn(t, a, id) == name && nameOn(t, b, id) == name })
		t.Logf("a shop: visible after %v", took)
		if took > 2*time.Second {
			t.Errorf("visible after %v", took)
		}
	}
	psql(`UPDATE users SET role = 'ADMIN'`)
	for _, s := range []*apptest.Server{a, b} {
		until(t, func() bool {
			var who struct{ Me struct{ Role string } }
			ann.OnServer(s).Must(t, `{ me { role } }`, nil, &who)
			return who.Me.Role == "ADMIN"
		})
	}
	psql(`DELETE FROM sessions`)
	for _, s := range []*apptest.Server{a, b} {
		until(t, func() bool { return me(t, ann.OnServer(s)) == "" })
	}
}

// It revives no ended session.
func TestEmptyRedisIsRefilled(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	importCSV(t, stack, 20)
	a, b := stack.Start(t), stack.Start(t)
	awaitIdle(t, a)
	ann, _ := a.Login(t, "13800001111")
	ann.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
	var p shopPage
	a.Must(t, listQuery, map[string]any{"first": 20}, &p)
	if err := testkit.AdminClient(t, a.Components().State).FlushAll(context.WithoutCancel(t.Context())).Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*apptest.Server{a, b} {
		testkit.Eventually(t, 10*time.Second, func() bool {
			var p shopPage
			s.Must(t, listQuery, map[string]any{"first": 20}, &p)
			return len(p.Shops.Edges) == 20 && me(t, ann.OnServer(s)) == ""
		})
	}
	testkit.Eventually(t, 10*time.Second, func() bool { // the detector repaired the loss
		return a.Counter(t, "tandian_redis_losses_total")+b.Counter(t, "tandian_redis_losses_total") >= 2
	})
}

// A recovery leaves slow jobs to the outbox. Otherwise it would never end, and invalidate
// all cached values every 30 seconds.
func TestRecoveryEndsBeforeSlowJobs(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	a := stack.Start(t)
	awaitIdle(t, a)
	ann, _ := a.Login(t, "13800001111")
	ann.Must(t, `{ me { feed(first: 1) { edges { node { id } } } } }`, nil, nil) // creates an inbox
	_, err := stack.SQL(t).ExecContext(t.Context(),
		`INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at) VALUES ('follows', 'none that can be done', 0, 0, 1, 1)`)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := a.Components().Recover(t.Context(), 300*time.Millisecond); err != nil {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
	if took := time.Since(begin); took < 300*time.Millisecond {
		t.Errorf("the recovery took %v, so it did not wait for jobs", took)
	}
}

// After a change by another program, only a replaced cache Redis invalidates all values, not
// a restart of the state Redis.
func TestCachesAreInvalidatedWithTheirRedis(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	a := stack.Start(t)
	awaitIdle(t, a)
	epoch := func() string {
		return a.Components().Cache.Get(t.Context(), stack.Config.RedisPrefix+":cache-epoch").Val()
	}
	before := epoch()
	a.Components().ChangedAfterForeign(t.Context(), false)
	if after := epoch(); after != before {
		t.Errorf("state Redis: got epoch %s, want %s", after, before)
	}
	a.Components().ChangedAfterForeign(t.Context(), true)
	if after := epoch(); after == before {
		t.Errorf("cache Redis: the epoch is still %s", after)
	}
}
