package app

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/visit"
)

// openVisits builds the service that counts visits.
func (c *Components) openVisits(cfg *config.Config, client *ent.Client, reg prometheus.Registerer, log *slog.Logger) {
	c.Visits = visit.New(client, visit.Config{
		Redis: c.State, Prefix: cfg.RedisPrefix, Zone: c.zone, Shops: c.Shops, Registerer: reg, Log: log,
	})
	c.localWorkers["visits"] = c.Visits.Run
	if cfg.RedisURL == "" {
		// The embedded Redis ends with the process. Close copies its data to the rows after
		// the last flush of the worker.
		c.closers = append(c.closers, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			return c.Visits.RollUp(ctx)
		})
	}
}

// beacon returns the handler of POST /visit.
func (a *App) beacon(components *Components, graphQL *gqlserver.Server) http.Handler {
	return graphQL.Guard(components.Visits.Beacon(a.proxies, func(id string) (int64, error) {
		parsed, err := scalar.ParseID(id)
		if err != nil {
			return 0, err
		}
		return parsed.Of("Shop")
	}))
}

// VisitCounter is a gqlgen extension that counts operations as visits of their callers.
type VisitCounter struct{ Visits *visit.Service }

// ExtensionName names the extension in gqlgen's errors.
func (VisitCounter) ExtensionName() string { return "Visits" }

// Validate accepts every schema.
func (VisitCounter) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation counts an operation and puts its visitor into the context of resolvers.
// It does no I/O. It ignores subscriptions, which may last for days.
func (x VisitCounter) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	oc := graphql.GetOperationContext(ctx)
	if oc.Operation.Operation == ast.Subscription {
		return next(ctx)
	}
	v := x.visitor(ctx, oc.Headers)
	if v.Beacon {
		return next(ctx) // its beacons report its pages
	}
	x.Visits.RecordOperation(v)
	return next(visit.With(ctx, v))
}

// beaconHeader marks a client that reports its pages by beacons, until the first beacon has
// set its cookie.
const beaconHeader = "Tandian-Beacon"

// visitor returns the visitor that sends an operation. Operations of a WebSocket have no
// headers, so they count only for signed-in users.
func (x VisitCounter) visitor(ctx context.Context, headers http.Header) visit.Visitor {
	if cookie, ok := visit.CookieOf(headers); ok {
		return visit.Visitor{Key: visit.Cookie(cookie), Beacon: true}
	}
	user, network := gqlserver.CallerOf(ctx)
	switch {
	case headers.Get(beaconHeader) != "":
		return visit.Visitor{Beacon: true}
	case user != "":
		return visit.Visitor{Key: visit.User(user), Bot: visit.IsBot(headers.Get("User-Agent"))}
	case headers == nil:
		return visit.Visitor{}
	}
	return x.Visits.Anonymous(network, headers.Get("User-Agent"))
}
