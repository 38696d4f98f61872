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

// Limits of the HTTP server. The GraphQL server has its own request limits.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second // the GraphQL server extends it for uploads
	idleTimeout   = time.Minute
	maxHeader     = 32 << 10
	openTimeout   = 3 * time.Second  // wait of a POST for the end of the start
	writeTimeout  = 25 * time.Second // the GraphQL server sets its own deadlines

	metricsConns           = 100 // connections to --metrics-addr
	metricsConnsPerAddress = 20
	metricsStopTimeout     = time.Second // for a running scrape at the stop
)

// server returns the HTTP server. It serves probes and metrics at once, and the rest after
// the start. See waitReady.
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
			writeText(w, http.StatusServiceUnavailable, "starting")
		})
		mux.Handle("/", open)
		all = routeGraphQL(open, mux)
	}
	requests := observe.RequestLog{Log: a.log, Sample: a.cfg.LogSample, Slow: a.cfg.LogSlow}
	return a.httpServer(a.tracing.HTTP(observe.HTTP(hardened(a.watchForwarded(withWriteTimeout(all))), a.reg, requests)))
}

// metricsServer returns the HTTP server of --metrics-addr: metrics and probes.
func (a *App) metricsServer() *http.Server {
	mux := http.NewServeMux()
	a.handleProbes(mux)
	mux.Handle("/metrics", a.metricsHandler())
	return a.httpServer(hardened(withWriteTimeout(mux)))
}

// httpServer returns a server with the limits of all listeners.
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
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "alive") })
	mux.HandleFunc("/readyz", a.readyz)
}

func (a *App) metricsHandler() http.Handler {
	return promhttp.HandlerFor(a.reg, promhttp.HandlerOpts{Registry: a.reg})
}

// Headers of every response. Handlers of pages and pictures set their own policy. All
// responses share these slices, so they must not be modified.
//
//nolint:gochecknoglobals // constants
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

// watchForwarded logs and counts X-Forwarded-For and Forwarded from untrusted peers. Behind
// a proxy that --trusted-proxies does not name, all clients share the limits of one address.
func (a *App) watchForwarded(next http.Handler) http.Handler {
	ignored := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_http_forwarded_ignored_total", Help: "Requests whose X-Forwarded-For or Forwarded header was ignored, because the peer is not a trusted proxy.",
	})
	a.reg.MustRegister(ignored)
	warn := clock.Throttle{Every: time.Minute}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (len(r.Header["X-Forwarded-For"]) > 0 || len(r.Header["Forwarded"]) > 0) && !a.proxies.Trusts(r) {
			ignored.Inc()
			if warn.Allow() {
				a.log.WarnContext(r.Context(), "forwarding header from an untrusted peer",
					"hint", "if the peer is your proxy, add it to --trusted-proxies and let it set X-Forwarded-For; until then, its clients share one limit")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// routeGraphQL routes requests for the GraphQL path to graphQL and others to next. It is
// faster than a ServeMux, whose lookup takes longer than many cached queries.
func routeGraphQL(graphQL, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == graphQLPath && r.Method != http.MethodConnect {
			r.Pattern = graphQLPath
			graphQL.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// waitReady returns the handler of the API, or nil before the end of the start. For a GET
// or HEAD it returns at once: a load balancer retries those on another server. For other
// methods, which balancers do not retry, it waits up to openTimeout. Otherwise a
// least-connections balancer would send most of them to this server, which refuses fast.
func (a *App) waitReady(r *http.Request) *http.Handler {
	open := a.handler.Load()
	if open != nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return open
	}
	timeout := time.NewTimer(openTimeout)
	defer timeout.Stop()
	select {
	case <-a.ready:
	case <-a.stopping:
	case <-timeout.C:
	case <-r.Context().Done():
	}
	return a.handler.Load()
}

// bounded limits the connections of the listener, per client address and in total, so that
// idle connections of one client do not block others.
func (a *App) bounded(listener net.Listener) net.Listener {
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_http_connections_refused_total", Help: "Connections closed immediately: too many from one client address, or in total.",
	})
	a.reg.MustRegister(refused)
	return connlimit.Listen(listener, connlimit.Config{
		PerAddress: connsPerSocket * a.cfg.ConnsPerAddress, Total: a.cfg.Conns, Trusted: a.proxies, Refused: refused.Inc,
	})
}

// connsPerSocket is the number of connections that a client address may open for each
// socket or event stream that it may have.
const connsPerSocket = 10

// withWriteTimeout bounds the time to write a response. Otherwise a client that does not
// read would delay the stop of the server. Streams set a deadline for each write.
func withWriteTimeout(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !setsOwnDeadline(r) {
			// This fails only for test recorders.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		next.ServeHTTP(w, r)
	})
}

