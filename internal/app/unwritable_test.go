package app_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// refusing is two servers with a Redis that can refuse writes.
type refusing struct {
	stack  *apptest.Stack
	market market
	a, b   *apptest.Server
	admin  *redis.Client
	state  testkit.Refusal
	codes  bool // that Redis stores login codes
}

func newRefusing(t *testing.T, state testkit.Refusal, layout string, customers int) refusing {
	t.Helper()
	stack := apptest.Real(t)
	stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
	url := testkit.RefusingRedis(t)
	switch layout {
	case "one":
		stack.Config.RedisURL = url
	case "state":
		stack.Config.RedisURL, stack.Config.RedisCacheURL = url, testkit.Redis(t)
	case "cache":
		stack.Config.RedisCacheURL = url
	}
	r := refusing{stack: stack, market: openMarket(t, stack, customers), state: state, codes: layout != "cache"}
	r.a, r.b = stack.Start(t), stack.Start(t)
	r.admin = testkit.AdminClient(t, direct(t, url)).(*redis.Client)
	awaitIdle(t, r.a)
	return r
}

func (r refusing) begin(t *testing.T) {
	t.Helper()
	if err := r.state.Begin(t.Context(), r.admin); err != nil {
		t.Fatal(err)
	}
}

func (r refusing) end(t *testing.T) {
	t.Helper()
	if err := r.state.End(context.WithoutCancel(t.Context()), r.admin); err != nil {
		t.Fatal(err)
	}
}

// codeOf returns the first error code of an answer, or "". It fails the test for INTERNAL.
func codeOf(t *testing.T, a apptest.Answer) string {
	t.Helper()
	if len(a.Errors) == 0 {
		return ""
	}
	for _, e := range a.Errors {
		if e.Extensions.Code == "INTERNAL" {
			t.Errorf("got INTERNAL: %+v", a.Errors)
		}
	}
	return a.Errors[0].Extensions.Code
}

// signedIn returns the id of the viewer, or "" for an anonymous or unknown viewer.
func signedIn(t *testing.T, s *apptest.Server) string {
	t.Helper()
	var who meAnswer
	if codeOf(t, s.Do(t, meQuery, nil, &who)) != "" || who.Me == nil {
		return ""
	}
	return who.Me.ID
}

// eachRefusal runs a test with each kind of refusal by a single Redis, and with one kind in the
// layouts of apart. The subtests run in parallel, because they mostly wait.
func eachRefusal(t *testing.T, apart []string, test func(t *testing.T, state testkit.Refusal, layout string)) {
	t.Helper()
	for i, state := range testkit.Refusals() {
		for _, layout := range append([]string{"one"}, apart...) {
			if i == 0 || layout == "one" {
				t.Run(state.Name+" "+layout, func(t *testing.T) {
					t.Parallel()
					test(t, state, layout)
				})
			}
		}
	}
}

// signedOut waits until a server rejects a token and returns how long that took.
func signedOut(t *testing.T, s *apptest.Server) time.Duration {
	t.Helper()
	return until(t, func() bool { return signedIn(t, s) == "" })
}

// closes returns the code with which the server closes a socket.
func closes(t *testing.T, c *socket) <-chan websocket.StatusCode {
	t.Helper()
	end := make(chan websocket.StatusCode, 1)
	go func() {
		for {
			if _, _, err := c.conn.Read(t.Context()); err != nil {
				end <- websocket.CloseStatus(err)
				return
			}
		}
	}()
	return end
}

const slow = 2 * time.Second // maximum delay of a change on another server

