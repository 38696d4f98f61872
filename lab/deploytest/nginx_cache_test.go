//go:build deploy

package deploytest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const uploadImage = `mutation U($file: Upload!) { uploadImage(file: $file) { image { url thumbnailUrl } userErrors { code message } } }`

// upload sends a picture and returns the path of its URL.
func upload(t *testing.T, s *apptest.Server, file []byte) string {
	t.Helper()
	a := s.Upload(t, uploadImage, "a.png", file)
	var made struct {
		UploadImage struct {
			Image      *struct{ URL string }
			UserErrors []apptest.UserError
		}
	}
	if len(a.Errors) > 0 {
		t.Fatalf("the upload was refused: %+v", a.Errors)
	}
	if err := json.Unmarshal(a.Data, &made); err != nil {
		t.Fatal(err)
	}
	if made.UploadImage.Image == nil {
		t.Fatalf("the picture was refused: %+v", made.UploadImage.UserErrors)
	}
	return made.UploadImage.Image.URL
}

func picture(w, h int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(i*7) | 0x80
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// persisted returns the address of a GET that names a document by its hash alone.
func persisted(base, document string) string {
	sum := sha256.Sum256([]byte(document))
	q := url.Values{"extensions": {`{"persistedQuery":{"version":1,"sha256Hash":"` + hex.EncodeToString(sum[:]) + `"}}`}}
	return base + "/graphql?" + q.Encode()
}

// register registers a document by its hash on every server.
func (p *pair) register(t *testing.T, document string) {
	t.Helper()
	sum := sha256.Sum256([]byte(document))
	body, err := json.Marshal(map[string]any{
		"query": document, "extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.servers {
		a, err := try(t, plain, http.MethodPost, s.URL+"/graphql", string(body), "Content-Type: application/json")
		if err != nil || a.status != http.StatusOK || strings.Contains(a.body, `"errors"`) {
			t.Fatalf("%v: %d %s", err, a.status, a.body)
		}
	}
}

var assetPath = regexp.MustCompile(`/assets/[\w.-]+\.js`)

// asset returns the path of a script that the page at / loads.
func (p *pair) asset(t *testing.T) string {
	t.Helper()
	path := assetPath.FindString(ask(t, http.MethodGet, p.URL+"/").body)
	if path == "" {
		t.Fatal("the page loads no script")
	}
	return path
}

func (p *pair) login(t *testing.T, phone string) *apptest.Server {
	t.Helper()
	as, _ := p.servers[0].Login(t, phone)
	return as
}

// expect checks the status and the cache header of an answer.
func expect(t *testing.T, what string, a answer, status int, cache string) {
	t.Helper()
	if a.status != status || a.cache() != cache {
		t.Errorf("%s: %d %q, want %d %q\n%.200s", what, a.status, a.cache(), status, cache, a.body)
	}
}

// about reports whether a remaining cache time is about want.
func about(left, want time.Duration) bool { return left <= want && left > want-20*time.Second }

const shopTypes = `{ shopTypes { id name sort } }`

func TestNginxServesItsCacheWithoutAServer(t *testing.T) {
	p := startPair(t, func(s *apptest.Stack) { s.Config.RateAnonymous = 0 })
	anna := p.login(t, "13800001111")
	photo, script := upload(t, p.through(anna), picture(300, 200)), p.asset(t)
	p.register(t, shopTypes)
	public := persisted(p.URL, shopTypes)

	// The second response comes from the cache.
	kept := map[string]string{}
	for what, c := range map[string]struct{ address, route string }{
		"a picture": {p.URL + photo, "/media/"}, "an asset": {p.URL + script, "/assets/"}, "public answers": {public, "/graphql"},
	} {
		before := p.asked(t, c.route)
		first := ask(t, http.MethodGet, c.address)
		expect(t, what+", first", first, http.StatusOK, "MISS")
		if n := p.asked(t, c.route) - before; n != 1 {
			t.Errorf("%s: first fetch made %d requests to the servers", what, n)
		}
		for range 5 {
			again := ask(t, http.MethodGet, c.address)
			expect(t, what+", again", again, http.StatusOK, "HIT")
			if again.body != first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
				t.Errorf("%s: another answer from the cache", what)
			}
			if again.header.Get("X-Request-Id") == first.header.Get("X-Request-Id") {
				t.Errorf("%s: two requests have one id", what)
			}
			for _, name := range []string{"X-Content-Type-Options", "Cache-Control", "Content-Security-Policy", "Cross-Origin-Resource-Policy", "ETag"} {
				if again.header.Get(name) != first.header.Get(name) {
					t.Errorf("%s: %s is %q from the cache, %q before", what, name, again.header.Get(name), first.header.Get(name))
				}
			}
		}
		if n := p.asked(t, c.route) - before; n != 1 {
			t.Errorf("%s: six fetches made %d requests to the servers", what, n)
		}
		head := ask(t, http.MethodHead, c.address)
		expect(t, what+", HEAD", head, http.StatusOK, "HIT")
		part := ask(t, http.MethodGet, c.address, "Range: bytes=2-5")
		if c.route != "/graphql" && (part.status != http.StatusPartialContent || part.body != first.body[2:6]) {
			t.Errorf("%s: a range of it is %d %q", what, part.status, part.body)
		}
		if tag := first.header.Get("ETag"); tag != "" {
			if a := ask(t, http.MethodGet, c.address, "If-None-Match: "+tag); a.status != http.StatusNotModified {
				t.Errorf("%s: conditional request got status %d", what, a.status)
			}
		}
		kept[c.address] = first.body
	}
	for what, c := range map[string]struct {
		cache, key string
		age        time.Duration
	}{
		"a picture": {"files", photo, 24 * time.Hour}, "an asset": {"files", script + " ", 24 * time.Hour},
		"public answers": {"answers", strings.TrimPrefix(public, p.URL) + "   ", time.Minute},
	} {
		if left, ok := p.kept(t, c.cache, c.key); !ok || !about(left, c.age) {
			t.Errorf("%s is cached for %v (%t), want %v", what, left, ok, c.age)
		}
	}

	// A 404 is cached for a minute, and a server error is not cached.
	missing := "/media/" + strings.Repeat("0", 40) + "-1.png"
	expect(t, "no picture", ask(t, http.MethodGet, p.URL+missing), http.StatusNotFound, "MISS")
	expect(t, "no picture, again", ask(t, http.MethodGet, p.URL+missing), http.StatusNotFound, "HIT")
	if left, ok := p.kept(t, "files", missing); !ok || !about(left, time.Minute) {
		t.Errorf("a 404 is cached for %v (%t)", left, ok)
	}

	// Private responses never come from the cache.
	const shops = `{ shops(first: 3) { edges { node { name } } } }`
	p.register(t, shops)
	for range 3 {
		a := ask(t, http.MethodGet, persisted(p.URL, shops))
		expect(t, "an answer with no-store", a, http.StatusOK, "MISS")
		if a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control: %s", a.header.Get("Cache-Control"))
		}
	}

	// Without a server: cached responses, and a clear error soon for all others.
	p.stop(t)
	for address, body := range kept {
		a := ask(t, http.MethodGet, address)
		expect(t, address+" without servers", a, http.StatusOK, "HIT")
		if a.body != body {
			t.Errorf("%s: another body", address)
		}
	}
	for _, a := range []answer{
		ask(t, http.MethodGet, p.URL+"/"),
		ask(t, http.MethodGet, persisted(p.URL, shops)),
		ask(t, http.MethodPost, p.URL+"/graphql", "Content-Type: application/json"),
		ask(t, http.MethodGet, p.URL+"/media/"+strings.Repeat("1", 40)+"-1.png"),
		ask(t, http.MethodGet, p.URL+photo, "Authorization: Bearer x"),
	} {
		var told struct{ Errors []apptest.Error }
		err := json.Unmarshal([]byte(a.body), &told)
		if a.status != http.StatusServiceUnavailable || err != nil || len(told.Errors) != 1 || told.Errors[0].Extensions.Code != "UNAVAILABLE" ||
			a.header.Get("Retry-After") != "1" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("without servers: %d %v %s", a.status, a.header, a.body)
		}
	}
}

