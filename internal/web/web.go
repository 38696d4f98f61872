// Package web serves the browser apps of Tandian, embedded in the binary. The app is at / and at
// all paths below that are neither files nor paths of the server, with status 404 for its page
// about missing pages. The playground (GraphiQL) is at /playground. No page loads anything from
// another host.
//
// Vite builds the pages from app/ into dist/, which is committed: building the server needs only
// Go. After a change in app/ or graph/schema, run in app/
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
	// policy limits pages to this server, without inline scripts and styles. GraphiQL's style sheet has
	// data: images, and blob: images preview uploads. connect-src 'self' covers the WebSocket of the
	// same origin.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	// Names of assets contain a hash of the content, names of pages do not.
	forever    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// Site holds the built pages and their assets in memory. It is safe for concurrent use after
// [Site.Register].
type Site struct {
	files     map[string]*file  // by URL path
	documents map[string]string // by hash
	routes    []route
	reserved  []string // first segments of other paths of the server
	exists    Exists
}

// New reads the embedded build. It returns an error if the build has no app, or a file without a
// known content type. So it fails on every start or on none.
func New() (*Site, error) {
	s := &Site{files: make(map[string]*file), routes: routes()}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		url, cacheControl := assetURL(strings.TrimPrefix(name, "dist/"))
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
		return nil, fmt.Errorf("read embedded web build: %w", err)
	}
	return s, nil
}

// readDocuments reads the GraphQL documents of the app from the build.
func readDocuments() (documents map[string]string, err error) {
	text, err := dist.ReadFile("dist/documents.json")
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(jsonbody.TrimBOM(text), &documents); err != nil {
		return nil, fmt.Errorf("parse documents.json: %w", err)
	}
	return documents, nil
}

// assetURL returns the URL path and the Cache-Control of a file in the build. The path is empty
// for files that are not for browsers.
func assetURL(name string) (url, cacheControl string) {
	switch name {
	case "build.sha256", "documents.json", "LICENSES.txt":
		return "", ""
	case "index.html":
		return "/", revalidate
	}
	if strings.HasPrefix(name, "assets/") {
		return "/" + name, forever
	}
	return "/" + strings.TrimSuffix(name, ".html"), revalidate
}

// Documents returns the GraphQL documents of the app, by the SHA-256 of their text in lower-case
// hex. With these, the app only sends hashes. Callers must not change the map.
func (s *Site) Documents() map[string]string { return s.documents }

// HidePlayground removes /playground, which is useless without introspection. Call it before
// [Site.Register].
func (s *Site) HidePlayground() { delete(s.files, "/playground") }

// Register adds the site to mux: the files of the build, and the app's page at all paths that mux
// does not serve otherwise. Call it once, before the first request. exists looks up the objects
// of pages; nil means that all exist. reserved lists the first segments of other paths of the
// server ("graphql"), below which the app has no pages.
func (s *Site) Register(mux *http.ServeMux, exists Exists, reserved ...string) {
	s.exists, s.reserved = exists, append([]string{"assets"}, reserved...)
	for _, pattern := range []string{"/", "/playground", "/assets/"} { // separate patterns for metrics
		mux.HandleFunc(pattern, s.serve)
	}
}

// serve handles GET and HEAD. It sends pages whatever the client accepts, because previews, bots
// and command lines vary. An unknown file is 404 without a page: a tab older than the build would
// run HTML as a script.
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
	case reads && r.URL.Path == "/favicon.ico": // old clients request it without a link
		http.Redirect(w, r, "/favicon.svg", http.StatusFound)
	case reads:
		s.serveLink(w, r)
	default:
		notFound(w, r)
	}
}

// serveLink handles a request for a path that is not a file.
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
