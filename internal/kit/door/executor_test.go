package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/door/doortest"
)

// Extensions of one kind each.
type (
	aroundOperations func(context.Context, graphql.OperationHandler) graphql.ResponseHandler
	aroundResponses  func(context.Context, graphql.ResponseHandler) *graphql.Response
	aroundRoots      func(context.Context, graphql.RootResolver) graphql.Marshaler
	aroundFields     func(context.Context, graphql.Resolver) (any, error)
)

func (aroundOperations) ExtensionName() string                   { return "operations" }
func (aroundOperations) Validate(graphql.ExecutableSchema) error { return nil }
func (aroundResponses) ExtensionName() string                    { return "responses" }
func (aroundResponses) Validate(graphql.ExecutableSchema) error  { return nil }
func (aroundRoots) ExtensionName() string                        { return "roots" }
func (aroundRoots) Validate(graphql.ExecutableSchema) error      { return nil }
func (aroundFields) ExtensionName() string                       { return "fields" }
func (aroundFields) Validate(graphql.ExecutableSchema) error     { return nil }

func (f aroundOperations) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return f(ctx, next)
}

func (f aroundResponses) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return f(ctx, next)
}

func (f aroundRoots) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	return f(ctx, next)
}

func (f aroundFields) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	return f(ctx, next)
}

// A diary is what extensions see, in order, and what those see that are asked for fields,
// which run beside each other.
type diary struct {
	mu            sync.Mutex
	lines, fields []string
}

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) noteField(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fields = append(d.fields, fmt.Sprintf(format, args...))
}

func (d *diary) all() []string { return append(d.lines, slices.Sorted(slices.Values(d.fields))...) }

type marked string // a key of a context

// extensions are two of each kind, which write into a diary and mark contexts; the second
// one of operations refuses what is called REFUSED, and the second one of responses gives
// none to what is called SILENT; that of operations changes the context of the responses to
// what is called CHANGED.
func (d *diary) extensions() []graphql.HandlerExtension {
	marks := func(ctx context.Context) string {
		text := ""
		for _, m := range []marked{"operation 1", "operation 2", "response 1", "response 2"} {
			if ctx.Value(m) != nil {
				text += string(m) + ";"
			}
		}
		return text
	}
	var all []graphql.HandlerExtension
	for i := range 2 {
		n := i + 1
		all = append(all, aroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
			d.note("response %d in %s", n, marks(ctx))
			if n == 2 && graphql.GetOperationContext(ctx).OperationName == "SILENT" {
				return nil
			}
			graphql.RegisterExtension(ctx, fmt.Sprint("by response ", n), n)
			res := next(context.WithValue(ctx, marked(fmt.Sprint("response ", n)), true))
			d.note("response %d: %v", n, res != nil)
			return res
		}), aroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
			oc := graphql.GetOperationContext(ctx)
			d.note("operation %d in %s: %s %s %v", n, marks(ctx), oc.Operation.Operation, oc.OperationName, oc.Variables)
			if n == 2 && oc.OperationName == "REFUSED" {
				return graphql.OneShot(&graphql.Response{Errors: gqlerror.List{refusal(codeRate, "No.")}})
			}
			respond := next(context.WithValue(ctx, marked(fmt.Sprint("operation ", n)), true))
			return func(ctx context.Context) *graphql.Response {
				d.note("operation %d answers in %s", n, marks(ctx))
				if oc.OperationName == "CHANGED" {
					ctx = context.WithValue(ctx, marked("response 2"), true)
				}
				return respond(ctx)
			}
		}), aroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
			d.noteField("field %d %s in %s", n, graphql.GetFieldContext(ctx).Field.Name, marks(ctx))
			return next(ctx)
		}), aroundRoots(func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
			d.noteField("root %d %s in %s", n, graphql.GetRootFieldContext(ctx).Field.Name, marks(ctx))
			return next(ctx)
		}))
	}
	return all
}

