package document

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// counting is a schema that counts how often it is asked for points.
type counting struct {
	graphql.ExecutableSchema
	times atomic.Int64
}

func (a *counting) Complexity(ctx context.Context, object, field string, child int, args map[string]any) (int, bool) {
	a.times.Add(1)
	return a.ExecutableSchema.Complexity(ctx, object, field, child, args)
}

// costly is a library whose schema counts.
func costly(t *testing.T) (*library, *counting) {
	t.Helper()
	es := &counting{ExecutableSchema: gqltest.New().Executable()}
	return newLibraryOf(t, es, Config{
		Limits: Limits{Complexity: -1}, OncePerRequest: []string{"login"}, Introspection: true, Interner: request.NewInterner(),
	}), es
}

// measured is the operation of a request, which must be good, and what it costs.
func (l *library) measured(t *testing.T, text, operation string, variables map[string]any) (*graphql.OperationContext, Points) {
	t.Helper()
	oc, points, errs := l.Prepare(t.Context(), "", nil, &graphql.RawParams{Query: text, OperationName: operation, Variables: variables})
	if len(errs) > 0 {
		t.Fatalf("%s %v: %v", text, variables, errs)
	}
	return oc, points
}

// costOf is what is known of the only operation of a document that was read.
func (l *library) costOf(t *testing.T, text string) (*Document, *cost) {
	t.Helper()
	doc, known := l.docs.known(text)
	if !known {
		t.Fatal(text, "is not known")
	}
	return doc, doc.costs[0]
}

