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

// An Executor is gqlgen's, for documents that the door has read. It is safe for
// concurrent use once all extensions are added.
type Executor struct {
	*gqlgen.Executor
	docs *Store
}

// NewExecutor returns an executor of a schema for the documents of a store. It shows
// errors with present, and handles panics with recovered.
func NewExecutor(es graphql.ExecutableSchema, docs *Store, present graphql.ErrorPresenterFunc, recovered graphql.RecoverFunc) *Executor {
	e := &Executor{gqlgen.New(es), docs}
	e.SetErrorPresenter(present)
	e.SetRecoverFunc(recovered)
	e.SetQueryCache(readDocument{})
	return e
}

// Use adds an extension. It panics at one that would change what the door has
// checked.
func (e *Executor) Use(extension graphql.HandlerExtension) {
	switch extension.(type) {
	case graphql.OperationParameterMutator, graphql.OperationContextMutator:
		panic(fmt.Sprintf("%T changes parameters or contexts of operations: a door takes no such extension", extension))
	}
	e.Executor.Use(extension)
}

// Prepare returns the context of a request's operation, also if it refuses the request,
// and its points. It puts the text of the document into params. A new document takes
// memory, which may be nil, and waits for the other new documents of the key.
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
