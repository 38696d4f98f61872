package app_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const visitsQuery = `query V($id: ID!, $from: Date!, $to: Date!) {
  siteStats(from: $from, to: $to) { date uniqueVisitors views }
  shop(id: $id) { visits(from: $from, to: $to) { date uniqueVisitors views } visitsByDay(from: $from, to: $to) { date uniqueVisitors views } }
}`

// appCookie is the cookie of an app that sends beacons, so its queries do not count.
const appCookie = "tandian_visitor=an-app-that-sends-beacons"

// counted is a count of visits in the API.
type counted struct {
	Date                  *string
	UniqueVisitors, Views int
}

// visited flushes a server and reads the visits of the site and of the market's shop, from
// yesterday to tomorrow in case the day changes.
func visited(t *testing.T, m market, s *apptest.Server) (site, shop counted) {
	t.Helper()
	if err := s.Components().Visits.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var shown struct {
		SiteStats []counted
		Shop      struct {
			Visits      counted
			VisitsByDay []counted
		}
	}
	now := time.Now()
	days := map[string]any{"id": m.shop, "from": now.AddDate(0, 0, -1).Format(time.DateOnly), "to": now.AddDate(0, 0, 1).Format(time.DateOnly)}
	s.As(m.admin.token).With("Cookie", appCookie).Must(t, visitsQuery, days, &shown)
	if len(shown.SiteStats) != 3 || len(shown.Shop.VisitsByDay) != 3 || *shown.SiteStats[0].Date != days["from"] || shown.Shop.Visits.Date != nil {
		t.Fatalf("%+v", shown)
	}
	for i := range shown.SiteStats {
		site.UniqueVisitors += shown.SiteStats[i].UniqueVisitors
		site.Views += shown.SiteStats[i].Views
	}
	return site, shown.Shop.Visits
}

