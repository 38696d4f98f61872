package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// An eventPlan compiles the field of a subscription for each type of event. gqlgen starts the
// subscription, with its directives and its resolver.
type eventPlan struct {
	name       []byte // start of the response: {"NAME":
	selections ast.SelectionSet
	cases      []Case   // of the field's type
	sets       sync.Map // *Type → *selectionSet, nil if gqlgen must answer
}

// subscriptionPlan returns the plan of a subscription, or nil if its field is in no table.
func (s *Schema) subscriptionPlan(selections ast.SelectionSet) *eventPlan {
	if len(selections) != 1 {
		return nil
	}
	f, ok := selections[0].(*ast.Field)
	if !ok || len(f.Directives) > 0 || s.tables.Events[f.Name] == nil {
		return nil
	}
	return &eventPlan{name: append(append([]byte{'{'}, quoted(f.Alias)...), ':'), selections: f.SelectionSet, cases: s.tables.Events[f.Name]}
}

// setFor returns the selection set of a type, or nil if a table lacks a field of it.
func (g *eventPlan) setFor(ctx context.Context, typ *Type) *selectionSet {
	if known, ok := g.sets.Load(typ); ok {
		return known.(*selectionSet) //nolint:forcetypeassert // the only type in it
	}
	var made *selectionSet
	if err := guarded(func() error { made, _ = compile(ctx, typ, g.selections); return nil }); err != nil { // see Schema.compile
		made = nil
	}
	known, _ := g.sets.LoadOrStore(typ, made)
	return known.(*selectionSet) //nolint:forcetypeassert // the only type in it
}

// execEvents starts a subscription and executes its events.
func (s *Schema) execEvents(ctx context.Context, g *eventPlan, oc *graphql.OperationContext) graphql.ResponseHandler {
	inner := s.ExecutableSchema.Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		v, take, ok := s.o.NextEvent(ctx)
		if !ok {
			return inner(ctx)
		}
		n := slices.IndexFunc(g.cases, func(c Case) bool { return c.is(v) })
		if n < 0 {
			return inner(ctx)
		}
		set := g.setFor(ctx, g.cases[n].typ)
		if set == nil {
			return inner(ctx)
		}
		data, err := set.run(ctx, g.cases[n].list([]any{v}), oc.Variables, append(make([]byte, 0, set.ahead()), g.name...), []byte{'}'})
		if err != nil {
			s.failed(ctx, err)
			return inner(ctx)
		}
		take()
		return &graphql.Response{Data: data}
	}
}
