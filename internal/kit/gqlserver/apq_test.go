package gqlserver

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// hashOf returns the SHA-256 of text in hexadecimal, as a persisted query is named.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestPersistedQueryIsStoredAfterItRan(t *testing.T) {
	const text = "query($n: [Int!]) { sum(of: $n) }"
	named := func(hash string) string { return `{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}` }
	body := func(query, extensions string) testRequest {
		if query != "" {
			query = `"query":"` + query + `",`
		}
		return testRequest{"POST", "/", "{" + query + `"variables":{"n":[1,2]},"extensions":` + extensions + "}"}
	}
	hash := hashOf(text)
	register := body(text, named(hash))
	lookup := body("", named(hash))
	byGET := testRequest{"GET", get("extensions", named(hash), "variables", `{"n":[1,2]}`), ""}
	const good, missing = `{"data":{"sum":3}}`, errcode.PersistedQueryNotFound
	type step struct {
		request testRequest
		want    string // the whole response, or an error code
	}
	tests := []struct {
		name   string
		limits Limits
		steps  []step
	}{
		{"unknown, registered, known", Limits{}, []step{{lookup, missing}, {register, good}, {lookup, good}, {byGET, good}}},
		{"registered by GET", Limits{}, []step{{byGET, missing}, {testRequest{"GET", get("query", text, "extensions", named(hash), "variables", `{"n":[1,2]}`), ""}, good}, {lookup, good}}},
		{"in capitals", Limits{}, []step{{body(text, named(strings.ToUpper(hash))), good}, {body("", named(strings.ToUpper(hash))), good}, {lookup, good}}},
		{"hash of another query", Limits{}, []step{{body("{ hello }", named(hash)), errcode.BadRequest}, {lookup, missing}}},
		{"syntax error", Limits{}, []step{{body("{ a", named(hashOf("{ a"))), errcode.ParseFailed}, {body("", named(hashOf("{ a"))), missing}}},
		{"invalid query", Limits{}, []step{{body("{ a }", named(hashOf("{ a }"))), errcode.ValidationFailed}, {body("", named(hashOf("{ a }"))), missing}}},
		{"query above complexity limit", Limits{Complexity: 1}, []step{{body("{ sum hello }", named(hashOf("{ sum hello }"))), errcode.ComplexityExceeded}, {body("", named(hashOf("{ sum hello }"))), missing}}},
		{"unknown operation", Limits{}, []step{
			{testRequest{"POST", "/", `{"query":"{ sum }","operationName":"A","extensions":` + named(hashOf("{ sum }")) + "}"}, errcode.ValidationFailed}, {body("", named(hashOf("{ sum }"))), missing},
		}},
		{"without a cache", Limits{PersistedCache: -1}, []step{{register, good}, {lookup, missing}}},
		{"null", Limits{}, []step{{body(text, `{"persistedQuery":null}`), good}, {body("", `{"persistedQuery":null}`), errcode.BadRequest}}},
		{"string", Limits{}, []step{{body(text, `{"persistedQuery":"`+hash+`"}`), errcode.BadRequest}}},
		{"list", Limits{}, []step{{body(text, `{"persistedQuery":[]}`), errcode.BadRequest}}},
		{"no hash", Limits{}, []step{{body(text, `{"persistedQuery":{"version":1}}`), errcode.BadRequest}}},
		{"numeric hash", Limits{}, []step{{body(text, `{"persistedQuery":{"sha256Hash":1}}`), errcode.BadRequest}}},
		{"short hash", Limits{}, []step{{body(text, named(hash[1:])), errcode.BadRequest}}},
		{"long hash", Limits{}, []step{{body(text, named(hash+"0")), errcode.BadRequest}}},
		{"hash with line break", Limits{}, []step{{body(text, named(hash+`\n`)), errcode.BadRequest}}},
		{"non-hexadecimal hash", Limits{}, []step{{body(text, named("g"+hash[1:])), errcode.BadRequest}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, Config{Limits: tt.limits})
			for i, step := range tt.steps {
				res, text := step.request.do(t, s)
				got := firstCode(text)
				if got == "" {
					got = string(text)
				}
				if got != step.want {
					t.Errorf("step %d: got %d %s, want %s", i, res.StatusCode, text, step.want)
				}
				if got == missing && !strings.Contains(string(text), `"message":"PersistedQueryNotFound"`) {
					t.Errorf("step %d: got %s, want the message PersistedQueryNotFound", i, text)
				}
			}
		})
	}
}

func TestMissingPersistedQueryAnswersLikeApollo(t *testing.T) {
	s := newTestServer(t, Config{})
	body := `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hashOf("{ sum }") + `"}}}`
	res, text := s.do(t, "POST", "/", body, map[string]string{"Content-Type": "application/json"})
	want{http.StatusOK, request.MediaJSON, "-", []string{errcode.PersistedQueryNotFound}, nil}.check(t, res, text)
}
