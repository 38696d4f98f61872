package visit

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// shopID parses the shop ids of the tests.
func shopID(id string) (int64, error) {
	if id == "shop-1" {
		return tea, nil
	}
	return 0, errors.New("no id")
}

// beacon sends a request to a handler and returns the response.
func beacon(h http.Handler, method, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/visit", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBeaconValidatesRequests(t *testing.T) {
	long := strings.Repeat("a", maxPath)
	tests := []struct {
		name, method, body string
		status, site, shop int
	}{
		{"a page", "POST", `{"path":"/","shop":null}`, 204, 1, 0},
		{"without a shop", "POST", `{"path":"/about"}`, 204, 1, 0},
		{"a shop's", "POST", `{"path":"/shops/1","shop":"shop-1"}`, 204, 1, 1},
		{"after a byte order mark", "POST", "\ufeff" + `{"path":"/"}`, 204, 1, 0},
		{"with more than is known", "POST", `{"path":"/","referrer":"x"}`, 204, 1, 0},
		{"the longest path", "POST", `{"path":"/` + long[1:] + `"}`, 204, 1, 0},
		{"a path that is too long", "POST", `{"path":"/` + long + `"}`, 400, 0, 0},
		{"no path", "POST", `{"shop":null}`, 400, 0, 0},
		{"an address", "POST", `{"path":"https://x"}`, 400, 0, 0},
		{"another's id", "POST", `{"path":"/","shop":"user-1"}`, 400, 0, 0},
		{"a number for an id", "POST", `{"path":"/","shop":1}`, 400, 0, 0},
		{"no JSON", "POST", `path=/`, 400, 0, 0},
		{"two pages", "POST", `{"path":"/"}{"path":"/"}`, 400, 0, 0},
		{"nothing", "POST", ``, 400, 0, 0},
		{"too much", "POST", `{"path":"/","x":"` + strings.Repeat("x", maxBeacon) + `"}`, 413, 0, 0},
		{"GET", "GET", ``, 405, 0, 0},
		{"HEAD", "HEAD", ``, 405, 0, 0},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p := open(t, on, noon())
				p.flushRedis(t)
				w := beacon(p.Beacon(nil, shopID), tt.method, tt.body)
				must(t, p.Flush(t.Context()))
				if w.Code != tt.status || w.Body.Len() != 0 || w.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("got %d %q %v", w.Code, w.Body, w.Header())
				}
				if got := [2]int{p.shopCounts(t, site, today(), today())[1], p.shopCounts(t, tea, today(), today())[1]}; got != [2]int{tt.site, tt.shop} {
					t.Errorf("got %v views", got)
				}
				if set := w.Header().Get("Set-Cookie") != ""; set != (tt.status == 204) {
					t.Errorf("got cookie %q", w.Header().Get("Set-Cookie"))
				}
				if tt.status == 405 && w.Header().Get("Allow") != "POST" {
					t.Errorf("got Allow %q", w.Header().Get("Allow"))
				}
			})
		}
	})
}

func TestBeaconSetsTheCookieOnce(t *testing.T) {
	const page = `{"path":"/"}`
	p := open(t, storetest.Real(t), noon())
	proxies, err := clientaddr.ParseProxies([]string{"192.0.2.1"}) // the peer of httptest requests
	must(t, err)
	h := p.Beacon(proxies, shopID)
	first := beacon(h, "POST", page).Header().Get("Set-Cookie")
	want := regexp.MustCompile(`^tandian_visitor=([A-Za-z0-9_-]{22}); Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax$`)
	m := want.FindStringSubmatch(first)
	if m == nil {
		t.Fatalf("got cookie %q", first)
	}
	if again := beacon(h, "POST", page, "Cookie", "theme=dark; tandian_visitor="+m[1]+"; a=b").Header().Get("Set-Cookie"); again != "" {
		t.Errorf("the cookie is set again: %q", again)
	}
	for _, bad := range []string{"short", strings.Repeat("x", 65), "no spaces or signs!!"} {
		if set := beacon(h, "POST", page, "Cookie", "tandian_visitor="+bad).Header().Get("Set-Cookie"); !want.MatchString(set) || strings.Contains(set, bad) {
			t.Errorf("invalid cookie %q: got %q", bad, set)
		}
	}
	if secure := beacon(h, "POST", page, "X-Forwarded-Proto", "https").Header().Get("Set-Cookie"); !strings.HasSuffix(secure, "; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("https: got cookie %q", secure)
	}
	must(t, p.Flush(t.Context()))
	if got := p.shopCounts(t, site, today(), today()); got != [2]int{5, 6} {
		t.Errorf("got %v, want 5 visitors and 6 views", got)
	}
}

