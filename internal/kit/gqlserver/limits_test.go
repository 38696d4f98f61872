package gqlserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

func TestEveryLimitHasDefaultAndName(t *testing.T) {
	var l Limits
	byField := map[any]limit{}
	for _, one := range l.all() {
		if one.number != nil {
			byField[one.number] = one
		} else {
			byField[one.span] = one
		}
	}
	// Settings of the server with other names.
	unnamed := map[string]bool{
		"AnonymousRate": true, "AnonymousBurst": true, "UserRate": true, "UserBurst": true, "SocketsPerAddress": true, "SocketsPerUser": true,
		"AbsentReads": true,
	}
	renamed := map[string]string{"AuthLookups": "looks"} // the setting keeps its name
	names := map[string]bool{}
	fields := reflect.ValueOf(&l).Elem()
	for i := range fields.NumField() {
		field := fields.Type().Field(i).Name
		one, listed := byField[fields.Field(i).Addr().Interface()]
		switch {
		case !listed:
			t.Errorf("missing limit %s", field)
		case one.fallback <= 0:
			t.Errorf("default of %s: got %d, want more than 0", field, one.fallback)
		case one.name != kebabCase(field) && one.name != renamed[field] && (one.name != "" || !unnamed[field]):
			t.Errorf("name of %s: got %q, want %q", field, one.name, kebabCase(field))
		case names[one.name] && one.name != "":
			t.Errorf("duplicate name %q", one.name)
		}
		names[one.name] = true
	}
	if n := len(l.all()); n != fields.NumField() {
		t.Errorf("got %d limits, want %d", n, fields.NumField())
	}
}

