package graph

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/door"
	"github.com/tandian-dev/tandian/internal/kit/plan"
)

// A reader returns those of the objects of one type that exist and that the
// caller may see.
type reader func(ctx context.Context, numbers []int64) (map[int64]scalar.Node, error)

// readers names the types that `node` and `nodes` know: one line for each noun.
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

// reads makes a room's batch read a reader.
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

// byIDs reads objects of any types, those of one type together, and returns
// them in the order of ids, nil for those that there are not. A client that keeps
// naming what there is not is refused before a reader is asked.
func (r *Resolver) byIDs(ctx context.Context, ids []scalar.ID) ([]scalar.Node, error) {
	readers := r.readers()
	numbers := map[string][]int64{}
	for _, id := range ids {
		if readers[id.Type] == nil {
			return nil, apierror.BadInput("this is no id of ours")
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
	plan.Defer(ctx, func() { door.RecordNotFound(ctx, absent) })
	return out, nil
}

// Exists reports whether an object exists and the caller may see it. It is read and
// counted as by the field node: an error says only that it cannot be known now, or
// that node does not know the type.
func Exists(ctx context.Context, services Services, id scalar.ID) (bool, error) {
	found, err := (&Resolver{services}).byIDs(ctx, []scalar.ID{id})
	return err == nil && found[0] != nil, err
}

// orNulls makes a refusal of reads the error of a field that is a list of nulls:
// it cannot be null itself, and would take the whole answer with it.
func orNulls(ctx context.Context, found []scalar.Node, err error, n int) ([]scalar.Node, error) {
	if err != nil && apierror.KindOf(err) == apierror.RateLimited {
		graphql.AddError(ctx, err)
		return make([]scalar.Node, n), nil
	}
	return found, err
}
