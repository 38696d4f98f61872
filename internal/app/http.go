package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/connlimit"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/plan"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/web"
)

const graphQLPath = "/graphql"

// Limits of the HTTP server. Those of GraphQL requests are the door's.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second // the door gives uploads longer
	idleTimeout   = time.Minute
	maxHeader     = 32 << 10
	openTimeout   = 3 * time.Second  // what is no GET waits for the end of the start
	answerTimeout = 25 * time.Second // the door sets its own when it writes

	metricsConns           = 100         // connections to --metrics-addr
	metricsConnsPerAddress = 20          // of those
	metricsStopTimeout     = time.Second // in which a scrape finishes when the server stops
)

// server is the HTTP server: probes and metrics at once, the rest when the
// house is open, for which what is no GET waits a moment.
func (a *App) server() *http.Server {
	mux := http.NewServeMux()
	a.handleProbes(mux)
	if a.cfg.MetricsAddr == "" {
		mux.Handle("/metrics", a.metricsHandler())
	} else {
		mux.Handle("/metrics", http.NotFoundHandler())
	}
	var all http.Handler = mux
	if a.cfg.Runs("api") {
		open := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if open := a.waitReady(r); open != nil {
				(*open).ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "1")
			say(w, http.StatusServiceUnavailable, "starting")
		})
		mux.Handle("/", open)
		all = routeGraphQL(open, mux)
	}
	requests := observe.RequestLog{Log: a.log, Sample: a.cfg.LogSample, Slow: a.cfg.LogSlow}
	return a.httpServer(a.tracing.HTTP(observe.HTTP(hardened(a.watchForwarded(withWriteTimeout(all))), a.reg, requests)))
}

// metricsServer is the HTTP server of --metrics-addr: metrics and probes.
func (a *App) metricsServer() *http.Server {
	mux := http.NewServeMux()
	a.handleProbes(mux)
	mux.Handle("/metrics", a.metricsHandler())
	return a.httpServer(hardened(withWriteTimeout(mux)))
}

// httpServer returns a server with the limits that all listeners have.
func (a *App) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
}

func (a *App) handleProbes(mux *http.ServeMux) {
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.HandleFunc("/readyz", a.readyz)
}

func (a *App) metricsHandler() http.Handler {
	return promhttp.HandlerFor(a.reg, promhttp.HandlerOpts{Registry: a.reg})
}

// Headers of every answer. A handler that serves pages or pictures sets a policy of its
// own. They are shared by all answers and must not be changed.
//
//nolint:gochecknoglobals // constants that Go cannot say
var (
	noSniff  = []string{"nosniff"}
	noLoads  = []string{"default-src 'none'; frame-ancestors 'none'"}
	noOrigin = []string{"no-referrer"}
)

// hardened sets headers against content sniffing, loading of resources and referrer leaks.
func hardened(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"], h["Content-Security-Policy"], h["Referrer-Policy"] = noSniff, noLoads, noOrigin
		next.ServeHTTP(w, r)
	})
}

