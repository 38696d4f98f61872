package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/tandian-dev/tandian/internal/testkit"
)

const schema = `
directive @custom on SUBSCRIPTION | FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT | QUERY | FRAGMENT_DEFINITION
interface Being { name: String! }
type Query {
  people(first: Int! = 2, by: Order, behind: Mark): [Person!]!
  person(name: String!, or: String): Person
  first: Person!
  any: Being!
  secret: String!
}
type Mutation { first: Person! }
input Order { up: Boolean! = true, limit: Int }
scalar Mark
type Home { street: String!, owner: Being! }
type Person implements Being {
  name: String!
  age: Int!
  fate: Int!
  likes: Being
  beings: [Being]
  kin: [Person]
  diary: String!
  vault: Int!
  home: Home
  den: Home!
  pets: [Pet!]!
  luck: Int!
  more: Int!
  friend: Person
  friends(first: Int! = 1): [Person!]!
  secret: String!
}
type Pet implements Being { name: String!  tricks: [String!] }
type Subscription { happened(after: Int): Happened!  born: Person!  other: Int! }
union Happened = Came | Went | Else
type Came { at: Int!  who: Person! }
type Went { at: Int! }
type Else { at: Int! }
`

type (
	home struct{ street string }
	pet  struct {
		name   string
		tricks []string
	}
	came struct {
		at  int
		who *person
	}
	went   struct{ at int }
	person struct {
		name string
		age  int
		home *home
		pets []*pet
	}
)

// A testData holds the data of the test schema: people by name.
type testData struct {
	people  map[string]*person
	friends map[string]string
	loads   atomic.Int64
	wrong   func(field string, n int) error // error of a field for n objects; may panic
	fewer   string                          // a field whose loader drops the last value
	slow    func(field string)              // called at the start of a loader
	any     any                             // value of the field any
	likes   map[string]any                  // by person
	beings  map[string][]any                // by person
	kin     map[string][]*person            // by person
	added   bool                            // the resolver of first adds an error

	directive func(ctx context.Context, obj any, next graphql.Resolver) (any, error)
}

func newTestData() *testData {
	t := &testData{people: map[string]*person{}, friends: map[string]string{"ann": "ben", "ben": "cid", "cid": "dan"}}
	for i, name := range []string{"ann", "ben", "cid", "dan"} {
		p := &person{name: name, age: 20 + i, home: &home{name + "'s street"}}
		for n := range i {
			p.pets = append(p.pets, &pet{name: fmt.Sprint(name, "'s pet ", n)})
		}
		t.people[name] = p
	}
	t.people["ben"].home = nil
	t.likes = map[string]any{"ann": t.people["ben"], "ben": pet{name: "rex"}, "cid": (*person)(nil)}
	t.beings = map[string][]any{"ann": {t.people["ben"], pet{name: "rex", tricks: []string{"sit", "roll"}}, nil, t.people["cid"]}, "ben": {}}
	t.any = t.people["dan"]
	t.kin = map[string][]*person{"ann": {nil, t.people["ben"], nil}, "ben": {}}
	t.directive = func(ctx context.Context, _ any, next graphql.Resolver) (any, error) { return next(ctx) }
	return t
}

func (t *testData) direct(ctx context.Context, obj any, next graphql.Resolver) (any, error) {
	return t.directive(ctx, obj, next)
}

// begin is called at the start of every loader.
func (t *testData) begin(field string, n int) error {
	t.loads.Add(1)
	if t.slow != nil {
		t.slow(field)
	}
	if t.wrong != nil {
		return t.wrong(field, n)
	}
	return nil
}

// cut drops the last value of the field fewer.
func cut[V any](t *testData, field string, values []V) []V {
	if t.fewer == field {
		return values[:len(values)-1]
	}
	return values
}

func firstArgs(_ context.Context, raw map[string]any) (any, error) {
	n, err := strconv.Atoi(fmt.Sprint(raw["first"]))
	if err == nil && n < 0 {
		err = errors.New("fewer than none")
	}
	return n, err
}

// text appends a quoted string.
func text(out []byte, s string) []byte {
	if s == "" { // like a scalar that marshals a value as null
		return append(out, "null"...)
	}
	return strconv.AppendQuote(out, s)
}

func number(out []byte, n int) []byte { return strconv.AppendInt(out, int64(n), 10) }

