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

// site is a mux as the server has it: the site and somebody else's path.
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

// exists knows a shop, its owner, and a voucher of each type.
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

// script is the URL path of the playground's own script, the largest asset.
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
			name: "the playground is a page that is asked for anew each time", path: "/playground", want: 200,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Content-Encoding": "", "Vary": "Accept-Encoding"},
		},
		{
			name: "HEAD tells the length and sends nothing", method: "HEAD", path: "/favicon.svg", want: 200,
			header: map[string]string{"Content-Length": size(t, "dist/favicon.svg"), "Content-Type": "image/svg+xml"},
		},
		{
			name: "a script may be kept for ever", path: js, want: 200,
			header: map[string]string{"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": immutable, "Content-Encoding": ""},
		},
		{name: "compressed, it may be kept for ever too", path: js, accept: "gzip, deflate, br, zstd", want: 200, header: map[string]string{"Content-Encoding": "br", "Cache-Control": immutable, "Vary": "Accept-Encoding"}},
		{name: "an unknown asset is not a page", path: "/assets/gone-00000000.js", want: 404, header: map[string]string{"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache", "ETag": ""}},
		{name: "assets are not listed", path: "/assets/", want: 404},
		{name: "the licences are not for browsers", path: "/LICENSES.md", want: 404},
		{name: "pages have one address", path: "/playground.html", want: 404},
		{
			name: "the app is a page that is asked for anew each time", path: "/", want: 200,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Content-Encoding": "", "Vary": "Accept-Encoding"},
		},
		{
			name: "the app's manifest has a type of its own", path: "/manifest.webmanifest", want: 200,
			header: map[string]string{"Content-Type": "application/manifest+json", "Cache-Control": "no-cache"},
		},
		{name: "the list of documents is not for browsers", path: "/documents.json", want: 404},
		{name: "the list of hashes is not for browsers", path: "/build.sha256", want: 404},
		{name: "old clients find the favicon", path: "/favicon.ico", want: 302, header: map[string]string{"Location": "/favicon.svg"}},
		{name: "nothing is posted to a page", method: "POST", path: "/playground", want: 405, header: map[string]string{"Allow": "GET, HEAD"}},
		{name: "nothing is deleted", method: "DELETE", path: js, want: 405, header: map[string]string{"Allow": "GET, HEAD", "ETag": ""}},
		{name: "nothing is posted to the app", method: "POST", path: "/", want: 405, header: map[string]string{"Allow": "GET, HEAD"}},
		{
			name: "an unknown path has the app's page, to show that", path: "/somewhere", want: 404,
			header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "ETag": "", "Vary": "Accept-Encoding"},
		},
		{name: "an unknown file has none", path: "/favicon-x.png", want: 404, header: map[string]string{"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache", "Vary": ""}},
		{name: "other paths stay with their owners", path: "/graphql", want: http.StatusTeapot},
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
				t.Errorf("HEAD sent %d bytes", w.Body.Len())
			}
		})
	}
}

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
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
			{name: "plain again", tag: plain, want: 304},
			{name: "gzip again", accept: "gzip", tag: gz, want: 304},
			{name: "brotli again", accept: "gzip, br", tag: br, want: 304},
			{name: "gzip is no match for brotli", accept: "gzip, br", tag: gz, want: 200},
			{name: "a proxy weakened the tag", accept: "gzip", tag: "W/" + gz, want: 304},
			{name: "one of several", tag: `"old", ` + plain, want: 304},
			{name: "the other encoding is no match", accept: "gzip", tag: plain, want: 200},
			{name: "an older build is no match", tag: `"old"`, want: 200},
		}
		for _, tt := range tests {
			t.Run(path+" "+tt.name, func(t *testing.T) {
				w := ask(mux, http.MethodGet, path, "Accept-Encoding", tt.accept, "If-None-Match", tt.tag)
				if w.Code != tt.want {
					t.Fatalf("status: want %d, got %d", tt.want, w.Code)
				}
				if w.Code == http.StatusNotModified && w.Body.Len() > 0 {
					t.Errorf("304 sent %d bytes", w.Body.Len())
				}
				if vary := w.Header().Get("Vary"); vary != "Accept-Encoding" {
					t.Errorf("want Vary: Accept-Encoding, got %q", vary)
				}
			})
		}
		if !strings.HasPrefix(plain, `"`) || !strings.HasSuffix(plain, `"`) {
			t.Errorf("%s: a tag is quoted, got %s", path, plain)
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
		for range 4 { // at once, because the first to come compresses
			all.Go(func() {
				w := ask(mux, http.MethodGet, js, "Accept-Encoding", coding)
				if n := w.Body.Len(); n > len(want)/2 || w.Header().Get("Content-Length") != strconv.Itoa(n) {
					t.Errorf("%d bytes became %d as %s, announced as %q", len(want), n, coding, w.Header().Get("Content-Length"))
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

func TestTheEncodingIsTheOneThatTheClientWantsMost(t *testing.T) {
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
		t.Errorf("two lines of a header are one list: got %q", got)
	}
}

// What compression makes no smaller is sent as it is: a gzip of nothing has 20 bytes.
func TestWhatCompressionDoesNotHelpIsSentPlain(t *testing.T) {
	for _, e := range web.Encodings([]byte("{}")) {
		if e != nil {
			t.Errorf("two bytes became %d", len(e))
		}
	}
}

// acceptHeaders are those of browsers, of what fetches previews, of scripts and of
// clients that say nothing.
var acceptHeaders = []string{
	"", "*/*", "text/*", "text/html", "application/json", "image/avif,image/webp,*/*;q=0.8", "text/html;q=0, */*", "nonsense",
	"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
}

// What a path gets does not depend on what the client accepts.
func TestALinkHasItsPageForEveryClient(t *testing.T) {
	const page, missing, file = "200 with the app", "404 with the app", "404"
	mux, app := site(t), read(t, "dist/index.html")
	tests := []struct{ path, want string }{
		{"/", page},
		{"/search?q=a.b", page},
		{"/signin", page},
		{"/feed", page},
		{"/Feed/", page}, // the app's router takes both
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
		{"/shops/ShopOne.", missing}, // as a sentence ends
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
					t.Errorf("%s %s, Accept: %q: the answer is the app's page: %v", method, tt.path, accept, body == app)
				}
				if vary := w.Header().Values("Vary"); slices.Contains(vary, "Accept") {
					t.Errorf("%s %s: Vary: %q", method, tt.path, vary)
				}
			}
		}
	}
}

func TestNothingIsSentToThePagesOfTheApp(t *testing.T) {
	mux := site(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		for _, path := range []string{"/feed", "/shops/ShopOne", "/somewhere"} {
			if w := ask(mux, method, path); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<html") {
				t.Errorf("%s %s: got %d, want 404 without a page", method, path, w.Code)
			}
		}
	}
}

