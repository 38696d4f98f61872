package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
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
	default:
		return ""
	}
}

// file is one embedded file, ready to be sent as it is or as gzip.
type file struct {
	contentType  string
	cacheControl string
	hash         string
	raw          []byte
	gzipped      func() []byte // made by whoever asks first; nil if it saves nothing
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
		// Compressing all at start would cost every start more than the
		// playground's first visitor ever waits.
		gzipped: sync.OnceValue(func() []byte { return compress(raw) }),
	}, nil
}

// compress returns raw as gzip, or nil where that would not be smaller.
func compress(raw []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(raw)                                   // a Buffer takes everything
	_ = z.Close()
	if b.Len() >= len(raw) {
		return nil
	}
	return b.Bytes()
}

// serve sends f in the encoding that the request accepts. Each encoding has an
// ETag of its own, as two different byte strings must (RFC 9110, 8.8.3).
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	body, tag := f.raw, f.hash
	h := w.Header()
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		if z := f.gzipped(); z != nil {
			body, tag = z, f.hash+"-gz"
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cacheControl)
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `"`+tag+`"`)
	// ServeContent leaves the length out of an encoded answer, in case that a
	// wrapper encodes it; it corrects or deletes this one for ranges and 304.
	h.Set("Content-Length", strconv.Itoa(len(body)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// acceptsGzip reads the values of Accept-Encoding (RFC 9110, 12.5.3): gzip by
// name decides, else "*" does. What it cannot read counts as a refusal.
func acceptsGzip(values []string) bool {
	wildcard := false
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			return positive(weight)
		case "*":
			wildcard = positive(weight)
		}
	}
	return wildcard
}

// positive reports whether a weight such as "q=0.8" is above zero. None at all
// means one.
func positive(weight string) bool {
	weight = strings.TrimSpace(weight)
	if weight == "" {
		return true
	}
	name, value, _ := strings.Cut(weight, "=")
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && q > 0 && strings.EqualFold(strings.TrimSpace(name), "q")
}