func TestFieldsThatAreWeighedAreKnown(t *testing.T) {
	want := map[fieldName]bool{{"Query", "items"}: true, {"Item", "items"}: true, {"Item", "related"}: true}
	if d := cmp.Diff(want, weighedFields(gqltest.New().Executable()), cmp.AllowUnexported(fieldName{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// decided are documents of which variables decide on the points, or not, or some.
var decided = map[string][]string{
	"{ hello public }":                                                                                       nil,
	"query($id: ID!) { item(id: $id) { id } }":                                                               nil,
	"query($a: Boolean!) { items(first: 3) @skip(if: $a) { id } }":                                           nil,
	"query($f: Int!) { items(first: $f) { id name } }":                                                       {"f"},
	"query($f: Int! = 7) { items(first: $f) { id } }":                                                        {"f"},
	"query($f: Int = 7) { items(first: $f) { id } hello }":                                                   {"f"},
	"query($n: String, $f: Int!) { hello(name: $n) items(first: $f) { id parent { id } } }":                  {"f"},
	"query($f: Int!, $g: Int!) { items(first: $f) { items(first: $g) { id related { id } } } }":              {"f", "g"},
	"query($f: Int!, $g: Int!) { items(first: $f) { ...A } } fragment A on Item { items(first: $g) { id } }": {"f", "g"},
	"query($f: Int!, $id: ID!) { item(id: $id) { ... on Item { items(first: $f) { id } } } }":                {"f"},
	"query($v: Any) { echo(value: $v) items(first: 2) { id } }":                                              nil,
}

func TestVariablesThatDecideAreFound(t *testing.T) {
	l, _ := costly(t)
	for text, want := range decided {
		l.measured(t, text, "", map[string]any{"f": 1, "g": 1, "id": "1", "a": true})
		_, cost := l.costOf(t, text)
		if d := cmp.Diff(want, cost.deciding); d != "" {
			t.Errorf("%s (-want +got)\n%s", text, d)
		}
	}
}

func TestRememberedPointsAreThoseThatWouldBeCalculated(t *testing.T) {
	l, _ := costly(t)
	plain := gqltest.New().Executable()
	var wait sync.WaitGroup
	for who := range uint64(4) {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(who, 1)) //nolint:gosec // a test's
			for range 300 {
				for text := range decided {
					variables := map[string]any{"id": fmt.Sprint(random.IntN(3)), "a": random.IntN(2) == 0, "g": random.IntN(3)}
					switch random.IntN(3) {
					case 0:
						variables["f"] = json.Number(fmt.Sprint(random.IntN(5)))
					case 1:
						variables["f"] = random.IntN(60) - 10
					case 2:
						variables["f"] = int64(random.IntN(5))
					}
					oc, got := l.measured(t, text, "", variables)
					want := complexity.Calculate(t.Context(), plain, oc.Operation, oc.Variables)
					if got.Complexity != want || got.Whole != want {
						t.Errorf("%s %v: %d points are remembered, of %d", text, variables, got, want)
					}
				}
			}
		})
	}
	wait.Wait()
}

func TestAKnownDocumentIsNeitherReadNorMeasuredAgain(t *testing.T) {
	l, es := costly(t)
	for text := range decided {
		variables := map[string]any{"f": 3, "g": 1, "id": "1", "a": true, "v": map[string]any{"x": []any{1.5}}}
		first, points := l.measured(t, text, "", variables)
		asked := es.times.Load()
		for i := range 3 {
			variables["id"], variables["a"] = fmt.Sprint(i), i == 0
			again, same := l.measured(t, text, "", variables)
			if again.Doc != first.Doc || !again.Stats.Parsing.Start.IsZero() || first.Stats.Validation.End.IsZero() {
				t.Errorf("%s is read again", text)
			}
			if same != points {
				t.Errorf("%s has other points", text)
			}
		}
		if n := es.times.Load() - asked; n > 0 {
			t.Errorf("%s is measured again: %d fields", text, n)
		}
	}
	if d := cmp.Diff(lookups{hits: 3 * float64(len(decided)), misses: float64(len(decided))}, l.lookups(), cmp.AllowUnexported(lookups{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestPointsOfTooManyOrTooLongValuesAreCalculatedEachTime(t *testing.T) {
	l, _ := costly(t)
	const text = "query($f: Int!) { items(first: $f) { id } }"
	for f := range 3 * maxPoints {
		if _, got := l.measured(t, text, "", map[string]any{"f": f}); got.Complexity != max(1, 1+f) {
			t.Errorf("%d: %d points", f, got)
		}
	}
	doc, cost := l.costOf(t, text)
	if n := len(*cost.points.Load()); n != maxPoints {
		t.Errorf("%d numbers are remembered", n)
	}
	if least := maxPoints * maxDecided; doc.bytes() < least {
		t.Errorf("it counts %d bytes, less than %d", doc.bytes(), least)
	}
}

func TestValuesHaveOneKeyEach(t *testing.T) {
	values := []any{
		nil, true, false, "", "n", "t", "1", json.Number("1"), json.Number("1.0"), 1, int64(1), 1.0, 0, -1, int64(-1),
		[]any{},
		[]any{nil},
		[]any{"", ""},
		[]any{"a", "b"},
		[]any{"ab"},
		[]any{[]any{}, "a"},
		[]any{[]any{"a"}},
		map[string]any{},
		map[string]any{"a": "b"},
		map[string]any{"a": "b", "c": nil},
		map[string]any{"ab": ""},
		map[string]any{"a": map[string]any{"b": "c"}},
	}
	seen := map[string]any{}
	c := &cost{deciding: []string{"v", "w"}}
	add := func(variables map[string]any) {
		key, ok := c.key(nil, variables)
		if other, known := seen[string(key)]; !ok || known {
			t.Errorf("%v and %v have one key, %q (%v)", variables, other, key, ok)
		}
		seen[string(key)] = variables
	}
	add(nil)
	for _, v := range values {
		add(map[string]any{"v": v})
		add(map[string]any{"w": v})
		for _, w := range values {
			add(map[string]any{"v": v, "w": w})
		}
	}
	long := make([]any, 1000)
	for _, v := range []any{long, string(make([]byte, maxDecided+1)), graphql.Upload{}, map[string]any{string(make([]byte, maxDecided+1)): 1}, []any{struct{}{}}} {
		if key, ok := c.key(nil, map[string]any{"v": v}); ok {
			t.Errorf("%v has the key %q", v, key)
		}
	}
}
