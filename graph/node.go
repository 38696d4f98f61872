package graph

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/plan"
)

// A reader returns the existing objects of one type that the viewer may see, by id.
type reader func(ctx context.Context, numbers []int64) (map[int64]scalar.Node, error)

// readers returns the reader of each type that `node` and `nodes` support.
func (r *Resolver) readers() map[string]reader {
	return map[string]reader{
		"Shop":     reads(r.services.Shops.ByIDs),
		"User":     reads(r.services.Accounts.ByIDs),
		"ShopType": reads(r.services.Shops.TypesByID),
		"Order":    reads(r.readOrders),
		"Note":     reads(r.services.Notes.ByIDs),
		"Comment":  reads(r.services.Comments.ByIDs),

		ordinaryVoucher: r.readsVouchers(ordinaryVoucher),
		flashVoucher:    r.readsVouchers(flashVoucher),
	}
}

// reads converts a batch method of a service to a reader.
func reads[N scalar.Node](read func(context.Context, []int64) (map[int64]N, error)) reader {
	return func(ctx context.Context, numbers []int64) (map[int64]scalar.Node, error) {
		found, err := read(ctx, numbers)
		if err != nil {
			return nil, err
		}
		out := make(map[int64]scalar.Node, len(found))
		for n, v := range found {
			out[n] = v
		}
		return out, nil
	}
}

// byIDs reads objects of any types with one batch per type. It returns them in the order of ids,
// nil for those that do not exist. It rejects a client that requested too many unknown ids.
func (r *Resolver) byIDs(ctx context.Context, ids []scalar.ID) ([]scalar.Node, error) {
	readers := r.readers()
	numbers := map[string][]int64{}
	for _, id := range ids {
		if readers[id.Type] == nil {
			return nil, apierror.BadInput("invalid id: unknown type")
		}
		numbers[id.Type] = append(numbers[id.Type], id.N)
	}
	if err := mayRead(ctx); err != nil {
		return nil, err
	}
	found := map[string]map[int64]scalar.Node{}
	for typ, ns := range numbers {
		var err error
		if found[typ], err = readers[typ](ctx, ns); err != nil {
			return nil, fmt.Errorf("read %d of type %s: %w", len(ns), typ, err)
		}
	}
	out := make([]scalar.Node, len(ids))
	absent := 0
	for i, id := range ids {
		if out[i] = found[id.Type][id.N]; out[i] == nil {
			absent++
		}
	}
	plan.Defer(ctx, func() { gqlserver.RecordNotFound(ctx, absent) })
	return out, nil
}

// Exists reports whether an object exists and the viewer may see it. Limits count the read like one
// of the field node. It returns an error if the read fails or node does not support the type.
func Exists(ctx context.Context, services Services, id scalar.ID) (bool, error) {
	found, err := (&Resolver{services}).byIDs(ctx, []scalar.ID{id})
	return err == nil && found[0] != nil, err
}

// orNulls turns a RATE_LIMITED error into a field error with a list of n nulls. The list
// itself cannot be null, so the error would otherwise null the whole response.
func orNulls(ctx context.Context, found []scalar.Node, err error, n int) ([]scalar.Node, error) {
	if err != nil && apierror.KindOf(err) == apierror.RateLimited {
		graphql.AddError(ctx, err)
		return make([]scalar.Node, n), nil
	}
	return found, err
}