func (t *testData) tables() Tables {
	homeType, petType, personType := &Type{Name: "Home"}, &Type{Name: "Pet", Is: []string{"Being"}}, &Type{Name: "Person", Is: []string{"Being"}}
	cameType, wentType := &Type{Name: "Came", Is: []string{"Happened"}}, &Type{Name: "Went", Is: []string{"Happened"}}
	being := &Type{Name: "Being", Cases: []Case{CaseOf[person](personType), CaseOfValue[pet](petType)}}
	homeType.Fields = map[string]*Field{
		"street": Scalar(func(out []byte, h *home) []byte { return text(out, h.street) }),
	}
	petType.Fields = map[string]*Field{
		"name":   Scalar(func(out []byte, p *pet) []byte { return text(out, p.name) }),
		"tricks": Scalar(func(out []byte, p *pet) []byte { return ListOrNull(out, p.tricks, text) }).Nullable(),
	}
	loadLuck := func(_ context.Context, objs []*person, _ any) ([]int, error) {
		err := t.begin("luck", len(objs))
		return cut(t, "luck", mapped(objs, func(p *person) int { return len(p.name) + p.age })), err
	}
	personType.Fields = map[string]*Field{
		"name": Scalar(func(out []byte, p *person) []byte { return text(out, p.name) }),
		"age":  Scalar(func(out []byte, p *person) []byte { return number(out, p.age) }),
		"home": Object(homeType, func(p *person) *home { return p.home }).Nullable(),
		"den":  Object(homeType, func(p *person) *home { return p.home }),
		"pets": ObjectList(petType, func(p *person) []*pet { return p.pets }),
		"luck": LoadedScalar(number, loadLuck),
		"more": LoadedScalar(func(out []byte, n int) []byte { return number(out, n+1) }, func(ctx context.Context, objs []*person, _ any) ([]int, error) {
			values, ok, err := Shared(ctx, "luck", objs, func(objs []*person) ([]int, error) { return loadLuck(ctx, objs, nil) })
			if !ok {
				return nil, errors.New("no plan")
			}
			return values, err
		}),
		"fate": LoadedScalar(number, func(ctx context.Context, objs []*person, _ any) ([]int, error) {
			values, _, err := Shared(ctx, "luck", objs, func(objs []*person) ([]int, error) { return loadLuck(ctx, objs, nil) })
			return values, err
		}),
		"friend": LoadedObject(personType, func(_ context.Context, objs []*person, _ any) ([]*person, error) {
			err := t.begin("friend", len(objs))
			return cut(t, "friend", mapped(objs, func(p *person) *person { return t.people[t.friends[p.name]] })), err
		}).Nullable(),
		"friends": LoadedList(personType, func(_ context.Context, objs []*person, args any) ([][]*person, error) {
			err := t.begin("friends", len(objs))
			return cut(t, "friends", mapped(objs, func(p *person) (list []*person) {
				for p = t.people[t.friends[p.name]]; p != nil && len(list) < args.(int); p = t.people[t.friends[p.name]] {
					list = append(list, p)
				}
				return list
			})), err
		}).Args(firstArgs),
		"likes": LoadedInterface(being, Each(func(_ context.Context, p *person, _ any) (any, error) {
			return t.likes[p.name], t.begin("likes", 1)
		})).Nullable(),
		"beings": LoadedInterfaceList(being, Each(func(_ context.Context, p *person, _ any) ([]any, error) {
			return t.beings[p.name], t.begin("beings", 1)
		})).Nullable().Sparse(),
		"kin": LoadedList(personType, Each(func(_ context.Context, p *person, _ any) ([]*person, error) {
			return t.kin[p.name], t.begin("kin", 1)
		})).Nullable().Sparse(),
		"diary": Guard[*person](Scalar(func(out []byte, p *person) []byte { return text(out, "of "+p.name) }), t.direct),
		"vault": Guard[*person](LoadedScalar(number, loadLuck), t.direct),
	}
	cameType.Fields = map[string]*Field{
		"who": Object(personType, func(c *came) *person { return c.who }),
		"at":  Scalar(func(out []byte, c *came) []byte { return number(out, c.at) }),
	}
	wentType.Fields = map[string]*Field{
		"at": Scalar(func(out []byte, w *went) []byte { return number(out, w.at) }),
	}
	return Tables{
		Events: map[string][]Case{"happened": {CaseOf[came](cameType), CaseOf[went](wentType)}, "born": {CaseOf[person](personType)}},
		Query: &Type{Name: "Query", Fields: map[string]*Field{
			"people": LoadedList(personType, func(_ context.Context, _ []struct{}, args any) ([][]*person, error) {
				err := t.begin("people", 1)
				list := []*person{t.people["ann"], t.people["ben"], t.people["cid"], t.people["dan"]}
				return [][]*person{list[:args.(int)]}, err
			}).Args(firstArgs),
			"person": LoadedObject(personType, func(_ context.Context, _ []struct{}, args any) ([]*person, error) {
				return []*person{t.people[args.(string)]}, t.begin("person", 1)
			}).Args(func(_ context.Context, raw map[string]any) (any, error) {
				name, _ := raw["name"].(string)
				if or, _ := raw["or"].(string); t.people[name] == nil && or != "" {
					name = or
				}
				return name, nil
			}).Nullable(),
			"first": LoadedObject(personType, func(ctx context.Context, _ []struct{}, _ any) ([]*person, error) {
				if t.added {
					graphql.AddErrorf(ctx, "added")
				}
				return []*person{t.people["ann"]}, t.begin("first", 1)
			}),
			"any": LoadedInterface(being, Each(func(context.Context, struct{}, any) (any, error) { return t.any, t.begin("any", 1) })),
		}},
	}
}

