package gqlserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// booklet are documents by their hashes, as an app brings them.
func booklet(texts ...string) map[string]string {
	all := map[string]string{}
	for _, text := range texts {
		all[hashOf(text)] = text
	}
	return all
}

func TestADocumentThatIsTrustedIsKnownByItsHashAlone(t *testing.T) {
	const text = "query($n: [Int!]) { sum(of: $n) }"
	long := "{ sum } #" + strings.Repeat("x", 2000)
	named := func(hash string) string {
		return `{"variables":{"n":[1,2]},"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}}`
	}
	tests := []struct {
		name, hash string
		limits     Limits
		want       string // the whole answer, or a code
	}{
		{name: "at once", hash: hashOf(text), want: `{"data":{"sum":3}}`},
		{name: "in capitals", hash: strings.ToUpper(hashOf(text)), want: `{"data":{"sum":3}}`},
		{name: "without any cache", hash: hashOf(text), limits: Limits{PersistedCache: -1, DocumentCache: -1}, want: `{"data":{"sum":3}}`},
		{name: "beyond a stricter limit of its shape", hash: hashOf(text), limits: Limits{Fields: 1, Tokens: 1, Depth: 1, Variables: 1, Document: 1}, want: `{"data":{"sum":3}}`},
		{name: "beyond a stricter limit of its length", hash: hashOf(long), limits: Limits{Document: 1000}, want: `{"data":{"sum":3}}`},
		{name: "not beyond what running it may cost", hash: hashOf("{ sum hello }"), limits: Limits{Complexity: 1}, want: errcode.ComplexityExceeded},
		{name: "others are not", hash: hashOf("{ hello }"), want: errcode.PersistedQueryNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openHouse(t, Config{Limits: tt.limits, TrustedDocuments: booklet(text, strings.Replace(long, "sum", "sum(of: [3])", 1), long, "{ sum hello }")})
			_, answer := sent{"POST", "/", named(tt.hash)}.ask(t, s)
			got := firstCode(answer)
			if got == "" {
				got = strings.Replace(string(answer), `"sum":0`, `"sum":3`, 1) // long sums up nothing
			}
			if got != tt.want {
				t.Errorf("%s, want %s", answer, tt.want)
			}
		})
	}
}

func TestADoorRefusesDocumentsThatCannotBeTrusted(t *testing.T) {
	tests := []struct {
		name      string
		documents map[string]string
		want      string // of the error; "" is none
	}{
		{"good ones", booklet("{ hello }", "{ sum }"), ""},
		{"under another's hash", map[string]string{hashOf("{ sum }"): "{ hello }"}, "not the SHA-256"},
		{"under a hash in capitals", map[string]string{strings.ToUpper(hashOf("{ sum }")): "{ sum }"}, "not the SHA-256"},
		{"that cannot be read", booklet("{ sum"), "Expected Name"},
		{"with a field that is gone", booklet("{ gone }"), `Cannot query field "gone"`},
		{"without an operation", booklet("fragment F on Query { sum }"), "no operation"},
		{"that are longer than any may be", booklet("{ sum } #" + strings.Repeat("x", 64*kb)), "longer than"},
		{"with more fields than any may have", booklet("{" + numbered(600, " a%d: sum") + "}"), "fields"},
		{"one among good ones", booklet("{ hello }", "{ gone }"), fmt.Sprintf("document %.12s: ", hashOf("{ gone }"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(gqltest.New().Executable(), Config{TrustedDocuments: tt.documents})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