// sendBeacon sends a beacon and returns the status and the set cookie.
func sendBeacon(s *apptest.Server, method, body string, headers ...string) (status int, cookie string, err error) {
	r, err := http.NewRequest(method, s.URL+"/visit", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Set-Cookie"), err
}

func pageOf(shop string) string {
	if shop == "" {
		return `{"path":"/","shop":null}`
	}
	return `{"path":"/shops/1","shop":"` + shop + `"}`
}

func within2Percent(got, want int) bool {
	return math.Abs(float64(got-want)) <= 0.02*float64(want)
}

// Ten thousand visitors view one to three pages each, on three servers, one of which stops.
// Some visitors are signed in and have two devices.
func TestTenThousandVisitorsOverThreeServers(t *testing.T) {
	testkit.SkipIfShort(t)
	t.Parallel()
	const people, signedIn, callers = 10_000, 20, 8
	stack := apptest.Real(t)
	stack.Config.RateAnonymous, stack.Config.RateUser = 0, 0 // one client address
	m := openMarket(t, stack, signedIn)
	servers := []*apptest.Server{stack.Start(t), stack.Start(t), stack.Start(t)}
	rnd := rand.New(rand.NewPCG(2026, 12)) // the same visitors in every run
	type step struct {
		person, device, server int
		shop                   string
	}
	var steps []step
	atShop := 0
	for i := range people {
		pages := 1 + rnd.IntN(3)
		for j := range pages {
			one := step{person: i, device: j % 2, server: rnd.IntN(3)}
			if j == 0 && i%2 == 0 {
				one.shop = m.shop
				atShop++
			}
			steps = append(steps, one)
		}
	}
	rnd.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	visit := func(one step, running int) error {
		headers := []string{"Cookie", fmt.Sprintf("tandian_visitor=simulated-person-%06d", one.person)}
		if one.person < signedIn {
			headers = []string{
				"Cookie", fmt.Sprintf("tandian_visitor=simulated-device-%06d-%d", one.person, one.device),
				"Authorization", "Bearer " + m.customers[one.person].token,
			}
		}
		status, _, err := sendBeacon(servers[one.server%running], http.MethodPost, pageOf(one.shop), headers...)
		if err == nil && status != http.StatusNoContent {
			err = fmt.Errorf("got status %d", status)
		}
		return err
	}
	storm := func(steps []step, running int) {
		t.Helper()
		var next atomic.Int64
		var g errgroup.Group
		for range callers {
			g.Go(func() error {
				for i := next.Add(1) - 1; i < int64(len(steps)); i = next.Add(1) - 1 {
					if err := visit(steps[i], running); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	storm(steps[:len(steps)/2], 3)
	if err := servers[2].Stop(); err != nil {
		t.Fatal(err)
	}
	storm(steps[len(steps)/2:], 2)
	if _, _ = visited(t, m, servers[1]); t.Failed() {
		return
	}
	check := func(when string) {
		t.Helper()
		site, shop := visited(t, m, servers[0])
		t.Logf("%s: site %+v of %d people and %d views, shop %+v of %d", when, site, people, len(steps), shop, atShop)
		if !within2Percent(site.UniqueVisitors, people) || site.Views != len(steps) || !within2Percent(shop.UniqueVisitors, atShop) || shop.Views != atShop {
			t.Errorf("%s: got site %+v, shop %+v", when, site, shop)
		}
	}
	check("in Redis")
	if err := servers[1].Components().Visits.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := testkit.AdminClient(t, servers[0].Components().State).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	check("after Redis lost all keys")
}

func TestVisitRules(t *testing.T) {
	t.Parallel()
	const shopQuery = `query S($id: ID!) { shop(id: $id) { name } }`
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		id := map[string]any{"id": m.shop}
		beacon := func(headers ...string) func() {
			return func() {
				t.Helper()
				if status, _, err := sendBeacon(s, http.MethodPost, pageOf(m.shop), headers...); status != http.StatusNoContent || err != nil {
					t.Errorf("a beacon: %d, %v", status, err)
				}
			}
		}
		ask := func(as *apptest.Server) func() { return func() { as.Must(t, shopQuery, id, nil) } }
		twice := func(do func()) func() { return func() { do(); do() } }
		tests := []struct {
			name       string
			do         func()
			site, shop int // views
			people     int // new visitors of the shop
		}{
			{"an app's page", beacon("Cookie", "tandian_visitor=visitor-with-a-cookie"), 1, 1, 1},
			{"the same page again", beacon("Cookie", "tandian_visitor=visitor-with-a-cookie"), 1, 1, 0},
			{"queries of that app", twice(ask(s.With("Cookie", "tandian_visitor=visitor-with-a-cookie"))), 0, 0, 0},
			{"queries of an app before its first beacon", ask(s.With("Tandian-Beacon", "1").With("User-Agent", "a new one")), 0, 0, 0},
			{"a client without a cookie, twice within 30 s", twice(ask(s.With("User-Agent", "curl/8"))), 1, 2, 1},
			{"a bot", ask(s.With("User-Agent", "Googlebot/2.1")), 0, 0, 0},
			{"a bot that sends a beacon", beacon("User-Agent", "Googlebot/2.1"), 0, 0, 0},
			{"a signed-in user", ask(s.As(m.customers[0].token)), 1, 1, 1},
			{"the same user in the app", beacon("Authorization", "Bearer "+m.customers[0].token), 1, 1, 0},
			{"a missing shop", func() {
				if status, _, err := sendBeacon(s, http.MethodPost, pageOf("U2hvcDo5OTk5OTk"), "Cookie", "tandian_visitor=visitor-with-a-cookie"); status != http.StatusNoContent || err != nil {
					t.Errorf("%d, %v", status, err)
				}
			}, 1, 0, 0},
		}
		site, shop := visited(t, m, s)
		for _, tt := range tests {
			tt.do()
			nowSite, nowShop := visited(t, m, s)
			if nowSite.Views-site.Views != tt.site || nowShop.Views-shop.Views != tt.shop || nowShop.UniqueVisitors-shop.UniqueVisitors != tt.people {
				t.Errorf("%s: site before %+v, after %+v, shop before %+v, after %+v", tt.name, site, nowSite, shop, nowShop)
			}
			site, shop = nowSite, nowShop
		}
		if n := s.Counter(t, "tandian_visits_dropped_total", "reason", "unknown_shop"); n != 1 {
			t.Errorf("got %v dropped visits of missing shops, want 1", n)
		}
	})
}

func TestCrossOriginBeaconIsRejected(t *testing.T) {
	stack := apptest.Embedded(t)
	s := stack.Start(t)
	tests := []struct {
		name, method, body string
		headers            []string
		status             int
	}{
		{"a page", "POST", pageOf(""), nil, 204},
		{"own page", "POST", pageOf(""), []string{"Sec-Fetch-Site", "same-origin"}, 204},
		{"a page of another site", "POST", pageOf(""), []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"GET", "GET", "", nil, 405},
		{"too long", "POST", `{"path":"/` + strings.Repeat("x", 2000) + `"}`, nil, 413},
		{"an id of another type", "POST", pageOf("VXNlcjox"), nil, 400},
		{"an invalid id", "POST", pageOf("hello"), nil, 400},
		{"no path", "POST", `{}`, nil, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, cookie, err := sendBeacon(s, tt.method, tt.body, tt.headers...)
			if status != tt.status || err != nil || (cookie != "") != (status == 204) {
				t.Errorf("%d, cookie %q, %v", status, cookie, err)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		stack := apptest.Embedded(t)
		stack.Config.RateAnonymous = 1
		s, limited := stack.Start(t), 0
		for range 5 {
			if status, _, _ := sendBeacon(s, http.MethodPost, pageOf("")); status == http.StatusTooManyRequests {
				limited++
			}
		}
		if limited < 2 {
			t.Errorf("got %d rejections of 5 requests, want at least 2", limited)
		}
	})
}

func TestVisitsAreRestricted(t *testing.T) {
	stack := apptest.Real(t)
	m := openMarket(t, stack, 1)
	s := stack.Start(t)
	const site, shop = `query V($a: Date!, $b: Date!) { siteStats(from: $a, to: $b) { views } }`,
		`query V($id: ID!, $a: Date!, $b: Date!) { shop(id: $id) { visits(from: $a, to: $b) { views } visitsByDay(from: $a, to: $b) { views } } }`
	tests := []struct {
		name     string
		as       *apptest.Server
		query    string
		from, to string
		want     string
	}{
		{"an administrator", s.As(m.admin.token), site, "2026-01-01", "2026-01-02", ""},
		{"a merchant", s.As(m.owner.token), site, "2026-01-01", "2026-01-02", "FORBIDDEN"},
		{"anonymous", s, site, "2026-01-01", "2026-01-02", "UNAUTHENTICATED"},
		{"the owner", s.As(m.owner.token), shop, "2026-01-01", "2026-01-02", ""},
		{"a customer", s.As(m.customers[0].token), shop, "2026-01-01", "2026-01-02", "FORBIDDEN"},
		{"a year and two days", s.As(m.admin.token), site, "2026-01-01", "2027-01-02", "BAD_USER_INPUT"},
		{"reversed days", s.As(m.owner.token), shop, "2026-01-02", "2026-01-01", "BAD_USER_INPUT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.as.Do(t, tt.query, map[string]any{"id": m.shop, "a": tt.from, "b": tt.to}, nil)
			got := ""
			if len(a.Errors) > 0 {
				got = a.Errors[0].Extensions.Code
			}
			if got != tt.want {
				t.Errorf("%q: %+v", got, a.Errors)
			}
		})
	}
}

// Its Redis ends with the process, so it copies the visits to the rows.
func TestStoppedEmbeddedServerLosesNoVisit(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 1)
	var want int
	for range 3 {
		s := stack.Start(t)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				status, _, err := sendBeacon(s, http.MethodPost, pageOf(m.shop), "Cookie", fmt.Sprintf("tandian_visitor=visitor-number-%06d", i))
				if status != http.StatusNoContent || err != nil {
					t.Errorf("%d, %v", status, err)
				}
			})
		}
		all.Wait()
		want += 20
		if _, shop := visited(t, m, s); shop.UniqueVisitors != 20 || shop.Views != want {
			t.Errorf("%+v, want 20 people and %d views", shop, want)
		}
		if status, _, err := sendBeacon(s, http.MethodPost, pageOf(m.shop), "Cookie", "tandian_visitor=visitor-number-000001"); status != http.StatusNoContent || err != nil {
			t.Errorf("%d, %v", status, err)
		}
		want++ // not flushed yet
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// visitTraffic creates the keys of visits. It returns all documents.
func visitTraffic(t *testing.T, m market, s *apptest.Server) (sent string) {
	t.Helper()
	if status, _, err := sendBeacon(s, http.MethodPost, pageOf(m.shop)); status != http.StatusNoContent || err != nil {
		t.Fatalf("%d, %v", status, err)
	}
	testkit.Eventually(t, 20*time.Second, func() bool {
		_, shop := visited(t, m, s)
		return shop.Views > 0
	})
	if err := s.Components().Visits.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return visitsQuery
}