// setsOwnDeadline reports whether only the GraphQL server writes the response: it sets a
// deadline for each write. CORS preflights, refused WebSocket upgrades and the
// 100 Continue of net/http are written without one.
func setsOwnDeadline(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == graphQLPath && len(r.Header["Expect"]) == 0 && len(r.Header["Upgrade"]) == 0
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// readyz answers 200 if the server is migrated, connected and open, and its database
// answers. It names an unavailable Redis, but the instance stays ready: it reads rows, and
// other instances would do the same.
func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	components := a.Components()
	if components == nil {
		writeText(w, http.StatusServiceUnavailable, "starting")
		return
	}
	if a.handler.Load() == nil {
		writeText(w, http.StatusServiceUnavailable, "warming")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := components.DB.PingContext(ctx); err != nil {
		a.log.WarnContext(ctx, "not ready: database is unavailable", "err", err)
		writeText(w, http.StatusServiceUnavailable, "the database does not respond")
		return
	}
	text := "ready"
	if err := components.State.Ping(ctx).Err(); err != nil {
		text += ", without the state Redis"
	}
	if err := components.Cache.Ping(ctx).Err(); err != nil {
		text += ", without the cache Redis"
	}
	writeText(w, http.StatusOK, text)
}

// api returns the handler of GraphQL, pictures, webhooks and pages.
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

// linkTimeout bounds the lookup of the object of a link. A fast page matters more than an
// exact status.
const linkTimeout = 500 * time.Millisecond

// linked returns a function that reports whether the object of an app page exists. It
// reports true if the lookup fails, takes too long or exceeds a limit of the client. It
// reports true for every order: page requests carry no token, and other users must not
// learn which orders exist.
func (a *App) linked(components *Components, graphQL *gqlserver.Server) web.Exists {
	return func(r *http.Request, types []string, id string) bool {
		named, err := scalar.ParseID(id)
		if err != nil || !slices.Contains(types, named.Type) {
			return false
		}
		if named.Type == "Order" {
			return true
		}
		exists := true
		graphQL.LookUp(r, func(ctx context.Context) {
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

// publicAge is the max-age of responses that are the same for all clients.
const publicAge = time.Minute

// graphQL returns the GraphQL server.
func (a *App) graphQL(components *Components) (*gqlserver.Server, error) {
	limits, err := a.cfg.ServerLimits()
	if err != nil {
		return nil, err
	}
	observed := observe.NewGraphQLMetrics(a.reg)
	present := graph.Present(a.log, observe.RequestID, func(err error) bool { return sqldb.Unavailable(err) || redisdb.Unavailable(err) })
	executable := graph.New(components.Services)
	planned := plan.New(generated.NewExecutableSchema(executable), generated.Plans(executable), plan.Options{
		NextEvent: broadcast.NextValue,
		Disabled:  slices.Contains(a.cfg.Without, "plans"), Bypass: observe.IsTraced, OnRootField: observed.RootField,
		OnError: func(ctx context.Context, err error) {
			a.log.DebugContext(ctx, "query is executed without a plan", "err", err)
		},
	})
	server, err := gqlserver.New(planned, gqlserver.Config{
		Limits: limits, TrustedProxies: a.proxies, AllowedOrigins: a.cfg.CORSOrigins, Introspection: a.cfg.Introspection,
		Authenticate:     authenticate(components),
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
		return nil, fmt.Errorf("create the GraphQL server: %w", err)
	}
	server.Use(observed)
	server.Use(freshMutations{})
	server.Use(VisitCounter{components.Visits})
	if traces := a.tracing.GraphQL(gqlserver.Complexity); traces != nil {
		server.Use(traces)
	}
	return server, nil
}

// freshMutations is a gqlgen extension for mutations. They read every write that returned
// before they began, on any instance.
type freshMutations struct{}

// ExtensionName names the extension in gqlgen's errors.
func (freshMutations) ExtensionName() string { return "FreshMutations" }

// Validate accepts every schema.
func (freshMutations) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation makes mutations skip the local cache.
func (freshMutations) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		ctx = cache.SkipLocal(ctx)
	}
	return next(ctx)
}

// authenticate returns the function that authenticates GraphQL requests.
func authenticate(components *Components) func(context.Context, gqlserver.Credentials) gqlserver.AuthResult {
	return func(ctx context.Context, c gqlserver.Credentials) gqlserver.AuthResult {
		var viewer account.Viewer
		if c.Token != "" {
			viewer = components.Accounts.Authenticate(ctx, c.Token)
		}
		result := gqlserver.AuthResult{
			Session:     viewer.Session(),
			Unavailable: viewer.Unknown(),
			BadToken:    c.Token != "" && viewer.ID == 0 && !viewer.Unknown(),
			WithContext: func(ctx context.Context) context.Context { return graph.WithCaller(ctx, viewer, c.Network) },
		}
		if viewer.ID != 0 {
			result.User = strconv.FormatInt(viewer.ID, 10)
		}
		return result
	}
}
