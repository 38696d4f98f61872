package gqlserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

func TestNullIsRefusedWhereADefaultStands(t *testing.T) {
	s := openHouse(t, Config{})
	tests := []struct {
		name, document, variables string
		code                      string // "" if it runs
	}{
		{"a literal", `{ items(first: null) { id } }`, `{}`, errcode.ValidationFailed},
		{"a variable", `query($n: Int) { items(first: $n) { id } }`, `{"n":null}`, errcode.ValidationFailed},
		{"a variable with a default of null", `query($n: Int = null) { items(first: $n) { id } }`, `{}`, errcode.ValidationFailed},
		{"a null instead of a variable's default", `query($n: Int = 3) { items(first: $n) { id } }`, `{"n":null}`, errcode.ValidationFailed},
		{"a variable in a nested field", `query($n: Int) { item(id: "1") { items(first: $n) { id } } }`, `{"n":null}`, errcode.ValidationFailed},
		{"a variable in a fragment", `query($n: Int) { item(id: "1") { ...F } } fragment F on Item { items(first: $n) { id } }`, `{"n":null}`, errcode.ValidationFailed},
		{"a variable in an inline fragment", `query($n: Int) { item(id: "1") { ... on Item { items(first: $n) { id } } } }`, `{"n":null}`, errcode.ValidationFailed},
		{"an element of a list", `query($n: Int = 3) { sum(of: [1, $n]) }`, `{"n":null}`, errcode.ValidationFailed},
		{"a value that is no list", `query($n: Int = 3) { items(first: 1) { id } sum(of: [$n]) }`, `{"n":null}`, errcode.ValidationFailed},
		{"a directive of a field", `query($b: Boolean = true) { sum @include(if: $b) }`, `{"b":null}`, errcode.ValidationFailed},
		{"a directive of a fragment", `query($b: Boolean = true) { ...F @skip(if: $b) } fragment F on Query { sum }`, `{"b":null}`, errcode.ValidationFailed},
		{"a mutation", `mutation($w: String = "x") { guess(word: $w) }`, `{"w":null}`, errcode.ValidationFailed},
		{"one of several variables", `query($a: Int, $b: Int) { items(first: $a) { items(first: $b) { id } } }`, `{"a":1,"b":null}`, errcode.ValidationFailed},

		{"no variable given", `query($n: Int) { items(first: $n) { id } }`, `{}`, ""},
		{"a value", `query($n: Int) { items(first: $n) { id } }`, `{"n":2}`, ""},
		{"a variable's own default", `query($n: Int = 3) { items(first: $n) { id } }`, `{}`, ""},
		{"null where it is allowed", `query($n: [Int!], $s: String) { sum(of: $n) hello(name: $s) }`, `{"n":null,"s":null}`, ""},
		{"a field that is skipped", `query($n: Int, $b: Boolean!) { sum items(first: $n) @skip(if: $b) { id } }`, `{"n":null,"b":true}`, ""},
		{"a field that is not included", `query($n: Int, $b: Boolean!) { sum ... @include(if: $b) { items(first: $n) { id } } }`, `{"n":null,"b":false}`, ""},
		{"a field that is included", `query($n: Int, $b: Boolean!) { sum ... @include(if: $b) { items(first: $n) { id } } }`, `{"n":null,"b":true}`, errcode.ValidationFailed},
		{
			"another operation's variable", `query A($n: Int) { items(first: $n) { id } } query B($n: String) { hello(name: $n) }`,
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
			for range 2 { // a document that is new, and one that is known
				_, text := s.ask(t, http.MethodPost, "/", string(body), map[string]string{"Content-Type": request.MediaJSON})
				if got := firstCode(text); got != tt.code {
					t.Errorf("got %.300s, want the code %q", text, tt.code)
				}
			}
		})
	}
	if log := s.log.String(); log != "" {
		t.Errorf("something was logged: %.500s", log)
	}
}

func TestNullRefusesASubscriptionBeforeItBegins(t *testing.T) {
	const document = `subscription($n: Int = 3) { count(to: $n) }`
	body := `{"query":"` + document + `","variables":{"n":null}}`
	s := start(t, Config{})
	v := s.enter(t, "")
	v.send(`{"type":"subscribe","id":"1","payload":` + body + `}`)
	v.wantsError("1", errcode.ValidationFailed)
	openHouse(t, Config{}).stream(t, sent{http.MethodPost, "/", body}, "").wantsRefusalAfterComment(errcode.ValidationFailed)
}

func TestASubscriptionsRootIsNeitherSkippedNorIncluded(t *testing.T) {
	s := openHouse(t, Config{})
	sockets := start(t, Config{})
	tests := []struct{ name, document, variables string }{
		{"skipped by a literal", `subscription { count(to: 1) @skip(if: true) }`, `{}`},
		{"not skipped by a literal", `subscription { count(to: 1) @skip(if: false) }`, `{}`},
		{"not included", `subscription { count(to: 1) @include(if: false) }`, `{}`},
		{"skipped by a variable", `subscription($b: Boolean!) { count(to: 1) @skip(if: $b) }`, `{"b":true}`},
		{"by a variable's default", `subscription($b: Boolean! = true) { count(to: 1) @skip(if: $b) }`, `{}`},
		{"an inline fragment", `subscription { ... @skip(if: true) { count(to: 1) } }`, `{}`},
		{"an inline fragment on a type", `subscription { ... on Subscription @include(if: false) { ticks { text } } }`, `{}`},
		{"a fragment", `subscription { ...F @skip(if: true) } fragment F on Subscription { count(to: 1) }`, `{}`},
		{"in a fragment", `subscription { ...F } fragment F on Subscription { told(topic: "a") @skip(if: true) { text } }`, `{}`},
		{"in a fragment in a fragment", `subscription { ...F } fragment F on Subscription { ... { ...G } } fragment G on Subscription { ticks @include(if: false) { text } }`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, err := json.Marshal(map[string]any{"query": tt.document, "variables": json.RawMessage(tt.variables)})
			if err != nil {
				t.Fatal(err)
			}
			s.stream(t, sent{http.MethodPost, "/", string(body)}, "").wantsRefusalAfterComment(errcode.ValidationFailed)
			v := sockets.enter(t, "")
			v.send(`{"type":"subscribe","id":"1","payload":` + string(body) + `}`)
			v.wantsError("1", errcode.ValidationFailed)
		})
	}
	if log := s.log.String(); log != "" {
		t.Errorf("something was logged: %.500s", log)
	}
	v := sockets.enter(t, "")
	v.subscribe("1", `subscription { count(to: 1) ... on Subscription { count(to: 1) } }`)
	v.wants(`{"type":"next","id":"1","payload":{"data":{"count":1}}}`, `{"type":"complete","id":"1"}`)
}
