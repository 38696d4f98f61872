package media

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/blob"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// serveTimeout bounds reading a file from the blob store, and sending it.
const serveTimeout = 20 * time.Second

// ServeHTTP serves pictures below /media, to anybody. A name stands for one content for
// ever, so browsers and caches may keep it for a year without asking again. What could
// not be found is kept by nobody: it may be there in a moment.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "a picture is read by GET", http.StatusMethodNotAllowed)
		return
	}
	name, ok := mediapath.Parse(r.URL.Path)
	if !ok {
		http.Error(w, "there is no such picture", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), serveTimeout)
	defer cancel()
	file, err := s.cfg.Blobs.Get(ctx, name.File())
	switch {
	case errors.Is(err, blob.ErrNotFound):
		http.Error(w, "there is no such picture", http.StatusNotFound)
		return
	case err != nil:
		if r.Context().Err() == nil {
			s.cfg.Log.WarnContext(ctx, "a picture could not be served", "file", name.File(), "err", err)
		}
		h.Set("Retry-After", "1")
		http.Error(w, "pictures cannot be read now", http.StatusServiceUnavailable)
		return
	}
	defer func() { _ = file.Close() }()
	h.Set("Content-Type", name.Type())
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // apps of other origins show them too
	h.Set("ETag", `"`+name.File()+`"`)
	http.ServeContent(w, r, "", file.Modified, file)
}
