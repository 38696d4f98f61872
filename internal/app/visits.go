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
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/visit"
)

// How visits are counted at the door: who sends a request, and what counts.

// openVisits builds the room that counts visits.
func (h *Components) openVisits(cfg *config.Config, client *ent.Client, reg prometheus.Registerer, log *slog.Logger) {
	h.Visits = visit.New(client, visit.Config{
		Redis: h.State, Prefix: cfg.RedisPrefix, Zone: h.zone, Shops: shopVisits{h.Shops}, Registerer: reg, Log: log,
	})
	h.localWorkers["visits"] = h.Visits.Run
	if cfg.RedisURL == "" {
		// This Redis ends with the process, so all of it goes to the rows: after the last
		// flush, which ended with the chores.
		h.closers = append(h.closers, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			return h.Visits.RollUp(ctx)
		})
	}
}

// shopVisits are the shops as visits need them.
type shopVisits struct{ *shop.Service }

// Known returns those of the shops that exist.
func (s shopVisits) Known(ctx context.Context, ids []int64) (map[int64]bool, error) {
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[int64]bool, len(found))
	for id := range found {
		known[id] = true
	}
	return known, nil
}

// beacon takes POST /visit.
func (a *App) beacon(components *Components, gate *gqlserver.Server) http.Handler {
	return gate.Guard(components.Visits.Beacon(a.proxies, func(id string) (int64, error) {
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

// Validate has nothing to object to in any schema.
func (VisitCounter) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation counts an operation, and tells its resolvers who visits. It does no
// I/O. A subscription is no visit: it may last for days.
func (x VisitCounter) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	oc := graphql.GetOperationContext(ctx)
	if oc.Operation.Operation == ast.Subscription {
		return next(ctx)
	}
	v := x.visitor(ctx, oc.Headers)
	if v.Beacon {
		return next(ctx) // it says itself what it shows
	}
	x.Visits.RecordOperation(v)
	return next(visit.With(ctx, v))
}

// beaconHeader says that a client tells of its pages by beacons: for the operations before
// the first of these has brought it a cookie.
const beaconHeader = "Tandian-Beacon"

// visitor is who sends an operation. The operations of a socket have no headers: by one
// only who is signed in is known.
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
