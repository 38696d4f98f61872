package plan

import (
	"errors"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
)

// events starts a subscription and returns its responses to the values.
func (w *testSchema) events(t *testing.T, query string, values ...any) (responses []string) {
	t.Helper()
	doc := w.parse(t, query)
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0]})
	respond := w.Exec(ctx)
	for _, v := range values {
		w.event = v
		res := respond(ctx)
		if res == nil {
			responses = append(responses, "nothing")
			continue
		}
		responses = append(responses, string(res.Data))
	}
	return responses
}

func TestEventResponses(t *testing.T) {
	data := newTestData()
	ann := data.people["ann"]
	all := []any{&came{1, ann}, &went{2}}
	for _, tt := range []struct {
		name, query string
		values      []any
		want        []string
	}{
		{"each type of a union", `subscription { happened { ... on Went { at } ... on Came { at who { name } } } }`, all, []string{`{"happened":{"at":1,"who":{"name":"ann"}}}`, `{"happened":{"at":2}}`}},
		{"the type", `subscription { h: happened { __typename ... on Went { at } } }`, all, []string{`{"h":{"__typename":"Came"}}`, `{"h":{"__typename":"Went","at":2}}`}},
		{"fragments on the union, and in one another", `subscription { happened(after: 3) { ...H } } fragment H on Happened { __typename ...C ... { ... on Went { t: at } } } fragment C on Came { at }`, all, []string{`{"happened":{"__typename":"Came","at":1}}`, `{"happened":{"__typename":"Went","t":2}}`}},
		{"loaded fields", `subscription { happened { __typename ... on Came { who { luck name friend { name } } at } } }`, all[:1], []string{`{"happened":{"__typename":"Came","who":{"luck":23,"name":"ann","friend":{"name":"ben"}},"at":1}}`}},
		{"no field of the type", `subscription { happened { ... on Went { at } } }`, all[:1], []string{`{"happened":{}}`}},
		{"no union", `subscription { born { name } }`, []any{ann}, []string{`{"born":{"name":"ann"}}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestSchema(data)
			for range 2 {
				w.taken = 0
				if d := cmp.Diff(tt.want, w.events(t, tt.query, tt.values...)); d != "" {
					t.Errorf("%s\n(-want +got)\n%s", tt.query, d)
				}
				if w.taken != len(tt.values) {
					t.Errorf("got %d values taken, want %d", w.taken, len(tt.values))
				}
			}
			if len(w.failed) > 0 {
				t.Errorf("plans failed: %v", w.failed)
			}
		})
	}
}

// gqlgen receives the values of these events.
func TestUnplannableEventsRunInGqlgen(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		event       any
		fails       bool
		wrong       error
	}{
		{name: "no event", query: `subscription { happened { ... on Went { at } } }`},
		{name: "a field in no table", query: `subscription { other }`, event: 5},
		{name: "a type in no table", query: `subscription { happened { __typename } }`, event: 5},
		{name: "nil", query: `subscription { born { name } }`, event: (*person)(nil)},
		{name: "a directive of the field", query: `subscription { happened @custom { __typename } }`, event: &went{}},
		{name: "a directive below", query: `subscription { happened { ... on Went { at @skip(if: false) } } }`, event: &went{}},
		{name: "a directive of the operation", query: `subscription @custom { happened { __typename } }`, event: &went{}},
		{name: "a nested field in no table", query: `subscription { happened { ... on Came { who { secret } } } }`, event: &came{1, &person{}}},
		{name: "a null non-null object", query: `subscription { happened { ... on Came { who { name } } } }`, event: &came{}, fails: true},
		{name: "a loaded field of a null object", query: `subscription { happened { ... on Came { who { luck } } } }`, event: &came{}, fails: true},
		{name: "a loader error", query: `subscription { happened { ... on Came { who { luck } } } }`, event: &came{1, &person{}}, fails: true, wrong: errors.New("unavailable")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := newTestData()
			data.wrong = func(string, int) error { return tt.wrong }
			w := newTestSchema(data)
			if got := w.events(t, tt.query, tt.event); got[0] != byGqlgen {
				t.Errorf("%s: %s", tt.query, got)
			}
			if w.taken > 0 {
				t.Error("got the value taken")
			}
			if failed := len(w.failed) == 1; failed != tt.fails {
				t.Errorf("plans failed: %v", w.failed)
			}
		})
	}
	w := newTestSchema(newTestData())
	w.o.NextEvent = nil
	if got := w.events(t, `subscription { born { name } }`, &person{}); got[0] != byGqlgen {
		t.Errorf("without NextEvent: got %s", got)
	}
}
