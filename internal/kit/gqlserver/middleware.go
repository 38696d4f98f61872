package gqlserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// What stands before the transports, in this order: who may read the answer
// (CORS), who may make the browser ask (CSRF), how often, and who it is.

// minCompressed is the size from which an answer is compressed, in bytes.
const minCompressed = 1024

// buildHandler is the whole door as one handler.
func (d *Server) buildHandler() (http.Handler, error) {
	compressed, err := gzhttp.NewWrapper(
		gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(true),
		gzhttp.ContentTypes([]string{request.MediaJSON, request.MediaGraphQL}),
	)
	if err != nil {
		return nil, fmt.Errorf("compression: %w", err)
	}
	plain := http.HandlerFunc(d.handle)
	packed := compressed(plain)
	inner := d.csrf.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isUpgrade(r):
			plain.ServeHTTP(w, r)
		case len(r.Header["Accept-Encoding"]) == 0: // as packed would, which wraps the answer nevertheless
			vary(w.Header(), varyEncoding)
			plain.ServeHTTP(w, r)
		default:
			packed.ServeHTTP(w, r)
		}
	}))
	return d.crossOrigin(d.bodyTime(inner)), nil
}

// crossOrigin lets pages of the allowed origins read the answers of a handler.
//
// They may send any header: tracing and client libraries add their own, the
// server ignores those that it does not know, and a preflight that fails for one
// of them fails the whole request. That weakens no check: headers that prove a
// preflight, see [preflightHeaders], are still refused to every other origin.
func (d *Server) crossOrigin(next http.Handler) http.Handler {
	if len(d.cfg.AllowedOrigins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: d.cfg.AllowedOrigins,
		AllowedMethods: []string{http.MethodGet, http.MethodPost},
		AllowedHeaders: []string{"*"}, // the answer lists what was asked for
		ExposedHeaders: []string{"X-Request-Id", "Retry-After"},
		MaxAge:         int((2 * time.Hour).Seconds()), // browsers take no more
	}).Handler(next)
}

// protection refuses what a page of a foreign origin makes a browser ask.
func (d *Server) protection() (*http.CrossOriginProtection, error) {
	csrf := http.NewCrossOriginProtection()
	for _, origin := range d.cfg.AllowedOrigins {
		if err := CheckOrigin(origin); err != nil {
			return nil, err
		}
		if err := csrf.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("origin %s: %w", origin, err)
		}
	}
	csrf.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.refuse(w, r, http.StatusForbidden, errcode.Errorf(errcode.CSRF, "This page's origin may not send requests here."))
	}))
	return csrf, nil
}

// bodyTime bounds the time for a body that nobody reads, for the server waits for
// it before it answers. Who reads one gives it a time of its own.
func (d *Server) bodyTime(next http.Handler) http.Handler {
	limit := d.cfg.Limits.BodyTime
	if limit < 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit)) // else it is a test's
		}
		next.ServeHTTP(w, r)
	})
}

// CheckOrigin says what is wrong with an origin, such as
// "https://app.example.com".
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.Contains(origin, "*") {
		return fmt.Errorf("origin %q is not like https://app.example.com", origin)
	}
	return nil
}