// The response to a known user does not go into the cache, and known users get none from it,
// whatever the header contains.
func TestNginxNeverCachesForKnownUsers(t *testing.T) {
	p := startPair(t, nil)
	anna := p.login(t, "13800001111")
	token := strings.TrimPrefix(bearerOf(t, anna), "Bearer ")
	photo, script := upload(t, p.through(anna), picture(300, 200)), p.asset(t)
	p.register(t, shopTypes)
	for what, c := range map[string]struct{ address, route string }{
		"public answers": {persisted(p.URL, shopTypes), "/graphql"}, "a picture": {p.URL + photo, "/media/"}, "an asset": {p.URL + script, "/assets/"},
	} {
		for _, authorization := range []string{"Bearer " + token, "0", "Basic eDp5"} {
			header := "Authorization: " + authorization
			before := p.asked(t, c.route)
			expect(t, what+" for "+authorization[:1], ask(t, http.MethodGet, c.address, header), http.StatusOK, "BYPASS")
			expect(t, what+" for "+authorization[:1]+" again", ask(t, http.MethodGet, c.address, header), http.StatusOK, "BYPASS")
			if n := p.asked(t, c.route) - before; n != 2 {
				t.Errorf("%s: two fetches of a known user made %d requests to the servers", what, n)
			}
		}
		expect(t, what+" for anybody, after", ask(t, http.MethodGet, c.address), http.StatusOK, "MISS")
		expect(t, what+" for anybody, again", ask(t, http.MethodGet, c.address), http.StatusOK, "HIT")
		expect(t, what+", which is kept, for somebody known", ask(t, http.MethodGet, c.address, "Authorization: 0"), http.StatusOK, "BYPASS")
	}
	// The same document with a private field: each user gets their own.
	const me = `{ me { id } shopTypes { id } }`
	p.register(t, me)
	address := persisted(p.URL, me)
	if a := ask(t, http.MethodGet, address, "Authorization: Bearer "+token); !strings.Contains(a.body, `"me":{"id":`) {
		t.Errorf("signed in: %s", a.body)
	}
	for range 2 {
		if a := ask(t, http.MethodGet, address); !strings.Contains(a.body, `"me":null`) || a.cache() != "MISS" {
			t.Errorf("anonymous client got %q %s", a.cache(), a.body)
		}
	}
}

