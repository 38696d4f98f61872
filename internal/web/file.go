package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"
)

// contentType returns the content type of a file by its extension, or "" if the type is not
// served. The mime package would depend on the machine, whose types for JavaScript vary.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		return ""
	}
}

// file is an embedded file, plain and compressed.
type file struct {
	contentType  string
	cacheControl string
	hash         string
	raw          []byte
	encodings    []encoding // the best one first
}

func newFile(name, cacheControl string) (*file, error) {
	kind := contentType(name)
	if kind == "" {
		return nil, fmt.Errorf("no content type for %s", name)
	}
	raw, err := dist.ReadFile(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &file{
		contentType:  kind,
		cacheControl: cacheControl,
		hash:         hex.EncodeToString(sum[:12]),
		raw:          raw,
		encodings:    encodings(raw),
	}, nil
}

// serve sends f in the encoding that the request prefers. Each encoding has its own ETag, as RFC
// 9110, 8.8.3 requires.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	chosen, body := f.form(w.Header(), r)
	h := w.Header()
	h.Set("ETag", `"`+f.hash+chosen.suffix+`"`)
	// ServeContent omits the length of an encoded response, in case a wrapper encodes it. It corrects
	// or deletes this one for ranges and 304, but not for 412, the response to If-Match without a body.
	if r.Header.Get("If-Match") == "" {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// serveMissing sends f with 404, for an object that does not exist. It has no ETag, and ignores
// conditions and ranges: a browser that cached f while the object existed must learn that it is
// gone.
func (f *file) serveMissing(w http.ResponseWriter, r *http.Request) {
	_, body := f.form(w.Header(), r)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails if the client is gone
	}
}

// form returns the form of f that the request prefers, and sets its headers.
func (f *file) form(h http.Header, r *http.Request) (chosen encoding, body []byte) {
	chosen = f.choose(r.Header.Values("Accept-Encoding"))
	if chosen.coding != "" {
		h.Set("Content-Encoding", chosen.coding)
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cacheControl)
	h.Add("Vary", "Accept-Encoding")
	return chosen, chosen.body()
}
