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

// Options says what a [Schema] does beside answering.
type Options struct {
	// Off leaves everything to gqlgen.
	Off bool
	// Apart says that an operation is to be executed by gqlgen all the same, such as one
	// whose fields are traced. May be nil.
	Apart func(context.Context) bool
	// Root is told how long a field of Query took, with all that is below it; of several
	// that are read together, how long all took. May be nil.
	Root func(field string, took time.Duration)
	// Failed is told why a plan could not be run to its end, before gqlgen executes the
	// operation. May be nil.
	Failed func(context.Context, error)
	// Told returns what the next response of a subscription's operation is to tell, within
	// its context, and what takes it so that gqlgen is not told it too. It has one for each
	// response of a subscription that a plan may answer. May be nil: then gqlgen answers all.
	Told func(context.Context) (v any, take func(), ok bool)
}

// Tables are what plans know.
type Tables struct {
	Query  *Type            // the type of queries, with struct{} as its only object
	Events map[string]Event // by the field of Subscription
}

// An Event says what a subscription's field is for one thing that is told: the type of the
// object, and a list that has it alone. A nil type leaves it to gqlgen.
type Event func(v any) (typ *Type, objs any)

// A Schema is an executable schema whose queries, and events of subscriptions, are answered
// by plans where there are some. It is safe for concurrent use.
type Schema struct {
	graphql.ExecutableSchema
	tables Tables
	root   any // the object of queries, as a list
	o      Options
	plans  sync.Map // weak.Pointer[ast.OperationDefinition] → *planned
}

// planned is the plan of an operation.
type planned struct {
	query  *set   // nil: none
	events *stage // nil: none
}

// New returns a schema over gqlgen's.
func New(inner graphql.ExecutableSchema, tables Tables, o Options) *Schema {
	return &Schema{ExecutableSchema: inner, tables: tables, root: []struct{}{{}}, o: o}
}

// Exec implements graphql.ExecutableSchema.
func (s *Schema) Exec(ctx context.Context) graphql.ResponseHandler {
	oc := graphql.GetOperationContext(ctx)
	if s.o.Off || s.o.Apart != nil && s.o.Apart(ctx) {
		return s.ExecutableSchema.Exec(ctx)
	}
	switch plans := s.planOf(oc.Operation); {
	case plans.query != nil:
		return (&query{schema: s, plan: plans.query, variables: oc.Variables}).next
	case plans.events != nil:
		return s.execEvents(ctx, plans.events, oc)
	default:
		return s.ExecutableSchema.Exec(ctx)
	}
}

// A query is one that is being answered.
type query struct {
	schema    *Schema
	plan      *set
	variables map[string]any
	begun     bool
	after     graphql.ResponseHandler // gqlgen's, if it had to be asked
}

// next is a graphql.ResponseHandler.
func (q *query) next(ctx context.Context) *graphql.Response {
	switch {
	case q.after != nil:
		return q.after(ctx)
	case q.begun:
		return nil
	}
	q.begun = true
	data, err := q.schema.answer(ctx, q.plan, q.variables)
	if err == nil {
		return &graphql.Response{Data: data}
	}
	q.schema.failed(ctx, err)
	q.after = q.schema.ExecutableSchema.Exec(ctx)
	return q.after(ctx)
}

func (s *Schema) failed(ctx context.Context, err error) {
	if s.o.Failed != nil {
		s.o.Failed(ctx, err)
	}
}

// planOf is the plan of an operation. Operations are those of documents that are kept for
// many requests; with them their plans go.
func (s *Schema) planOf(op *ast.OperationDefinition) *planned {
	key := weak.Make(op)
	if known, ok := s.plans.Load(key); ok {
		return known.(*planned) //nolint:forcetypeassert // nothing else is in it
	}
	plan := s.compile(op)
	if _, known := s.plans.LoadOrStore(key, plan); !known {
		runtime.AddCleanup(op, func(key weak.Pointer[ast.OperationDefinition]) { s.plans.Delete(key) }, key)
	}
	return plan
}

// compile makes the plan of an operation. It is empty if no plan knows it: also of one whose
// arguments cannot be read, such as a number of twenty digits, at which gqlparser panics.
func (s *Schema) compile(op *ast.OperationDefinition) (plan *planned) {
	defer func() {
		if recover() != nil {
			plan = &planned{}
		}
	}()
	plan = &planned{}
	switch {
	case len(op.Directives) > 0:
	case op.Operation == ast.Query:
		plan.query, _ = compile(s.tables.Query, op.SelectionSet, nil)
	case op.Operation == ast.Subscription && s.o.Told != nil:
		plan.events = s.stageOf(op.SelectionSet)
	}
	return plan
}

// answer runs the plan of a query.
func (s *Schema) answer(ctx context.Context, plan *set, vars map[string]any) ([]byte, error) {
	begin := time.Now()
	data, err := plan.run(ctx, s.root, vars, make([]byte, 0, plan.ahead()), nil)
	if err != nil || s.o.Root == nil {
		return data, err
	}
	took := time.Since(begin)
	for i := range plan.parts {
		if plan.parts[i].run == nil {
			s.o.Root(plan.parts[i].def.Name, took)
		}
	}
	return data, nil
}
