package gqlserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// lookups are the hits and misses of the documents, and of the persisted
// queries.
type lookups struct{ hits, misses, persistedHits, persistedMisses float64 }

func (m *metrics) lookups() lookups {
	return lookups{
		testutil.ToFloat64(m.documents[true]), testutil.ToFloat64(m.documents[false]),
		testutil.ToFloat64(m.persisted[true]), testutil.ToFloat64(m.persisted[false]),
	}
}

func TestADocumentIsReadOnce(t *testing.T) {
	tests := []struct {
		name   string
		cache  int
		asked  []string
		passed int
		want   lookups
	}{
		{"the same", 0, []string{"{ sum }", "{ sum }", "{ sum }"}, 3, lookups{hits: 2, misses: 1}},
		{"others", 0, []string{"{ sum }", "{ hello }", "{ sum }", "{ hello }"}, 4, lookups{hits: 2, misses: 2}},
		{"one that is not valid", 0, []string{"{ nothing }", "{ nothing }", "{", "{"}, 0, lookups{misses: 4}},
		{"one that is too complex", 0, []string{"{ items(first: 9999) { id } }", "{ items(first: 9999) { id } }"}, 0, lookups{hits: 1, misses: 1}},
		{"without a cache", -1, []string{"{ sum }", "{ sum }"}, 2, lookups{misses: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLibrary(t, Config{Limits: Limits{DocumentCache: tt.cache}})
			passed := 0
			for _, document := range tt.asked {
				if len(l.read(t.Context(), graphql.RawParams{Query: document})) == 0 {
					passed++
				}
			}
			if got := l.docs.metrics.lookups(); got != tt.want || passed != tt.passed {
				t.Errorf("%d passed and there were %+v, want %d, %+v", passed, got, tt.passed, tt.want)
			}
		})
	}
}

func TestADocumentIsReadByManyAtOnce(t *testing.T) {
	l := newLibrary(t, Config{Introspection: true})
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
	if got := l.docs.metrics.lookups(); got.hits+got.misses != rounds*readers || got.misses < rounds {
		t.Errorf("there were %+v", got)
	}
}

func TestCachesAreBoundedByBytes(t *testing.T) {
	const requests, length = 3000, 4 << 10
	l := newLibrary(t, Config{})
	limits := Limits{}.orDefaults()
	var most, maxPersisted uint64
	for i := range requests {
		text := fmt.Sprintf("{ a%d: sum }", i)
		text += strings.Repeat(" ", length-len(text))
		errs := l.read(t.Context(), graphql.RawParams{Query: text, Extensions: persistedQuery(text)})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		most, maxPersisted = max(most, l.docs.valid.WeightedSize()), max(maxPersisted, l.docs.persisted.WeightedSize())
	}
	if most > uint64(limits.DocumentCache) || most < uint64(limits.DocumentCache)/2 {
		t.Errorf("documents took up to %d bytes, of %d", most, limits.DocumentCache)
	}
	if want := uint64(limits.PersistedCache); maxPersisted > want || maxPersisted < want/2 {
		t.Errorf("persisted queries took up to %d bytes, of %d", maxPersisted, want)
	}
}

// hashOf is the name of a persisted query.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// persistedQuery is the extension that names a query.
func persistedQuery(text string) map[string]any {
	return map[string]any{"persistedQuery": map[string]any{"version": json.Number("1"), "sha256Hash": hashOf(text)}}
}

