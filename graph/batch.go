package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/voucher"
)

// beside answers a batch field for all the nodes of a connection at once.
//
// gqlgen batches a field over the elements of a list, but the nodes of a
// connection are no list: they are each a field of an edge, and without help
// every node would be answered on its own. The edges are a list (their field
// "node" is a batch field only so that gqlgen keeps the list at hand), so the
// first node that asks loads for all of them, and the others take their part.
func beside[P, V any](ctx context.Context, objs []*P, load func([]*P) ([]V, error)) ([]V, error) {
	field := graphql.GetFieldContext(ctx)
	group, key, index := edgesOf(ctx, field)
	if group == nil {
		return below(ctx, field, objs, load)
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

// below is beside for objects that beside answered a field of nodes with, such as the
// vouchers of orders: what it found for all nodes is asked at once.
func below[P, V any](ctx context.Context, field *graphql.FieldContext, objs []*P, load func([]*P) ([]V, error)) ([]V, error) {
	if field.Parent == nil || len(objs) != 1 {
		return load(objs)
	}
	group, above, index := edgesOf(ctx, field.Parent)
	if group == nil {
		return load(objs)
	}
	parents := group.GetFieldResult(above, func() (any, error) { return nil, nil })
	all, at := alike[P](parents.Results, index)
	if at < 0 || all[at] != objs[0] {
		return load(objs)
	}
	result := group.GetFieldResult(above+"."+field.Object+"."+field.Field.Alias, func() (any, error) { return load(all) })
	if result.Err != nil {
		return nil, result.Err
	}
	return result.Results.([]V)[at : at+1], nil
}

// alike are the objects of one type among what a field was answered with, and where
// that at an index is among them; -1 if it is none.
func alike[P any](answers any, index int) (all []*P, at int) {
	at = -1
	add := func(i int, obj *P) {
		if i == index && obj != nil {
			at = len(all)
		}
		if obj != nil {
			all = append(all, obj)
		}
	}
	switch answers := answers.(type) {
	case []*P:
		for i, obj := range answers {
			add(i, obj)
		}
	case []voucher.Kind:
		for i, one := range answers {
			obj, _ := any(one).(*P)
			add(i, obj)
		}
	}
	return all, at
}

// edgesOf finds the edges among whose nodes the object of a field stands, a name
// for the field, and the object's own index.
func edgesOf(ctx context.Context, field *graphql.FieldContext) (group *graphql.BatchParentGroup, key string, index int) {
	node := field.Parent
	if node == nil || node.Field.Field == nil || node.Field.Name != "node" || node.Parent == nil || node.Parent.Index == nil {
		return nil, "", 0
	}
	return graphql.GetBatchParentGroup(ctx, node.Object), node.Field.Alias + "." + field.Field.Alias, *node.Parent.Index
}

// nodes returns the nodes of a list of edges, as a slice of pointers.
func nodes(edges any) any {
	switch edges := edges.(type) {
	case []*shop.Edge:
		return convert(edges, func(e *shop.Edge) *shop.Shop { return e.Node })
	case []*voucher.Edge:
		return convert(edges, flashNode)
	case []*order.Edge:
		return convert(edges, func(e *order.Edge) *order.Order { return e.Node })
	}
	return nil
}