// gqlgen is a fake of gqlgen's executor.
type gqlgen struct {
	graphql.ExecutableSchema
	parsed *ast.Schema
}

func (g gqlgen) Schema() *ast.Schema { return g.parsed }

const byGqlgen = `"answered by gqlgen"`

func (gqlgen) Exec(context.Context) graphql.ResponseHandler {
	return graphql.OneShot(&graphql.Response{Data: json.RawMessage(byGqlgen)})
}

// A testSchema is a schema under test. It records the errors of failed plans.
type testSchema struct {
	*Schema

	parsed *ast.Schema
	mu     sync.Mutex
	failed []error
	roots  []string
	event  any // next value of a subscription
	taken  int
}

func newTestSchema(data *testData) *testSchema {
	w := &testSchema{parsed: gqlparser.MustLoadSchema(&ast.Source{Input: schema})}
	w.Schema = New(gqlgen{parsed: w.parsed}, data.tables(), Options{
		NextEvent: func(context.Context) (any, func(), bool) { return w.event, func() { w.taken++ }, w.event != nil },
		OnError: func(_ context.Context, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		},
		OnRootField: func(field string, _ time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.roots = append(w.roots, field)
		},
	})
	return w
}

func (w *testSchema) parse(t *testing.T, query string) *ast.QueryDocument {
	t.Helper()
	doc, err := gqlparser.LoadQueryWithRules(w.parsed, query, rules.NewDefaultRules())
	if err != nil {
		t.Fatalf("%s\n%v", query, err)
	}
	return doc
}

// run executes an operation and returns its data.
func (w *testSchema) run(t *testing.T, doc *ast.QueryDocument, vars map[string]any) string {
	t.Helper()
	vars, err := validator.VariableValues(w.parsed, doc.Operations[0], vars)
	if err != nil {
		t.Fatal(err)
	}
	oc := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0], Variables: vars}
	ctx := graphql.WithOperationContext(t.Context(), oc)
	responses := w.Exec(ctx)
	res := responses(ctx)
	if len(res.Errors) > 0 {
		t.Errorf("got errors %v", res.Errors)
	}
	if again := responses(ctx); again != nil {
		t.Errorf("got a second response %s", again.Data)
	}
	return string(res.Data)
}

func (w *testSchema) query(t *testing.T, query string, vars map[string]any) string {
	t.Helper()
	return w.run(t, w.parse(t, query), vars)
}

