package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/core"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// lookups counts the hits and misses of documents and persisted queries.
type lookups struct{ hits, misses, persistedHits, persistedMisses float64 }

// fixture reads documents like a server and counts the lookups.
type fixture struct {
	*Executor
	documents, persisted [2]atomic.Int64 // misses and hits
}

func (l *fixture) lookups() lookups {
	return lookups{
		float64(l.documents[1].Load()), float64(l.documents[0].Load()),
		float64(l.persisted[1].Load()), float64(l.persisted[0].Load()),
	}
}

// defaultLimits returns the defaults of a server.
func defaultLimits() Limits {
	return Limits{
		Document: 64 << 10, Name: 256, Tokens: 5000, Depth: 15, Fields: 500, Expanded: 1000, Aliases: 30, Directives: 50, Fragments: 50,
		Operations: 10, Variables: 50, RootFields: 20, Mutations: 5, Overlaps: 30_000, ValidationErrors: 5, Complexity: 5000,
		Wait: 2 * time.Second, DocumentCache: 8 << 20, PersistedCache: 4 << 20,
	}
}

// withDefaults sets the zero fields of limits to their defaults.
func withDefaults(limits Limits) Limits {
	defaults := defaultLimits()
	from, to := reflect.ValueOf(defaults), reflect.ValueOf(&limits).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return limits
}

func newFixture(t *testing.T, cfg Config) *fixture {
	t.Helper()
	return newFixtureOf(t, gqltest.New().Executable(), cfg)
}

func newFixtureOf(t *testing.T, es graphql.ExecutableSchema, cfg Config) *fixture {
	t.Helper()
	l := &fixture{}
	count := func(of *[2]atomic.Int64) func(bool) {
		return func(known bool) {
			if known {
				of[1].Add(1)
			} else {
				of[0].Add(1)
			}
		}
	}
	cfg.Limits, cfg.TrustedLimits = withDefaults(cfg.Limits), defaultLimits()
	cfg.OnDocument, cfg.OnPersisted = count(&l.documents), count(&l.persisted)
	docs, err := New(es, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.Executor = NewExecutor(es, docs, graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	return l
}

// read reads a document and returns its errors.
func (l *fixture) read(ctx context.Context, params graphql.RawParams) gqlerror.List {
	return l.readAs(ctx, "", params)
}

// readAs is like read, for a caller.
func (l *fixture) readAs(ctx context.Context, key string, params graphql.RawParams) gqlerror.List {
	_, _, errs := l.Prepare(ctx, key, nil, &params)
	return errs
}

// hashOf returns the hash of a persisted query.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// numbered repeats format n times, with the index for %d.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// nested puts inner between n times opens and n times closes.
func nested(n int, opens, inner, closes string) string {
	return strings.Repeat(opens, n) + inner + strings.Repeat(closes, n)
}

func TestDocumentIsParsedOnce(t *testing.T) {
	tests := []struct {
		name   string
		cache  int
		texts  []string
		passed int
		want   lookups
	}{
		{"same document", 0, []string{"{ sum }", "{ sum }", "{ sum }"}, 3, lookups{hits: 2, misses: 1}},
		{"two documents", 0, []string{"{ sum }", "{ hello }", "{ sum }", "{ hello }"}, 4, lookups{hits: 2, misses: 2}},
		{"invalid documents", 0, []string{"{ nothing }", "{ nothing }", "{", "{"}, 0, lookups{misses: 4}},
		{"too complex", 0, []string{"{ items(first: 9999) { id } }", "{ items(first: 9999) { id } }"}, 0, lookups{hits: 1, misses: 1}},
		{"no cache", -1, []string{"{ sum }", "{ sum }"}, 2, lookups{misses: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newFixture(t, Config{Limits: Limits{DocumentCache: tt.cache}})
			passed := 0
			for _, document := range tt.texts {
				if len(l.read(t.Context(), graphql.RawParams{Query: document})) == 0 {
					passed++
				}
			}
			if got := l.lookups(); got != tt.want || passed != tt.passed {
				t.Errorf("got %d valid with lookups %+v, want %d, %+v", passed, got, tt.passed, tt.want)
			}
		})
	}
}

func TestDocumentsAreReadConcurrently(t *testing.T) {
	l := newFixture(t, Config{Introspection: true})
	const rounds, readers = 20, 8
	for round := range rounds {
		document := fmt.Sprintf("query($n: [Int!], $no: Boolean = false) { a%d: sum(of: $n) ...F item(id: 1) @skip(if: $no) { id } } fragment F on Query { items { name } }", round)
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				if errs := l.read(t.Context(), graphql.RawParams{Query: document, Variables: map[string]any{"n": []any{json.Number("1")}}}); len(errs) > 0 {
					t.Error(errs)
				}
			})
		}
		all.Wait()
	}
	if got := l.lookups(); got.hits+got.misses != rounds*readers || got.misses < rounds {
		t.Errorf("got lookups %+v, want %d with at least %d misses", got, rounds*readers, rounds)
	}
}