func TestBeaconIgnoresBots(t *testing.T) {
	p := open(t, storetest.Real(t), noon())
	w := beacon(p.Beacon(nil, shopID), "POST", `{"path":"/"}`, "User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
	must(t, p.Flush(t.Context()))
	if got := p.shopCounts(t, site, today(), today()); w.Code != 204 || got != [2]int{} || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("got %d, %v, %v", w.Code, got, w.Header())
	}
}

func TestIsBot(t *testing.T) {
	tests := map[string]bool{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":            true,
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)":             true,
		"Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)": true,
		"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)": true,
		"Sogou web spider/4.0":                                   true,
		"AdsBot-Google (+http://www.google.com/adsbot.html)":     true,
		"facebookexternalhit/1.1":                                true,
		"Mozilla/5.0 AppleWebKit/537.36; compatible; GPTBot/1.1": true,
		"ia_archiver":          true,
		"Mediapartners-Google": true,
		"some CRAWLER":         true,
		"Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) Chrome/120.0":          false,
		"Mozilla/5.0 (Linux; Android 9; Cubot Note 20) Mobile":                 false,
		"Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/120.0":                 false,
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/120.0 Safari/537.36": false,
		"curl/8.5.0":         false,
		"Go-http-client/1.1": false,
		"bottle/0.12":        false,
		"Robotics Weekly 1":  false,
		"":                   false,
	}
	for agent, want := range tests {
		if IsBot(agent) != want {
			t.Errorf("%q: got bot %t, want %t", agent, !want, want)
		}
	}
}

func TestAnonymousVisitorsMatchAcrossProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := open(t, on, noon()), open(t, on, noon())
		ann := a.Anonymous("203.0.113.7/32", "curl/8")
		if ann.Key == "" || ann.Beacon || ann.Bot || strings.Contains(ann.Key, "203") {
			t.Errorf("got visitor %+v", ann)
		}
		if again := b.Anonymous("203.0.113.7/32", "curl/8"); again != ann {
			t.Errorf("other process: got %+v, want %+v", again, ann)
		}
		for _, other := range []Visitor{a.Anonymous("203.0.113.8/32", "curl/8"), a.Anonymous("203.0.113.7/32", "curl/9"), a.Anonymous("203.0.113.7", "/32curl/8")} {
			if other.Key == ann.Key || other.Key == "" {
				t.Errorf("other client: got the same visitor %+v", other)
			}
		}
		if bot := a.Anonymous("203.0.113.7/32", "Googlebot"); !bot.Bot {
			t.Errorf("bot: got %+v", bot)
		}
		if unknown := a.Anonymous("", "curl/8"); unknown != (Visitor{}) {
			t.Errorf("without a network it is %+v", unknown)
		}
		long := strings.Repeat("x", 10_000)
		if a.Anonymous("a", long) != a.Anonymous("a", long+"y") {
			t.Error("the visitor depends on more than maxAgent bytes")
		}
	})
}

func TestVisitorCachesAreBounded(t *testing.T) {
	clock := noon()
	p := open(t, storetest.Real(t), clock, func(c *Config) { c.max = 50 })
	for i := range 500 {
		v := p.Anonymous("203.0.113.7/32", strings.Repeat("x", i))
		p.RecordOperation(v)
		if again := p.Anonymous("203.0.113.7/32", strings.Repeat("x", i)); again != v {
			t.Errorf("same client: got %+v and %+v", v, again)
		}
	}
	if len(p.anonymous.known) > 50 || len(p.recent.young)+len(p.recent.old) > 101 {
		t.Errorf("got %d anonymous, %d young and %d old visitors", len(p.anonymous.known), len(p.recent.young), len(p.recent.old))
	}
}

func BenchmarkRecordOperation(b *testing.B) {
	s := newRecent(50_000)
	clock := noon()
	s.first("u:1", clock.now)
	for b.Loop() {
		s.first("u:1", clock.now)
	}
}

func BenchmarkIsBot(b *testing.B) {
	for b.Loop() {
		IsBot("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36")
	}
}
