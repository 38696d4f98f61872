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

// contentType names the type of a file by its extension, or "" for one that is
// not served here. The mime package would ask the machine, and machines
// disagree about JavaScript.
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

// file is one embedded file, ready to be sent as it is or compressed.
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

// serve sends f in the encoding that the request accepts. Each encoding has an
// ETag of its own, as two different byte strings must (RFC 9110, 8.8.3).
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	chosen, body := f.form(w.Header(), r)
	h := w.Header()
	h.Set("ETag", `"`+f.hash+chosen.suffix+`"`)
	// ServeContent leaves the length out of an encoded answer, in case that a
	// wrapper encodes it; it corrects or deletes this one for ranges and 304, but
	// not for 412, the answer to If-Match, which has no body.
	if r.Header.Get("If-Match") == "" {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// serveMissing sends f as the page of something that does not exist, with 404. It
// has no ETag, and no condition or range of the request counts: a browser that
// has f from a time when the object existed must learn that it is gone.
func (f *file) serveMissing(w http.ResponseWriter, r *http.Request) {
	_, body := f.form(w.Header(), r)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone
	}
}

// form returns the form of f that the request accepts, and sets the headers that
// go with it.
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