// An execution is what came of a request, as its client and its extensions see it.
type execution struct {
	Refused   string
	Responses []string
	Diary     []string
}

// whole runs an operation to its end, at most so many responses.
func (x *execution) whole(ctx context.Context, responses graphql.ResponseHandler) {
	for range 5 {
		res := responses(ctx)
		if res == nil {
			return
		}
		text, _ := json.Marshal(res)
		x.Responses = append(x.Responses, string(text))
	}
}

func caught(context.Context, any) error { return errPanic }

// presented shows errors as they are.
func presented(_ context.Context, err error) *gqlerror.Error {
	if told, ok := errors.AsType[*gqlerror.Error](err); ok {
		return told
	}
	return gqlerror.Wrap(err)
}

func TestOperationsRunAsByTheExecutorOfGqlgen(t *testing.T) {
	tests := []struct {
		name, document, operation string
		variables                 map[string]any
	}{
		{name: "a query", document: "{ hello sum(of: [1, 2]) }"},
		{name: "with strings", document: "query($a: ID!, $b: String) { item(id: $a) { id } hello(name: $b) }", variables: map[string]any{"a": "1", "b": "x"}},
		{name: "with a string and one that is missing", document: "query($a: ID!, $b: String) { item(id: $a) { id } hello(name: $b) }", variables: map[string]any{"a": "1"}},
		{name: "with a string and null", document: "query($a: ID!, $b: String) { item(id: $a) { id } hello(name: $b) }", variables: map[string]any{"a": "1", "b": nil}},
		{name: "with one too many", document: "query($a: ID!) { item(id: $a) { id } }", variables: map[string]any{"a": "1", "c": "2"}},
		{name: "with another one", document: "query($a: String) { hello(name: $a) }", variables: map[string]any{"c": "2"}},
		{name: "with a default", document: `query($a: String = "x") { hello(name: $a) }`},
		{name: "with a default and a string", document: `query($a: String = "x") { hello(name: $a) }`, variables: map[string]any{"a": "y"}},
		{name: "with a number for an id", document: "query($a: ID!) { item(id: $a) { id } }", variables: map[string]any{"a": json.Number("7")}},
		{name: "refused: with a number for a string", document: "query($a: String!) { hello(name: $a) }", variables: map[string]any{"a": 7}},
		{name: "with numbers", document: "query($a: Int!, $b: [Int!]) { items(first: $a) { id } sum(of: $b) }", variables: map[string]any{"a": json.Number("2"), "b": []any{1, 2}}},
		{name: "with a string for a list", document: "query($a: [Int!]) { sum(of: $a) }", variables: map[string]any{"a": "1"}},
		{name: "refused: with a string for a boolean", document: "query($a: Boolean!) { hello @skip(if: $a) }", variables: map[string]any{"a": "true"}},
		{name: "with anything", document: "query($a: Any) { echo(value: $a) }", variables: map[string]any{"a": map[string]any{"x": []any{"y"}}}},
		{name: "refused: without what must be there", document: "query($a: ID!) { item(id: $a) { id } }"},
		{name: "refused: with null where something must be", document: "query($a: ID!) { item(id: $a) { id } }", variables: map[string]any{"a": nil}},
		{name: "one of two", document: "query A { hello } query B { sum }", operation: "B"},
		{name: "refused: none of two", document: "query A { hello } query B { sum }"},
		{name: "refused: another one", document: "query A { hello }", operation: "C"},
		{name: "an error", document: "{ hello fail }"},
		{name: "a panic", document: "{ hello crash }"},
		{name: "a mutation", document: `mutation { a: setName(name: "x") b: setName(name: "y") }`},
		{name: "a subscription", document: "subscription { count(to: 3) }"},
		{name: "refused by an extension", document: "query REFUSED { hello }", operation: "REFUSED"},
		{name: "not answered by an extension", document: "query SILENT { hello }", operation: "SILENT"},
		{name: "answered in a changed context", document: "query CHANGED { hello fail }", operation: "CHANGED"},
		{name: "refused: an operation that is not valid", document: "{ nothing }"},
	}
	for _, tt := range tests {
		params := func() *graphql.RawParams {
			return &graphql.RawParams{Query: tt.document, OperationName: tt.operation, Variables: maps.Clone(tt.variables)}
		}
		t.Run(tt.name, func(t *testing.T) {
			want, seen := execution{}, &diary{}
			theirs := gqlgen.New(doortest.New().Executable())
			theirs.SetErrorPresenter(presented)
			theirs.SetRecoverFunc(caught)
			theirs.SetDisableSuggestion(true)
			for _, x := range seen.extensions() {
				theirs.Use(x)
			}
			ctx := graphql.StartOperationTrace(t.Context())
			oc, errs := theirs.CreateOperationContext(ctx, params())
			if errs != nil {
				res := theirs.DispatchError(graphql.WithOperationContext(ctx, oc), errs)
				want.Refused = refusedAs(res)
			} else {
				responses, inner := theirs.DispatchOperation(ctx, oc)
				want.whole(inner, responses)
			}
			want.Diary = seen.all()

			got, seen := execution{}, &diary{}
			l := newLibrary(t, Config{})
			l.executor = newExecutor(doortest.New().Executable(), l.docs, presented, caught)
			for _, x := range seen.extensions() {
				l.use(x)
			}
			oc = new(graphql.OperationContext)
			if _, errs := l.prepare(t.Context(), params(), oc); errs != nil {
				got.Refused = refusedAs(l.refuse(graphql.WithOperationContext(t.Context(), oc), errs))
			} else {
				responses, inner := (&dispatch{executor: l.executor, oc: oc}).run(t.Context())
				got.whole(inner, responses)
			}
			got.Diary = seen.all()
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-gqlgen +door)\n%s", d)
			}
			if name, isRefused := strings.CutPrefix(tt.name, "refused: "); isRefused != (want.Refused != "") {
				t.Errorf("%s is refused: %s", name, want.Refused)
			}
			if len(want.Diary) == 0 || want.Refused == "" && len(want.Responses) == 0 && !strings.Contains(tt.document, "SILENT") {
				t.Errorf("nothing happened: %+v", want)
			}
		})
	}
}

