package graph

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/plan"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/voucher"
)

// loadSiblings answers a batch field for all objects of the request that stand in the same
// place: for all nodes of a connection, for the authors of all these nodes, for the
// comments on all of them.
//
// gqlgen batches a field over the elements of one list, but the nodes of a connection
// are no list: they are each a field of an edge, and without help every node would be
// answered on its own, and so would every list below a node. The edges are a list (their
// field "node" is a batch field only so that gqlgen keeps the list at hand). So the
// first object that asks loads for all of them, and the others take their part. A
// dataloader would have to wait, and to guess when the page is complete.
func loadSiblings[P, V any](ctx context.Context, objs []*P, load func([]*P) ([]V, error)) ([]V, error) {
	field := graphql.GetFieldContext(ctx)
	if field == nil { // a plan asks for all objects at once
		return load(objs)
	}
	return loadSiblingsAs(ctx, field.Field.Alias, objs, load)
}

// loadSiblingsAs is beside for several fields that are answered by one load, under one name,
// which no client can give a field.
func loadSiblingsAs[P, V any](ctx context.Context, name string, objs []*P, load func([]*P) ([]V, error)) ([]V, error) {
	if values, ok, err := plan.Shared(ctx, name, objs, load); ok {
		return values, err
	}
	field := graphql.GetFieldContext(ctx)
	at, ok := siblingsOf(ctx, field.Parent)
	if !ok || len(objs) == 0 {
		return load(objs)
	}
	a := at.answers.to(at.path + below(field.Object, name))
	a.once.Do(func() {
		all, index := distinct[P](at.among)
		if _, there := index[objs[0]]; !there {
			return
		}
		values, err := load(all)
		a.values, a.index, a.err = values, index, err
		at.answers.done(a)
	})
	values, _ := a.values.([]V)
	index, _ := a.index.(map[*P]int)
	if len(values) < len(index) && a.err == nil {
		return load(objs)
	}
	part := make([]V, len(objs))
	for i, obj := range objs {
		n, known := index[obj]
		if !known { // it does not stand there after all
			return load(objs)
		}
		if a.err != nil {
			return nil, a.err
		}
		part[i] = values[n]
	}
	return part, nil
}

// distinct are the objects of one type among what fields were answered with, each once,
// and where they are.
func distinct[P any](among any) (all []*P, index map[*P]int) {
	index = map[*P]int{}
	each(among, func(one any) {
		obj, _ := one.(*P)
		if _, twice := index[obj]; obj != nil && !twice {
			index[obj] = len(all)
			all = append(all, obj)
		}
	})
	return all, index
}

// A siblings is where an object stands, with those beside it.
type siblings struct {
	answers *answers // of all objects that stand there
	path    string   // to them, from the edges that have answers, by the names that the client gave
	among   any      // what they are found in: see each
}

// siblingsOf finds the place of the object whose context this is: that of the field that
// it answers, or of an element of it.
func siblingsOf(ctx context.Context, of *graphql.FieldContext) (siblings, bool) {
	if of != nil && of.Index != nil {
		of = of.Parent // the list
	}
	if of == nil || of.Field.Field == nil || of.Parent == nil {
		return siblings{}, false
	}
	edge := of.Parent
	if of.Field.Name != "node" || edge.Index == nil {
		return answered(ctx, of)
	}
	if edges := edge.Parent; edges != nil && edges.Parent != nil {
		if at, ok := answered(ctx, edges.Parent); ok { // a connection below other nodes
			at.path += "." + edges.Field.Alias + "." + of.Field.Alias
			return at, true
		}
	}
	group := graphql.GetBatchParentGroup(ctx, of.Object)
	if group == nil {
		return siblings{}, false
	}
	return siblings{answersOf(group), of.Field.Alias, group.Parents}, true
}

// answered is the place of objects that beside answered a field with.
func answered(ctx context.Context, field *graphql.FieldContext) (siblings, bool) {
	at, ok := siblingsOf(ctx, field.Parent)
	if !ok {
		return siblings{}, false
	}
	at.path += below(field.Object, field.Field.Alias)
	a := at.answers.known(at.path)
	if a == nil {
		return siblings{}, false
	}
	at.among = a.values
	return at, true
}

// below is the step of a path to a field. Objects of several types may stand in one
// place, and each has fields of its own.
func below(object, name string) string { return "." + object + "." + name }

// answers are what was loaded for the nodes of a list of edges, and for what stands
// below them.
type answers struct {
	mu sync.Mutex
	by map[string]*answer
}

type answer struct {
	once   sync.Once
	done   bool // under the lock of answers
	values any  // []V
	index  any  // map[*P]int, into values
	err    error
}

// answersOf are kept with the edges, for as long as the request.
func answersOf(group *graphql.BatchParentGroup) *answers {
	result := group.GetFieldResult("tandian: answers", func() (any, error) { return &answers{by: map[string]*answer{}}, nil })
	kept, _ := result.Results.(*answers)
	return kept
}

func (a *answers) to(path string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by[path] == nil {
		a.by[path] = &answer{}
	}
	return a.by[path]
}

func (a *answers) done(one *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.done = one.err == nil
}

// known is an answer that was given, or nil.
func (a *answers) known(path string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.by[path]; one != nil && one.done {
		return one
	}
	return nil
}

// each calls one with each object that is among edges, or among what a field of many
// objects was answered with.
func each(among any, one func(any)) {
	switch among := among.(type) {
	case []*shop.Edge:
		eachOf(among, func(e *shop.Edge) { one(e.Node) })
	case []*voucher.Edge:
		eachOf(among, func(e *voucher.Edge) { one(flashNode(e)) })
	case []*order.Edge:
		eachOf(among, func(e *order.Edge) { one(e.Node) })
	case []*note.Edge:
		eachOf(among, func(e *note.Edge) { one(e.Node) })
	case []*feed.Edge:
		eachOf(among, func(e *feed.Edge) { one(e.Note) })
	case []*comment.Edge:
		eachOf(among, func(e *comment.Edge) { one(e.Node) })
	case []*account.Edge:
		eachOf(among, func(e *account.Edge) { one(e.Node) })
	case []*note.Page:
		eachOf(among, func(p *note.Page) { each(p.Edges, one) })
	case []*feed.Page:
		eachOf(among, func(p *feed.Page) { each(p.Edges, one) })
	case []*comment.Page:
		eachOf(among, func(p *comment.Page) { each(p.Edges, one) })
	case []*account.Page:
		eachOf(among, func(p *account.Page) { each(p.Edges, one) })
	case [][]voucher.Kind:
		for _, list := range among {
			each(list, one)
		}
	case []voucher.Kind:
		for _, v := range among {
			one(v)
		}
	case [][]account.User:
		for _, list := range among {
			for i := range list {
				one(&list[i])
			}
		}
	case []*shop.Shop:
		eachOf(among, func(s *shop.Shop) { one(s) })
	case []*account.User:
		eachOf(among, func(u *account.User) { one(u) })
	case []*note.Note:
		eachOf(among, func(n *note.Note) { one(n) })
	case []*comment.Comment:
		eachOf(among, func(c *comment.Comment) { one(c) })
	}
}

func eachOf[T any](list []*T, one func(*T)) {
	for _, e := range list {
		if e != nil {
			one(e)
		}
	}
}
