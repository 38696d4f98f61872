package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandian-dev/tandian/internal/web"
)

// site returns a mux with the site and another path of the server.
func site(t *testing.T) *http.ServeMux {
	t.Helper()
	s, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Register(mux, exists, "graphql", "media")
	mux.HandleFunc("/graphql", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	return mux
}

// exists finds a shop, its owner, and a voucher of each type.
func exists(_ *http.Request, types []string, id string) bool {
	typ, known := map[string]string{"ShopOne": "Shop", "UserOne": "User", "OrdinaryOne": "OrdinaryVoucher", "FlashOne": "FlashVoucher", "OrderOne": "Order"}[id]
	return known && slices.Contains(types, typ)
}

func ask(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// script returns the URL path of the playground's own script, the largest asset.
func script(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("dist/assets/playground-*.js")
	if err != nil || len(found) != 1 {
		t.Fatalf("want one playground script, got %v (%v)", found, err)
	}
	return "/" + strings.TrimPrefix(filepath.ToSlash(found[0]), "dist/")
}

func TestSiteAnswers(t *testing.T) {
	const immutable = "public, max-age=31536000, immutable"
	mux, js := site(t), script(t)
	tests := []struct {
		name, method, path, accept string
		want                       int
		header                     map[string]string // "" means that it must be absent
	}{
		{
			name: "playground is revalidated", path: "/playground", want: 200,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Content-Encoding": "", "Vary": "Accept-Encoding"},
		},
		{
			name: "HEAD sends only headers", method: "HEAD", path: "/favicon.svg", want: 200,
			header: map[string]string{"Content-Length": size(t, "dist/favicon.svg"), "Content-Type": "image/svg+xml"},
		},
		{
			name: "script is immutable", path: js, want: 200,
			header: map[string]string{"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": immutable, "Content-Encoding": ""},
		},
		{name: "compressed script is immutable", path: js, accept: "gzip, deflate, br, zstd", want: 200, header: map[string]string{"Content-Encoding": "br", "Cache-Control": immutable, "Vary": "Accept-Encoding"}},
		{name: "unknown asset is not a page", path: "/assets/gone-00000000.js", want: 404, header: map[string]string{"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache", "ETag": ""}},
		{name: "assets are not listed", path: "/assets/", want: 404},
		{name: "licences are hidden", path: "/LICENSES.txt", want: 404},
		{name: "pages have one path", path: "/playground.html", want: 404},
		{
			name: "app is revalidated", path: "/", want: 200,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Content-Encoding": "", "Vary": "Accept-Encoding"},
		},
		{
			name: "manifest has its own type", path: "/manifest.webmanifest", want: 200,
			header: map[string]string{"Content-Type": "application/manifest+json", "Cache-Control": "no-cache"},
		},
		{name: "document list is hidden", path: "/documents.json", want: 404},
		{name: "hash list is hidden", path: "/build.sha256", want: 404},
		{name: "favicon of old clients", path: "/favicon.ico", want: 302, header: map[string]string{"Location": "/favicon.svg"}},
		{name: "no POST to a page", method: "POST", path: "/playground", want: 405, header: map[string]string{"Allow": "GET, HEAD"}},
		{name: "no DELETE", method: "DELETE", path: js, want: 405, header: map[string]string{"Allow": "GET, HEAD", "ETag": ""}},
		{name: "no POST to the app", method: "POST", path: "/", want: 405, header: map[string]string{"Allow": "GET, HEAD"}},
		{
			name: "unknown path gets the app with 404", path: "/somewhere", want: 404,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "ETag": "", "Vary": "Accept-Encoding"},
		},
		{name: "unknown file gets no page", path: "/favicon-x.png", want: 404, header: map[string]string{"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache", "Vary": ""}},
		{name: "other paths are untouched", path: "/graphql", want: http.StatusTeapot},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := ask(mux, tt.method, tt.path, "Accept-Encoding", tt.accept)
			if w.Code != tt.want {
				t.Fatalf("status: want %d, got %d", tt.want, w.Code)
			}
			got := make(map[string]string)
			for name := range tt.header {
				got[name] = w.Header().Get(name)
			}
			if diff := cmp.Diff(tt.header, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if tt.method == http.MethodHead && w.Body.Len() > 0 {
				t.Errorf("HEAD: got %d bytes, want 0", w.Body.Len())
			}
		})
	}
}

