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

// loadSiblings loads a batch field for all sibling objects of the request at once: for all nodes of
// a connection, for example, or for the authors of these nodes.
//
// gqlgen batches a field over the elements of one list. The nodes of a connection are no list,
// because each is a field of its edge. The edges are a list. Their field "node" is a batch field
// only so that gqlgen passes that list on. So the first object loads for all siblings, and the
// others take their values. A dataloader would have to wait and to guess when the page is complete.
func loadSiblings[P, V any](ctx context.Context, objs []*P, load func([]*P) ([]V, error)) ([]V, error) {
	field := graphql.GetFieldContext(ctx)
	if field == nil { // a plan passes all objects at once
		return load(objs)
	}
	return loadSiblingsAs(ctx, field.Field.Alias, objs, load)
}

// loadSiblingsAs is loadSiblings for several fields that share one load. No field alias
// can be equal to name.
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
		if !known { // not a sibling
			return load(objs)
		}
		if a.err != nil {
			return nil, a.err
		}
		part[i] = values[n]
	}
	return part, nil
}

// distinct returns the objects of one type in among without repetitions, and their indexes in all.
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

// siblings is the position of an object in the response, with the objects next to it.
type siblings struct {
	answers *answers // of all siblings
	path    string   // from the edges that have answers, by aliases
	among   any      // contains the siblings: see each
}

// siblingsOf returns the siblings of the object that a field context belongs to.
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

// answered returns the siblings that loadSiblings loaded for a field.
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

// below is the step of a path to a field. Siblings can have several types, each with its
// own fields.
func below(object, name string) string { return "." + object + "." + name }

// answers are the loaded values of the nodes of a list of edges and of their descendants.
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

// answersOf returns the answers of a list of edges. They live as long as the request.
func answersOf(group *graphql.BatchParentGroup) *answers {
	result := group.GetFieldResult("tandian: answers", func() (any, error) { return &answers{by: map[string]*answer{}}, nil })
	all, _ := result.Results.(*answers)
	return all
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

// known returns a complete answer, or nil.
func (a *answers) known(path string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.by[path]; one != nil && one.done {
		return one
	}
	return nil
}

// each calls one with each object in among: edges, pages or values of a batch field.
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