// originAllowed says whether a page may open a socket: one of our own host, or
// of a foreign origin that is allowed. What has no origin is no browser.
func (d *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(d.cfg.AllowedOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// isUpgrade says whether a request wants to become a WebSocket.
func isUpgrade(r *http.Request) bool {
	return hasToken(r.Header["Upgrade"], "websocket")
}

// A requestInfo is what a context tells of the request or the operation that it belongs to.
type requestInfo struct {
	caller     caller
	complexity int                 // of the operation, in points; 0 before it is known
	answer     http.ResponseWriter // of a request by HTTP; nil on a socket
	http       *http.Request       // with answer
}

type requestKey struct{}

func withRequest(ctx context.Context, r *requestInfo) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns an empty request if ctx belongs to none.
func requestOf(ctx context.Context) *requestInfo {
	if r, ok := ctx.Value(requestKey{}).(*requestInfo); ok {
		return r
	}
	return &requestInfo{}
}

func callerOf(ctx context.Context) caller { return requestOf(ctx).caller }

// Complexity returns the points of the operation that ctx belongs to; 0 if there is none.
func Complexity(ctx context.Context) int { return requestOf(ctx).complexity }

// handle finds out who asks, counts the request, and hands it to a transport.
func (d *Server) handle(w http.ResponseWriter, r *http.Request) {
	c, refused := d.authenticate(r)
	if refused != nil {
		d.refuse(w, r, statusOf(&graphql.Response{Errors: gqlerror.List{refused}}, request.MediaJSON), refused)
		return
	}
	defer func() { //nolint:contextcheck // the context is that of the request
		if p := recover(); p != nil {
			text, _ := json.Marshal(&graphql.Response{Errors: d.caught(r.Context(), p)})
			d.deadline(w, len(text))
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(text)
		}
	}()
	if isUpgrade(r) {
		d.sockets.Do(w, r.WithContext(withRequest(r.Context(), &requestInfo{caller: c})))
		return
	}
	(&httpTransport{d}).serve(w, r, c)
}

// authenticate counts a request before anything of its body is read. Somebody with a
// token counts as a user; who brings bad ones is soon not asked for them any
// more, for each costs a look into the stores.
func (d *Server) authenticate(r *http.Request) (caller, *gqlerror.Error) {
	c := d.anonymousCaller(r)
	token := bearer(r.Header.Get("Authorization"))
	if isUpgrade(r) {
		token = "" // a socket says who it is once it is open
	}
	if token != "" {
		if wait, ok := d.allowLookup(c); !ok {
			return c, tooMany(wait)
		}
	}
	c, ok := d.lookUpToken(r.Context(), c, token)
	if !ok {
		return c, errcode.Errorf(errcode.Internal, "internal error")
	}
	return c, d.count(c)
}

// anonymousCaller is whoever sends a request, as long as nobody asked who it is.
func (d *Server) anonymousCaller(r *http.Request) caller {
	c := caller{addr: d.cfg.TrustedProxies.ClientAddr(r)}
	c.network = d.networks.Key(c.addr)
	c.key = c.network
	return c
}

// allowLookup says whether it may be asked who has a token: not too often from one
// network, and not any more for a while where most of them are bad.
func (d *Server) allowLookup(c caller) (wait time.Duration, ok bool) {
	if d.badTokens.Empty(c.network) {
		return time.Second, false
	}
	return d.authLookups.Take(c.network)
}

// lookUpToken asks who has a token, or, without one, what nobody known gets. A panic of
// Config.Authenticate is logged; then ok is false, and nobody knows who asks.
func (d *Server) lookUpToken(ctx context.Context, c caller, token string) (now caller, ok bool) {
	if d.cfg.Authenticate == nil {
		return c, true
	}
	defer func() {
		if p := recover(); p != nil {
			_ = d.recovered(ctx, p)
			now, ok = c, false
			now.admission = AuthResult{Unavailable: true}
		}
	}()
	now = c
	credentials := Credentials{Token: token, Addr: c.addr}
	if c.addr.IsValid() {
		credentials.Network = strings.TrimPrefix(c.network, "a:")
	}
	now.admission = d.cfg.Authenticate(ctx, credentials)
	now.key = c.network
	if now.admission.User != "" {
		now.key = "u:" + now.admission.User
	}
	if now.admission.BadToken {
		d.badTokens.Take(c.network)
	}
	return now, true
}

// count takes one request from the caller's rate.
func (d *Server) count(c caller) *gqlerror.Error {
	rate := d.anonymous
	if c.admission.User != "" {
		rate = d.users
	}
	if wait, ok := rate.Take(c.key); !ok {
		return tooMany(wait)
	}
	return nil
}

func tooMany(wait time.Duration) *gqlerror.Error {
	return errcode.RetryLater(errcode.RateLimited, "Too many requests.", wait)
}

// bearer is the token of an Authorization header, or of what a socket sends in
// its stead; "" if there is none. What stands in a URL ends up in logs, so it is
// never looked for there.
func bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