func TestPlanResponses(t *testing.T) {
	tests := []struct {
		name, query string
		vars        map[string]any
		want        string
	}{
		{"fields in the order of the query", `{ first { age name } }`, nil, `{"first":{"age":20,"name":"ann"}}`},
		{"aliases", `{ a: first { n: name m: name } b: first { name } }`, nil, `{"a":{"n":"ann","m":"ann"},"b":{"name":"ann"}}`},
		{"__typename everywhere", `{ __typename first { t: __typename home { __typename } } }`, nil, `{"__typename":"Query","first":{"t":"Person","home":{"__typename":"Home"}}}`},
		{"only __typename", `{ __typename }`, nil, `{"__typename":"Query"}`},
		{"null of a nullable object", `{ person(name: "missing") { name } }`, nil, `{"person":null}`},
		{"a null inner object", `{ person(name: "ben") { home { street } } }`, nil, `{"person":{"home":null}}`},
		{"inner objects", `{ first { home { street } den { street } } }`, nil, `{"first":{"home":{"street":"ann's street"},"den":{"street":"ann's street"}}}`},
		{"inner lists", `{ people(first: 3) { pets { name } } }`, nil, `{"people":[{"pets":[]},{"pets":[{"name":"ben's pet 0"}]},{"pets":[{"name":"cid's pet 0"},{"name":"cid's pet 1"}]}]}`},
		{"a default", `{ people { name } }`, nil, `{"people":[{"name":"ann"},{"name":"ben"}]}`},
		{"an empty list", `{ people(first: 0) { name friend { name } friends { luck } } }`, nil, `{"people":[]}`},
		{"some nulls", `{ people(first: 4) { friend { name luck } } }`, nil, `{"people":[{"friend":{"name":"ben","luck":24}},{"friend":{"name":"cid","luck":25}},{"friend":{"name":"dan","luck":26}},{"friend":null}]}`},
		{"levels", `{ people { friends(first: 2) { name friends { name } } } }`, nil, `{"people":[{"friends":[{"name":"ben","friends":[{"name":"cid"}]},{"name":"cid","friends":[{"name":"dan"}]}]},{"friends":[{"name":"cid","friends":[{"name":"dan"}]},{"name":"dan","friends":[]}]}]}`},
		{"plain fields around loaded ones", `{ first { name luck age more pets { name } friend { name } __typename } }`, nil, `{"first":{"name":"ann","luck":23,"age":20,"more":24,"pets":[],"friend":{"name":"ben"},"__typename":"Person"}}`},
		{"one loader twice", `{ first { luck l: luck more m: more } }`, nil, `{"first":{"luck":23,"l":23,"more":24,"m":24}}`},
		{"one loader with other arguments", `{ first { friends { name } two: friends(first: 2) { name } } }`, nil, `{"first":{"friends":[{"name":"ben"}],"two":[{"name":"ben"},{"name":"cid"}]}}`},
		{"an inline fragment", `{ first { ... on Person { name } ... { age } } }`, nil, `{"first":{"name":"ann","age":20}}`},
		{"a named fragment", `{ first { ...P } } fragment P on Person { name friend { ...Q } } fragment Q on Person { age }`, nil, `{"first":{"name":"ann","friend":{"age":21}}}`},
		{"a fragment on Query", `{ ...R } fragment R on Query { first { name } }`, nil, `{"first":{"name":"ann"}}`},
		{"fields twice", `{ first { name age name luck luck ... on Person { name } } }`, nil, `{"first":{"name":"ann","age":20,"luck":23}}`},
		{"a variable", `query($n: String!) { person(name: $n) { name } }`, map[string]any{"n": "cid"}, `{"person":{"name":"cid"}}`},
		{"a missing variable", `query($n: Int! = 1) { people(first: $n) { name } }`, nil, `{"people":[{"name":"ann"}]}`},
		{"a default for a variable without a value", `query($n: Int) { people(first: $n) { name } }`, nil, `{"people":[{"name":"ann"},{"name":"ben"}]}`},
		{"a variable in an object", `query($l: Int) { people(by: {limit: $l}, first: 1) { name } }`, map[string]any{"l": 3}, `{"people":[{"name":"ann"}]}`},
		{"a variable of the argument's name", `query($name: String!) { person(name: $name) { name } }`, map[string]any{"name": "cid"}, `{"person":{"name":"cid"}}`},
		{"a default for a variable of the argument's name", `query($first: Int) { people(first: $first) { friends(first: $first) { name } } }`, nil, `{"people":[{"friends":[{"name":"ben"}]},{"friends":[{"name":"cid"}]}]}`},
		{"variables of other arguments", `query($first: Int!, $name: String!) { people(by: {limit: $first}) { name } person(name: $name) { name } }`, map[string]any{"first": 1, "name": "dan"}, `{"people":[{"name":"ann"},{"name":"ben"}],"person":{"name":"dan"}}`},
		{"a variable named like a missing argument", `query($name: String!, $or: String!) { person(name: $name) { name } other: person(name: $or) { name } }`, map[string]any{"name": "missing", "or": "ann"}, `{"person":null,"other":{"name":"ann"}}`},
		{"two variables of the arguments' names", `query($name: String!, $or: String) { person(name: $name, or: $or) { name } }`, map[string]any{"name": "missing", "or": "ann"}, `{"person":{"name":"ann"}}`},
		{"two variables of the arguments' names, one without a value", `query($name: String!, $or: String) { person(name: $name, or: $or) { name } }`, map[string]any{"name": "missing"}, `{"person":null}`},
		{"variables named like other arguments", `query($first: String!, $name: Int!) { person(name: $first) { friends(first: $name) { name } } }`, map[string]any{"first": "ann", "name": 2}, `{"person":{"friends":[{"name":"ben"},{"name":"cid"}]}}`},
		{"a fragment on an interface", `{ first { ... on Being { name } } }`, nil, `{"first":{"name":"ann"}}`},
		{"a named fragment on an interface", `{ first { ...B } } fragment B on Being { name }`, nil, `{"first":{"name":"ann"}}`},
		{"an object twice", `{ first { home { street } home { street s: street } } }`, nil, `{"first":{"home":{"street":"ann's street","s":"ann's street"}}}`},
		{"an object twice, by a fragment", `{ first { friend { name } ...F } } fragment F on Person { friend { age } }`, nil, `{"first":{"friend":{"name":"ben","age":21}}}`},
		{"a list twice, with the same arguments", `query($n: Int!) { people(first: $n) { name } people(first: $n) { age } }`, map[string]any{"n": 1}, `{"people":[{"name":"ann","age":20}]}`},
		{"objects of an interface", `{ people(first: 4) { likes { __typename name ... on Person { age luck } ... on Pet { tricks } } } }`, nil, `{"people":[{"likes":{"__typename":"Person","name":"ben","age":21,"luck":24}},{"likes":{"__typename":"Pet","name":"rex","tricks":null}},{"likes":null},{"likes":null}]}`},
		{"a non-null object of an interface", `{ any { ...B } } fragment B on Being { name __typename }`, nil, `{"any":{"name":"rex","__typename":"Pet"}}`},
		{"lists of an interface, with nulls", `{ people(first: 3) { beings { name ... on Person { friend { name } } ... on Pet { tricks } } } }`, nil, `{"people":[{"beings":[{"name":"ben","friend":{"name":"cid"}},{"name":"rex","tricks":["sit","roll"]},null,{"name":"cid","friend":{"name":"dan"}}]},{"beings":[]},{"beings":null}]}`},
		{"lists of objects, with nulls", `{ people(first: 3) { kin { name luck } } }`, nil, `{"people":[{"kin":[null,{"name":"ben","luck":24},null]},{"kin":[]},{"kin":null}]}`},
		{"a directive that passes", `{ first { diary vault } }`, nil, `{"first":{"diary":"of ann","vault":23}}`},
		{"names with quotes", `{ person(name: "a\"\n\\") { name } }`, nil, `{"person":{"name":"a\"\n\\"}}`},
	}
	data := newTestData()
	data.people["a\"\n\\"] = &person{name: "a\"\n\\"}
	data.any = pet{name: "rex"}
	w := newTestSchema(data)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the second time with a cached plan
				if d := cmp.Diff(tt.want, w.query(t, tt.query, tt.vars)); d != "" {
					t.Errorf("%s\n(-want +got)\n%s", tt.query, d)
				}
			}
		})
	}
	if len(w.failed) > 0 {
		t.Errorf("plans failed: %v", w.failed)
	}
}