func TestResponsesHaveSecurityHeaders(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"Permissions-Policy":      "geolocation=(self)",
		"Referrer-Policy":         "same-origin",
		"X-Content-Type-Options":  "nosniff",
	}
	mux := site(t)
	for _, path := range []string{"/", "/shops/1", "/playground", "/favicon.svg", script(t), "/assets/gone.js"} {
		t.Run(path, func(t *testing.T) {
			got := make(map[string]string)
			h := ask(mux, http.MethodGet, path).Header()
			for name := range want {
				got[name] = h.Get(name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachEncodingHasItsOwnTag(t *testing.T) {
	mux := site(t)
	for _, path := range []string{"/", "/playground", script(t)} {
		plain := ask(mux, http.MethodGet, path).Header().Get("ETag")
		gz := ask(mux, http.MethodGet, path, "Accept-Encoding", "gzip").Header().Get("ETag")
		br := ask(mux, http.MethodGet, path, "Accept-Encoding", "br").Header().Get("ETag")
		tests := []struct {
			name, accept, tag string
			want              int
		}{
			{name: "plain", tag: plain, want: 304},
			{name: "gzip", accept: "gzip", tag: gz, want: 304},
			{name: "brotli", accept: "gzip, br", tag: br, want: 304},
			{name: "gzip for brotli", accept: "gzip, br", tag: gz, want: 200},
			{name: "weak tag of a proxy", accept: "gzip", tag: "W/" + gz, want: 304},
			{name: "one of several", tag: `"old", ` + plain, want: 304},
			{name: "plain for gzip", accept: "gzip", tag: plain, want: 200},
			{name: "older build", tag: `"old"`, want: 200},
		}
		for _, tt := range tests {
			t.Run(path+" "+tt.name, func(t *testing.T) {
				w := ask(mux, http.MethodGet, path, "Accept-Encoding", tt.accept, "If-None-Match", tt.tag)
				if w.Code != tt.want {
					t.Fatalf("status: want %d, got %d", tt.want, w.Code)
				}
				if w.Code == http.StatusNotModified && w.Body.Len() > 0 {
					t.Errorf("304: got %d bytes, want 0", w.Body.Len())
				}
				if vary := w.Header().Get("Vary"); vary != "Accept-Encoding" {
					t.Errorf("want Vary: Accept-Encoding, got %q", vary)
				}
			})
		}
		if !strings.HasPrefix(plain, `"`) || !strings.HasSuffix(plain, `"`) {
			t.Errorf("%s: got tag %s, want quotes", path, plain)
		}
	}
}

func TestEachEncodingHoldsTheSameBytes(t *testing.T) {
	mux, js := site(t), script(t)
	want, err := os.ReadFile("dist" + js)
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]func(io.Reader) (io.Reader, error){
		"br":   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	}
	var all sync.WaitGroup
	for coding, reader := range readers {
		for range 4 { // concurrently, because the first one compresses
			all.Go(func() {
				w := ask(mux, http.MethodGet, js, "Accept-Encoding", coding)
				if n := w.Body.Len(); n > len(want)/2 || w.Header().Get("Content-Length") != strconv.Itoa(n) {
					t.Errorf("%s: got %d of %d bytes, Content-Length %q", coding, n, len(want), w.Header().Get("Content-Length"))
				}
				z, err := reader(w.Body)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(z)
				if err != nil || !bytes.Equal(want, got) {
					t.Errorf("%s: want the file's %d bytes, got %d (%v)", coding, len(want), len(got), err)
				}
			})
		}
	}
	all.Wait()
}

func TestPreferredEncodingIsSent(t *testing.T) {
	mux, js := site(t), script(t)
	tests := []struct{ accept, want string }{
		{"", ""},
		{"br", "br"},
		{"gzip", "gzip"},
		{"gzip, deflate, br, zstd", "br"},
		{"GZIP", "gzip"},
		{"deflate, zstd", ""},
		{"*", "br"},
		{"gzip, *;q=0", "gzip"},
		{"br;q=0, *", "gzip"},
		{"br;q=0, gzip;q=0, *", ""},
		{"br;q=0.8, gzip", "gzip"},
		{"br;q=0.8, gzip;q=0.9", "gzip"},
		{"br;q=0.5, *;q=0.7", "gzip"},
		{"br;q=0.5, gzip;q=0.5, *;q=0.7", ""},
		{"gzip;q=0.001", "gzip"},
		{"gzip;q=0", ""},
		{"gzip; Q=0.000, *; q=0.0", ""},
		{"identity", ""},
		{"identity, br, gzip", "br"},
		{"identity, br;q=0.9, gzip;q=0.5", ""},
		{"identity;q=0.5, gzip;q=0.6", "gzip"},
		{"identity;q=0, gzip", "gzip"},
		{"identity;q=0", ""},
		{"gzip;q=lots, br;q=2", ""},
		{"gzip;q=NaN, br;q=-1", ""},
		{"gzip;q=, br;q=1;q=0", "br"},
		{" , ;, gzip ;q= 1 ,", "gzip"},
	}
	for _, tt := range tests {
		if got := ask(mux, http.MethodGet, js, "Accept-Encoding", tt.accept).Header().Get("Content-Encoding"); got != tt.want {
			t.Errorf("Accept-Encoding %q: want %q, got %q", tt.accept, tt.want, got)
		}
	}
	if got := ask(mux, http.MethodGet, js, "Accept-Encoding", "br;q=0.1", "Accept-Encoding", "gzip;q=0.2").Header().Get("Content-Encoding"); got != "gzip" {
		t.Errorf("two header lines: got %q, want gzip", got)
	}
}

// Files that compression does not shrink are sent plain. An empty gzip has 20 bytes.
func TestIncompressibleFilesAreSentPlain(t *testing.T) {
	for _, e := range web.Encodings([]byte("{}")) {
		if e != nil {
			t.Errorf("got %d bytes for 2, want nil", len(e))
		}
	}
}

// acceptHeaders are those of browsers, preview fetchers, scripts and minimal clients.
var acceptHeaders = []string{
	"", "*/*", "text/*", "text/html", "application/json", "image/avif,image/webp,*/*;q=0.8", "text/html;q=0, */*", "nonsense",
	"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
}

// The response to a path does not depend on the Accept header.
func TestEveryClientGetsThePage(t *testing.T) {
	const page, missing, file = "200 with the app", "404 with the app", "404"
	mux, app := site(t), read(t, "dist/index.html")
	tests := []struct{ path, want string }{
		{"/", page},
		{"/search?q=a.b", page},
		{"/signin", page},
		{"/feed", page},
		{"/Feed/", page}, // the app's router accepts both
		{"/me/edit", page},
		{"/orders", page},
		{"/admin", page},
		{"/shops/ShopOne", page},
		{"/shops/ShopOne/", page},
		{"/shops/ShopOne?from=feed", page},
		{"/users/UserOne", page},
		{"/users/UserOne/followers", page},
		{"/vouchers/OrdinaryOne", page},
		{"/vouchers/FlashOne", page},
		{"/sales/FlashOne", page},
		{"/orders/OrderOne", page},
		{"/merchant/shops/new", page},
		{"/merchant/shops/ShopOne", page},
		{"/merchant/shops/ShopOne/edit", page},
		{"/merchant/shops/ShopOne/vouchers/new", page},
		{"/merchant/vouchers/FlashOne", page},

		{"/somewhere", missing},
		{"/no/such/thing", missing},
		{"/shops", missing},
		{"/shops/", missing},
		{"/shops/ShopTwo", missing},
		{"/shops/UserOne", missing},
		{"/shops/%00", missing},
		{"/shops/ShopOne.", missing}, // at the end of a sentence
		{"/shops/a.js", missing},
		{"/notes/ShopOne", missing},
		{"/users/UserOne/enemies", missing},
		{"/users/UserTwo/followers", missing},
		{"/vouchers/ShopOne", missing},
		{"/orders/FlashOne", missing},
		{"/merchant/shops/ShopTwo/edit", missing},
		{"/merchant/vouchers/new", missing},
		{"/mediation", missing},
		{"/playground/more", missing},

		{"/assets/app-00000000.js", file},
		{"/assets/", file},
		{"/favicon-x.png", file},
		{"/shop.png", file},
		{"/sw.js", file},
		{"/robots.txt", file},
		{"/.env", file},
		{"/.well-known/security", file},
		{"/wp/index.php", file},
		{"/graphql/more", file},
		{"/graphql%2Fmore", file},
		{"/media", file},
		{"/media/gone.jpg", file},
	}
	for _, tt := range tests {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, accept := range acceptHeaders {
				header := []string{"Accept", accept}
				if accept == "" {
					header = nil
				}
				w := ask(mux, method, tt.path, header...)
				got := strconv.Itoa(w.Code)
				if w.Header().Get("Content-Type") == "text/html; charset=utf-8" {
					got += " with the app"
				}
				if got != tt.want {
					t.Errorf("%s %s, Accept: %q: got %s, want %s", method, tt.path, accept, got, tt.want)
				}
				if body := w.Body.String(); method == http.MethodGet && (body == app) != (tt.want != file) || method == http.MethodHead && tt.want != file && body != "" {
					t.Errorf("%s %s, Accept: %q: got the app's page: %v, want %s", method, tt.path, accept, body == app, tt.want)
				}
				if vary := w.Header().Values("Vary"); slices.Contains(vary, "Accept") {
					t.Errorf("%s %s: got Vary %q, want no Accept", method, tt.path, vary)
				}
			}
		}
	}
}

func TestAppPagesRejectWrites(t *testing.T) {
	mux := site(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		for _, path := range []string{"/feed", "/shops/ShopOne", "/somewhere"} {
			if w := ask(mux, method, path); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<html") {
				t.Errorf("%s %s: got %d, want 404 without a page", method, path, w.Code)
			}
		}
	}
}

func TestOnlyRoutesWithIDsAreLookedUp(t *testing.T) {
	s, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	var lookups []string
	mux := http.NewServeMux()
	s.Register(mux, func(_ *http.Request, types []string, id string) bool {
		lookups = append(lookups, strings.Join(types, "|")+" "+id)
		return true
	}, "graphql")
	for _, path := range []string{"/", "/feed", "/somewhere", "/assets/x.js", "/playground", "/favicon.svg", "/graphql/x", "/merchant/shops/new", "/users/u/followers", "/sales/v"} {
		ask(mux, http.MethodGet, path)
	}
	ask(mux, http.MethodPost, "/shops/x")
	if diff := cmp.Diff([]string{"User u", "OrdinaryVoucher|FlashVoucher v"}, lookups); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRoutesShareTheAppPage(t *testing.T) {
	mux := site(t)
	for _, encoding := range []string{"", "gzip", "br"} {
		root := ask(mux, http.MethodGet, "/", "Accept-Encoding", encoding).Header()
		route := ask(mux, http.MethodGet, "/shops/ShopOne", "Accept-Encoding", encoding, "If-None-Match", root.Get("ETag"))
		if route.Code != http.StatusNotModified || route.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%q: want 304 for the cached page, got %d, %q", encoding, route.Code, route.Header().Get("Cache-Control"))
		}
	}
}

// A browser may have cached the page while the object existed.
func TestMissingPageIgnoresConditions(t *testing.T) {
	mux := site(t)
	for _, encoding := range []string{"", "gzip", "br"} {
		root := ask(mux, http.MethodGet, "/", "Accept-Encoding", encoding)
		for _, header := range [][2]string{{"If-None-Match", root.Header().Get("ETag")}, {"If-None-Match", "*"}, {"Range", "bytes=0-9"}, {"If-Match", `"another"`}} {
			w := ask(mux, http.MethodGet, "/shops/ShopTwo", "Accept-Encoding", encoding, header[0], header[1])
			if w.Code != http.StatusNotFound || !bytes.Equal(w.Body.Bytes(), root.Body.Bytes()) {
				t.Errorf("%q, %s: got %d with %d bytes, want 404 with the page", encoding, header, w.Code, w.Body.Len())
			}
			got := []string{w.Header().Get("ETag"), w.Header().Get("Cache-Control"), w.Header().Get("Content-Encoding"), w.Header().Get("Content-Length")}
			if diff := cmp.Diff([]string{"", "no-cache", encoding, strconv.Itoa(root.Body.Len())}, got); diff != "" {
				t.Errorf("%q, %s (-want +got):\n%s", encoding, header, diff)
			}
		}
	}
}

// The routes of the server equal those in the sources of the app.
func TestRoutesMatchTheApp(t *testing.T) {
	var want []string
	for _, found := range regexp.MustCompile(`<Route path="([^"]*)"`).FindAllStringSubmatch(read(t, "app/src/app/App.tsx"), -1) {
		want = append(want, found[1])
	}
	if len(want) < 20 {
		t.Fatalf("got %d routes in the app's sources, want at least 20", len(want))
	}
	paths, lists := web.Routes()
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-app +server):\n%s", diff)
	}
	people := regexp.MustCompile(`(?s)const documents: Record<[^>]*> = \{\n(.*?)\n\}`).FindStringSubmatch(read(t, "app/src/screens/people/People.tsx"))
	if people == nil {
		t.Fatal("got no lists of people in the app's sources")
	}
	want = nil
	for _, found := range regexp.MustCompile(`(?m)^  (\w+):`).FindAllStringSubmatch(people[1], -1) {
		want = append(want, found[1])
	}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("lists of people (-app +server):\n%s", diff)
	}
}

