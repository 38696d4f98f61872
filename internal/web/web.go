// Package web serves the browser side of Tandian out of the binary: the app at /
// and at every address below that is not the server's, and the playground
// (GraphiQL) at /playground, with all that they load, so that no page needs another
// host.
//
// The pages are built by Vite from app/ into dist/, and dist/ is committed: Go
// alone builds the server. After a change below app/ or in graph/schema, run in
// app/
//
//	npm ci && npm run build
package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
)

//go:embed all:dist
var dist embed.FS

const (
	// policy lets a page load from this server alone and run no inline script
	// or style. Images may also be data: addresses, which GraphiQL's style sheet
	// holds, and blob: ones, as which a picture is shown before it is sent.
	// connect-src 'self' covers the WebSocket of the same origin.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	// An asset carries a hash of its content in its name, a page does not.
	forever    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// Site is the built pages and their assets, held in memory. Any number of
// requests may use it at once.
type Site struct {
	files     map[string]*file  // by URL path
	documents map[string]string // by hash
}

// New reads the embedded build. An error means that the build holds a kind of
// file that has no content type here, or no app, so it appears on every start or
// on none.
func New() (*Site, error) {
	s := &Site{files: make(map[string]*file)}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		url, cacheControl := address(strings.TrimPrefix(name, "dist/"))
		if url == "" {
			return nil
		}
		s.files[url], err = newFile(name, cacheControl)
		return err
	})
	if err == nil {
		s.documents, err = readDocuments()
	}
	if err == nil && s.files["/"] == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read the embedded web build: %w", err)
	}
	return s, nil
}

// readDocuments reads what the build says that the app sends.
func readDocuments() (documents map[string]string, err error) {
	text, err := dist.ReadFile("dist/documents.json")
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(text, &documents); err != nil {
		return nil, fmt.Errorf("documents.json: %w", err)
	}
	return documents, nil
}

// address says at which URL path a file of the build is served and how long it
// may be kept. The path is empty for what is not for browsers.
func address(name string) (url, cacheControl string) {
	switch name {
	case "build.sha256", "documents.json", "LICENSES.md":
		return "", ""
	case "index.html":
		return "/", revalidate
	}
	if strings.HasPrefix(name, "assets/") {
		return "/" + name, forever
	}
	return "/" + strings.TrimSuffix(name, ".html"), revalidate
}

// Documents are the GraphQL documents that the app sends, by the SHA-256 of their
// text in lower-case hex: a server that knows them from its start on lets the app
// send nothing but the hash. Nobody may change the map.
func (s *Site) Documents() map[string]string { return s.documents }

// Register adds the site to mux: the files of the build, and the app's page at
// every address that mux leaves over, for the app's own routes. own are the first
// segments of the server's other paths ("graphql"): nothing below them is the
// app's, so that whoever asks for what is not there hears that and gets no page.
func (s *Site) Register(mux *http.ServeMux, own ...string) {
	for _, pattern := range []string{"/", "/playground", "/assets/"} { // metrics tell them apart
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, own) })
	}
}

// serve answers GET and HEAD. An unknown asset is 404 and never a page: a tab
// that is older than the build would take HTML for a script.
func (s *Site) serve(w http.ResponseWriter, r *http.Request, own []string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "geolocation=(self)")

	f := s.files[r.URL.Path]
	if f == nil {
		h.Add("Vary", "Accept")
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case f != nil && !reads:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
	case f != nil:
		f.serve(w, r)
	case reads && r.URL.Path == "/favicon.ico": // asked for by old clients, whatever the page says
		http.Redirect(w, r, "/favicon.svg", http.StatusFound)
	case reads && route(r, own):
		s.files["/"].serve(w, r)
	default:
		h.Set("Cache-Control", revalidate)
		http.NotFound(w, r)
	}
}

// route reports whether the app may have a page of its own at a path: who asks
// there takes a page, as a browser does that opens an address, and as no script
// does, no picture and no client of an API.
func route(r *http.Request, own []string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return first != "assets" && !slices.Contains(own, first) && weights(r.Header.Values("Accept"))["text/html"] > 0
}