// Sessions end on every server, and do not come back when Redis accepts writes.
func TestSessionsEndWhileRedisRefusesWrites(t *testing.T) {
	eachRefusal(t, []string{"state", "cache"}, func(t *testing.T, state testkit.Refusal, layout string) {
		r := newRefusing(t, state, layout, 6)
		everywhere := func(p person) (on [2]*apptest.Server) { return [2]*apptest.Server{r.a.As(p.token), r.b.As(p.token)} }
		for _, p := range r.market.customers {
			for _, s := range everywhere(p) {
				testkit.Eventually(t, 20*time.Second, func() bool { return signedIn(t, s) == p.id })
			}
		}
		logout := func(p person, when string) {
			t.Helper()
			on := everywhere(p)
			for _, s := range on {
				if signedIn(t, s) != p.id { // fills the local cache
					t.Fatalf("%s: not signed in", when)
				}
			}
			if code := codeOf(t, on[0].Do(t, `mutation { logout { userErrors { code } } }`, nil, nil)); code != "" {
				t.Fatalf("%s: logout: got %s", when, code)
			}
			for i, s := range on {
				took := signedOut(t, s)
				t.Logf("%s: ended on server %d after %v", when, i, took)
				if took > slow {
					t.Errorf("%s: ended on server %d after %v", when, i, took)
				}
			}
		}
		people := r.market.customers
		var ends []<-chan websocket.StatusCode // of connections of users that log out, on the other server
		for _, p := range people[:2] {
			c := dial(t, r.b, p.token)
			c.acknowledged(t)
			c.follow(t, `subscription { orderUpdates { id } }`, nil)
			ends = append(ends, closes(t, c))
		}
		r.begin(t)
		logout(people[0], "at once")
		logout(people[1], "later")
		for i, end := range ends {
			select {
			case code := <-end:
				if code != 4403 {
					t.Errorf("connection %d: closed with %d, want 4403", i, code)
				}
			case <-time.After(2 * slow):
				t.Errorf("connection %d is open after its session ended", i)
			}
		}
		password := `mutation($p: String!) { setPassword(password: $p, code: "000000") { userErrors { code } } }`
		if code := codeOf(t, r.a.As(people[2].token).Do(t, password, map[string]any{"p": "correct horse battery"}, nil)); code != "" && code != "UNAVAILABLE" {
			t.Errorf("setPassword: got %s", code)
		}
		switch code := codeOf(t, r.a.Do(t, `mutation { sendLoginCode(phone: "13800002222") { expiresInSeconds } }`, nil, nil)); {
		case r.codes && code != "UNAVAILABLE", !r.codes && code != "":
			t.Errorf("sendLoginCode: got %q", code)
		}
		for _, p := range people[3:] {
			for _, s := range everywhere(p) {
				if signedIn(t, s) != p.id {
					t.Error("another user was signed out")
				}
			}
		}
		r.end(t)
		back := time.Now()
		for i := 0; ; i++ {
			for _, p := range people[:2] {
				for _, s := range everywhere(p) {
					if signedIn(t, s) != "" {
						t.Fatalf("an ended session is valid %v after Redis accepts writes", time.Since(back))
					}
				}
			}
			phone := fmt.Sprintf("1390000%04d", i)
			if codeOf(t, r.b.Do(t, `mutation S($p: String!) { sendLoginCode(phone: $p) { expiresInSeconds } }`, map[string]any{"p": phone}, nil)) == "" && time.Since(back) > slow {
				break
			}
			if time.Since(back) > 30*time.Second {
				t.Fatal("Redis is not used again")
			}
		}
		t.Logf("used again after at most %v", time.Since(back))
		r.a.Recovered(t)
		logout(people[3], "afterwards")
	})
}