func TestUnplannableQueriesRunInGqlgen(t *testing.T) {
	tests := []struct {
		name, query string
		vars        map[string]any
		fails       bool // at run time; otherwise there is no plan
	}{
		{name: "a mutation", query: `mutation { first { name } }`},
		{name: "a field in no table", query: `{ first { name secret } }`},
		{name: "a nested field in no table", query: `{ people { friend { friends { secret } } } }`},
		{name: "a root field in no table", query: `{ first { name } secret }`},
		{name: "the schema", query: `{ first { name } __schema { types { name } } }`},
		{name: "a directive of a field", query: `{ first { name @skip(if: false) } }`},
		{name: "a custom directive", query: `{ first @custom { name } }`},
		{name: "a directive of a spread", query: `{ first { ...P @include(if: true) } } fragment P on Person { name }`},
		{name: "a directive of a fragment", query: `{ first { ...P } } fragment P on Person @custom { name }`},
		{name: "a directive of an inline fragment", query: `{ first { ... @include(if: true) { name } } }`},
		{name: "a directive of the operation", query: `query @custom { first { name } }`},
		{name: "a number of twenty digits", query: `{ people(behind: 99999999999999999999) { name } }`},
		{name: "an invalid argument", query: `{ people(first: -1) { name } }`},
		{name: "an invalid variable", query: `query($n: Int!) { people(first: $n) { name } }`, vars: map[string]any{"n": -1}, fails: true},
		{name: "null for a non-null argument", query: `query($n: Int) { people(first: $n) { name } }`, vars: map[string]any{"n": nil}, fails: true},
		{name: "a loader panic", query: `{ people(first: 5) { name } }`, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestSchema(newTestData())
			if got := w.query(t, tt.query, tt.vars); got != byGqlgen {
				t.Errorf("%s: %s", tt.query, got)
			}
			if failed := len(w.failed) == 1; failed != tt.fails {
				t.Errorf("%s: plans failed: %v", tt.query, w.failed)
			}
			if len(w.roots) > 0 {
				t.Errorf("%s: got root fields %q, want none", tt.query, w.roots)
			}
		})
	}
}