func TestAPersistedQueryIsKnownOnceItHasRun(t *testing.T) {
	const text = "query($n: [Int!]) { sum(of: $n) }"
	named := func(hash string) string { return `{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}` }
	body := func(query, extensions string) sent {
		if query != "" {
			query = `"query":"` + query + `",`
		}
		return sent{"POST", "/", "{" + query + `"variables":{"n":[1,2]},"extensions":` + extensions + "}"}
	}
	hash := hashOf(text)
	register := body(text, named(hash))
	ask := body("", named(hash))
	byGET := sent{"GET", get("extensions", named(hash), "variables", `{"n":[1,2]}`), ""}
	const good, missing = `{"data":{"sum":3}}`, errcode.PersistedQueryNotFound
	type step struct {
		of   sent
		want string // the whole answer, or a code
	}
	tests := []struct {
		name   string
		limits Limits
		steps  []step
	}{
		{"unknown, then told, then known", Limits{}, []step{{ask, missing}, {register, good}, {ask, good}, {byGET, good}}},
		{"told by GET", Limits{}, []step{{byGET, missing}, {sent{"GET", get("query", text, "extensions", named(hash), "variables", `{"n":[1,2]}`), ""}, good}, {ask, good}}},
		{"in capitals", Limits{}, []step{{body(text, named(strings.ToUpper(hash))), good}, {body("", named(strings.ToUpper(hash))), good}, {ask, good}}},
		{"of another query", Limits{}, []step{{body("{ hello }", named(hash)), errcode.BadRequest}, {ask, missing}}},
		{"a query that cannot be read", Limits{}, []step{{body("{ a", named(hashOf("{ a"))), errcode.ParseFailed}, {body("", named(hashOf("{ a"))), missing}}},
		{"a query that is not valid", Limits{}, []step{{body("{ a }", named(hashOf("{ a }"))), errcode.ValidationFailed}, {body("", named(hashOf("{ a }"))), missing}}},
		{"a query that is too complex", Limits{Complexity: 1}, []step{{body("{ sum hello }", named(hashOf("{ sum hello }"))), errcode.ComplexityExceeded}, {body("", named(hashOf("{ sum hello }"))), missing}}},
		{"a query whose operation is not there", Limits{}, []step{
			{sent{"POST", "/", `{"query":"{ sum }","operationName":"A","extensions":` + named(hashOf("{ sum }")) + "}"}, errcode.ValidationFailed}, {body("", named(hashOf("{ sum }"))), missing},
		}},
		{"without a cache", Limits{PersistedCache: -1}, []step{{register, good}, {ask, missing}}},
		{"null", Limits{}, []step{{body(text, `{"persistedQuery":null}`), good}, {body("", `{"persistedQuery":null}`), errcode.BadRequest}}},
		{"text", Limits{}, []step{{body(text, `{"persistedQuery":"`+hash+`"}`), errcode.BadRequest}}},
		{"a list", Limits{}, []step{{body(text, `{"persistedQuery":[]}`), errcode.BadRequest}}},
		{"no hash", Limits{}, []step{{body(text, `{"persistedQuery":{"version":1}}`), errcode.BadRequest}}},
		{"a hash that is a number", Limits{}, []step{{body(text, `{"persistedQuery":{"sha256Hash":1}}`), errcode.BadRequest}}},
		{"a short hash", Limits{}, []step{{body(text, named(hash[1:])), errcode.BadRequest}}},
		{"a long hash", Limits{}, []step{{body(text, named(hash+"0")), errcode.BadRequest}}},
		{"a hash and a line break", Limits{}, []step{{body(text, named(hash+`\n`)), errcode.BadRequest}}},
		{"a hash that is not hexadecimal", Limits{}, []step{{body(text, named("g"+hash[1:])), errcode.BadRequest}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openHouse(t, Config{Limits: tt.limits})
			for i, step := range tt.steps {
				res, text := step.of.ask(t, s)
				got := firstCode(text)
				if got == "" {
					got = string(text)
				}
				if got != step.want {
					t.Errorf("step %d: %d %s, want %s", i, res.StatusCode, text, step.want)
				}
				if got == missing && !strings.Contains(string(text), `"message":"PersistedQueryNotFound"`) {
					t.Errorf("step %d: clients look for another message than in %s", i, text)
				}
			}
		})
	}
}