// bearerOf returns the header of an authenticated request.
func bearerOf(t *testing.T, s *apptest.Server) string {
	t.Helper()
	var seen string
	server, addr := stub(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("{}"))
	})
	as := *s
	as.URL = "http://" + addr
	as.Do(t, "{ __typename }", nil, nil)
	server.Close()
	return seen
}

// Each client gets an encoding that it accepts, of a type that it accepts. Clients with equal
// preferences share a cached response, however they write them.
func TestNginxCachesEachEncodingAndType(t *testing.T) {
	p := startPair(t, nil)
	script := p.asset(t)
	for _, c := range []struct{ accept, cache, coding string }{
		{"gzip, deflate, br, zstd", "MISS", "br"},
		{"br;q=1.0, gzip;q=0.8, *;q=0.1", "HIT", "br"},
		{"BR,GZIP", "HIT", "br"},
		{"gzip, deflate", "MISS", "gzip"},
		{"gzip;q=0.5, br;q=0", "HIT", "gzip"},
		{"gzip, br;q=0.000", "HIT", "gzip"},
		{"identity", "MISS", ""},
		{"gzip;q=0", "HIT", ""},
		{"x-gzip, brr", "HIT", ""},
	} {
		a := ask(t, http.MethodGet, p.URL+script, "Accept-Encoding: "+c.accept)
		expect(t, c.accept, a, http.StatusOK, c.cache)
		if got := a.header.Get("Content-Encoding"); got != c.coding {
			t.Errorf("%s: encoded as %q, want %q", c.accept, got, c.coding)
		}
		if !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s: Vary is %v", c.accept, a.header.Values("Vary"))
		}
	}

	const long = `{ a: shopTypes { id name iconUrl sort } b: shopTypes { id name iconUrl sort } }`
	p.register(t, long)
	address := persisted(p.URL, long)
	for _, c := range []struct{ accept, encoding, cache, media, coding string }{
		{"application/json", "gzip", "MISS", "application/json", "gzip"},
		{"application/json", "gzip", "HIT", "application/json", "gzip"},
		{"application/json", "", "MISS", "application/json", ""},
		{"application/json", "gzip;q=0", "HIT", "application/json", ""},
		{"application/json", "zstd, gzip", "MISS", "application/json", "zstd"},
		{"application/graphql-response+json", "gzip", "MISS", "application/graphql-response+json", "gzip"},
		{"application/graphql-response+json", "", "MISS", "application/graphql-response+json", ""},
	} {
		a := ask(t, http.MethodGet, address, "Accept: "+c.accept, "Accept-Encoding: "+c.encoding)
		what := fmt.Sprintf("an answer as %s in %q", c.accept, c.encoding)
		expect(t, what, a, http.StatusOK, c.cache)
		if a.header.Get("Content-Encoding") != c.coding || !strings.HasPrefix(a.header.Get("Content-Type"), c.media) {
			t.Errorf("%s: %q, %q", what, a.header.Get("Content-Type"), a.header.Get("Content-Encoding"))
		}
	}
}

