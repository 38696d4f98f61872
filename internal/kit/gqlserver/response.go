package gqlserver

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// slowestReader is the minimum rate in bytes per second of a client, after Limits.WriteTime.
const slowestReader = 64 << 10

// longAnswer is the size in bytes from which net/http sends chunks unless it gets a
// Content-Length. It computes the header of a shorter response itself.
const longAnswer = 2 << 10

// refuse responds to a request that reaches no operation.
func (d *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err *gqlerror.Error) {
	d.metrics.refuse(err)
	shown := d.present(r.Context(), err)
	if r.ContentLength > freeBytes || r.ContentLength < 0 || status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // else the server waits for the rest of the body
	}
	d.write(w, media(request.Negotiate(r)), status, &graphql.Response{Errors: gqlerror.List{shown}})
}

// media returns the media type of a response, also for a client that accepts none.
func media(a request.Accepted) string {
	if a.JSON == "" {
		return request.MediaJSON
	}
	return a.JSON
}

func (d *Server) write(w http.ResponseWriter, media string, status int, res *graphql.Response) {
	body := request.BorrowBuffer()
	defer body.Release()
	body.Bytes = appendResponse(body.Bytes, res)
	h := w.Header()
	h["Content-Type"] = typeOf(media)
	vary(h, varyAccept)
	if h.Get("Cache-Control") == "" {
		h["Cache-Control"] = noStore
	}
	h["X-Content-Type-Options"] = noSniff
	if wait, ok := retryAfter(res.Errors); ok && status >= http.StatusBadRequest {
		h.Set("Retry-After", strconv.Itoa(wait))
	}
	if len(body.Bytes) >= longAnswer {
		h["Content-Length"] = []string{strconv.Itoa(len(body.Bytes))}
	}
	d.deadline(w, len(body.Bytes))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes) // if it fails, the client is gone or too slow
}

// Header values shared by most responses; read-only.
//
//nolint:gochecknoglobals // slices cannot be constants
var (
	typeJSON    = []string{request.MediaJSON + "; charset=utf-8"}
	typeGraphQL = []string{request.MediaGraphQL + "; charset=utf-8"}
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}

	varyEncoding = []string{"Accept-Encoding"}
	varyAccept   = []string{"Accept"}
	varyBoth     = []string{"Accept-Encoding", "Accept"}
)

// vary adds a value to the Vary header, which compression or CORS may have set.
func vary(h http.Header, on []string) {
	switch existing := h["Vary"]; {
	case len(existing) == 0:
		h["Vary"] = on[:1:1] // an append copies
	case len(existing) == 1 && existing[0] == varyEncoding[0] && on[0] == varyAccept[0]:
		h["Vary"] = varyBoth[:2:2]
	default:
		h["Vary"] = append(existing, on...)
	}
}

func typeOf(media string) []string {
	if media == request.MediaGraphQL {
		return typeGraphQL
	}
	return typeJSON
}

// deadline sets the deadline to write a response. Only connections in tests do not support it.
func (d *Server) deadline(w http.ResponseWriter, bytes int) {
	if limit := d.cfg.Limits.WriteTime; limit >= 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit + writeTime(bytes)))
	}
}

// writeTime returns the time for a response in addition to Limits.WriteTime.
func writeTime(bytes int) time.Duration { return time.Duration(bytes) * time.Second / slowestReader }

// retryAfter returns the retry delay of the first error in seconds.
func retryAfter(errs gqlerror.List) (int, bool) {
	if len(errs) == 0 {
		return 0, false
	}
	wait, ok := errs[0].Extensions["retryAfterSeconds"].(int)
	return wait, ok
}

// statusOf returns the HTTP status of a response. With application/json, a rejected document gets
// 200, as its clients expect.
func statusOf(res *graphql.Response, media string) int {
	if len(res.Data) > 0 || len(res.Errors) == 0 {
		return http.StatusOK
	}
	switch errcode.CodeOf(res.Errors[0]) {
	case errcode.Internal:
		return http.StatusInternalServerError
	case errcode.RateLimited:
		return http.StatusTooManyRequests
	case errcode.Unavailable:
		return http.StatusServiceUnavailable
	case errcode.BadRequest, errcode.BatchingNotSupported, errcode.CSRF:
		return http.StatusBadRequest
	}
	if media == request.MediaJSON {
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// TakesCookies reports whether the response to ctx's operation can set cookies. It cannot on a
// socket.
func TakesCookies(ctx context.Context) bool {
	return requestOf(ctx).answer != nil
}

// SetCookie adds a cookie to the response to ctx's operation. It does nothing unless
// [TakesCookies]. The cookie is HttpOnly, and Secure if the client used HTTPS. Only mutations
// may call it, as their fields run one after the other.
func SetCookie(ctx context.Context, cookie http.Cookie) {
	r := requestOf(ctx)
	if r.answer == nil {
		return
	}
	cookie.HttpOnly = true
	cookie.Secure = r.caller.server.cfg.TrustedProxies.HTTPS(r.http)
	http.SetCookie(r.answer, &cookie)
}