func TestFailedPlansRunInGqlgen(t *testing.T) {
	broken := errors.New("broken")
	const all = `{ people(first: 3) { name luck friend { age } friends { luck more } } }`
	tests := []struct {
		name, query string
		damage      func(*testData)
		want        string
	}{
		{"an error of the first loader", all, func(t *testData) { t.wrong = failing("people", broken) }, "broken"},
		{"an error of a loaded scalar", all, func(t *testData) { t.wrong = failing("luck", broken) }, "broken"},
		{"an error of a loaded object", all, func(t *testData) { t.wrong = failing("friend", broken) }, "broken"},
		{"an error of a loaded list", all, func(t *testData) { t.wrong = failing("friends", broken) }, "broken"},
		{"a panic", all, func(t *testData) { t.wrong = func(string, int) error { panic("oh") } }, "panic: oh"},
		{"a panic of a loaded scalar", all, func(t *testData) { t.wrong = panicking("luck") }, "panic: oh"},
		{"a panic of a loaded object", all, func(t *testData) { t.wrong = panicking("friend") }, "panic: oh"},
		{"a panic of the last loader", all, func(t *testData) { t.wrong = panicking("friends") }, "panic: oh"},
		{"a loaded scalar with too few values", all, func(t *testData) { t.fewer = "luck" }, errCount.Error()},
		{"a loaded object with too few values", all, func(t *testData) { t.fewer = "friend" }, errCount.Error()},
		{"a loaded list with too few values", all, func(t *testData) { t.fewer = "friends" }, errCount.Error()},
		{"a null non-null object", `{ first { name } }`, func(t *testData) { delete(t.people, "ann") }, errNull.Error()},
		{"null in a list", `{ people { __typename } }`, func(t *testData) { delete(t.people, "ben") }, errNull.Error()},
		{"null in an inner list", `{ person(name: "cid") { pets { __typename } } }`, func(t *testData) { t.people["cid"].pets[1] = nil }, errNull.Error()},
		{"a null non-null inner object", `{ people { den { __typename } } }`, func(*testData) {}, errNull.Error()},
		{"null of an interface", `{ any { name } }`, func(t *testData) { t.any = nil }, errNull.Error()},
		{"a nil pointer of an interface", `{ any { name } }`, func(t *testData) { t.any = (*person)(nil) }, errNull.Error()},
		{"a type that is not of the interface", `{ any { name } }`, func(t *testData) { t.any = 7 }, errNull.Error()},
		{"a null non-null leaf", `{ first { name } }`, func(t *testData) { t.people["ann"].name = "" }, errNull.Error()},
		{"a nested null non-null leaf", `{ first { name home { street } } }`, func(t *testData) { t.people["ann"].home.street = "" }, errNull.Error()},
		{"an error of one of several resolvers", `{ people { likes { name } } }`, func(t *testData) { t.wrong = failing("likes", broken) }, "broken"},
		{"a panic of one of several resolvers", `{ people { likes { name } } }`, func(t *testData) { t.wrong = panicking("likes") }, "panic: oh"},
		{"an error that a resolver adds", `{ first { name } }`, func(t *testData) { t.added = true }, errAdded.Error()},
		{"a directive that returns an error", `{ people { name diary } }`, func(t *testData) { t.directive = refusing("ben", broken) }, "broken"},
		{"a directive that returns an error for a loaded field", `{ people { vault } }`, func(t *testData) { t.directive = refusing("ben", broken) }, "broken"},
		{"a directive without next", `{ first { diary } }`, func(t *testData) {
			t.directive = func(context.Context, any, graphql.Resolver) (any, error) { return "mine", nil }
		}, errDirective.Error()},
		{"a directive that changes a value", `{ first { vault } }`, func(t *testData) {
			t.directive = func(ctx context.Context, _ any, next graphql.Resolver) (any, error) {
				v, err := next(ctx)
				return []any{v}, err
			}
		}, errDirective.Error()},
		{"a null non-null inner object with children", `{ people { den { street } luck } }`, func(*testData) {}, errNull.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fresh := newTestData() // never read, so that its fields load in parallel
			tt.damage(fresh)
			data := newTestData()
			known := newTestSchema(data)
			doc := known.parse(t, tt.query)
			if !strings.Contains(tt.query, "den") {
				if got := known.run(t, doc, nil); got == byGqlgen {
					t.Fatalf("plan failed before the error: %v", known.failed)
				}
			}
			tt.damage(data)
			for what, w := range map[string]*testSchema{"an executed plan": known, "a new plan": newTestSchema(fresh)} {
				if got := w.run(t, doc, nil); got != byGqlgen {
					t.Errorf("%s: got %s", what, got)
				}
				if len(w.failed) != 1 || !strings.Contains(w.failed[0].Error(), tt.want) {
					t.Errorf("%s: got %v, want %q", what, w.failed, tt.want)
				}
			}
		})
	}
}

