// Package graph contains the GraphQL schema and its resolvers. A resolver checks the
// viewer, calls one service and returns the result.
package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/balance"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/notify"
	"github.com/tandian-dev/tandian/internal/kit/plan"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/media"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/save"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/visit"
	"github.com/tandian-dev/tandian/internal/voucher"
)

//go:generate go run ../internal/tools/gqlgen

// Services are the services that the resolvers call.
type Services struct {
	Accounts     *account.Service
	Shops        *shop.Service
	Vouchers     *voucher.Service
	Orders       *order.Service
	Balances     *balance.Service
	Notes        *note.Service
	NoteLikes    *like.Service
	Comments     *comment.Service
	CommentLikes *like.Service
	Follows      *follow.Service
	Ratings      *rating.Service
	ShopSaves    *save.Service
	NoteSaves    *save.Service
	Feed         *feed.Service
	Media        *media.Service
	CheckIns     *checkin.Service
	Visits       *visit.Service
	Notifier     *notify.Hub
	Caches       Caches
	Queues       Queues
}

// Resolver is the root of all resolvers, which embed it. The name of its field must
// differ from all type names of the schema.
type Resolver struct{ services Services }

// New returns the configuration of the executable schema: resolvers, directives and
// field complexities.
func New(services Services) generated.Config {
	cfg := generated.Config{Resolvers: &Resolver{services}, Directives: generated.DirectiveRoot{Auth: auth}}
	cfg.Schema = gqlserver.WithoutDefer(generated.NewExecutableSchema(cfg).Schema())
	complexity(&cfg.Complexity)
	return cfg
}

// byKey reads the object with the given key and returns nil if there is none. It rejects
// a client whose recent keys were mostly unknown, before it calls the service.
func byKey[K, V any](ctx context.Context, key K, read func(context.Context, K) (*V, error)) (*V, error) {
	if err := mayRead(ctx); err != nil {
		return nil, err
	}
	v, err := read(ctx, key)
	if errors.Is(err, apierror.ErrNotFound) {
		plan.Defer(ctx, func() { gqlserver.RecordNotFound(ctx, 1) })
		return nil, nil //nolint:nilnil // null in the schema
	}
	return v, err
}

// mayRead returns a RATE_LIMITED error for a client that requested too many unknown ids.
func mayRead(ctx context.Context) error {
	if wait, ok := gqlserver.AllowRead(ctx); !ok {
		plan.Defer(ctx, func() { gqlserver.RecordRefusal(ctx, wait) })
		return apierror.New(apierror.RateLimited, "Too many unknown ids. Try again later.").WithRetryAfter(wait)
	}
	return nil
}

// readShared is readBy for references that many objects share. If all objects refer to
// one id, it reads that id with one, without a batch.
func readShared[P, V any](ctx context.Context, objs []*P, id func(*P) int64, one func(context.Context, int64) (*V, error), read func(context.Context, []int64) (map[int64]*V, error)) ([]*V, error) {
	if len(objs) == 0 {
		return nil, nil
	}
	key := id(objs[0])
	if slices.ContainsFunc(objs, func(o *P) bool { return id(o) != key }) {
		return readBy(ctx, objs, id, read)
	}
	v, err := one(ctx, key)
	if err != nil && !errors.Is(err, apierror.ErrNotFound) {
		return nil, err
	}
	return slices.Repeat([]*V{v}, len(objs)), nil
}

// readBy reads the values that objects refer to in one batch and returns them in the order of objs.
func readBy[P, V any](ctx context.Context, objs []*P, id func(*P) int64, read func(context.Context, []int64) (map[int64]V, error)) ([]V, error) {
	ids := make([]int64, len(objs))
	for i, o := range objs {
		ids[i] = id(o)
	}
	found, err := read(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]V, len(objs))
	for i, n := range ids {
		out[i] = found[n]
	}
	return out, nil
}