// A cache key contains the request of the server, so no client can store a wrong response under
// another key.
func TestNginxCacheCannotBePoisoned(t *testing.T) {
	p := startPair(t, func(s *apptest.Stack) { s.Config.CORSOrigins = []string{"https://a.example", "https://b.example"} })
	anna := p.login(t, "13800001111")
	photo := upload(t, p.through(anna), picture(300, 200))
	for _, odd := range []string{"/" + photo, "/x/.." + photo, "/." + photo, "/%6dedia" + strings.TrimPrefix(photo, "/media"), photo + "/", photo + "%3f", photo + ";x", photo + "%00"} {
		_ = ask(t, http.MethodGet, p.URL+odd)
	}
	expect(t, "a picture after odd paths", ask(t, http.MethodGet, p.URL+photo, "X-Forwarded-Host: evil.example"), http.StatusOK, "MISS")
	expect(t, "with a query", ask(t, http.MethodGet, p.URL+photo+"?"+strings.Repeat("x", 50)), http.StatusOK, "HIT")

	p.register(t, shopTypes)
	address := persisted(p.URL, shopTypes)
	for _, c := range []struct{ origin, allowed, cache string }{
		{"https://a.example", "https://a.example", "MISS"},
		{"https://b.example", "https://b.example", "MISS"},
		{"https://evil.example", "", "MISS"},
		{"https://a.example", "https://a.example", "HIT"},
	} {
		a := ask(t, http.MethodGet, address, "Origin: "+c.origin)
		expect(t, "for "+c.origin, a, http.StatusOK, c.cache)
		if got := a.header.Get("Access-Control-Allow-Origin"); got != c.allowed {
			t.Errorf("origin %s got allowed origin %q", c.origin, got)
		}
	}
}

