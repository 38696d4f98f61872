// Package gqlserver serves a gqlgen schema over HTTP, server-sent events and WebSockets.
//
// Stock gqlgen accepts bodies of any size, validates documents of any shape, retains sockets of
// clients that never read, and shows internal errors to clients. This package replaces its
// transports and bounds all resources that clients can use, see [Limits]. Extensions that
// intercept operations work as with gqlgen's own server. A [Server] is an http.Handler over any
// executable schema:
//
//	s, err := gqlserver.New(generated.NewExecutableSchema(…), gqlserver.Config{})
//	http.Handle("/graphql", s)
//
// Cheap checks precede expensive ones: connection, rate, headers, size, shape of the document,
// validation, execution.
package gqlserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/ratelimit"
)

// Config configures a [Server]. The zero value serves a public schema with default limits.
type Config struct {
	Limits         Limits
	TrustedProxies clientaddr.Proxies // trusted to set X-Forwarded-For

	// Authenticate authenticates a token: for each HTTP request, at connection_init, before each
	// operation on a socket and every Limits.Recheck. The server sets no deadline, so
	// Authenticate bounds its own calls. Without a token it must not wait. Nil treats every
	// client as anonymous.
	Authenticate func(ctx context.Context, c Credentials) AuthResult

	// AllowedOrigins are foreign origins ("https://app.example.com") whose pages may read
	// responses (CORS) and open sockets. The server's own origin is always allowed.
	AllowedOrigins []string

	Introspection bool // allows introspection; errors then suggest names

	// CacheableFields are public root query fields with the time that any cache may store them.
	// It applies to an anonymous GET without errors that selects only such fields.
	CacheableFields map[string]time.Duration

	// TrustedDocuments are texts that clients may request by their SHA-256 in lower-case hex,
	// such as those of a bundled app. They are never evicted. New rejects a text that is invalid
	// for the schema or exceeds the default limits of documents. Stricter Limits of documents do
	// not apply, so they do not break the app. The limits of running an operation apply.
	TrustedDocuments map[string]string

	// OncePerRequest are mutation fields, such as password checks, that are allowed once per
	// request, whatever their alias.
	OncePerRequest []string

	AnonymousUploads bool // allows anonymous callers to upload files

	// ErrorPresenter converts an error for the client. It must hide internal details. Nil shows a
	// *gqlerror.Error without a cause unchanged, and "internal error" for all others.
	ErrorPresenter graphql.ErrorPresenterFunc

	// CopyContext copies values from the context of an upgrade to that of its socket. Keep them
	// small, as they live as long as the socket. Nil copies none.
	CopyContext func(from, to context.Context) context.Context

	Registerer prometheus.Registerer // used by this server alone; nil for no metrics
	Log        *slog.Logger          // nil for none
}

// Credentials are the credentials of a client.
type Credentials struct {
	Token   string     // bearer token; empty for an anonymous client
	Addr    netip.Addr // of the client, see [clientaddr.Proxies.ClientAddr]; may be zero
	Network string     // [clientaddr.Network] of Addr; empty if Addr is zero
}

// An AuthResult is the result of an authentication.
type AuthResult struct {
	User        string // the user that limits count by; empty for an anonymous caller
	Session     string // session id, for [Server.Recheck]; empty for none
	BadToken    bool   // the token is invalid or has expired
	Unavailable bool   // the stores are unavailable

	// WithContext adds the caller to the context of an operation. Nil adds nothing.
	WithContext func(context.Context) context.Context
}

// A Server serves a GraphQL schema. It is safe for concurrent use.
//
// It sets a write deadline for every response. The deadline stays with the connection, so other
// handlers of the same http.Server should set theirs too.
type Server struct {
	cfg      Config
	log      *slog.Logger
	exec     *document.Executor
	csrf     *http.CrossOriginProtection
	handler  http.Handler
	metrics  *metrics
	docs     *document.Store
	interner *request.Interner

	networks clientaddr.KeyCache

	queryType string // type name in the schema

	anonymous, users       *ratelimit.Limiter     // requests of networks and users
	authLookups, badTokens *ratelimit.Limiter     // token lookups and bad tokens of networks
	notFound               *ratelimit.Limiter     // misses of callers, see [AllowRead]
	memory                 *quota.ByteBudget      // bytes of large requests and responses
	running                *quota.WeightedLimiter // points of complexity
	uploads                *quota.ByteBudget      // bytes received of multipart bodies
	perAddress             *quota.ConnCounter     // sockets and event streams
	perUser                *quota.EvictingLimiter
	sockets                *wsServer
	streams                *streams
	broadcasts             *broadcaster
	sessions               *sessionIndex
}

