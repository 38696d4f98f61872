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

// hashOf is the name of a persisted query.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
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

func TestAMissingPersistedQueryIsAnsweredAsApolloDoes(t *testing.T) {
	s := openHouse(t, Config{})
	body := `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hashOf("{ sum }") + `"}}}`
	res, text := s.ask(t, "POST", "/", body, map[string]string{"Content-Type": "application/json"})
	want{http.StatusOK, request.MediaJSON, "-", []string{errcode.PersistedQueryNotFound}, nil}.check(t, res, text)
}
