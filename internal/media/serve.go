package media

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/blob"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// serveTimeout limits reading a file from the blob store and sending it.
const serveTimeout = 20 * time.Second

// ServeHTTP serves pictures below /media, without authentication. Names are immutable, so
// browsers and caches may store a picture for a year. Errors are not cached: the picture may
// exist a moment later.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "405 method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name, ok := mediapath.Parse(r.URL.Path)
	if !ok {
		http.Error(w, "404 image not found", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), serveTimeout)
	defer cancel()
	file, err := s.cfg.Blobs.Get(ctx, name.File())
	switch {
	case errors.Is(err, blob.ErrNotFound):
		http.Error(w, "404 image not found", http.StatusNotFound)
		return
	case err != nil:
		if r.Context().Err() == nil {
			s.cfg.Log.WarnContext(ctx, "cannot serve picture", "file", name.File(), "err", err)
		}
		h.Set("Retry-After", "1")
		http.Error(w, "503 images are temporarily unavailable", http.StatusServiceUnavailable)
		return
	}
	defer func() { _ = file.Close() }()
	h.Set("Content-Type", name.Type())
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // apps of other origins show them too
	h.Set("ETag", `"`+name.File()+`"`)
	http.ServeContent(w, r, "", file.Modified, file)
}