// New returns a server for a schema. It returns an error for invalid trusted documents and
// origins.
func New(es graphql.ExecutableSchema, cfg Config) (*Server, error) {
	cfg.Limits = cfg.Limits.orDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := cfg.Limits
	d := &Server{
		cfg: cfg, log: cfg.Log, interner: request.NewInterner(), metrics: newMetrics(cfg.Registerer), queryType: es.Schema().Query.Name,
		anonymous:   ratelimit.New(l.AnonymousRate, l.AnonymousBurst, time.Now),
		users:       ratelimit.NewForUsers(l.UserRate, l.UserBurst, time.Now),
		authLookups: ratelimit.New(l.AuthLookups, 2*l.AuthLookups, time.Now),
		badTokens:   ratelimit.New(l.AnonymousRate, l.AnonymousBurst, time.Now),
		notFound:    ratelimit.NewBudget(l.AbsentReads, time.Minute, time.Now),
		memory:      quota.NewByteBudget(l.Memory, l.Memory/4), running: quota.NewWeightedLimiter(l.Running, l.Running/4),
		uploads:    newUploadBudget(l),
		perAddress: quota.NewConnCounter(l.SocketsPerAddress), perUser: quota.NewEvictingLimiter(l.SocketsPerUser),
	}
	var err error
	if d.docs, err = newDocuments(es, &d.cfg, d.metrics, d.interner); err != nil {
		return nil, fmt.Errorf("prepare documents: %w", err)
	}
	d.sockets, d.streams = newWSServer(d), newStreams()
	d.broadcasts, d.sessions = newBroadcaster(d), newSessionIndex()
	d.exec = document.NewExecutor(es, d.docs, d.present, d.recovered)
	if d.csrf, err = d.protection(); err != nil {
		return nil, err
	}
	d.handler, err = d.buildHandler()
	return d, err
}

func newDocuments(es graphql.ExecutableSchema, cfg *Config, m *metrics, t *request.Interner) (*document.Store, error) {
	defaults := Limits{}.orDefaults()
	return document.New(es, document.Config{
		Limits: cfg.Limits.documents(), Introspection: cfg.Introspection, OncePerRequest: cfg.OncePerRequest,
		TrustedDocuments: cfg.TrustedDocuments, TrustedLimits: defaults.documents(),
		Interner: t, OnDocument: m.document, OnPersisted: m.persistedQuery,
	})
}

// Use adds a gqlgen extension that intercepts operations, responses or fields. Call it before
// the server serves requests. It panics if the extension would change checked requests
// (graphql.OperationParameterMutator, graphql.OperationContextMutator). [Complexity] returns the
// points of an operation.
func (d *Server) Use(extension graphql.HandlerExtension) { d.exec.Use(extension) }

// ServeHTTP serves GET, POST, event streams and WebSockets.
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Close ends all sockets and event streams, in random order over at most the given time, so that
// clients do not reconnect all at once. It rejects new ones. Sockets close with 1012 (service
// restart), which clients retry. Close returns when all have ended or ctx ends.
func (d *Server) Close(ctx context.Context, over time.Duration) error {
	var both errgroup.Group
	both.Go(func() error { return d.sockets.Close(ctx, over) })
	both.Go(func() error { return d.streams.close(ctx, over) })
	err := both.Wait()
	return errors.Join(err, d.broadcasts.wait(ctx), d.sessions.wait(ctx))
}

// spread returns the pause between the ends of n connections, at most 20 ms.
func spread(over time.Duration, n int) time.Duration {
	return min(over/time.Duration(max(n, 1)), 20*time.Millisecond)
}

var errPanic = errors.New("panic")

func (d *Server) present(ctx context.Context, err error) *gqlerror.Error {
	if d.cfg.ErrorPresenter != nil {
		return d.cfg.ErrorPresenter(ctx, err)
	}
	if public, ok := errors.AsType[*gqlerror.Error](err); ok && public.Err == nil {
		return &gqlerror.Error{Message: public.Message, Path: public.Path, Locations: public.Locations, Extensions: public.Extensions}
	}
	return &gqlerror.Error{Message: "internal error", Path: graphql.GetPath(ctx), Extensions: map[string]any{"code": errcode.Internal}}
}

// WithoutDefer returns a copy of a schema without @defer, which the parser adds to every schema.
// The server rejects @defer, so introspection should not list it either.
func WithoutDefer(schema *ast.Schema) *ast.Schema { return document.WithoutDefer(schema) }