func TestDocumentsMatchTheBuild(t *testing.T) {
	s, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal([]byte(read(t, "dist/documents.json")), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.Documents()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRangesCountEncodedBytes(t *testing.T) {
	mux, js := site(t), script(t)
	whole := ask(mux, http.MethodGet, js, "Accept-Encoding", "gzip")
	part := ask(mux, http.MethodGet, js, "Accept-Encoding", "gzip", "Range", "bytes=10-19", "If-Range", whole.Header().Get("ETag"))
	if part.Code != http.StatusPartialContent || part.Header().Get("Content-Length") != "10" {
		t.Fatalf("want 206 with 10 bytes, got %d with %q", part.Code, part.Header().Get("Content-Length"))
	}
	if diff := cmp.Diff(whole.Body.Bytes()[10:20], part.Body.Bytes()); diff != "" {
		t.Errorf("bytes 10-19 (-want +got):\n%s", diff)
	}
}

// A Content-Length without a body would break the connection for the client.
func TestPreconditionFailedHasNoBody(t *testing.T) {
	s := httptest.NewServer(site(t))
	defer s.Close()
	for _, accept := range []string{"identity", "gzip", "br"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/playground", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-Match", `"another"`)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusPreconditionFailed || err != nil || len(body) > 0 {
			t.Errorf("%s: got %d with %d bytes, %v, want 412 without a body", accept, res.StatusCode, len(body), err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := web.New(); err != nil {
			b.Fatal(err)
		}
	}
}
