package request

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNegotiateChoosesMediaTypes(t *testing.T) {
	tests := []struct {
		accept string
		want   Accepted
	}{
		{"", Accepted{MediaJSON, false, MediaJSON}},
		{"*/*", Accepted{MediaJSON, false, MediaJSON}},
		{"application/*", Accepted{MediaJSON, false, MediaJSON}},
		{"application/json", Accepted{MediaJSON, false, MediaJSON}},
		{"APPLICATION/JSON; charset=utf-8", Accepted{MediaJSON, false, MediaJSON}},
		{"application/graphql-response+json", Accepted{MediaGraphQL, false, MediaGraphQL}},
		{"application/graphql-response+json, application/json;q=0.9", Accepted{MediaGraphQL, false, MediaGraphQL}},
		{"application/graphql-response+json;q=0.5, application/json;q=0.9", Accepted{MediaJSON, false, MediaJSON}},
		{"application/json;q=0.5, application/graphql-response+json", Accepted{MediaGraphQL, false, MediaGraphQL}},
		{"application/json, application/graphql-response+json", Accepted{MediaJSON, false, MediaJSON}},
		{"*/*, application/graphql-response+json", Accepted{MediaGraphQL, false, MediaGraphQL}},
		{"*/*;q=0.1, application/json;q=0", Accepted{MediaGraphQL, false, MediaGraphQL}},
		{"application/graphql-response+json;q=2, application/json", Accepted{MediaJSON, false, MediaJSON}},
		{"application/graphql-response+json;q=x, application/json", Accepted{MediaJSON, false, MediaJSON}},
		{"application/graphql-response+json;q=NaN, application/json;q=0.1", Accepted{MediaJSON, false, MediaJSON}},
		{"text/event-stream", Accepted{"", true, MediaStream}},
		{"text/event-stream, application/json;q=0.5", Accepted{MediaJSON, true, MediaStream}},
		{"application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed", Accepted{MediaGraphQL, true, MediaGraphQL}},
		{"text/*", Accepted{"", false, ""}},
		{"text/html", Accepted{"", false, ""}},
		{"application/json;q=0", Accepted{"", false, ""}},
		{"x", Accepted{"", false, ""}},
		{",;,", Accepted{MediaJSON, false, MediaJSON}},
	}
	for _, tt := range tests {
		t.Run(tt.accept, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			if tt.accept != "" {
				r.Header.Set("Accept", tt.accept)
			}
			if got := Negotiate(r); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestCommonHeadersMatchTheParser(t *testing.T) {
	for header, got := range commonHeaders {
		if want := parseAccept(header); got != want || want.JSON == "" && !want.Stream {
			t.Errorf("Accept: %s: got %+v, want %+v", header, got, want)
		}
	}
}

func FuzzNegotiate(f *testing.F) {
	for _, accept := range []string{"", "*/*", "application/json;q=0.5, text/event-stream", "application/*;q=1e-3,", "a/b;q=\"1\"", ";;,", "text/*;q=NaN"} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Accept", accept)
		a := Negotiate(r)
		switch {
		case a.JSON != "" && a.JSON != MediaJSON && a.JSON != MediaGraphQL,
			a.First != "" && a.First != a.JSON && (a.First != MediaStream || !a.Stream),
			a.First == "" && (a.JSON != "" || a.Stream),
			a.Stream && !strings.Contains(strings.ToLower(accept), MediaStream):
			t.Errorf("%q: %+v", accept, a)
		}
	})
}