func failing(name string, err error) func(string, int) error {
	return func(field string, _ int) error {
		if field == name {
			return err
		}
		return nil
	}
}

// refusing returns a directive that rejects one person.
func refusing(name string, err error) func(context.Context, any, graphql.Resolver) (any, error) {
	return func(ctx context.Context, obj any, next graphql.Resolver) (any, error) {
		if p, _ := obj.(*person); p.name == name {
			return nil, err
		}
		return next(ctx)
	}
}

func panicking(name string) func(string, int) error {
	return func(field string, _ int) error {
		if field == name {
			panic("oh")
		}
		return nil
	}
}

func TestLoadersRunOncePerPosition(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	data := newTestData()
	data.wrong = func(field string, n int) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprint(field, " of ", n))
		return nil
	}
	newTestSchema(data).query(t, `{ people(first: 4) { luck again: luck more fate friend { luck } friends(first: 2) { luck } } }`, nil)
	slices.Sort(calls)
	want := []string{"friend of 4", "friends of 4", "luck of 3", "luck of 4", "luck of 4", "luck of 5", "people of 1"} // more and fate share one
	if d := cmp.Diff(want, calls); d != "" {
		t.Errorf("loads (-want +got)\n%s", d)
	}
}

func TestDisabledAndBypassedQueriesRunInGqlgen(t *testing.T) {
	for name, o := range map[string]Options{
		"disabled": {Disabled: true},
		"bypassed": {Bypass: func(context.Context) bool { return true }},
	} {
		w := newTestSchema(newTestData())
		w.Schema = New(gqlgen{}, newTestData().tables(), o)
		if got := w.query(t, `{ first { name } }`, nil); got != byGqlgen {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestRootFieldsAreTimed(t *testing.T) {
	w := newTestSchema(newTestData())
	w.query(t, `{ __typename a: first { name } people { name } }`, nil)
	if d := cmp.Diff([]string{"first", "people"}, w.roots); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Fields of one level load in parallel, in the first execution and later.
func TestSlowFieldsLoadInParallel(t *testing.T) {
	for _, tt := range []struct {
		query  string
		levels int // sequential levels
	}{
		{`{ first { age } people { name } }`, 1},
		{`{ first { friend { name } friends { name } } }`, 2},
		{`{ people { name friends { friend { name } luck } } }`, 3},
		{`{ a: first { friend { name } } b: first { luck friends { age } } }`, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			data := newTestData()
			data.slow = func(string) { time.Sleep(time.Second) }
			w := newTestSchema(data)
			doc := w.parse(t, tt.query)
			for n := range 3 {
				begin := time.Now()
				if got := w.run(t, doc, nil); got == byGqlgen {
					t.Fatal(w.failed)
				}
				if took := time.Since(begin); took != time.Duration(tt.levels)*time.Second {
					t.Errorf("%s: run %d: took %v, want %d s", tt.query, n, took, tt.levels)
				}
			}
		})
	}
}

// A field that was fast the last time does not delay others by more than its own duration.
func TestFieldsThatBecomeSlowLoadInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := newTestData()
		w := newTestSchema(data)
		doc := w.parse(t, `{ first { age } a: people { name } b: people { name } c: people { name } }`)
		w.run(t, doc, nil)
		data.slow = func(string) { time.Sleep(time.Second) }
		for _, want := range []time.Duration{2 * time.Second, time.Second} { // not known to be slow yet, then known
			begin := time.Now()
			w.run(t, doc, nil)
			if took := time.Since(begin); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
		}
	})
}