func TestCachesAreBoundedByBytes(t *testing.T) {
	const requests, length = 3000, 4 << 10
	l := newFixture(t, Config{})
	limits := defaultLimits()
	var maxValid, maxPersisted uint64
	for i := range requests {
		text := fmt.Sprintf("{ a%d: sum }", i)
		text += strings.Repeat(" ", length-len(text))
		errs := l.read(t.Context(), graphql.RawParams{Query: text, Extensions: persistedQuery(text)})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		maxValid, maxPersisted = max(maxValid, l.docs.valid.WeightedSize()), max(maxPersisted, l.docs.persisted.WeightedSize())
	}
	if maxValid > uint64(limits.DocumentCache) || maxValid < uint64(limits.DocumentCache)/2 {
		t.Errorf("documents: got up to %d bytes, want half to all of %d", maxValid, limits.DocumentCache)
	}
	if want := uint64(limits.PersistedCache); maxPersisted > want || maxPersisted < want/2 {
		t.Errorf("persisted queries: got up to %d bytes, want half to all of %d", maxPersisted, want)
	}
}

func TestPersistedQueryLookupsAreCounted(t *testing.T) {
	l := newFixture(t, Config{})
	const text = "{ sum }"
	for i, query := range []string{"", text, "", ""} {
		if errs := l.read(t.Context(), graphql.RawParams{Query: query, Extensions: persistedQuery(text)}); len(errs) > 0 != (i == 0) {
			t.Errorf("request %d: %v", i, errs)
		}
	}
	if d := cmp.Diff(lookups{hits: 2, misses: 1, persistedHits: 2, persistedMisses: 1}, l.lookups(), cmp.AllowUnexported(lookups{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestOncePerRequestFieldsCannotRepeat(t *testing.T) {
	tests := []struct {
		name, query, variables, code string
	}{
		{"once", `mutation { guess(word: "a") }`, "", ""},
		{"once with other fields", `mutation { guess(word: "a") a: setName(name: "x") b: setName(name: "x") }`, "", ""},
		{"identical fields merge", `mutation { guess(word: "a") guess(word: "a") }`, "", ""},
		{"one alias", `mutation { guess(word: "a") a: guess(word: "b") }`, "", errcode.ValidationFailed},
		{"two aliases", `mutation { a: guess(word: "a") b: guess(word: "b") }`, "", errcode.ValidationFailed},
		{"alias of another field", `mutation { setName(name: "x") guess: setName(name: "y") }`, "", ""},
		{"in an inline fragment", `mutation { guess(word: "a") ... { a: guess(word: "b") } }`, "", errcode.ValidationFailed},
		{"in a fragment", `mutation { ...F ...G } fragment F on Mutation { guess(word: "a") } fragment G on Mutation { ... on Mutation { a: guess(word: "b") } }`, "", errcode.ValidationFailed},
		{"fragment spread twice", `mutation { ...F ...F } fragment F on Mutation { guess(word: "a") }`, "", ""},
		{"skipped", `mutation { guess(word: "a") a: guess(word: "b") @skip(if: true) }`, "", ""},
		{"not skipped", `mutation { guess(word: "a") a: guess(word: "b") @skip(if: false) }`, "", errcode.ValidationFailed},
		{"included by a variable", `mutation($b: Boolean!) { guess(word: "a") a: guess(word: "b") @include(if: $b) }`, `{"b":true}`, errcode.ValidationFailed},
		{"not included by a variable", `mutation($b: Boolean!) { guess(word: "a") a: guess(word: "b") @include(if: $b) }`, `{"b":false}`, ""},
		{"in another operation", `mutation { guess(word: "a") }  mutation B { guess(word: "b") a: guess(word: "c") }`, "", errcode.ValidationFailed},
		{"query", `{ a: sum b: sum }`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newFixture(t, Config{OncePerRequest: []string{"guess", "sum"}})
			var variables map[string]any
			if tt.variables != "" {
				if err := request.DecodeStrict([]byte(tt.variables), &variables); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if errs := l.read(t.Context(), graphql.RawParams{Query: tt.query, Variables: variables}); len(errs) > 0 {
				got = errcode.CodeOf(errs[0])
			}
			if got != tt.code {
				t.Errorf("got %q, want %q", got, tt.code)
			}
		})
	}
}

func TestErrorsQuoteLittleOfLongDocuments(t *testing.T) {
	long := strings.Repeat("汉", 1000)
	tests := []struct{ name, query string }{
		{"unexpected name", "{ sum } " + strings.Repeat("a", 5000)},
		{"unexpected string", `{ sum } "` + long + `"`},
		{"unexpected string, one byte on", `{ sum } "a` + long + `"`},
		{"unexpected string, two bytes on", `{ sum } "ab` + long + `"`},
		{"block string", `{ sum(of: """` + long + `""" }`},
		{"unknown field", "{ " + strings.Repeat("a", 5000) + " }"},
		{"unknown fragment", "{ ..." + strings.Repeat("a", 5000) + " }"},
		{"value of another type", `{ item(id: 1) { items(first: "` + long + `") { id } } }`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newFixture(t, Config{Introspection: true})
			errs := l.read(t.Context(), graphql.RawParams{Query: tt.query})
			if len(errs) == 0 {
				t.Fatal("got no error")
			}
			for _, err := range errs {
				if n := len(err.Message); n > errcode.MaxText+len("…") || !utf8.ValidString(err.Message) {
					t.Errorf("got %d bytes, want at most %d of UTF-8: %q", n, errcode.MaxText+len("…"), err.Message)
				}
			}
		})
	}
}

// gqlparser panics on such numbers in any position.
func TestOutOfRangeNumbersAreRejected(t *testing.T) {
	const lowest, beyond = "-9223372036854775808", "9223372036854775808"
	for _, where := range []string{
		"{ echo(value: %s) }", "{ echo(value: [[1, %s]]) }", "{ echo(value: {a: {b: %s}}) }", "query($v: Any = %s) { echo(value: $v) }",
		"{ ...F } fragment F on Query { echo(value: %s) }", "{ sum @skip(if: false) echo(value: {a: 1, b: %s}) }",
	} {
		for number, good := range map[string]bool{lowest: true, "1.5e300": true, beyond: false, "12345678901234567890": false, "1e999": false, "-1e999": false} {
			text := fmt.Sprintf(where, number)
			errs := newFixture(t, Config{}).read(t.Context(), graphql.RawParams{Query: text})
			if good != (len(errs) == 0) || !good && (len(errs) != 1 || errcode.CodeOf(errs[0]) != errcode.ValidationFailed || !strings.Contains(errs[0].Message, number)) {
				t.Errorf("%s: %v", text, errs)
			}
		}
	}
}

// persistedQuery returns the extension of a persisted query.
func persistedQuery(text string) map[string]any {
	return map[string]any{"persistedQuery": map[string]any{"version": json.Number("1"), "sha256Hash": hashOf(text)}}
}

func TestIntrospectionHasWeight(t *testing.T) {
	l := newFixture(t, Config{Introspection: true})
	for document, minPoints := range map[string]int{IntrospectionQuery: 50, "{ sum }": 1, "{ __typename }": 1} {
		_, of, refused := l.Prepare(t.Context(), "a", nil, &graphql.RawParams{Query: document})
		if refused != nil {
			t.Fatal(refused)
		}
		if points := of.Whole; points < minPoints || minPoints == 1 && points != 1 {
			t.Errorf("%.20s…: got %d points, want at least %d", document, points, minPoints)
		}
	}
}

func TestRepeatedFragmentSpreadsUseLittleMemory(t *testing.T) {
	text := "fragment F on Query {" + numbered(2400, " n%d") + " } {" + strings.Repeat(" a{...F}", 510) + " }"
	doc, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, refused := measure(doc, defaultLimits(), true)
	runtime.ReadMemStats(&after)
	if refused == nil || errcode.CodeOf(refused) != errcode.DocumentTooLarge {
		t.Errorf("got %v", refused)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4<<20 {
		t.Errorf("got %d bytes, want at most %d", bytes, 4<<20)
	}
}

func TestConcurrentRequestsReadDocumentOnce(t *testing.T) {
	l := newFixture(t, Config{Limits: Limits{Wait: time.Minute}})
	var reads atomic.Int32
	l.docs.rules = append(l.docs.rules, core.Rule{Name: "Count", RuleFunc: func(*core.Events, core.AddErrFunc) { reads.Add(1) }})
	release, err := l.docs.Wait(t.Context(), "u:ann")
	if err != nil {
		t.Fatal(err)
	}
	as := func(key string) {
		if errs := l.readAs(t.Context(), key, graphql.RawParams{Query: "{ sum }"}); errs != nil {
			t.Error(errs)
		}
	}
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Go(func() { as("u:ann") })
	}
	testkit.Eventually(t, time.Minute, func() bool { return l.lookups().misses == 5 })
	as("u:bob")
	release()
	waiting.Wait()
	if n := reads.Load(); n != 1 {
		t.Errorf("got %d reads, want 1", n)
	}
}

func TestOperationRunsTheStoredDocument(t *testing.T) {
	l := newFixture(t, Config{})
	for range 2 {
		oc, _, errs := l.Prepare(t.Context(), "", nil, &graphql.RawParams{Query: "{ sum }"})
		if errs != nil {
			t.Fatal(errs)
		}
		if doc, _ := l.docs.known("{ sum }"); doc == nil || oc.Doc != doc.tree {
			t.Error("gqlgen parsed the document again")
		}
	}
}
