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

// Checks that precede the transports, in order: cross-origin reads (CORS), cross-origin requests
// (CSRF), authentication and rate limits.

// minCompressed is the size in bytes from which a response is compressed.
const minCompressed = 1024

func (d *Server) buildHandler() (http.Handler, error) {
	compressed, err := gzhttp.NewWrapper(
		gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(true),
		gzhttp.ContentTypes([]string{request.MediaJSON, request.MediaGraphQL}),
	)
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	plain := http.HandlerFunc(d.handle)
	packed := compressed(plain)
	inner := d.csrf.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isUpgrade(r):
			plain.ServeHTTP(w, r)
		case len(r.Header["Accept-Encoding"]) == 0: // same result as with packed, without its wrapper
			vary(w.Header(), varyEncoding)
			plain.ServeHTTP(w, r)
		default:
			packed.ServeHTTP(w, r)
		}
	}))
	return d.crossOrigin(d.bodyTime(inner)), nil
}

// crossOrigin lets pages of the allowed origins read the responses of a handler.
//
// They may send any header. Tracing and client libraries add their own, the server ignores
// unknown ones, and one denied header fails the whole preflight. This weakens no check: other
// origins still cannot send [preflightHeaders].
func (d *Server) crossOrigin(next http.Handler) http.Handler {
	if len(d.cfg.AllowedOrigins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: d.cfg.AllowedOrigins,
		AllowedMethods: []string{http.MethodGet, http.MethodPost},
		AllowedHeaders: []string{"*"}, // the response lists the requested ones
		ExposedHeaders: []string{"X-Request-Id", "Retry-After"},
		MaxAge:         int((2 * time.Hour).Seconds()), // the maximum in browsers
	}).Handler(next)
}

// protection returns the check that rejects cross-origin requests of browsers.
func (d *Server) protection() (*http.CrossOriginProtection, error) {
	csrf := http.NewCrossOriginProtection()
	for _, origin := range d.cfg.AllowedOrigins {
		if err := CheckOrigin(origin); err != nil {
			return nil, err
		}
		if err := csrf.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("trust origin %s: %w", origin, err)
		}
	}
	csrf.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.refuse(w, r, http.StatusForbidden, errcode.Errorf(errcode.CSRF, "Requests from this page's origin are not allowed."))
	}))
	return csrf, nil
}

// bodyTime sets a read deadline for request bodies, as the server reads an unused body before it
// responds. Handlers that read the body set their own deadline.
func (d *Server) bodyTime(next http.Handler) http.Handler {
	limit := d.cfg.Limits.BodyTime
	if limit < 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit)) // unsupported only in tests
		}
		next.ServeHTTP(w, r)
	})
}

// CheckOrigin returns an error unless origin has the form "https://app.example.com".
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.Contains(origin, "*") {
		return fmt.Errorf("invalid origin %q: must be like https://app.example.com", origin)
	}
	return nil
}

// originAllowed reports whether the origin of r may open a socket. It accepts the server's own
// host, the allowed origins, and clients without an origin, which are not browsers.
func (d *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(d.cfg.AllowedOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func isUpgrade(r *http.Request) bool {
	return hasToken(r.Header["Upgrade"], "websocket")
}

// A requestInfo describes the request or operation of a context.
type requestInfo struct {
	caller     caller
	complexity int                 // points of the operation; 0 until known
	answer     http.ResponseWriter // nil on a socket
	http       *http.Request       // nil on a socket
}

type requestKey struct{}

func withRequest(ctx context.Context, r *requestInfo) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the request of ctx, or an empty one.
func requestOf(ctx context.Context) *requestInfo {
	if r, ok := ctx.Value(requestKey{}).(*requestInfo); ok {
		return r
	}
	return &requestInfo{}
}

func callerOf(ctx context.Context) caller { return requestOf(ctx).caller }

// Complexity returns the points of the operation of ctx, or 0 if there is none.
func Complexity(ctx context.Context) int { return requestOf(ctx).complexity }

// handle authenticates and counts a request, and passes it to its transport.
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

// authenticate looks up the caller and counts the request before the body is read. Requests with
// a valid token count for the user. A network that sends many bad tokens is rejected without
// lookups, as each one reads the stores.
func (d *Server) authenticate(r *http.Request) (caller, *gqlerror.Error) {
	c := d.anonymousCaller(r)
	token := bearer(r.Header.Get("Authorization"))
	if isUpgrade(r) {
		token = "" // a socket sends its token in connection_init
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

func (d *Server) anonymousCaller(r *http.Request) caller {
	c := caller{addr: d.cfg.TrustedProxies.ClientAddr(r)}
	c.network = d.networks.Key(c.addr)
	c.key = c.network
	return c
}

// allowLookup reports whether the limits of lookups and of bad tokens allow c's network to look
// up a token. If not, wait is the time until a retry.
func (d *Server) allowLookup(c caller) (wait time.Duration, ok bool) {
	if d.badTokens.Empty(c.network) {
		return time.Second, false
	}
	return d.authLookups.Take(c.network)
}

// lookUpToken authenticates a token; an empty one is anonymous. It logs a panic of
// Config.Authenticate; then ok is false and authentication counts as unavailable.
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

// count takes one request from the rate limit of c.
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

// bearer returns the token of an Authorization header or of its counterpart on sockets, or "".
// Tokens in URLs are ignored, as URLs end up in logs.
func bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
