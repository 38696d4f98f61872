package plan

import (
	"context"
	"fmt"
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
}

// A Schema is an executable schema whose queries are answered by plans where there are some.
// It is safe for concurrent use.
type Schema struct {
	graphql.ExecutableSchema
	query *Type
	o     Options
	plans sync.Map // weak.Pointer[ast.OperationDefinition] → *set; nil: none
}

// New returns a schema over gqlgen's. query is the type of its queries, with struct{} as its
// only object.
func New(inner graphql.ExecutableSchema, query *Type, o Options) *Schema {
	return &Schema{ExecutableSchema: inner, query: query, o: o}
}

// Exec implements graphql.ExecutableSchema.
func (s *Schema) Exec(ctx context.Context) graphql.ResponseHandler {
	oc := graphql.GetOperationContext(ctx)
	if s.o.Off || oc.Operation.Operation != ast.Query || s.o.Apart != nil && s.o.Apart(ctx) {
		return s.ExecutableSchema.Exec(ctx)
	}
	plan := s.planOf(oc.Operation)
	if plan == nil {
		return s.ExecutableSchema.Exec(ctx)
	}
	var after graphql.ResponseHandler // gqlgen's, if it had to be asked
	first := true
	return func(ctx context.Context) *graphql.Response {
		switch {
		case after != nil:
			return after(ctx)
		case !first:
			return nil
		}
		first = false
		data, err := s.answer(ctx, plan, oc.Variables)
		if err == nil {
			return &graphql.Response{Data: data}
		}
		if s.o.Failed != nil {
			s.o.Failed(ctx, err)
		}
		after = s.ExecutableSchema.Exec(ctx)
		return after(ctx)
	}
}

// planOf is the plan of an operation, nil if there is none. Operations are those of
// documents that are kept for many requests; with them their plans go.
func (s *Schema) planOf(op *ast.OperationDefinition) *set {
	key := weak.Make(op)
	if known, ok := s.plans.Load(key); ok {
		plan, _ := known.(*set)
		return plan
	}
	plan := s.compile(op)
	if _, known := s.plans.LoadOrStore(key, plan); !known {
		runtime.AddCleanup(op, func(key weak.Pointer[ast.OperationDefinition]) { s.plans.Delete(key) }, key)
	}
	return plan
}

// compile makes the plan of an operation, nil if there is none: also of one whose arguments
// cannot be read, such as a number of twenty digits, at which gqlparser panics.
func (s *Schema) compile(op *ast.OperationDefinition) (plan *set) {
	defer func() {
		if recover() != nil {
			plan = nil
		}
	}()
	if len(op.Directives) > 0 {
		return nil
	}
	plan, _ = compile(s.query, op.SelectionSet)
	return plan
}

// mostAhead is for how many bytes of an answer there is room from the beginning, if the one
// before had as many: who asks for little must not pay for who asked for much.
const mostAhead = 64 << 10

// answer runs a plan.
func (s *Schema) answer(ctx context.Context, plan *set, vars map[string]any) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	begin := time.Now()
	run := &running{Context: ctx}
	ctx = run
	root := batch{set: plan, objs: []struct{}{{}}, n: 1}
	if err := root.fill(ctx, vars); err != nil { //nolint:contextcheck // it is of the context, with what is done afterwards
		return nil, err
	}
	data = root.write(make([]byte, 0, plan.bytes.Load()*9/8+64), 0)
	plan.bytes.Store(min(int64(len(data)), mostAhead))
	for _, do := range run.after {
		do()
	}
	if s.o.Root != nil {
		took := time.Since(begin)
		for i := range plan.parts {
			if plan.parts[i].run == nil {
				s.o.Root(plan.parts[i].def.Name, took)
			}
		}
	}
	return data, nil
}