// watchForwarded warns of X-Forwarded-For and Forwarded from peers that are not trusted
// proxies: behind a proxy that --trusted-proxies does not name, all clients share one
// client's limits.
func (a *App) watchForwarded(next http.Handler) http.Handler {
	ignored := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_http_forwarded_ignored_total", Help: "Requests whose X-Forwarded-For or Forwarded was ignored: their peer is not a trusted proxy.",
	})
	a.reg.MustRegister(ignored)
	warn := clock.Throttle{Every: time.Minute}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (len(r.Header["X-Forwarded-For"]) > 0 || len(r.Header["Forwarded"]) > 0) && !a.proxies.Trusts(r) {
			ignored.Inc()
			if warn.Allow() {
				a.log.WarnContext(r.Context(), "forwarding header from an untrusted peer",
					"hint", "if the peer is your proxy, name it in --trusted-proxies and let it set X-Forwarded-For: until then all its clients share the limits of one")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// routeGraphQL gives requests to the path of GraphQL to a handler and all others to another
// one. A ServeMux would find the same, but looks for longer than much of what is asked takes.
func routeGraphQL(to, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == graphQLPath && r.Method != http.MethodConnect {
			r.Pattern = graphQLPath
			to.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

// waitReady is what answers, and nil if the house is not open. A GET is told so at once:
// a balancer gives it to another server. It cannot do so with anything else, which may be
// done twice then; and as it prefers who is least busy, it would send nearly all of that to
// a server that refuses at once. So that waits a moment.
func (a *App) waitReady(r *http.Request) *http.Handler {
	open := a.opened.Load()
	if open != nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return open
	}
	moment := time.NewTimer(openTimeout)
	defer moment.Stop()
	select {
	case <-a.ready:
	case <-a.ending:
	case <-moment.C:
	case <-r.Context().Done():
	}
	return a.opened.Load()
}

// bounded bounds the connections to the listener: a thousand from one client
// that say nothing hold up nobody else.
func (a *App) bounded(listener net.Listener) net.Listener {
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_http_connections_refused_total", Help: "Connections that were closed at once: too many of one address, or in all.",
	})
	a.reg.MustRegister(refused)
	return connlimit.Listen(listener, connlimit.Config{
		PerAddress: connsPerSocket * a.cfg.ConnsPerAddress, Total: a.cfg.Conns, Trusted: a.proxies, Refused: refused.Inc,
	})
}

// connsPerSocket is how many connections of an address there may be for each of
// the sockets and streams that it may have.
const connsPerSocket = 10

// withWriteTimeout bounds the time to write an answer: a client that does not read
// would keep its request, and the end of the server, waiting. A stream sets
// deadlines of its own, one for each write.
func withWriteTimeout(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !setsOwnDeadline(r) {
			// A connection that cannot have a deadline is not one of ours: a test's.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
		}
		next.ServeHTTP(w, r)
	})
}