func TestLookupsOfPersistedQueriesAreCounted(t *testing.T) {
	l := newLibrary(t, Config{})
	const text = "{ sum }"
	for i, query := range []string{"", text, "", ""} {
		if errs := l.read(t.Context(), graphql.RawParams{Query: query, Extensions: persistedQuery(text)}); len(errs) > 0 != (i == 0) {
			t.Errorf("request %d: %v", i, errs)
		}
	}
	if d := cmp.Diff(lookups{hits: 2, misses: 1, persistedHits: 2, persistedMisses: 1}, l.docs.metrics.lookups(), cmp.AllowUnexported(lookups{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestAMissingPersistedQueryIsAnsweredAsApolloDoes(t *testing.T) {
	s := openHouse(t, Config{})
	body := `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hashOf("{ sum }") + `"}}}`
	res, text := s.ask(t, "POST", "/", body, map[string]string{"Content-Type": "application/json"})
	want{http.StatusOK, request.MediaJSON, "-", []string{errcode.PersistedQueryNotFound}, nil}.check(t, res, text)
}

func TestAGuessStandsOnceInARequest(t *testing.T) {
	tests := []struct {
		name, query, variables, code string
	}{
		{"once", `mutation { guess(word: "a") }`, "", ""},
		{"once, beside another", `mutation { guess(word: "a") a: setName(name: "x") b: setName(name: "x") }`, "", ""},
		{"the same twice is one", `mutation { guess(word: "a") guess(word: "a") }`, "", ""},
		{"by another alias", `mutation { guess(word: "a") a: guess(word: "b") }`, "", errcode.ValidationFailed},
		{"both by an alias", `mutation { a: guess(word: "a") b: guess(word: "b") }`, "", errcode.ValidationFailed},
		{"as the name of another", `mutation { setName(name: "x") guess: setName(name: "y") }`, "", ""},
		{"in an inline fragment", `mutation { guess(word: "a") ... { a: guess(word: "b") } }`, "", errcode.ValidationFailed},
		{"in a fragment", `mutation { ...F ...G } fragment F on Mutation { guess(word: "a") } fragment G on Mutation { ... on Mutation { a: guess(word: "b") } }`, "", errcode.ValidationFailed},
		{"in a fragment twice is one", `mutation { ...F ...F } fragment F on Mutation { guess(word: "a") }`, "", ""},
		{"skipped", `mutation { guess(word: "a") a: guess(word: "b") @skip(if: true) }`, "", ""},
		{"not skipped", `mutation { guess(word: "a") a: guess(word: "b") @skip(if: false) }`, "", errcode.ValidationFailed},
		{"included by a variable", `mutation($b: Boolean!) { guess(word: "a") a: guess(word: "b") @include(if: $b) }`, `{"b":true}`, errcode.ValidationFailed},
		{"not included by a variable", `mutation($b: Boolean!) { guess(word: "a") a: guess(word: "b") @include(if: $b) }`, `{"b":false}`, ""},
		{"in another operation", `mutation { guess(word: "a") }  mutation B { guess(word: "b") a: guess(word: "c") }`, "", errcode.ValidationFailed},
		{"in a query", `{ a: sum b: sum }`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLibrary(t, Config{OncePerRequest: []string{"guess", "sum"}})
			var variables map[string]any
			if tt.variables != "" {
				if err := request.DecodeStrict([]byte(tt.variables), &variables); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if errs := l.read(t.Context(), graphql.RawParams{Query: tt.query, Variables: variables}); len(errs) > 0 {
				got = errcode.Of(errs[0])
			}
			if got != tt.code {
				t.Errorf("got %q, want %q", got, tt.code)
			}
		})
	}
}

func TestErrorsRepeatLittleOfALongDocument(t *testing.T) {
	long := strings.Repeat("汉", 1000)
	tests := []struct{ name, query string }{
		{"a name where none may be", "{ sum } " + strings.Repeat("a", 5000)},
		{"text where none may be", `{ sum } "` + long + `"`},
		{"text where none may be, one byte on", `{ sum } "a` + long + `"`},
		{"text where none may be, two bytes on", `{ sum } "ab` + long + `"`},
		{"a block of text", `{ sum(of: """` + long + `""" }`},
		{"an unknown field", "{ " + strings.Repeat("a", 5000) + " }"},
		{"an unknown fragment", "{ ..." + strings.Repeat("a", 5000) + " }"},
		{"a value of another type", `{ item(id: 1) { items(first: "` + long + `") { id } } }`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLibrary(t, Config{Introspection: true})
			errs := l.read(t.Context(), graphql.RawParams{Query: tt.query})
			if len(errs) == 0 {
				t.Fatal("it is valid")
			}
			for _, err := range errs {
				if n := len(err.Message); n > errcode.MaxText+len("…") || !utf8.ValidString(err.Message) {
					t.Errorf("%d bytes: %q", n, err.Message)
				}
			}
		})
	}
}

// gqlparser panics when it reads them, wherever they stand.
func TestNumbersThatNoTypeHasAreRefused(t *testing.T) {
	const most, beyond = "-9223372036854775808", "9223372036854775808"
	for _, where := range []string{
		"{ echo(value: %s) }", "{ echo(value: [[1, %s]]) }", "{ echo(value: {a: {b: %s}}) }", "query($v: Any = %s) { echo(value: $v) }",
		"{ ...F } fragment F on Query { echo(value: %s) }", "{ sum @skip(if: false) echo(value: {a: 1, b: %s}) }",
	} {
		for number, good := range map[string]bool{most: true, "1.5e300": true, beyond: false, "12345678901234567890": false, "1e999": false, "-1e999": false} {
			text := fmt.Sprintf(where, number)
			errs := newLibrary(t, Config{}).read(t.Context(), graphql.RawParams{Query: text})
			if good != (len(errs) == 0) || !good && (len(errs) != 1 || errcode.Of(errs[0]) != errcode.ValidationFailed || !strings.Contains(errs[0].Message, number)) {
				t.Errorf("%s: %v", text, errs)
			}
		}
	}
}
