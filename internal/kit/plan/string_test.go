package plan

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
)

func FuzzStringIsWrittenAsGqlgenWritesIt(f *testing.F) {
	for _, s := range []string{
		"", "plain", `"quoted"`, `back\slash`, "line\nend\r\ttab", "\x00\x01\x1f\x7f", "吃饭", "😀", "<script>&amp;</script>",
		"\u2028\u2029", "broken \xff\xfe utf-8 \xe4", "\"", "\\", "end\\", "\x00", strings.Repeat("é\"", 100),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want strings.Builder
		graphql.MarshalString(s).MarshalGQL(&want)
		if got := string(String([]byte("before"), s)); got != "before"+want.String() {
			t.Errorf("%q is written as %s, by gqlgen as %s", s, got, want.String())
		}
	})
}
