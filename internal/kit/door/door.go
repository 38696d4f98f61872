package door

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
	"github.com/vektah/gqlparser/v2/gqlerror"
	"golang.org/x/sync/errgroup"
)

// Config is what a door needs to know. Its zero value is a door for a public
// schema with all limits at their defaults.
type Config struct {
	Limits  Limits
	Proxies Proxies // whose X-Forwarded-For is believed

	// Admit authenticates a token: once for each HTTP request, at connection_init, before
	// each operation on a socket and every Limits.Recheck. The door sets no deadline, so
	// Admit bounds its own calls. Without a token it must not wait. Nil admits every client
	// as anonymous.
	Admit func(ctx context.Context, c Credentials) Admission

	// Origins are the foreign origins ("https://app.example.com") whose pages may
	// read answers (CORS) and open sockets. A page of the server's own origin may
	// always.
	Origins []string

	Introspection bool // whether the schema may be asked for; errors suggest names then

	// Public are root query fields whose answers any cache may keep, and for how
	// long, when an anonymous GET asks for nothing else and gets no error.
	Public map[string]time.Duration

	// Documents are texts that clients may name from the start on, by their SHA-256
	// in lower-case hex, such as those of an app that is built together with the
	// server. Nothing drives them out. New refuses one that the schema does not know
	// or that is beyond the default limits of a document; Limits do not bind them, so
	// that a stricter setting does not stop the app. What running them costs is
	// bounded as ever.
	Documents map[string]string

	// Once are fields of mutations that stand at most once in a request, whatever
	// their alias: guesses that limits count one by one.
	Once []string

	AnonymousUploads bool // whether somebody unknown may send files

	// Present turns an error into what the client sees. It must show nothing of
	// the inside. Nil shows a *gqlerror.Error without a cause as it is, and
	// "internal error" for anything else.
	Present graphql.ErrorPresenterFunc

	// Keep gives the context of a socket what is needed of its upgrade's, the first:
	// small values, for they stay as long as the socket. Nil keeps nothing.
	Keep func(of, in context.Context) context.Context

	Registerer prometheus.Registerer // of this door alone; nil for no metrics
	Log        *slog.Logger          // nil for none
}

// Credentials are what somebody who asks comes with.
type Credentials struct {
	Token   string     // of a Bearer authorization; "" is anonymous
	Addr    netip.Addr // of the client, see [Proxies.ClientAddr]; may be zero
	Network string     // what [Network] has Addr in; "" if that is zero
}

// An Admission says who asks.
type Admission struct {
	User    string // whom limits count by; "" is nobody known
	Session string // an id of the session, for [Door.Recheck]; "" for none
	Refused bool   // a token was given that is not, or no longer, good
	Unknown bool   // it could not be found out now

	// Enter gives the context of an operation who asks. Nil leaves it as it is.
	Enter func(context.Context) context.Context
}

// A Door serves a GraphQL schema. It is safe for concurrent use.
//
// It sets a write deadline for every answer. Where other handlers share its
// http.Server they should set one too: it stays with the connection.
type Door struct {
	cfg     Config
	log     *slog.Logger
	exec    *executor
	csrf    *http.CrossOriginProtection
	front   http.Handler
	metrics *metrics
	docs    *documents
	texts   *texts

	networks networks

	queryType string // the name of the schema's

	anonymous, users *buckets // requests of networks and of users
	looks, refusals  *buckets // requests of networks with a token, and with a bad one
	absent           *buckets // reads of callers that ended in nothing
	memory           *budget  // bytes of large requests and answers
	running          *places  // points of complexity
	uploads          *budget  // bytes of multipart bodies that have arrived
	perAddress       *counts  // sockets and event streams
	perUser          *seats
	sockets          *sockets
	streams          *streams
	broadcasts       *broadcasts
	holders          *holders
}

// New returns a door to a schema.
func New(es graphql.ExecutableSchema, cfg Config) (*Door, error) {
	cfg.Limits = cfg.Limits.orDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := cfg.Limits
	d := &Door{
		cfg: cfg, log: cfg.Log, texts: newTexts(), metrics: newMetrics(cfg.Registerer), queryType: es.Schema().Query.Name,
		anonymous: newBuckets(l.AnonymousRate, l.AnonymousBurst, time.Now),
		users:     newUserBuckets(l.UserRate, l.UserBurst, time.Now),
		looks:     newBuckets(l.Looks, 2*l.Looks, time.Now),
		refusals:  newBuckets(l.AnonymousRate, l.AnonymousBurst, time.Now),
		absent:    newBudgets(l.AbsentReads, time.Minute, time.Now),
		memory:    newBudget(l.Memory, l.Memory/4), running: newPlaces(l.Running, l.Running/4),
		uploads:    newUploadBudget(l),
		perAddress: newCounts(l.SocketsPerAddress), perUser: newSeats(l.SocketsPerUser),
	}
	var err error
	if d.docs, err = newDocuments(es, &d.cfg, d.metrics, d.texts); err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	d.sockets, d.streams = newSockets(d), newStreams()
	d.broadcasts, d.holders = newBroadcasts(d), newHolders()
	d.exec = newExecutor(es, d.docs, d.present, d.recovered)
	if d.csrf, err = d.protection(); err != nil {
		return nil, err
	}
	d.front, err = d.wrapped()
	return d, err
}

// Use adds a gqlgen extension that intercepts operations, responses or fields. Call it
// before the door serves requests. It panics at an extension that would change what the
// door has checked (graphql.OperationParameterMutator, graphql.OperationContextMutator).
// [Complexity] returns the points of an operation.
func (d *Door) Use(extension graphql.HandlerExtension) { d.exec.Use(extension) }

// ServeHTTP answers GET, POST, event streams and WebSockets.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.front.ServeHTTP(w, r) }

// Close ends all sockets and event streams, in random order over the given
// time or less, so that their clients do not all come back at once, and refuses
// new ones. Sockets close with 1012 (service restart), which clients retry. It
// returns when all are gone or ctx ends.
func (d *Door) Close(ctx context.Context, over time.Duration) error {
	var both errgroup.Group
	both.Go(func() error { return d.sockets.Close(ctx, over) })
	both.Go(func() error { return d.streams.close(ctx, over) })
	err := both.Wait()
	return errors.Join(err, d.broadcasts.wait(ctx), d.holders.wait(ctx))
}

// spread is the pause between two of n that end, over a time: a few do not take
// it all.
func spread(over time.Duration, n int) time.Duration {
	return min(over/time.Duration(max(n, 1)), 20*time.Millisecond)
}

var errPanic = errors.New("panic")

// present shows an error to the client.
func (d *Door) present(ctx context.Context, err error) *gqlerror.Error {
	if d.cfg.Present != nil {
		return d.cfg.Present(ctx, err)
	}
	if told, ok := errors.AsType[*gqlerror.Error](err); ok && told.Err == nil {
		return &gqlerror.Error{Message: told.Message, Path: told.Path, Locations: told.Locations, Extensions: told.Extensions}
	}
	return &gqlerror.Error{Message: "internal error", Path: graphql.GetPath(ctx), Extensions: map[string]any{"code": codeInternal}}
}
