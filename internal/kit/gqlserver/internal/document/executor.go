package document

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

// Executor is gqlgen's executor for the documents of a [Store]. It is safe for
// concurrent use after all extensions are added.
type Executor struct {
	*gqlgen.Executor
	docs *Store
}

// NewExecutor returns an executor of a schema for the documents of a store. It uses
// present for errors and recovered for panics.
func NewExecutor(es graphql.ExecutableSchema, docs *Store, present graphql.ErrorPresenterFunc, recovered graphql.RecoverFunc) *Executor {
	e := &Executor{gqlgen.New(es), docs}
	e.SetErrorPresenter(present)
	e.SetRecoverFunc(recovered)
	e.SetQueryCache(readDocument{})
	return e
}

// Use adds an extension. It panics if the extension can change checked parameters or
// operation contexts.
func (e *Executor) Use(extension graphql.HandlerExtension) {
	switch extension.(type) {
	case graphql.OperationParameterMutator, graphql.OperationContextMutator:
		panic(fmt.Sprintf("unsupported extension %T: it changes operation parameters or contexts", extension))
	}
	e.Executor.Use(extension)
}

// Prepare returns the context and the points of a request's operation. If it rejects
// the request, it returns a context too. It stores the text of the document in params.
// A new document takes memory, which may be nil, and waits for other new documents of
// the key.
func (e *Executor) Prepare(ctx context.Context, key string, memory *quota.Memory, params *graphql.RawParams) (oc *graphql.OperationContext, p Points, refused gqlerror.List) {
	ctx = graphql.StartOperationTrace(ctx)
	stats := graphql.Stats{OperationStart: graphql.GetStartTime(ctx)}
	doc, refused := e.docs.find(ctx, key, memory, params, &stats)
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
		p, err = e.docs.checkPoints(ctx, cost, oc)
	}
	if err != nil {
		return oc, p, gqlerror.List{err}
	}
	return oc, p, nil
}

// readDocument is the query cache of gqlgen's executor and the context key of its only
// entry. Each call passes its document in the context, because the cache of the store
// may already have evicted it.
type readDocument struct{}

// Get implements graphql.Cache.
func (key readDocument) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	tree, ok := ctx.Value(key).(*ast.QueryDocument)
	return tree, ok
}

// Add implements graphql.Cache.
func (readDocument) Add(context.Context, string, *ast.QueryDocument) {}
