package gqlserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

func TestNullIsRejectedForDefaultedArguments(t *testing.T) {
	s := newTestServer(t, Config{})
	tests := []struct {
		name, document, variables string
		code                      string // "" if it runs
	}{
		{"literal", `{ items(first: null) { id } }`, `{}`, errcode.ValidationFailed},
		{"variable", `query($n: Int) { items(first: $n) { id } }`, `{"n":null}`, errcode.ValidationFailed},
		{"variable with null default", `query($n: Int = null) { items(first: $n) { id } }`, `{}`, errcode.ValidationFailed},
		{"null instead of variable default", `query($n: Int = 3) { items(first: $n) { id } }`, `{"n":null}`, errcode.ValidationFailed},
		{"variable in a nested field", `query($n: Int) { item(id: "1") { items(first: $n) { id } } }`, `{"n":null}`, errcode.ValidationFailed},
		{"variable in a fragment", `query($n: Int) { item(id: "1") { ...F } } fragment F on Item { items(first: $n) { id } }`, `{"n":null}`, errcode.ValidationFailed},
		{"variable in an inline fragment", `query($n: Int) { item(id: "1") { ... on Item { items(first: $n) { id } } } }`, `{"n":null}`, errcode.ValidationFailed},
		{"list element", `query($n: Int = 3) { sum(of: [1, $n]) }`, `{"n":null}`, errcode.ValidationFailed},
		{"element after another field", `query($n: Int = 3) { items(first: 1) { id } sum(of: [$n]) }`, `{"n":null}`, errcode.ValidationFailed},
		{"directive on a field", `query($b: Boolean = true) { sum @include(if: $b) }`, `{"b":null}`, errcode.ValidationFailed},
		{"directive on a fragment", `query($b: Boolean = true) { ...F @skip(if: $b) } fragment F on Query { sum }`, `{"b":null}`, errcode.ValidationFailed},
		{"mutation", `mutation($w: String = "x") { guess(word: $w) }`, `{"w":null}`, errcode.ValidationFailed},
		{"one of several variables", `query($a: Int, $b: Int) { items(first: $a) { items(first: $b) { id } } }`, `{"a":1,"b":null}`, errcode.ValidationFailed},

		{"no variable", `query($n: Int) { items(first: $n) { id } }`, `{}`, ""},
		{"value", `query($n: Int) { items(first: $n) { id } }`, `{"n":2}`, ""},
		{"variable default", `query($n: Int = 3) { items(first: $n) { id } }`, `{}`, ""},
		{"allowed null", `query($n: [Int!], $s: String) { sum(of: $n) hello(name: $s) }`, `{"n":null,"s":null}`, ""},
		{"skipped field", `query($n: Int, $b: Boolean!) { sum items(first: $n) @skip(if: $b) { id } }`, `{"n":null,"b":true}`, ""},
		{"field that is not included", `query($n: Int, $b: Boolean!) { sum ... @include(if: $b) { items(first: $n) { id } } }`, `{"n":null,"b":false}`, ""},
		{"included field", `query($n: Int, $b: Boolean!) { sum ... @include(if: $b) { items(first: $n) { id } } }`, `{"n":null,"b":true}`, errcode.ValidationFailed},
		{
			"variable of another operation", `query A($n: Int) { items(first: $n) { id } } query B($n: String) { hello(name: $n) }`,
			`{"n":null}`, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sent := map[string]any{"query": tt.document, "variables": json.RawMessage(tt.variables)}
			if strings.HasPrefix(tt.document, "query A") {
				sent["operationName"] = "B"
			}
			body, err := json.Marshal(sent)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a new document, then a cached one
				_, text := s.do(t, http.MethodPost, "/", string(body), map[string]string{"Content-Type": request.MediaJSON})
				if got := firstCode(text); got != tt.code {
					t.Errorf("got %.300s, want the code %q", text, tt.code)
				}
			}
		})
	}
	if log := s.log.String(); log != "" {
		t.Errorf("got log %.500s, want none", log)
	}
}

func TestNullRejectsSubscriptionBeforeStart(t *testing.T) {
	const document = `subscription($n: Int = 3) { count(to: $n) }`
	body := `{"query":"` + document + `","variables":{"n":null}}`
	s := startServer(t, Config{})
	v := s.connectAs(t, "")
	v.send(`{"type":"subscribe","id":"1","payload":` + body + `}`)
	v.wantError("1", errcode.ValidationFailed)
	newTestServer(t, Config{}).stream(t, testRequest{http.MethodPost, "/", body}, "").wantCommentAndError(errcode.ValidationFailed)
}

func TestSubscriptionRootRejectsSkipAndInclude(t *testing.T) {
	s := newTestServer(t, Config{})
	sockets := startServer(t, Config{})
	tests := []struct{ name, document, variables string }{
		{"skipped by a literal", `subscription { count(to: 1) @skip(if: true) }`, `{}`},
		{"not skipped by a literal", `subscription { count(to: 1) @skip(if: false) }`, `{}`},
		{"not included", `subscription { count(to: 1) @include(if: false) }`, `{}`},
		{"skipped by a variable", `subscription($b: Boolean!) { count(to: 1) @skip(if: $b) }`, `{"b":true}`},
		{"skipped by a variable default", `subscription($b: Boolean! = true) { count(to: 1) @skip(if: $b) }`, `{}`},
		{"inline fragment", `subscription { ... @skip(if: true) { count(to: 1) } }`, `{}`},
		{"inline fragment on a type", `subscription { ... on Subscription @include(if: false) { ticks { text } } }`, `{}`},
		{"fragment", `subscription { ...F @skip(if: true) } fragment F on Subscription { count(to: 1) }`, `{}`},
		{"in a fragment", `subscription { ...F } fragment F on Subscription { told(topic: "a") @skip(if: true) { text } }`, `{}`},
		{"in a nested fragment", `subscription { ...F } fragment F on Subscription { ... { ...G } } fragment G on Subscription { ticks @include(if: false) { text } }`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, err := json.Marshal(map[string]any{"query": tt.document, "variables": json.RawMessage(tt.variables)})
			if err != nil {
				t.Fatal(err)
			}
			s.stream(t, testRequest{http.MethodPost, "/", string(body)}, "").wantCommentAndError(errcode.ValidationFailed)
			v := sockets.connectAs(t, "")
			v.send(`{"type":"subscribe","id":"1","payload":` + string(body) + `}`)
			v.wantError("1", errcode.ValidationFailed)
		})
	}
	if log := s.log.String(); log != "" {
		t.Errorf("got log %.500s, want none", log)
	}
	v := sockets.connectAs(t, "")
	v.subscribe("1", `subscription { count(to: 1) ... on Subscription { count(to: 1) } }`)
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"count":1}}}`, `{"type":"complete","id":"1"}`)
}