func TestOnlyWhatHasAnIDIsLookedUp(t *testing.T) {
	s, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	mux := http.NewServeMux()
	s.Register(mux, func(_ *http.Request, types []string, id string) bool {
		asked = append(asked, strings.Join(types, "|")+" "+id)
		return true
	}, "graphql")
	for _, path := range []string{"/", "/feed", "/somewhere", "/assets/x.js", "/playground", "/favicon.svg", "/graphql/x", "/merchant/shops/new", "/users/u/followers", "/sales/v"} {
		ask(mux, http.MethodGet, path)
	}
	ask(mux, http.MethodPost, "/shops/x")
	if diff := cmp.Diff([]string{"User u", "OrdinaryVoucher|FlashVoucher v"}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePageOfARouteIsTheAppsOwn(t *testing.T) {
	mux := site(t)
	for _, encoding := range []string{"", "gzip", "br"} {
		root := ask(mux, http.MethodGet, "/", "Accept-Encoding", encoding).Header()
		route := ask(mux, http.MethodGet, "/shops/ShopOne", "Accept-Encoding", encoding, "If-None-Match", root.Get("ETag"))
		if route.Code != http.StatusNotModified || route.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%q: want 304 for the page that the browser has, got %d, %q", encoding, route.Code, route.Header().Get("Cache-Control"))
		}
	}
}

// A browser may have the page of an object from a time when that existed.
func TestAMissingPageIsNeverNotModified(t *testing.T) {
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

// The server knows the routes of the app: those of its sources.
func TestRoutesAreThoseOfTheApp(t *testing.T) {
	var want []string
	for _, found := range regexp.MustCompile(`<Route path="([^"]*)"`).FindAllStringSubmatch(read(t, "app/src/app/App.tsx"), -1) {
		want = append(want, found[1])
	}
	if len(want) < 20 {
		t.Fatalf("only %d routes were found in the app's sources", len(want))
	}
	paths, lists := web.Routes()
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-app +server):\n%s", diff)
	}
	people := regexp.MustCompile(`(?s)const documents: Record<[^>]*> = \{\n(.*?)\n\}`).FindStringSubmatch(read(t, "app/src/screens/people/People.tsx"))
	if people == nil {
		t.Fatal("the lists of people were not found in the app's sources")
	}
	want = nil
	for _, found := range regexp.MustCompile(`(?m)^  (\w+):`).FindAllStringSubmatch(people[1], -1) {
		want = append(want, found[1])
	}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("lists of people (-app +server):\n%s", diff)
	}
}

func TestDocumentsAreThoseOfTheBuild(t *testing.T) {
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

func TestAPartOfAnEncodingIsCountedInItsBytes(t *testing.T) {
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

// A length that no body follows would end the connection and be an error to the client.
func TestARefusalOfAnotherVersionHasNoBodyToWaitFor(t *testing.T) {
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
			t.Errorf("%s: %d with %d bytes, %v; want 412 and nothing", accept, res.StatusCode, len(body), err)
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
