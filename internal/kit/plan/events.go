package plan

import (
	"context"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// A stage is the plan of a subscription: of what its field is for each thing that is told.
// gqlgen begins the subscription, with all that its directives and its resolver decide.
type stage struct {
	name       []byte // of the field, as it is written: {"NAME":
	selections ast.SelectionSet
	union      *ast.Definition // that the field is of; nil if it is of an object
	event      Event
	sets       sync.Map // *Type → *set, nil: none
}

// stageOf makes the plan of a subscription, nil if its field is in no table.
func (s *Schema) stageOf(selections ast.SelectionSet) *stage {
	if len(selections) != 1 {
		return nil
	}
	f, ok := selections[0].(*ast.Field)
	if !ok || len(f.Directives) > 0 || s.tables.Events[f.Name] == nil {
		return nil
	}
	g := &stage{name: append(strconv.AppendQuote([]byte{'{'}, f.Alias), ':'), selections: f.SelectionSet, event: s.tables.Events[f.Name]}
	if d := s.Schema().Types[f.Definition.Type.Name()]; d != nil && d.Kind == ast.Union {
		g.union = d
	}
	return g
}

// setOf is what is selected of a type, nil if something is that no plan knows.
func (g *stage) setOf(typ *Type) *set {
	if known, ok := g.sets.Load(typ); ok {
		return known.(*set) //nolint:forcetypeassert // nothing else is in it
	}
	made, _ := g.compile(typ)
	known, _ := g.sets.LoadOrStore(typ, made)
	return known.(*set) //nolint:forcetypeassert // nothing else is in it
}

func (g *stage) compile(typ *Type) (made *set, ok bool) {
	defer func() {
		if recover() != nil { // see Schema.compile
			made, ok = nil, false
		}
	}()
	return compile(typ, g.selections, g.union)
}

// execEvents begins a subscription and answers what it is told.
func (s *Schema) execEvents(ctx context.Context, g *stage, oc *graphql.OperationContext) graphql.ResponseHandler {
	inner := s.ExecutableSchema.Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		v, take, ok := s.o.Told(ctx)
		if !ok {
			return inner(ctx)
		}
		typ, objs := g.event(v)
		if typ == nil {
			return inner(ctx)
		}
		set := g.setOf(typ)
		if set == nil {
			return inner(ctx)
		}
		data, err := set.run(ctx, objs, oc.Variables, append(make([]byte, 0, set.ahead()), g.name...), []byte{'}'})
		if err != nil {
			s.failed(ctx, err)
			return inner(ctx)
		}
		take()
		return &graphql.Response{Data: data}
	}
}
