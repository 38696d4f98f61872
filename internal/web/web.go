// Package web serves the browser side of Tandian out of the binary: the
// playground (GraphiQL) at /playground with all that it loads, so that no page
// needs another host.
//
// The pages are built by Vite from app/ into dist/, and dist/ is committed: Go
// alone builds the server. After a change below app/, run in that folder
//
//	npm ci && npm run build
package web

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

const (
	// policy lets a page load from this server alone and run no inline script
	// or style. Images may also be data: addresses, which GraphiQL's style sheet
	// holds. connect-src 'self' covers the WebSocket of the same origin.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	// An asset carries a hash of its content in its name, a page does not.
	forever    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// Site is the built pages and their assets, held in memory. Any number of
// requests may use it at once.
type Site struct {
	files map[string]*file // by URL path
}

// New reads the embedded build. An error means that the build holds a kind of
// file that has no content type here, so it appears on every start or on none.
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
	if err != nil {
		return nil, fmt.Errorf("read the embedded web build: %w", err)
	}
	return s, nil
}

// address says at which URL path a file of the build is served and how long it
// may be kept. The path is empty for what is not for browsers: the list of
// hashes and the licences of the bundled packages.
func address(name string) (url, cacheControl string) {
	switch {
	case strings.HasPrefix(name, "assets/"):
		return "/" + name, forever
	case path.Ext(name) == ".html":
		return "/" + strings.TrimSuffix(name, ".html"), revalidate
	case path.Ext(name) == ".svg":
		return "/" + name, revalidate
	default:
		return "", ""
	}
}

// Register adds the site's paths to mux: /playground, /assets/, the favicon, and
// / itself, which leads to the playground. It leaves every other path alone.
func (s *Site) Register(mux *http.ServeMux) {
	for _, pattern := range []string{"/{$}", "/playground", "/assets/", "/favicon.svg", "/favicon.ico"} {
		mux.HandleFunc(pattern, s.serve)
	}
}

// serve answers GET and HEAD. An unknown asset is 404 and never a page: a tab
// that is older than the build would take HTML for a script.
func (s *Site) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "geolocation=(self)")

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/":
		http.Redirect(w, r, "/playground", http.StatusFound)
		return
	case "/favicon.ico": // asked for by old clients, whatever the page says
		http.Redirect(w, r, "/favicon.svg", http.StatusFound)
		return
	}
	f, ok := s.files[r.URL.Path]
	if !ok {
		h.Set("Cache-Control", revalidate)
		http.NotFound(w, r)
		return
	}
	f.serve(w, r)
}
