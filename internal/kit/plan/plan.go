package plan

import (
	"context"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Options configures a [Schema].
type Options struct {
	// Disabled leaves all operations to gqlgen.
	Disabled bool
	// Bypass reports whether gqlgen must execute an operation, for example because its fields are
	// traced. May be nil.
	Bypass func(context.Context) bool
	// OnRootField receives each field of Query that a plan has read, and the duration of the whole
	// plan. May be nil.
	OnRootField func(field string, took time.Duration)
	// OnError receives the error of a failed plan before gqlgen executes the operation. May be nil.
	OnError func(context.Context, error)
	// NextEvent returns the value of the next response of a subscription. take removes the value, so
	// that gqlgen does not receive it too. ok is false if gqlgen must respond. If NextEvent is nil,
	// gqlgen executes all subscriptions.
	NextEvent func(context.Context) (v any, take func(), ok bool)
}

// Tables describes the types of a schema. Package [plangen] generates it.
//
// [plangen]: https://pkg.go.dev/github.com/tandian-dev/tandian/internal/kit/plan/plangen
type Tables struct {
	Query  *Type             // its objects are []struct{}
	Events map[string][]Case // possible types of an event, by field of Subscription
}

// A Schema executes queries and subscription events by plans. gqlgen executes all other operations.
// It is safe for concurrent use.
type Schema struct {
	graphql.ExecutableSchema
	tables Tables
	root   any // the root object of queries, as a list
	o      Options
	plans  sync.Map // weak.Pointer[ast.OperationDefinition] → *planned
}

// planned is the plan of an operation.
type planned struct {
	query  *selectionSet // nil: executed by gqlgen
	events *eventPlan    // nil: executed by gqlgen
}

// New returns a schema that wraps gqlgen's schema inner.
func New(inner graphql.ExecutableSchema, tables Tables, o Options) *Schema {
	return &Schema{ExecutableSchema: inner, tables: tables, root: []struct{}{{}}, o: o}
}

// Exec implements graphql.ExecutableSchema.
func (s *Schema) Exec(ctx context.Context) graphql.ResponseHandler {
	oc := graphql.GetOperationContext(ctx)
	if s.o.Disabled || s.o.Bypass != nil && s.o.Bypass(ctx) {
		return s.ExecutableSchema.Exec(ctx)
	}
	switch plans := s.planFor(ctx, oc.Operation); {
	case plans.query != nil:
		return (&query{schema: s, plan: plans.query, variables: oc.Variables}).next
	case plans.events != nil:
		return s.execEvents(ctx, plans.events, oc)
	default:
		return s.ExecutableSchema.Exec(ctx)
	}
}

// A query is one execution.
type query struct {
	schema    *Schema
	plan      *selectionSet
	variables map[string]any
	begun     bool
	fallback  graphql.ResponseHandler // gqlgen's handler, after a failure
}

// next is a graphql.ResponseHandler.
func (q *query) next(ctx context.Context) *graphql.Response {
	switch {
	case q.fallback != nil:
		return q.fallback(ctx)
	case q.begun:
		return nil
	}
	q.begun = true
	data, err := q.schema.answer(ctx, q.plan, q.variables)
	if err == nil {
		return &graphql.Response{Data: data}
	}
	q.schema.failed(ctx, err)
	q.fallback = q.schema.ExecutableSchema.Exec(ctx)
	return q.fallback(ctx)
}

func (s *Schema) failed(ctx context.Context, err error) {
	if s.o.OnError != nil {
		s.o.OnError(ctx, err)
	}
}

// planFor returns the plan of an operation. A plan is removed with its cached document.
func (s *Schema) planFor(ctx context.Context, op *ast.OperationDefinition) *planned {
	key := weak.Make(op)
	if known, ok := s.plans.Load(key); ok {
		return known.(*planned) //nolint:forcetypeassert // the only type in it
	}
	plan := s.compile(context.WithoutCancel(ctx), op)
	if _, known := s.plans.LoadOrStore(key, plan); !known {
		runtime.AddCleanup(op, func(key weak.Pointer[ast.OperationDefinition]) { s.plans.Delete(key) }, key)
	}
	return plan
}

// compile compiles an operation. The plan is empty if a table lacks a field, or if the arguments
// cannot be read: gqlparser panics at a number of twenty digits.
func (s *Schema) compile(ctx context.Context, op *ast.OperationDefinition) *planned {
	plan := &planned{}
	if len(op.Directives) > 0 {
		return plan
	}
	err := guarded(func() error {
		switch {
		case op.Operation == ast.Query:
			plan.query, _ = compile(ctx, s.tables.Query, op.SelectionSet)
		case op.Operation == ast.Subscription && s.o.NextEvent != nil:
			plan.events = s.subscriptionPlan(op.SelectionSet)
		}
		return nil
	})
	if err != nil {
		return &planned{}
	}
	return plan
}

// answer runs the plan of a query.
func (s *Schema) answer(ctx context.Context, plan *selectionSet, vars map[string]any) ([]byte, error) {
	begin := time.Now()
	data, err := plan.run(ctx, s.root, vars, make([]byte, 0, plan.ahead()), nil)
	if err != nil || s.o.OnRootField == nil {
		return data, err
	}
	took := time.Since(begin)
	for i := range plan.parts {
		if plan.parts[i].field != nil {
			s.o.OnRootField(plan.parts[i].def.Name, took)
		}
	}
	return data, nil
}