// kebabCase converts "BodyTime" to "body-time".
func kebabCase(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestSetReadsNumbersSizesAndDurations(t *testing.T) {
	tests := []struct {
		name, value string
		want        Limits
		wrong       string // substring of the error
	}{
		{"depth", "7", Limits{Depth: 7}, ""},
		{"body", "64KB", Limits{Body: 64 << 10}, ""},
		{"upload-body", "3MB", Limits{UploadBody: 3 << 20}, ""},
		{"body", "2147483647MB", Limits{Body: 2147483647 << 20}, ""},
		{"body-time", "1m30s", Limits{BodyTime: 90 * time.Second}, ""},
		{"depth", "off", Limits{Depth: -1}, ""},
		{"ping", "off", Limits{Ping: -1}, ""},

		{"depth", "0", Limits{}, "not a positive number"},
		{"depth", "-1", Limits{}, "not a positive number"},
		{"depth", "", Limits{}, "not a positive number"},
		{"depth", "seven", Limits{}, "not a positive number"},
		{"depth", "1.5", Limits{}, "not a positive number"},
		{"depth", "9999999999", Limits{}, "not a positive number"},
		{"body", "KB", Limits{}, "not a positive number"},
		{"body", "0MB", Limits{}, "not a positive number"},
		{"body", "1GB", Limits{}, "not a positive number"},
		{"body-time", "10", Limits{}, "not a positive duration"},
		{"body-time", "0s", Limits{}, "not a positive duration"},
		{"body-time", "-1s", Limits{}, "not a positive duration"},
		{"body-time", "", Limits{}, "not a positive duration"},
		{"Depth", "7", Limits{}, "unknown limit"},
		{"", "7", Limits{}, "unknown limit"},
		{"height", "7", Limits{}, "body, query-string, body-time"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.value, func(t *testing.T) {
			var got Limits
			err := got.Set(tt.name, tt.value)
			if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("got %v, want %q", err, tt.wrong)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestZeroLimitBecomesDefault(t *testing.T) {
	got := Limits{Depth: 7, Fields: -1, Ping: time.Second, KeepAlive: -1}.orDefaults()
	if got.Depth != 7 || got.Fields != -1 || got.Ping != time.Second || got.KeepAlive != -1 {
		t.Errorf("got %+v, want the set limits unchanged", got)
	}
	if got.Body != 1<<20 || got.Recheck != time.Minute || got.UserBurst != 400 {
		t.Errorf("got %+v, want the defaults of zero limits", got)
	}
}

// unlimited returns Limits with every limit disabled.
func unlimited() Limits {
	var l Limits
	for _, one := range l.all() {
		if one.number != nil {
			*one.number = -1
		} else {
			*one.span = -1
		}
	}
	return l
}

// A testRequest is a request without its headers.
type testRequest struct {
	method, target, body string
}

func postRequest(document string) testRequest { return testRequest{"POST", "/", query(document)} }

// do sends r as JSON and accepts the GraphQL media type.
func (r testRequest) do(t *testing.T, s *testServer) (*responseHead, []byte) {
	t.Helper()
	return s.do(t, r.method, r.target, r.body, map[string]string{"Content-Type": "application/json", "Accept": request.MediaGraphQL})
}

// repeatNumbered repeats format n times. It replaces %d by the number of the repetition.
func repeatNumbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// nested returns n times opens, then inside, then n times closes.
func nested(n int, opens, inside, closes string) string {
	return strings.Repeat(opens, n) + inside + strings.Repeat(closes, n)
}

func TestEachLimitIsExact(t *testing.T) {
	tests := []struct {
		name    string
		set     func(l *Limits, to int)
		limit   int
		request func(n int) testRequest // a request of size n
		code    string
		at      string // the code at the limit, if the document is invalid anyway
	}{
		{"body", func(l *Limits, to int) { l.Body = to }, 100, func(n int) testRequest {
			return testRequest{"POST", "/", `{"query":"{ sum }"` + strings.Repeat(" ", n-19) + `}`}
		}, errcode.PayloadTooLarge, ""},
		{"query string", func(l *Limits, to int) { l.QueryString = to }, 100, func(n int) testRequest {
			return testRequest{"GET", "/?query={sum}&x=" + strings.Repeat("x", n-len("query={sum}&x=")), ""}
		}, errcode.PayloadTooLarge, ""},
		{"variables: depth", func(l *Limits, to int) { l.VariableDepth = to }, 5, func(n int) testRequest {
			return testRequest{"POST", "/", `{"query":"query($v: Any) { echo(value: $v) }","variables":` + nested(n-1, `{"v":`, `{"v":"}]\\"}`, "}") + `}`}
		}, errcode.BadRequest, ""},
		{"variables by GET: depth", func(l *Limits, to int) { l.VariableDepth = to }, 5, func(n int) testRequest {
			return testRequest{"GET", get("query", "query($v: Any) { echo(value: $v) }", "variables", nested(n-1, `{"v":`, `{"v":"[[["}`, "}")), ""}
		}, errcode.BadRequest, ""},
		{"extensions: depth", func(l *Limits, to int) { l.VariableDepth = to }, 5, func(n int) testRequest {
			return testRequest{"POST", "/", `{"query":"{ sum }","extensions":` + nested(n-1, `{"v":`, "{}", "}") + `}`}
		}, errcode.BadRequest, ""},
		{"variables: values", func(l *Limits, to int) { l.VariableNodes = to }, 20, func(n int) testRequest {
			k := n + request.EnvelopeValues - 4 // values of the request itself: {, query, variables, [
			return testRequest{"POST", "/", `{"query":"query($v: Any) { echo(value: $v) }","variables":{"v":[` + strings.Repeat("0,", k-1) + `"a, [b"]}}`}
		}, errcode.BadRequest, ""},

		{"document", func(l *Limits, to int) { l.Document = to }, 100, func(n int) testRequest {
			return postRequest("{ sum }" + strings.Repeat(" ", n-7))
		}, errcode.DocumentTooLarge, ""},
		{"name", func(l *Limits, to int) { l.Name = to }, 50, func(n int) testRequest {
			name := strings.Repeat("a", n)
			return testRequest{"POST", "/", `{"query":"query ` + name + ` { sum }","operationName":"` + name + `"}`}
		}, errcode.BadRequest, ""},
		{"tokens", func(l *Limits, to int) { l.Tokens = to }, 30, func(n int) testRequest {
			return postRequest("{" + strings.Repeat(" sum", n-2) + " }")
		}, errcode.DocumentTooLarge, ""},
		{"tokens: comments", func(l *Limits, to int) { l.Tokens = to }, 30, func(n int) testRequest {
			return postRequest("{ sum " + strings.Repeat("#\n", n-3) + " }")
		}, errcode.DocumentTooLarge, ""},

		{"depth", func(l *Limits, to int) { l.Depth = to }, 6, func(n int) testRequest {
			return postRequest("{ item(id: 1) " + nested(n-2, "{ parent ", "{ id }", "}") + " }")
		}, errcode.DocumentTooLarge, ""},
		{"depth through inline fragments", func(l *Limits, to int) { l.Depth = to }, 6, func(n int) testRequest {
			return postRequest("{ ... { item(id: 1) " + nested(n-2, "{ ... on Item { parent ", "{ id }", "} }") + " } }")
		}, errcode.DocumentTooLarge, ""},
		{"depth through fragments", func(l *Limits, to int) { l.Depth = to }, 6, func(n int) testRequest {
			chain := "{ item(id: 1) { ...F0 } }"
			for i := range n - 2 {
				chain += fmt.Sprintf(" fragment F%d on Item { parent { ...F%d } }", i, i+1)
			}
			return postRequest(chain + fmt.Sprintf(" fragment F%d on Item { id }", n-2))
		}, errcode.DocumentTooLarge, ""},
		{"depth in another operation", func(l *Limits, to int) { l.Depth = to }, 6, func(n int) testRequest {
			return testRequest{"POST", "/", `{"operationName":"A","query":"query A { sum } query B { item(id: 1) ` + nested(n-2, "{ parent ", "{ id }", "}") + ` }"}`}
		}, errcode.DocumentTooLarge, ""},
		{"fields", func(l *Limits, to int) { l.Fields = to }, 10, func(n int) testRequest {
			return postRequest("{ " + repeatNumbered(n-2, "a%d: sum ") + "item(id: 1) { ...F ...F } } fragment F on Item { id }")
		}, errcode.DocumentTooLarge, ""},
		{"fields after fragment expansion", func(l *Limits, to int) { l.Expanded = to }, 10, func(n int) testRequest {
			return postRequest("{ " + strings.Repeat("...F ", n-3) + "...G ...H } fragment F on Query { ...G } fragment G on Query { sum } fragment H on Query { sum b: sum }")
		}, errcode.DocumentTooLarge, ""},
		{"aliases", func(l *Limits, to int) { l.Aliases = to }, 7, func(n int) testRequest {
			return postRequest("{ sum " + repeatNumbered(n-1, "a%d: sum ") + "...F ...F } fragment F on Query { b: sum }")
		}, errcode.DocumentTooLarge, ""},
		{"directives on fields", func(l *Limits, to int) { l.Directives = to }, 7, func(n int) testRequest {
			return postRequest("{ " + repeatNumbered(n, "a%d: sum @skip(if: false) ") + "}")
		}, errcode.DocumentTooLarge, ""},
		{"directives on inline fragments", func(l *Limits, to int) { l.Directives = to }, 7, func(n int) testRequest {
			return postRequest("{ " + strings.Repeat("... @include(if: true) { sum } ", n) + "}")
		}, errcode.DocumentTooLarge, ""},
		{"directives on spreads", func(l *Limits, to int) { l.Directives = to }, 7, func(n int) testRequest {
			return postRequest("{ " + strings.Repeat("...F @include(if: true) ", n) + "} fragment F on Query { sum }")
		}, errcode.DocumentTooLarge, ""},
		{"directives on fragments", func(l *Limits, to int) { l.Directives = to }, 7, func(n int) testRequest {
			return postRequest("{ ...F } fragment F on Query" + strings.Repeat(" @skip", n) + " { sum }")
		}, errcode.DocumentTooLarge, errcode.ValidationFailed},
		{"directives on operations", func(l *Limits, to int) { l.Directives = to }, 7, func(n int) testRequest {
			return postRequest("query" + strings.Repeat(" @skip", n) + " { sum }")
		}, errcode.DocumentTooLarge, errcode.ValidationFailed},
		{"directives on variables", func(l *Limits, to int) { l.Directives = to }, 7, func(n int) testRequest {
			return postRequest("query($v: Any" + strings.Repeat(" @skip", n) + ") { echo(value: $v) }")
		}, errcode.DocumentTooLarge, errcode.ValidationFailed},
		{"fragments", func(l *Limits, to int) { l.Fragments = to }, 7, func(n int) testRequest {
			return postRequest("{ " + repeatNumbered(n, "...F%d ") + "} " + repeatNumbered(n, "fragment F%d on Query { sum } "))
		}, errcode.DocumentTooLarge, ""},
		{"operations", func(l *Limits, to int) { l.Operations = to }, 4, func(n int) testRequest {
			return testRequest{"POST", "/", `{"operationName":"O0","query":"` + repeatNumbered(n, "query O%d { sum } ") + `"}`}
		}, errcode.DocumentTooLarge, ""},
		{"variables", func(l *Limits, to int) { l.Variables = to }, 7, func(n int) testRequest {
			return postRequest("query(" + repeatNumbered(n, "$v%d: Any ") + ") { " + repeatNumbered(n, "a%d: echo(value: $v%d) ") + "}")
		}, errcode.DocumentTooLarge, ""},
		{"root fields", func(l *Limits, to int) { l.RootFields = to }, 7, func(n int) testRequest {
			return postRequest("{ item(id: 1) { id name } ... { " + repeatNumbered(n-3, "a%d: sum ") + "} ...F ...F } fragment F on Query { b: sum c: sum }")
		}, errcode.DocumentTooLarge, ""},
		{"root fields of a subscription", func(l *Limits, to int) { l.RootFields = to }, 3, func(n int) testRequest {
			return postRequest("subscription { " + repeatNumbered(n, "a%d: count(to: 1) ") + "}")
		}, errcode.DocumentTooLarge, errcode.NotAcceptable},
		{"root fields of a mutation", func(l *Limits, to int) { l.Mutations = to }, 3, func(n int) testRequest {
			return postRequest("mutation { " + repeatNumbered(n-1, `a%d: guess(word: "x") `) + `... { b: guess(word: "x") } }`)
		}, errcode.DocumentTooLarge, ""},
		{"overlapping fields", func(l *Limits, to int) { l.Overlaps = to }, 7*7 + 1, func(n int) testRequest {
			return postRequest("{ " + strings.Repeat("sum ", 7) + repeatNumbered(n-7*7, "a%d:sum ") + "}")
		}, errcode.DocumentTooLarge, ""},
		{"overlapping fields through inline fragments", func(l *Limits, to int) { l.Overlaps = to }, 7*7 + 1, func(n int) testRequest {
			return postRequest("{ sum " + strings.Repeat("...{ ... on Query { sum } } ", 6) + repeatNumbered(n-7*7, "a%d:sum ") + "}")
		}, errcode.DocumentTooLarge, ""},
		{"overlapping fields through fragments", func(l *Limits, to int) { l.Overlaps = to }, 1 + 3*3 + 1, func(n int) testRequest {
			return postRequest("{ item(id: 1) { id ...A ...B ...B " + repeatNumbered(n-10, "a%d:id ") + "} } fragment A on Item { id } fragment B on Item { id }")
		}, errcode.DocumentTooLarge, ""},
		{"overlapping fields below overlapping ones", func(l *Limits, to int) { l.Overlaps = to }, 2*2*(1+3*3+1) + 1, func(n int) testRequest {
			return postRequest("{ item(id: 1) { id id id name } item(id: 1) { id } " + repeatNumbered(n-44, "a%d:sum ") + "}")
		}, errcode.DocumentTooLarge, ""},
		{"complexity", func(l *Limits, to int) { l.Complexity = to }, 50, func(n int) testRequest {
			return postRequest(fmt.Sprintf("{ items(first: %d) { id } }", n-1))
		}, errcode.ComplexityExceeded, ""},
		{"complexity of lists in lists", func(l *Limits, to int) { l.Complexity = to }, 1 + 3*21, func(n int) testRequest {
			return testRequest{"POST", "/", fmt.Sprintf(`{"query":"query($n: Int!) { items(first: $n) { related { id } } %s }","variables":{"n":3}}`, repeatNumbered(n-1-3*21, "a%d: sum "))}
		}, errcode.ComplexityExceeded, ""},
		{"response", func(l *Limits, to int) { l.Answer = to }, 100, func(n int) testRequest {
			return postRequest(fmt.Sprintf("{ big(bytes: %d) }", n-len(`{"big":""}`)))
		}, errcode.ResponseTooLarge, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limits, none := unlimited(), unlimited()
			tt.set(&limits, tt.limit)
			s, noLimits := newTestServer(t, Config{Limits: limits}), newTestServer(t, Config{Limits: none})
			res, text := tt.request(tt.limit).do(t, s)
			if got := firstCode(text); got != tt.at {
				t.Errorf("at the limit: got %d %.300s, want the code %q", res.StatusCode, text, tt.at)
			}
			res, text = tt.request(tt.limit+1).do(t, s)
			if got := firstCode(text); got != tt.code || res.StatusCode >= 500 {
				t.Errorf("above the limit: got %d %.300s, want %s", res.StatusCode, text, tt.code)
			}
			res, text = tt.request(tt.limit+1).do(t, noLimits)
			if got := firstCode(text); got != tt.at {
				t.Errorf("without a limit: got %d %.300s, want the code %q", res.StatusCode, text, tt.at)
			}
		})
	}
}

// firstCode returns the code of the first error of a response, "" for none.
func firstCode(text []byte) string {
	var response struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.Unmarshal(text, &response); err != nil {
		return err.Error()
	}
	if len(response.Errors) == 0 {
		return ""
	}
	return response.Errors[0].Extensions.Code
}

func TestReportedErrorsAreLimited(t *testing.T) {
	none := unlimited()
	tests := []struct {
		name   string
		limits Limits
		query  string
		want   int
	}{
		{"document errors", Limits{ValidationErrors: 3}, "{ a b c d }", 3},
		{"fewer document errors", Limits{ValidationErrors: 3}, "{ a b }", 2},
		{"document errors without a limit", none, "{ " + repeatNumbered(50, "a%d ") + "}", 50},
		{"field errors", Limits{Errors: 3}, "{ failMany(n: 4) }", 3},
		{"fewer field errors", Limits{Errors: 3}, "{ failMany(n: 2) }", 2},
		{"field errors without a limit", none, "{ failMany(n: 50) }", 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, text := postRequest(tt.query).do(t, newTestServer(t, Config{Limits: tt.limits}))
			var response struct{ Errors []any }
			if err := json.Unmarshal(text, &response); err != nil || len(response.Errors) != tt.want {
				t.Errorf("got %d errors, want %d: %s", len(response.Errors), tt.want, text)
			}
		})
	}
}

// toolsIntrospectionQuery is the result of getIntrospectionQuery in graphql-js 16 with all options.
const toolsIntrospectionQuery = `
query IntrospectionQuery {
  __schema {
    description
    queryType { name kind }
    mutationType { name kind }
    subscriptionType { name kind }
    types { ...FullType }
    directives {
      name
      description
      isRepeatable
      locations
      args(includeDeprecated: true) { ...InputValue }
    }
  }
}
fragment FullType on __Type {
  kind
  name
  description
  specifiedByURL
  isOneOf
  fields(includeDeprecated: true) {
    name
    description
    args(includeDeprecated: true) { ...InputValue }
    type { ...TypeRef }
    isDeprecated
    deprecationReason
  }
  inputFields(includeDeprecated: true) { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) {
    name
    description
    isDeprecated
    deprecationReason
  }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue {
  name
  description
  type { ...TypeRef }
  defaultValue
  isDeprecated
  deprecationReason
}
fragment TypeRef on __Type {
  kind
  name
  ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } }
}`

func TestIntrospectionCanBeDisabled(t *testing.T) {
	ofType := func(n int) string { return `{ __type(name: "Item") ` + nested(n, "{ ofType ", "{ name }", "}") + " }" }
	const lists = `{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }`
	tests := []struct {
		name, query string
		on, off     string // codes
	}{
		{"query of tools", toolsIntrospectionQuery, "", errcode.ValidationFailed},
		{"type", `{ __type(name: "Item") { name } }`, "", errcode.ValidationFailed},
		{"alias", `{ a: __schema { queryType { name } } }`, "", errcode.ValidationFailed},
		{"fragment", `{ ...F } fragment F on Query { ... { __schema { queryType { name } } } }`, "", errcode.ValidationFailed},
		{"operation that is not executed", `query B { __typename } query A { __schema { queryType { name } } }`, "", errcode.ValidationFailed},
		{"subscription", `subscription { __schema { queryType { name } } }`, errcode.ValidationFailed, errcode.ValidationFailed},
		{"below the root", `{ item(id: 1) { __schema { queryType { name } } } }`, errcode.ValidationFailed, errcode.ValidationFailed},
		{"__typename", `{ __typename item(id: 1) { __typename } }`, "", ""},
		{"twenty levels", ofType(18), "", errcode.ValidationFailed},
		{"twenty levels and __typename", strings.Replace(ofType(18), "{", "{ __typename", 1), "", errcode.ValidationFailed},
		{"twenty-one levels", ofType(19), errcode.DocumentTooLarge, errcode.ValidationFailed},
		{"sixteen levels and a field", strings.Replace(ofType(14), "{", "{ sum", 1), errcode.DocumentTooLarge, errcode.ValidationFailed},
		{"fifteen levels and a field", strings.Replace(ofType(13), "{", "{ sum", 1), "", errcode.ValidationFailed},
		{"lists in lists", lists, errcode.ValidationFailed, errcode.ValidationFailed},
		{"unknown field of a similar name", `{ __schem { name } }`, errcode.ValidationFailed, errcode.ValidationFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for introspection, want := range map[bool]string{true: tt.on, false: tt.off} {
				body, err := json.Marshal(map[string]string{"query": tt.query, "operationName": map[bool]string{true: "B"}[strings.Contains(tt.query, "query B")]})
				if err != nil {
					t.Fatal(err)
				}
				_, text := testRequest{"POST", "/", string(body)}.do(t, newTestServer(t, Config{Introspection: introspection}))
				if got := firstCode(text); got != want {
					t.Errorf("introspection %v: got %q, want %q: %.500s", introspection, got, want, text)
				}
			}
		})
	}
}
