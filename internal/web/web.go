// Package web serves the browser side of Tandian out of the binary: the app at /
// and at every address below that is not the server's and no file, with the status
// 404 where the app has no page, and the playground (GraphiQL) at /playground, with
// all that they load, so that no page needs another host.
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
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
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
	routes    []route
	own       []string // first segments of the server's other paths
	exists    Exists
}

// New reads the embedded build. An error means that the build holds a kind of
// file that has no content type here, or no app, so it appears on every start or
// on none.
func New() (*Site, error) {
	s := &Site{files: make(map[string]*file), routes: routes()}
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
	if err = json.Unmarshal(jsonbody.TrimBOM(text), &documents); err != nil {
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

// HidePlayground makes /playground a page that does not exist: without introspection it
// shows nothing. Call it before [Site.Register].
func (s *Site) HidePlayground() { delete(s.files, "/playground") }

// Register adds the site to mux: the files of the build, and the app's page at
// every other path that mux leaves over. It is called once, before the first
// request. exists finds the objects that pages are about; nil takes all to exist.
// own are the first segments of the server's other paths ("graphql"): the app has
// no page below them.
func (s *Site) Register(mux *http.ServeMux, exists Exists, own ...string) {
	s.exists, s.own = exists, append([]string{"assets"}, own...)
	for _, pattern := range []string{"/", "/playground", "/assets/"} { // metrics tell them apart
		mux.HandleFunc(pattern, s.serve)
	}
}

// serve answers GET and HEAD. A link gets the page whatever the client accepts:
// previews, bots and command lines ask for anything. An unknown file is 404 and
// never a page: a tab that is older than the build would take HTML for a script.
func (s *Site) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "geolocation=(self)")

	f := s.files[r.URL.Path]
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case f != nil && !reads:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
	case f != nil:
		f.serve(w, r)
	case reads && r.URL.Path == "/favicon.ico": // asked for by old clients, whatever the page says
		http.Redirect(w, r, "/favicon.svg", http.StatusFound)
	case reads:
		s.serveLink(w, r)
	default:
		notFound(w, r)
	}
}

// serveLink answers a request for what is no file.
func (s *Site) serveLink(w http.ResponseWriter, r *http.Request) {
	switch status, ok := s.page(r); {
	case !ok:
		notFound(w, r)
	case status == http.StatusOK:
		s.files["/"].serve(w, r)
	default:
		s.files["/"].serveMissing(w, r)
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", revalidate)
	http.NotFound(w, r)
}