// A response waits for all started loaders, also after an error.
func TestResponseWaitsForAllLoaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := newTestData()
		var running atomic.Int64
		data.slow = func(field string) {
			if field == "first" {
				running.Add(1)
				time.Sleep(time.Second)
				running.Add(-1)
			}
		}
		w := newTestSchema(data)
		for _, wrong := range []func(string, int) error{failing("people", errors.New("broken")), panicking("people")} {
			data.wrong = wrong
			if got := w.query(t, `{ first { age } people { name } }`, nil); got != byGqlgen || running.Load() != 0 {
				t.Errorf("got %s with %d running loaders", got, running.Load())
			}
		}
	})
}

func TestPlansAreRemovedWithTheirDocument(t *testing.T) {
	w := newTestSchema(newTestData())
	plans := func() (n int) {
		w.plans.Range(func(any, any) bool { n++; return true })
		return n
	}
	doc := w.parse(t, `{ first { name } }`)
	w.run(t, doc, nil)
	for i := range 20 {
		w.query(t, fmt.Sprintf(`query Q%d($n: Int! = 1) { people(first: $n) { name friends { name } } }`, i), nil)
		w.query(t, fmt.Sprintf(`query Q%d { secret }`, i), nil) // there is no plan for it
	}
	for i := range 3 {
		w.run(t, doc, nil)
		if n := plans(); i == 0 && n < 2 {
			t.Fatalf("got %d plans, want at least 2", n)
		}
	}
	testkit.Eventually(t, 10*time.Second, func() bool {
		runtime.GC()
		return plans() == 1
	})
	runtime.KeepAlive(doc)
	testkit.Eventually(t, 10*time.Second, func() bool {
		runtime.GC()
		return plans() == 0
	})
}

func TestPlansAreSafeForConcurrentUse(t *testing.T) {
	w := newTestSchema(newTestData())
	docs := []*ast.QueryDocument{
		w.parse(t, `query($n: Int!) { people(first: $n) { name age luck friends(first: $n) { name luck more } } }`),
		w.parse(t, `query($n: Int!) { first { name } people(first: $n) { friend { age } name } }`),
	}
	alone := map[[2]int]string{}
	for d := range docs {
		for n := range 5 {
			alone[[2]int{d, n}] = w.run(t, docs[d], map[string]any{"n": n})
		}
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				d, n := (worker+i)%2, i%5
				if got := w.run(t, docs[d], map[string]any{"n": n}); got != alone[[2]int{d, n}] {
					t.Errorf("document %d for %d: got\n%s\nwant\n%s", d, n, got, alone[[2]int{d, n}])
				}
			}
		})
	}
	all.Wait()
}

// Deferred functions run once, with a plan and without.
func TestDeferRunsOnce(t *testing.T) {
	var done atomic.Int64
	count := func(ctx context.Context) { Defer(ctx, func() { done.Add(1) }) }
	if count(t.Context()); done.Load() != 1 {
		t.Errorf("without a plan: got %d calls, want 1", done.Load())
	}
	w, wrong := newTestSchema(newTestData()), error(nil)
	w.tables.Query.Fields["first"] = LoadedObject(w.tables.Query.Fields["first"].to, func(ctx context.Context, _ []struct{}, _ any) ([]*person, error) {
		count(ctx)
		return []*person{{name: "ann"}}, wrong
	})
	done.Store(0)
	if w.query(t, `{ first { name } b: first { name } people { name } }`, nil); done.Load() != 2 {
		t.Errorf("with a plan: got %d calls, want 2", done.Load())
	}
	done.Store(0)
	wrong = errors.New("broken")
	if got := w.query(t, `{ first { name } }`, nil); got != byGqlgen || done.Load() != 0 {
		t.Errorf("with a failed plan: got %d calls, want 0", done.Load())
	}
}
