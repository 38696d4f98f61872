// Package gqlserver is the public face of a gqlgen server: HTTP, server-sent events
// and WebSockets as their specifications want them, with limits on everything
// that a stranger can ask for.
//
// Stock gqlgen accepts bodies of any size, validates documents of any shape,
// keeps sockets that never read, and tells strangers what went wrong inside.
// This package replaces its transports, and what stands between them and the
// schema; extensions that intercept work as with gqlgen's own server. A [Server]
// is an http.Handler over any executable schema:
//
//	d, err := gqlserver.New(generated.NewExecutableSchema(…), gqlserver.Config{})
//	http.Handle("/graphql", d)
//
// What is cheap is checked before what is expensive: the connection, the rate,
// the headers, the size, the shape of the document, and only then is it
// validated, and only then run.
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

// Config is what a door needs to know. Its zero value is a door for a public
// schema with all limits at their defaults.
type Config struct {
	Limits         Limits
	TrustedProxies clientaddr.Proxies // whose X-Forwarded-For is believed

	// Authenticate authenticates a token: once for each HTTP request, at connection_init, before
	// each operation on a socket and every Limits.Recheck. The door sets no deadline, so
	// Admit bounds its own calls. Without a token it must not wait. Nil admits every client
	// as anonymous.
	Authenticate func(ctx context.Context, c Credentials) AuthResult

	// AllowedOrigins are the foreign origins ("https://app.example.com") whose pages may
	// read answers (CORS) and open sockets. A page of the server's own origin may
	// always.
	AllowedOrigins []string

	Introspection bool // whether the schema may be asked for; errors suggest names then

	// CacheableFields are root query fields whose answers any cache may keep, and for how
	// long, when an anonymous GET asks for nothing else and gets no error.
	CacheableFields map[string]time.Duration

	// TrustedDocuments are texts that clients may name from the start on, by their SHA-256
	// in lower-case hex, such as those of an app that is built together with the
	// server. Nothing drives them out. New refuses one that the schema does not know
	// or that is beyond the default limits of a document; Limits do not bind them, so
	// that a stricter setting does not stop the app. What running them costs is
	// bounded as ever.
	TrustedDocuments map[string]string

	// OncePerRequest are fields of mutations that stand at most once in a request, whatever
	// their alias: guesses that limits count one by one.
	OncePerRequest []string

	AnonymousUploads bool // whether somebody unknown may send files

	// ErrorPresenter turns an error into what the client sees. It must show nothing of
	// the inside. Nil shows a *gqlerror.Error without a cause as it is, and
	// "internal error" for anything else.
	ErrorPresenter graphql.ErrorPresenterFunc

	// CopyContext gives the context of a socket what is needed of its upgrade's, the first:
	// small values, for they stay as long as the socket. Nil keeps nothing.
	CopyContext func(of, in context.Context) context.Context

	Registerer prometheus.Registerer // of this door alone; nil for no metrics
	Log        *slog.Logger          // nil for none
}

// Credentials are what somebody who asks comes with.
type Credentials struct {
	Token   string     // of a Bearer authorization; "" is anonymous
	Addr    netip.Addr // of the client, see [clientaddr.Proxies.ClientAddr]; may be zero
	Network string     // what [clientaddr.Network] has Addr in; "" if that is zero
}

// An AuthResult says who asks.
type AuthResult struct {
	User        string // whom limits count by; "" is nobody known
	Session     string // an id of the session, for [Server.Recheck]; "" for none
	BadToken    bool   // a token was given that is not, or no longer, good
	Unavailable bool   // it could not be found out now

	// WithContext gives the context of an operation who asks. Nil leaves it as it is.
	WithContext func(context.Context) context.Context
}

// A Server serves a GraphQL schema. It is safe for concurrent use.
//
// It sets a write deadline for every answer. Where other handlers share its
// http.Server they should set one too: it stays with the connection.
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

	queryType string // the name of the schema's

	anonymous, users       *ratelimit.Limiter     // requests of networks and of users
	authLookups, badTokens *ratelimit.Limiter     // requests of networks with a token, and with a bad one
	notFound               *ratelimit.Limiter     // reads of callers that ended in nothing
	memory                 *quota.ByteBudget      // bytes of large requests and answers
	running                *quota.WeightedLimiter // points of complexity
	uploads                *quota.ByteBudget      // bytes of multipart bodies that have arrived
	perAddress             *quota.ConnCounter     // sockets and event streams
	perUser                *quota.EvictingLimiter
	sockets                *wsServer
	streams                *streams
	broadcasts             *broadcaster
	sessions               *sessionIndex
}

// New returns a door to a schema.
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
		return nil, fmt.Errorf("documents: %w", err)
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

// newDocuments returns the store of the documents of a schema.
func newDocuments(es graphql.ExecutableSchema, cfg *Config, m *metrics, t *request.Interner) (*document.Store, error) {
	defaults := Limits{}.orDefaults()
	return document.New(es, document.Config{
		Limits: cfg.Limits.documents(), Introspection: cfg.Introspection, OncePerRequest: cfg.OncePerRequest,
		TrustedDocuments: cfg.TrustedDocuments, TrustedLimits: defaults.documents(),
		Interner: t, OnDocument: m.document, OnPersisted: m.persistedQuery,
	})
}

// Use adds a gqlgen extension that intercepts operations, responses or fields. Call it
// before the door serves requests. It panics at an extension that would change what the
// door has checked (graphql.OperationParameterMutator, graphql.OperationContextMutator).
// [Complexity] returns the points of an operation.
func (d *Server) Use(extension graphql.HandlerExtension) { d.exec.Use(extension) }

// ServeHTTP answers GET, POST, event streams and WebSockets.
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Close ends all sockets and event streams, in random order over the given
// time or less, so that their clients do not all come back at once, and refuses
// new ones. Sockets close with 1012 (service restart), which clients retry. It
// returns when all are gone or ctx ends.
func (d *Server) Close(ctx context.Context, over time.Duration) error {
	var both errgroup.Group
	both.Go(func() error { return d.sockets.Close(ctx, over) })
	both.Go(func() error { return d.streams.close(ctx, over) })
	err := both.Wait()
	return errors.Join(err, d.broadcasts.wait(ctx), d.sessions.wait(ctx))
}

// spread is the pause between two of n that end, over a time: a few do not take
// it all.
func spread(over time.Duration, n int) time.Duration {
	return min(over/time.Duration(max(n, 1)), 20*time.Millisecond)
}

var errPanic = errors.New("panic")

// present shows an error to the client.
func (d *Server) present(ctx context.Context, err error) *gqlerror.Error {
	if d.cfg.ErrorPresenter != nil {
		return d.cfg.ErrorPresenter(ctx, err)
	}
	if public, ok := errors.AsType[*gqlerror.Error](err); ok && public.Err == nil {
		return &gqlerror.Error{Message: public.Message, Path: public.Path, Locations: public.Locations, Extensions: public.Extensions}
	}
	return &gqlerror.Error{Message: "internal error", Path: graphql.GetPath(ctx), Extensions: map[string]any{"code": errcode.Internal}}
}

// WithoutDefer returns a copy of a schema that does not know @defer, which the parser adds
// to every schema. The server delivers no deferred responses and refuses @defer; a schema
// that introspection shows should not offer it either.
func WithoutDefer(schema *ast.Schema) *ast.Schema { return document.WithoutDefer(schema) }
