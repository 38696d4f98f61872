package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/shop"
)

// beside answers a batch field for all the nodes of a connection at once.
//
// gqlgen batches a field over the elements of a list, but the nodes of a
// connection are no list: they are each a field of an edge, and without help
// every node would be answered on its own. The edges are a list (their field
// "node" is a batch field only so that gqlgen keeps the list at hand), so the
// first node that asks loads for all of them, and the others take their part.
func beside[P, V any](ctx context.Context, objs []*P, load func([]*P) ([]V, error)) ([]V, error) {
	group, key, index := edgesOf(ctx)
	if group == nil {
		return load(objs)
	}
	all, ok := nodes(group.Parents).([]*P)
	if !ok || index >= len(all) || len(objs) != 1 {
		return load(objs)
	}
	result := group.GetFieldResult(key, func() (any, error) { return load(all) })
	if result.Err != nil {
		return nil, result.Err
	}
	return result.Results.([]V)[index : index+1], nil
}

// edgesOf finds the edges among whose nodes the present object stands, a name
// for the field that is asked for, and the object's own index.
func edgesOf(ctx context.Context) (group *graphql.BatchParentGroup, key string, index int) {
	field := graphql.GetFieldContext(ctx)
	node := field.Parent
	if node == nil || node.Field.Field == nil || node.Field.Name != "node" || node.Parent == nil || node.Parent.Index == nil {
		return nil, "", 0
	}
	return graphql.GetBatchParentGroup(ctx, node.Object), node.Field.Alias + "." + field.Field.Alias, *node.Parent.Index
}

// nodes returns the nodes of a list of edges, as a slice of pointers.
func nodes(edges any) any {
	if edges, ok := edges.([]*shop.Edge); ok {
		return each(edges, func(e *shop.Edge) *shop.Shop { return e.Node })
	}
	return nil
}

func each[E, N any](edges []*E, node func(*E) *N) []*N {
	out := make([]*N, len(edges))
	for i, e := range edges {
		out[i] = node(e)
	}
	return out
}
