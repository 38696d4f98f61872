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

// slowestReader is how many bytes a second a client must take at least, beside
// Limits.WriteTime for the first of them.
const slowestReader = 64 << 10

// longAnswer is the size from which net/http would send an answer in chunks if it is not told
// its length; that of a shorter one it knows by itself.
const longAnswer = 2 << 10

// refuse answers a request that reaches no operation.
func (d *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err *gqlerror.Error) {
	d.metrics.refuse(err)
	shown := d.present(r.Context(), err)
	if r.ContentLength > freeBytes || r.ContentLength < 0 || status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // else the server waits for the rest of the body
	}
	d.write(w, media(request.Negotiate(r)), status, &graphql.Response{Errors: gqlerror.List{shown}})
}

// media is the type of an answer to a client that may take none of ours: it
// still is told why.
func media(a request.Accepted) string {
	if a.JSON == "" {
		return request.MediaJSON
	}
	return a.JSON
}

// write sends an answer.
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
	_, _ = w.Write(body.Bytes) // the client is gone, or too slow
}

// Values of headers that nearly every answer has. Nobody changes them.
//
//nolint:gochecknoglobals // constants that Go cannot say
var (
	typeJSON    = []string{request.MediaJSON + "; charset=utf-8"}
	typeGraphQL = []string{request.MediaGraphQL + "; charset=utf-8"}
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}

	varyEncoding = []string{"Accept-Encoding"}
	varyAccept   = []string{"Accept"}
	varyBoth     = []string{"Accept-Encoding", "Accept"}
)

// vary says what an answer depends on besides: compression and CORS may have said theirs.
func vary(h http.Header, on []string) {
	switch existing := h["Vary"]; {
	case len(existing) == 0:
		h["Vary"] = on[:1:1] // who appends gets a copy
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

// deadline bounds the time to write so many bytes. A connection that cannot have
// a deadline is a test's.
func (d *Server) deadline(w http.ResponseWriter, bytes int) {
	if limit := d.cfg.Limits.WriteTime; limit >= 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit + writeTime(bytes)))
	}
}

// writeTime is how much longer than Limits.WriteTime so many bytes may take.
func writeTime(bytes int) time.Duration { return time.Duration(bytes) * time.Second / slowestReader }

// retryAfter is when the first error says to try again, in seconds.
func retryAfter(errs gqlerror.List) (int, bool) {
	if len(errs) == 0 {
		return 0, false
	}
	wait, ok := errs[0].Extensions["retryAfterSeconds"].(int)
	return wait, ok
}

// statusOf is the HTTP status of a refused request. A request that was well
// formed is 200 in the old media type, whose clients know no other way.
func statusOf(res *graphql.Response, media string) int {
	if len(res.Data) > 0 || len(res.Errors) == 0 {
		return http.StatusOK
	}
	switch errcode.Of(res.Errors[0]) {
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

// TakesCookies reports whether the answer of the operation that ctx belongs to can set
// cookies: by HTTP, and not on a socket.
func TakesCookies(ctx context.Context) bool {
	return requestOf(ctx).answer != nil
}

// SetCookie adds a cookie to the answer of the operation that ctx belongs to, if that
// [TakesCookies]. The cookie is HttpOnly, and Secure where the client came by HTTPS. Only
// a mutation may call it: its fields run one after the other.
func SetCookie(ctx context.Context, cookie http.Cookie) {
	r := requestOf(ctx)
	if r.answer == nil {
		return
	}
	cookie.HttpOnly = true
	cookie.Secure = r.caller.server.cfg.TrustedProxies.HTTPS(r.http)
	http.SetCookie(r.answer, &cookie)
}