// Responses that servers rarely send come from a stub.
func TestNginxCachesStatusesForTheirLifetime(t *testing.T) {
	var asked atomic.Int64
	var broken atomic.Bool
	_, addr := stub(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h := w.Header()
		if broken.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		if r.URL.Path == "/graphql" {
			h.Set("Cache-Control", "public, max-age=1")
			if r.URL.Query().Has("cookie") {
				h.Set("Set-Cookie", "a=b")
			}
			if r.URL.Query().Has("private") {
				h.Set("Cache-Control", "private, max-age=60")
			}
			return
		}
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		var status int
		_, _ = fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "%d", &status)
		if r.URL.Path == "/media/200-cookie" {
			h.Set("Set-Cookie", "a=b")
		}
		if status/100 == 3 {
			h.Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	})
	e := startNginx(t, []string{addr})
	for path, age := range map[string]time.Duration{
		"/media/200": 24 * time.Hour, "/media/301": 30 * 24 * time.Hour, "/media/404": time.Minute, "/media/200-cookie": 0,
		"/media/302": 0, "/media/403": 0, "/media/410": 0, "/media/429": 0, "/media/500": 0, "/media/502": 0, "/media/503": 0, "/media/504": 0,
		"/assets/200": 24 * time.Hour, "/assets/301": 30 * 24 * time.Hour, "/assets/404": time.Minute, "/assets/500": 0, "/assets/503": 0,
	} {
		_ = ask(t, http.MethodGet, e.URL+path)
		before := asked.Load()
		a := ask(t, http.MethodGet, e.URL+path)
		key := path
		if strings.HasPrefix(path, "/assets/") {
			key += " "
		}
		left, ok := e.kept(t, "files", key)
		if ok != (age > 0) || ok && !about(left, age) {
			t.Errorf("%s is cached for %v (%t), want %v", path, left, ok, age)
		}
		if (a.cache() == "HIT") != (age > 0) || (asked.Load() > before) != (age == 0) {
			t.Errorf("%s, again: %d %q", path, a.status, a.cache())
		}
	}
	for _, q := range []string{"?cookie", "?private"} {
		for range 2 {
			expect(t, q, ask(t, http.MethodGet, e.URL+"/graphql"+q), http.StatusOK, "MISS")
		}
	}
	for range 2 {
		a, err := try(t, plain, http.MethodPost, e.URL+"/graphql", "{}")
		if err != nil || a.cache() != "" {
			t.Errorf("a POST: %v %q", err, a.cache())
		}
	}

	// Past its time a response is fetched again. The old one is served only if that fails.
	expect(t, "fresh", ask(t, http.MethodGet, e.URL+"/graphql?q"), http.StatusOK, "MISS")
	expect(t, "kept", ask(t, http.MethodGet, e.URL+"/graphql?q"), http.StatusOK, "HIT")
	testkit.Eventually(t, 5*time.Second, func() bool { return ask(t, http.MethodGet, e.URL+"/graphql?q").cache() == "EXPIRED" })
	broken.Store(true)
	testkit.Eventually(t, 5*time.Second, func() bool { return ask(t, http.MethodGet, e.URL+"/graphql?q").cache() == "STALE" })
	expect(t, "another", ask(t, http.MethodGet, e.URL+"/graphql?other"), http.StatusInternalServerError, "MISS")
}

// Parallel requests for a picture make one request to the servers. Equal requests with private
// responses do not wait for each other.
func TestNginxFetchesAPictureOnceForManyClients(t *testing.T) {
	const many = 20
	var asked atomic.Int64
	_, addr := stub(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		time.Sleep(300 * time.Millisecond)
		w.Header().Set("Cache-Control", "no-store")
	})
	e := startNginx(t, []string{addr})
	together := func(path string) time.Duration {
		var all sync.WaitGroup
		begin := time.Now()
		for range many {
			all.Go(func() {
				if a, err := try(t, plain, http.MethodGet, e.URL+path, ""); err != nil || a.status != http.StatusOK {
					t.Errorf("%s: %v, %d", path, err, a.status)
				}
			})
		}
		all.Wait()
		return time.Since(begin)
	}
	together("/media/x")
	if n := asked.Swap(0); n != 1 {
		t.Errorf("%d parallel fetches of a picture made %d requests", many, n)
	}
	took := together("/graphql?query=x")
	if n := asked.Load(); n != many {
		t.Errorf("%d private responses came from %d requests", many, n)
	}
	if took > 2*time.Second { // one after the other, or by a lock that looks each half second, they take 6 s
		t.Errorf("equal requests took %v", took)
	}
}
