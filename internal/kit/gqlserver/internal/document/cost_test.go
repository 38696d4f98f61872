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

// countingSchema counts the calls of Complexity.
type countingSchema struct {
	graphql.ExecutableSchema
	times atomic.Int64
}

func (a *countingSchema) Complexity(ctx context.Context, object, field string, child int, args map[string]any) (int, bool) {
	a.times.Add(1)
	return a.ExecutableSchema.Complexity(ctx, object, field, child, args)
}

// newCostFixture returns a fixture whose schema counts.
func newCostFixture(t *testing.T) (*fixture, *countingSchema) {
	t.Helper()
	es := &countingSchema{ExecutableSchema: gqltest.New().Executable()}
	return newFixtureOf(t, es, Config{
		Limits: Limits{Complexity: -1}, OncePerRequest: []string{"login"}, Introspection: true, Interner: request.NewInterner(),
	}), es
}

// mustPrepare returns the operation of a valid request and its points.
func (l *fixture) mustPrepare(t *testing.T, text, operation string, variables map[string]any) (*graphql.OperationContext, Points) {
	t.Helper()
	oc, points, errs := l.Prepare(t.Context(), "", nil, &graphql.RawParams{Query: text, OperationName: operation, Variables: variables})
	if len(errs) > 0 {
		t.Fatalf("%s %v: %v", text, variables, errs)
	}
	return oc, points
}

// costOf returns a known document and the cost of its only operation.
func (l *fixture) costOf(t *testing.T, text string) (*Document, *cost) {
	t.Helper()
	doc, known := l.docs.known(text)
	if !known {
		t.Fatal("unknown document", text)
	}
	return doc, doc.costs[0]
}

func TestWeightedFieldsAreFound(t *testing.T) {
	want := map[fieldName]bool{{"Query", "items"}: true, {"Item", "items"}: true, {"Item", "related"}: true}
	if d := cmp.Diff(want, weightedFields(gqltest.New().Executable()), cmp.AllowUnexported(fieldName{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// decidingVariables holds documents and their deciding variables.
var decidingVariables = map[string][]string{
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

func TestDecidingVariablesAreFound(t *testing.T) {
	l, _ := newCostFixture(t)
	for text, want := range decidingVariables {
		l.mustPrepare(t, text, "", map[string]any{"f": 1, "g": 1, "id": "1", "a": true})
		_, cost := l.costOf(t, text)
		if d := cmp.Diff(want, cost.deciding); d != "" {
			t.Errorf("%s (-want +got)\n%s", text, d)
		}
	}
}

func TestCachedPointsMatchCalculatedPoints(t *testing.T) {
	l, _ := newCostFixture(t)
	plain := gqltest.New().Executable()
	var wait sync.WaitGroup
	for seed := range uint64(4) {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // for a test
			for range 300 {
				for text := range decidingVariables {
					variables := map[string]any{"id": fmt.Sprint(random.IntN(3)), "a": random.IntN(2) == 0, "g": random.IntN(3)}
					switch random.IntN(3) {
					case 0:
						variables["f"] = json.Number(fmt.Sprint(random.IntN(5)))
					case 1:
						variables["f"] = random.IntN(60) - 10
					case 2:
						variables["f"] = int64(random.IntN(5))
					}
					oc, got := l.mustPrepare(t, text, "", variables)
					want := complexity.Calculate(t.Context(), plain, oc.Operation, oc.Variables)
					if got.Complexity != want || got.Whole != want {
						t.Errorf("%s %v: got %d points, want %d", text, variables, got, want)
					}
				}
			}
		})
	}
	wait.Wait()
}

func TestKnownDocumentIsNotParsedOrMeasuredAgain(t *testing.T) {
	l, es := newCostFixture(t)
	for text := range decidingVariables {
		variables := map[string]any{"f": 3, "g": 1, "id": "1", "a": true, "v": map[string]any{"x": []any{1.5}}}
		first, points := l.mustPrepare(t, text, "", variables)
		calls := es.times.Load()
		for i := range 3 {
			variables["id"], variables["a"] = fmt.Sprint(i), i == 0
			again, same := l.mustPrepare(t, text, "", variables)
			if again.Doc != first.Doc || !again.Stats.Parsing.Start.IsZero() || first.Stats.Validation.End.IsZero() {
				t.Errorf("%s was parsed again", text)
			}
			if same != points {
				t.Errorf("%s: got points %v, want %v", text, same, points)
			}
		}
		if n := es.times.Load() - calls; n > 0 {
			t.Errorf("%s: got %d calls of Complexity, want 0", text, n)
		}
	}
	if d := cmp.Diff(lookups{hits: 3 * float64(len(decidingVariables)), misses: float64(len(decidingVariables))}, l.lookups(), cmp.AllowUnexported(lookups{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestCachedPointsAreBounded(t *testing.T) {
	l, _ := newCostFixture(t)
	const text = "query($f: Int!) { items(first: $f) { id } }"
	for f := range 3 * maxPoints {
		if _, got := l.mustPrepare(t, text, "", map[string]any{"f": f}); got.Complexity != max(1, 1+f) {
			t.Errorf("first %d: got %d points, want %d", f, got, max(1, 1+f))
		}
	}
	doc, cost := l.costOf(t, text)
	if n := len(*cost.points.Load()); n != maxPoints {
		t.Errorf("got %d cached points, want %d", n, maxPoints)
	}
	if minPoints := maxPoints * maxKeyBytes; doc.bytes() < minPoints {
		t.Errorf("got %d bytes, want at least %d", doc.bytes(), minPoints)
	}
}

func TestValueKeysAreUnique(t *testing.T) {
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
			t.Errorf("%v and %v: got the key %q (%v) for both", variables, other, key, ok)
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
	for _, v := range []any{long, string(make([]byte, maxKeyBytes+1)), graphql.Upload{}, map[string]any{string(make([]byte, maxKeyBytes+1)): 1}, []any{struct{}{}}} {
		if key, ok := c.key(nil, map[string]any{"v": v}); ok {
			t.Errorf("%v: got the key %q, want none", v, key)
		}
	}
}
