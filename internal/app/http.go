package app

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/door"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Limits of the HTTP server and of one GraphQL request.
const (
	headerTimeout    = 5 * time.Second
	bodyTimeout      = 10 * time.Second
	idleTimeout      = time.Minute
	maxHeader        = 32 << 10
	maxBody          = 1 << 20
	operationTimeout = 10 * time.Second
	answerTimeout    = bodyTimeout + operationTimeout + 5*time.Second
	maxTokens        = 5000
	maxComplexity    = 5000
	cachedDocuments  = 1000
)

// server is the HTTP server: probes and metrics at once, the rest when the
// house is open.
func (a *App) server() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.HandleFunc("/readyz", a.readyz)
	mux.Handle("/metrics", promhttp.HandlerFor(a.reg, promhttp.HandlerOpts{Registry: a.reg}))
	if a.cfg.Runs("api") {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			if door := a.door.Load(); door != nil {
				(*door).ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "1")
			say(w, http.StatusServiceUnavailable, "starting")
		})
	}
	return &http.Server{
		Handler:           observe.HTTP(answering(mux), a.reg, a.log),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
}

// answering bounds the time to write an answer: a client that does not read
// would keep its request, and the end of the server, waiting. A stream sets
// deadlines of its own, one for each write.
func answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A connection that cannot have a deadline is not one of ours: a test's.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
		next.ServeHTTP(w, r)
	})
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// readyz answers 200 when the server is migrated, connected, and its database
// still answers. A Redis that went away later is named but keeps the instance
// in: it serves from the rows, and so would all the others.
func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	house := a.House()
	if house == nil {
		say(w, http.StatusServiceUnavailable, "starting")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := house.DB.PingContext(ctx); err != nil {
		a.log.WarnContext(ctx, "not ready: the database does not answer", "err", err)
		say(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	text := "ready"
	if err := house.State.Ping(ctx).Err(); err != nil {
		text += ", without the state Redis"
	}
	if err := house.Cache.Ping(ctx).Err(); err != nil {
		text += ", without the cache Redis"
	}
	say(w, http.StatusOK, text)
}

// api is what needs an open house: GraphQL and the pages.
func (a *App) api(house *House) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/graphql", limited(a.admitted(house, a.graphQL(house))))
	a.site.Register(mux)
	return mux
}

// limited bounds the body and the time of a request.
func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), operationTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// admitted finds out who asks, once for each request and before anything is
// executed.
func (a *App) admitted(house *House, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var viewer account.Viewer
		if token, ok := bearer(r); ok {
			viewer = house.Accounts.Authenticate(r.Context(), token)
		}
		address := ""
		if client := a.proxies.ClientAddr(r); client.IsValid() {
			address = door.Network(client).String()
		}
		next.ServeHTTP(w, r.WithContext(graph.WithCaller(r.Context(), viewer, address)))
	})
}

// bearer is the token that a request comes with. It is only read from the
// header: what stands in a URL ends up in logs.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

func (a *App) graphQL(house *House) http.Handler {
	s := handler.New(generated.NewExecutableSchema(graph.New(house.Rooms)))
	s.AddTransport(transport.Options{})
	s.AddTransport(transport.GET{})
	s.AddTransport(transport.POST{})
	s.SetQueryCache(lru.New[*ast.QueryDocument](cachedDocuments))
	s.SetParserTokenLimit(maxTokens)
	observed := observe.NewGraphQL(a.reg)
	present := graph.Present(a.log, observe.RequestID)
	s.SetErrorPresenter(func(ctx context.Context, err error) *gqlerror.Error {
		shown := present(ctx, err)
		observed.Refused(ctx, shown)
		return shown
	})
	s.SetRecoverFunc(func(ctx context.Context, p any) error {
		a.log.ErrorContext(ctx, "panic", "value", p, "stack", string(debug.Stack()))
		return fault.New(fault.Internal, "Something went wrong here; it has been logged.")
	})
	s.Use(extension.FixedComplexityLimit(maxComplexity))
	s.Use(graph.Once{})
	if a.cfg.Introspection {
		s.Use(extension.Introspection{})
	}
	s.Use(observed)
	return s
}
