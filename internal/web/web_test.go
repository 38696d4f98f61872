package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

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
	s.Register(mux)
	mux.HandleFunc("/graphql", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	return mux
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
		{name: "gzip for those who take it", path: js, accept: "br, gzip;q=0.8", want: 200, header: map[string]string{"Content-Encoding": "gzip", "Cache-Control": immutable, "Vary": "Accept-Encoding"}},
		{name: "gzip for those who take anything", path: js, accept: "*", want: 200, header: map[string]string{"Content-Encoding": "gzip"}},
		{name: "plain for those who refuse gzip", path: js, accept: "gzip;q=0, *", want: 200, header: map[string]string{"Content-Encoding": ""}},
		{name: "plain for those who refuse gzip among all", path: js, accept: "br, *; q=0.0", want: 200, header: map[string]string{"Content-Encoding": ""}},
		{name: "plain for a weight that is none", path: js, accept: "gzip;q=lots", want: 200, header: map[string]string{"Content-Encoding": ""}},
		{name: "an unknown asset is not a page", path: "/assets/gone-00000000.js", want: 404, header: map[string]string{"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache", "ETag": ""}},
		{name: "assets are not listed", path: "/assets/", want: 404},
		{name: "the licences are not for browsers", path: "/LICENSES.md", want: 404},
		{name: "pages have one address", path: "/playground.html", want: 404},
		{name: "the root leads to the playground", path: "/", want: 302, header: map[string]string{"Location": "/playground"}},
		{name: "old clients find the favicon", path: "/favicon.ico", want: 302, header: map[string]string{"Location": "/favicon.svg"}},
		{name: "nothing is posted to a page", method: "POST", path: "/playground", want: 405, header: map[string]string{"Allow": "GET, HEAD"}},
		{name: "nothing is deleted", method: "DELETE", path: js, want: 405, header: map[string]string{"Allow": "GET, HEAD", "ETag": ""}},
		{name: "unknown paths are left to others", path: "/somewhere", want: 404, header: map[string]string{"Content-Security-Policy": ""}},
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
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"Permissions-Policy":      "geolocation=(self)",
		"Referrer-Policy":         "same-origin",
		"X-Content-Type-Options":  "nosniff",
	}
	mux := site(t)
	for _, path := range []string{"/", "/playground", "/favicon.svg", script(t), "/assets/gone.js"} {
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
	for _, path := range []string{"/playground", script(t)} {
		plain := ask(mux, http.MethodGet, path).Header().Get("ETag")
		gz := ask(mux, http.MethodGet, path, "Accept-Encoding", "gzip").Header().Get("ETag")
		tests := []struct {
			name, accept, tag string
			want              int
		}{
			{name: "plain again", tag: plain, want: 304},
			{name: "gzip again", accept: "gzip", tag: gz, want: 304},
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

func TestGzipHoldsTheSameBytes(t *testing.T) {
	mux, js := site(t), script(t)
	want, err := os.ReadFile("dist" + js)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 { // at once, because the first to come compresses
		all.Go(func() {
			w := ask(mux, http.MethodGet, js, "Accept-Encoding", "gzip")
			if n := w.Body.Len(); n > len(want)/2 || w.Header().Get("Content-Length") != strconv.Itoa(n) {
				t.Errorf("%d bytes became %d as gzip, announced as %q", len(want), n, w.Header().Get("Content-Length"))
			}
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := io.ReadAll(z)
			if err != nil || !bytes.Equal(want, got) {
				t.Errorf("want the file's %d bytes, got %d (%v)", len(want), len(got), err)
			}
		})
	}
	all.Wait()
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

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := web.New(); err != nil {
			b.Fatal(err)
		}
	}
}