// setsOwnDeadline reports whether nobody but the door writes the answer to a request, which sets a
// deadline for each write. Others write without: who allows pages of other origins to ask,
// who refuses to make a socket of a connection, and net/http to a client that waits to be
// told to go on.
func setsOwnDeadline(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == graphQLPath && len(r.Header["Expect"]) == 0 && len(r.Header["Upgrade"]) == 0
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// readyz answers 200 when the server is migrated, connected, and warm or has tried to be
// for long enough, and its database still answers. A Redis that went away later is named but keeps the instance
// in: it serves from the rows, and so would all the others.
func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	components := a.Components()
	if components == nil {
		say(w, http.StatusServiceUnavailable, "starting")
		return
	}
	if a.opened.Load() == nil {
		say(w, http.StatusServiceUnavailable, "warming")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := components.DB.PingContext(ctx); err != nil {
		a.log.WarnContext(ctx, "not ready: the database does not answer", "err", err)
		say(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	text := "ready"
	if err := components.State.Ping(ctx).Err(); err != nil {
		text += ", without the state Redis"
	}
	if err := components.Cache.Ping(ctx).Err(); err != nil {
		text += ", without the cache Redis"
	}
	say(w, http.StatusOK, text)
}

// api is what needs an open house: GraphQL, pictures and the pages.
func (a *App) api(components *Components) (http.Handler, *gqlserver.Server, error) {
	graphQL, err := a.graphQL(components)
	if err != nil {
		return nil, nil, err
	}
	recheck := graphQL.Recheck
	components.sessionsEnded.Store(&recheck)
	mux := http.NewServeMux()
	mux.Handle(graphQLPath, graphQL)
	mux.Handle("/visit", a.beacon(components, graphQL))
	mux.Handle("/webhooks/payment", components.Orders.Webhook(a.cfg.PaymentWebhookSecret))
	mux.Handle("/media/", components.Media)
	mux.HandleFunc("GET /demo/logins", a.serveLogins)
	a.site.Register(mux, a.linked(components, graphQL), "graphql", "visit", "webhooks", "media", "demo", "healthz", "readyz", "metrics")
	return routeGraphQL(graphQL, mux), graphQL, nil
}

// linkTimeout bounds the look-up of what a link names: the page is worth more than
// its status.
const linkTimeout = 500 * time.Millisecond

// linked returns a function that finds what the app's pages are about. What takes
// too long or fails is taken to exist, and so is every order: a request for a page
// carries no token, and nobody else may learn which orders exist.
func (a *App) linked(components *Components, gate *gqlserver.Server) web.Exists {
	return func(r *http.Request, types []string, id string) bool {
		named, err := scalar.ParseID(id)
		if err != nil || !slices.Contains(types, named.Type) {
			return false
		}
		if named.Type == "Order" {
			return true
		}
		exists := true
		gate.LookUp(r, func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, linkTimeout)
			defer cancel()
			found, err := graph.Exists(ctx, components.Services, named)
			if err != nil {
				a.log.DebugContext(ctx, "cannot look up the object of a link", "err", err)
			}
			exists = found || err != nil
		})
		return exists
	}
}

// publicAge is how long any cache may keep an answer that is the same for all.
const publicAge = time.Minute

// graphQL is the door to the schema.
func (a *App) graphQL(components *Components) (*gqlserver.Server, error) {
	limits, err := a.cfg.ServerLimits()
	if err != nil {
		return nil, err
	}
	observed := observe.NewGraphQL(a.reg)
	present := graph.Present(a.log, observe.RequestID, func(err error) bool { return sqldb.Unavailable(err) || redisdb.Unavailable(err) })
	executable := graph.New(components.Services)
	planned := plan.New(generated.NewExecutableSchema(executable), generated.Plans(executable), plan.Options{
		NextEvent: broadcast.NextValue,
		Disabled:  slices.Contains(a.cfg.Without, "plans"), Bypass: observe.IsTraced, OnRootField: observed.RootField,
		OnError: func(ctx context.Context, err error) { a.log.DebugContext(ctx, "a query is left to gqlgen", "err", err) },
	})
	d, err := gqlserver.New(planned, gqlserver.Config{
		Limits: limits, TrustedProxies: a.proxies, AllowedOrigins: a.cfg.CORSOrigins, Introspection: a.cfg.Introspection,
		Authenticate:     admit(components),
		CacheableFields:  map[string]time.Duration{"shopTypes": publicAge},
		TrustedDocuments: a.site.Documents(),
		OncePerRequest:   []string{"sendLoginCode", "login", "setPassword"},
		ErrorPresenter: func(ctx context.Context, err error) *gqlerror.Error {
			shown := present(ctx, err)
			observed.Shown(ctx, shown)
			return shown
		},
		CopyContext: observe.CopyRequestID,
		Registerer:  a.reg, Log: a.log,
	})
	if err != nil {
		return nil, fmt.Errorf("the door: %w", err)
	}
	d.Use(observed)
	d.Use(freshMutations{})
	d.Use(VisitCounter{components.Visits})
	if traces := a.tracing.GraphQL(gqlserver.Complexity); traces != nil {
		d.Use(traces)
	}
	return d, nil
}

// freshMutations lets what a mutation reads see every write that returned before
// it, on whatever instance.
type freshMutations struct{}

// ExtensionName names the extension in gqlgen's errors.
func (freshMutations) ExtensionName() string { return "FreshMutations" }

// Validate has nothing to object to in any schema.
func (freshMutations) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation passes over what this process holds itself.
func (freshMutations) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		ctx = cache.SkipLocal(ctx)
	}
	return next(ctx)
}

// admit finds out who asks.
func admit(components *Components) func(context.Context, gqlserver.Credentials) gqlserver.AuthResult {
	return func(ctx context.Context, c gqlserver.Credentials) gqlserver.AuthResult {
		var viewer account.Viewer
		if c.Token != "" {
			viewer = components.Accounts.Authenticate(ctx, c.Token)
		}
		admission := gqlserver.AuthResult{
			Session:     viewer.Session(),
			Unavailable: viewer.Unknown(),
			BadToken:    c.Token != "" && viewer.ID == 0 && !viewer.Unknown(),
			WithContext: func(ctx context.Context) context.Context { return graph.WithCaller(ctx, viewer, c.Network) },
		}
		if viewer.ID != 0 {
			admission.User = strconv.FormatInt(viewer.ID, 10)
		}
		return admission
	}
}