// refusedAs is a refusal as it is sent.
func refusedAs(res *graphql.Response) string {
	text, _ := json.Marshal(res)
	return string(text)
}

// A query may have the variables of its request as they are. A subscription begins again and
// again with them.
func TestASubscriptionHasVariablesOfItsOwn(t *testing.T) {
	l := newLibrary(t, Config{})
	for document, own := range map[string]bool{
		"query($a: String!) { hello(name: $a) }":                   false,
		"subscription($a: String!) { told(topic: $a) { number } }": true,
	} {
		params, oc := &graphql.RawParams{Query: document, Variables: map[string]any{"a": "x"}}, new(graphql.OperationContext)
		if _, errs := l.prepare(t.Context(), params, oc); errs != nil {
			t.Fatal(errs)
		}
		oc.Variables["b"] = "y"
		if _, same := params.Variables["b"]; same == own || oc.Variables["a"] != "x" {
			t.Errorf("%s: the operation has %v, the request %v", document, oc.Variables, params.Variables)
		}
	}
}

// limiting stands for gqlgen's extensions that would limit, or change, what a door has read.
type limiting struct{ aroundOperations }

func (limiting) MutateOperationContext(context.Context, *graphql.OperationContext) *gqlerror.Error {
	return nil
}

func TestAnExtensionThatWouldNeverBeAskedIsRefused(t *testing.T) {
	d, err := New(doortest.New().Executable(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "door.limiting") {
			t.Errorf("it panics with %q", said)
		}
	}()
	d.Use(limiting{})
}
