package door

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// An executor is gqlgen's, for documents that the door has read. It is safe for
// concurrent use once all extensions are added.
type executor struct {
	*gqlgen.Executor
	docs *documents
}

func newExecutor(es graphql.ExecutableSchema, docs *documents, present graphql.ErrorPresenterFunc, recovered graphql.RecoverFunc) *executor {
	e := &executor{gqlgen.New(es), docs}
	e.SetErrorPresenter(present)
	e.SetRecoverFunc(recovered)
	e.SetQueryCache(readDocument{})
	return e
}

// Use adds an extension. It panics at one that would change what the door has
// checked.
func (e *executor) Use(extension graphql.HandlerExtension) {
	switch extension.(type) {
	case graphql.OperationParameterMutator, graphql.OperationContextMutator:
		panic(fmt.Sprintf("%T changes parameters or contexts of operations: a door takes no such extension", extension))
	}
	e.Executor.Use(extension)
}

// prepare returns the context of a request's operation, also if it refuses the
// request.
func (e *executor) prepare(ctx context.Context, params *graphql.RawParams) (oc *graphql.OperationContext, p complexityPoints, refused gqlerror.List) {
	ctx = graphql.StartOperationTrace(ctx)
	stats := graphql.Stats{OperationStart: graphql.GetStartTime(ctx)}
	doc, refused := e.docs.find(ctx, params, &stats)
	if refused != nil {
		return &graphql.OperationContext{Stats: stats}, p, refused
	}
	oc, refused = e.CreateOperationContext(context.WithValue(ctx, readDocument{}, doc.tree), params)
	oc.Stats, oc.DisableIntrospection = stats, !e.docs.introspection
	if refused != nil {
		return oc, p, refused
	}
	cost := doc.cost(oc.Operation)
	err := cost.refuseNulls(oc.Operation, oc.Variables)
	if err == nil {
		p, err = e.docs.weigh(ctx, cost, oc)
	}
	if err != nil {
		return oc, p, gqlerror.List{err}
	}
	return oc, p, nil
}

// A readDocument is the query cache of gqlgen's executor and the key of its only
// entry, which is in the context of each call: the cache of the door may have
// dropped the document in the meantime.
type readDocument struct{}

// Get implements graphql.Cache.
func (key readDocument) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	tree, ok := ctx.Value(key).(*ast.QueryDocument)
	return tree, ok
}

// Add implements graphql.Cache.
func (readDocument) Add(context.Context, string, *ast.QueryDocument) {}
