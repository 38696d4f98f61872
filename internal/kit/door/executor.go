package door

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
)

// An executor does what gqlgen's does between a request and the schema: it finds the
// operation and the values of its variables, and leads it through the extensions. Documents
// come from those that the door knows, so it never parses one. And what gqlgen makes anew
// for each extension of each request, a context here and a closure there, it makes once for
// all of them: of a request that finds everything in memory, that is a tenth.
//
// gqlgen's own executor asks the extensions that intercept fields, dispatches subscriptions,
// which begin seldom, and presents what is refused. Mutators of parameters and contexts are
// refused: documents are the door's. It is safe for concurrent use once all extensions are
// there.
type executor struct {
	stock      *gqlgen.Executor
	es         graphql.ExecutableSchema
	docs       *documents
	fields     graphql.FieldMiddleware
	roots      graphql.RootFieldMiddleware
	operations []graphql.OperationInterceptor
	responses  []graphql.ResponseInterceptor
	present    graphql.ErrorPresenterFunc
	recovered  graphql.RecoverFunc
}

func newExecutor(es graphql.ExecutableSchema, docs *documents, present graphql.ErrorPresenterFunc, recovered graphql.RecoverFunc) *executor {
	e := &executor{stock: gqlgen.New(es), es: es, docs: docs, present: present, recovered: recovered}
	e.stock.SetErrorPresenter(present)
	e.stock.SetRecoverFunc(recovered)
	e.adopt()
	return e
}

// use adds an extension. It panics, as gqlgen does at what is none, at one that would never
// be asked.
func (e *executor) use(extension graphql.HandlerExtension) {
	switch extension.(type) {
	case graphql.OperationParameterMutator, graphql.OperationContextMutator:
		panic(fmt.Sprintf("%T changes parameters or contexts of operations: a door asks no such extension", extension))
	}
	e.stock.Use(extension)
	if x, ok := extension.(graphql.OperationInterceptor); ok {
		e.operations = append(e.operations, x)
	}
	if x, ok := extension.(graphql.ResponseInterceptor); ok {
		e.responses = append(e.responses, x)
	}
	e.adopt()
}

// adopt takes over what gqlgen made of the extensions for fields: it is in the context of
// any operation, also in that of none.
//
//nolint:contextcheck,nolintlint // gqlgen is asked about itself, for nobody; the one linter heeds this, and the other does not see that
func (e *executor) adopt() {
	none, _ := e.stock.CreateOperationContext(graphql.StartOperationTrace(context.Background()), &graphql.RawParams{})
	e.fields, e.roots = none.ResolverMiddleware, none.RootResolverMiddleware
}

// prepare fills in the context of a request's operation, an empty one, also if the operation is
// refused then.
func (e *executor) prepare(ctx context.Context, params *graphql.RawParams, oc *graphql.OperationContext) (points points, refused gqlerror.List) {
	oc.DisableIntrospection = !e.docs.introspection
	oc.RecoverFunc, oc.ResolverMiddleware, oc.RootResolverMiddleware = e.recovered, e.fields, e.roots
	oc.Stats.OperationStart = graphql.Now()
	doc, refused := e.docs.find(ctx, params, &oc.Stats)
	if refused != nil {
		return points, refused
	}
	oc.RawQuery, oc.OperationName, oc.Extensions, oc.Headers = doc.text, params.OperationName, params.Extensions, params.Headers
	oc.Doc = doc.tree
	if oc.Operation = doc.tree.Operations.ForName(params.OperationName); oc.Operation == nil {
		return points, gqlerror.List{refusal(codeValidation, "operation %s not found", params.OperationName)}
	}
	cost := doc.cost(oc.Operation)
	var err *gqlerror.Error
	if oc.Variables, err = e.variables(cost, oc.Operation, params.Variables); err == nil {
		err = cost.refuseNulls(oc.Operation, oc.Variables)
	}
	if err == nil {
		points, err = e.docs.weigh(ctx, cost, oc)
	}
	if err != nil {
		return points, gqlerror.List{err}
	}
	return points, nil
}

// variables are the values of an operation's variables, as its schema has them. They may be
// the request's own.
func (e *executor) variables(c *cost, op *ast.OperationDefinition, given map[string]any) (map[string]any, *gqlerror.Error) {
	if len(op.VariableDefinitions) == 0 {
		return map[string]any{}, nil
	}
	if c.takes(op, given) {
		return given, nil
	}
	values, err := validator.VariableValues(e.es.Schema(), op, given)
	if err == nil {
		return values, nil
	}
	told, ok := err.(*gqlerror.Error) //nolint:errorlint // nothing wraps it
	if !ok {
		told = refusal(codeValidation, "The variables cannot be read.")
	}
	errcode.Set(told, codeValidation)
	return nil, told
}

// refuse presents why a request does not run.
func (e *executor) refuse(ctx context.Context, errs gqlerror.List) *graphql.Response {
	return e.stock.DispatchError(ctx, errs)
}

// A dispatch leads one operation through the extensions, each of which lets it go on once
// or not at all.
type dispatch struct {
	*executor
	oc      *graphql.OperationContext
	passed  int                      // extensions that the operation went through
	next    graphql.OperationHandler // begin
	inner   context.Context          // as the schema was given it
	first   context.Context          // inner, with what its response collects; nil once that is there
	respond graphql.ResponseHandler  // the schema's
}

// run begins the operation. The context is that of its responses.
func (d *dispatch) run(ctx context.Context) (graphql.ResponseHandler, context.Context) {
	if d.oc.Operation.Operation == ast.Subscription {
		return d.stock.DispatchOperation(ctx, d.oc)
	}
	d.inner = graphql.WithOperationContext(ctx, d.oc)
	d.next = d.begin
	responses := d.begin(d.inner)
	return responses, d.inner
}

// begin goes on with the next extension, and behind the last one with the schema.
func (d *dispatch) begin(ctx context.Context) graphql.ResponseHandler {
	if d.passed < len(d.operations) {
		d.passed++
		return d.operations[d.passed-1].InterceptOperation(ctx, d.next)
	}
	first := graphql.WithResponseContext(ctx, d.present, d.recovered)
	d.inner, d.first = ctx, first
	d.respond = d.es.Exec(first)
	if errs := graphql.GetErrors(first); errs != nil {
		return graphql.OneShot(&graphql.Response{Errors: errs})
	}
	return d.answer
}

// answer returns the next response, nil at the end and when nobody waits for it any more.
//
//nolint:contextcheck,nolintlint // first is made of ctx
func (d *dispatch) answer(ctx context.Context) *graphql.Response {
	if ctx.Err() != nil {
		return nil
	}
	if d.first != nil && ctx == d.inner {
		ctx = d.first
	} else {
		ctx = graphql.WithResponseContext(ctx, d.present, d.recovered)
	}
	d.first = nil
	return d.through(ctx, 0)
}

// through asks the extensions from one on, and behind the last one the schema.
func (d *dispatch) through(ctx context.Context, from int) *graphql.Response {
	if from < len(d.responses) {
		return d.responses[from].InterceptResponse(ctx, func(ctx context.Context) *graphql.Response { return d.through(ctx, from+1) })
	}
	res := d.respond(ctx)
	if res != nil {
		res.Errors = append(res.Errors, graphql.GetErrors(ctx)...)
		res.Extensions = graphql.GetExtensions(ctx)
	}
	return res
}