// Changes are visible at once on their server, and soon on the other.
func TestChangesAreVisibleWhileRedisRefusesWrites(t *testing.T) {
	eachRefusal(t, []string{"state", "cache"}, func(t *testing.T, state testkit.Refusal, layout string) {
		r := newRefusing(t, state, layout, 4)
		reader, ann, bob := r.market.customers[0], r.market.customers[1], r.market.customers[2]
		on := func(s *apptest.Server, p person) *apptest.Server { return s.As(p.token) }
		nickname := func(s *apptest.Server) string {
			var who meAnswer
			if codeOf(t, on(s, bob).Do(t, meQuery, nil, &who)) != "" || who.Me == nil {
				return ""
			}
			return who.Me.Nickname
		}
		must := func(s *apptest.Server, query string, variables map[string]any) {
			t.Helper()
			if code := codeOf(t, s.Do(t, query, variables, nil)); code != "" {
				t.Errorf("%s: got %s", query, code)
			}
		}
		rename := func(name string) {
			t.Helper()
			must(on(r.a, bob), `mutation R($n: String!) { updateProfile(input: {nickname: $n}) { userErrors { code } } }`, map[string]any{"n": name})
			if got := nickname(r.a); got != name {
				t.Errorf("on the same server: %q, want %q", got, name)
			}
			if took := until(t, func() bool { return nickname(r.b) == name }); took > slow {
				t.Errorf("%s: visible on the other server after %v", name, took)
			}
		}
		feed := func(s *apptest.Server, want ...string) {
			t.Helper()
			testkit.Eventually(t, 10*time.Second, func() bool { return cmp.Equal(want, titles(t, on(s, reader), 2)) })
			if diff := cmp.Diff(want, titles(t, on(s, reader), 100)); diff != "" {
				t.Errorf("the feed (-want +got):\n%s", diff)
			}
		}
		liked := func(s *apptest.Server, note string, want bool) {
			t.Helper()
			is := func() bool {
				var a struct {
					Note struct {
						LikeCount int
						IsLiked   bool
					}
				}
				on(s, reader).Must(t, noteQuery, map[string]any{"id": note}, &a)
				return a.Note.IsLiked == want && (a.Note.LikeCount == 1) == want
			}
			if took := until(t, is); took > slow {
				t.Errorf("a like: visible after %v", took)
			}
		}
		checkedIn := func(s *apptest.Server) int {
			var who struct {
				Me struct{ CheckIns struct{ Count int } }
			}
			on(s, ann).Must(t, `{ me { checkIns { count } } }`, nil, &who)
			return who.Me.CheckIns.Count
		}
		near := map[string]any{"lat": 21.0, "lng": 105.0, "radius": 3000}
		opened := func(s *apptest.Server, name string) bool {
			names, _ := walk(t, s, near, nil, 20)
			return slices.Contains(names, name)
		}
		open := func(name string) {
			t.Helper()
			upsert(t, r.a, []draft{{ExternalID: name, Type: "cafe", Name: name, Lat: 21, Lng: 105, Score: 5}})
			if !opened(r.a, name) {
				t.Errorf("%s is not found on the same server", name)
			}
			if took := until(t, func() bool { return opened(r.b, name) }); took > slow {
				t.Errorf("%s: found by the other server after %v", name, took)
			}
		}
		open("Cafe one")
		settled(t, r.a, near)
		settled(t, r.b, near)
		if n := checkedIn(r.a) + checkedIn(r.b); n != 0 {
			t.Errorf("got %d check-ins, want 0", n)
		}
		rename("Before")
		must(on(r.a, reader), followUser, map[string]any{"id": ann.id})
		note := r.market.note(t, on(r.a, ann), "ann 0")
		for _, s := range []*apptest.Server{r.a, r.b} {
			feed(s, "ann 0")
			liked(s, note, false)
			nickname(s)
		}

		r.begin(t)
		rename("At once")
		must(on(r.a, ann), checkIn, nil)
		if checkedIn(r.a) != 1 {
			t.Error("a check-in is invisible on the same server")
		}
		if took := until(t, func() bool { return checkedIn(r.b) == 1 }); took > slow {
			t.Errorf("a check-in: visible after %v", took)
		}
		open("Cafe two")
		must(on(r.a, reader), likeNote, map[string]any{"id": note})
		must(on(r.a, reader), followUser, map[string]any{"id": bob.id})
		r.market.note(t, on(r.a, bob), "bob 0")
		second := r.market.note(t, on(r.a, ann), "ann 1")
		for _, s := range []*apptest.Server{r.a, r.b} {
			liked(s, note, true)
			feed(s, "ann 1", "bob 0", "ann 0")
		}
		must(on(r.b, reader), unfollow, map[string]any{"id": bob.id})
		must(on(r.b, ann), deleteNote, map[string]any{"id": second})
		must(on(r.b, reader), unlikeNote, map[string]any{"id": note})
		rename("Later")
		for _, s := range []*apptest.Server{r.a, r.b} {
			liked(s, note, false)
			feed(s, "ann 0")
		}

		r.end(t)
		for began := time.Now(); time.Since(began) < slow; {
			for _, s := range []*apptest.Server{r.a, r.b} {
				if got := nickname(s); got != "Later" {
					t.Fatalf("got %q again %v after Redis accepts writes", got, time.Since(began))
				}
				if diff := cmp.Diff([]string{"ann 0"}, titles(t, on(s, reader), 100)); diff != "" {
					t.Fatalf("feed %v after Redis accepts writes (-want +got):\n%s", time.Since(began), diff)
				}
			}
		}
		rename("After")
		open("Cafe three")
		if checkedIn(r.a) != 1 || checkedIn(r.b) != 1 || !opened(r.b, "Cafe two") {
			t.Error("changes during the refusal are lost")
		}
		r.market.note(t, on(r.b, ann), "ann 2")
		for _, s := range []*apptest.Server{r.a, r.b} {
			feed(s, "ann 2", "ann 0")
			liked(s, note, false)
		}
	})
}

// A sale moves to the database and back. It sells no item too many, and each user gets one
// order.
func TestSalesContinueWhileRedisRefusesWrites(t *testing.T) {
	const items, users = 20, 60
	eachRefusal(t, []string{"state"}, func(t *testing.T, state testkit.Refusal, layout string) {
		r := newRefusing(t, state, layout, users)
		v := r.market.flash(t, r.a, items, -time.Hour, time.Hour)
		var mu sync.Mutex
		orders := map[string]string{} // user → order
		place := func(i int, s *apptest.Server) {
			p := r.market.customers[i]
			var got placed
			answer := s.As(p.token).Do(t, orderVoucher, map[string]any{"v": v, "k": fmt.Sprint("key ", i)}, &got)
			switch code := codeOf(t, answer); {
			case code != "" && code != "UNAVAILABLE":
				t.Errorf("orderVoucher: got %s", code)
			case code != "" || got.OrderVoucher.Order == nil || got.OrderVoucher.Order.Status != "UNPAID":
				// QUEUED orders may fail, and a retry may create another order.
			default:
				mu.Lock()
				defer mu.Unlock()
				id := got.OrderVoucher.Order.ID
				if first, again := orders[p.id]; again && first != id {
					t.Errorf("user %s has the orders %s and %s", p.id, first, id)
				}
				orders[p.id] = id
			}
		}
		wave := func(from, to int) {
			var all sync.WaitGroup
			for i := from; i < to; i++ {
				all.Go(func() { place(i, r.a); place(i, r.b) }) // with the same key
			}
			all.Wait()
		}
		wave(0, 5)
		var all sync.WaitGroup
		all.Go(func() { wave(5, 10) })
		r.begin(t)
		all.Wait()
		wave(10, 15)
		if orders, _, _ := sold(t, r.stack, v); orders < 10 {
			t.Errorf("got %d orders, so the database does not sell", orders)
		}
		all.Go(func() { wave(15, 30) })
		r.end(t)
		all.Wait()
		wave(30, users)
		testkit.Eventually(t, 30*time.Second, func() bool { // retries with the same keys
			wave(0, users)
			orders, users, stock := sold(t, r.stack, v)
			return orders == items && users == items && stock == 0
		})
		if len(orders) != items {
			t.Errorf("got %d users with an order, want %d", len(orders), items)
		}
	})
}
