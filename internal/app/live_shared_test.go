package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// Two very different users subscribe to every field that is reachable from a note. The server
// shares executions where it can. Each event must equal a query of the same user, so a new
// field that depends on the viewer cannot leak.
func TestSharedSubscriptionsLeakNoPrivateFields(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	stack.Config.RateUser, stack.Config.RateAnonymous, stack.Config.AbsentReads = 0, 0, 0
	stack.Config.Limits = []string{"message-rate=off", "complexity=off"}
	m := openMarket(t, stack, 3)
	s := stack.Start(t)
	ann, bob, cat := s.As(m.owner.token), s.As(m.customers[0].token), s.As(m.customers[1].token)
	for _, follower := range []*apptest.Server{ann, bob} {
		follower.Must(t, followUser, map[string]any{"id": m.customers[1].id}, nil)
	}
	ann.Must(t, followUser, map[string]any{"id": m.customers[2].id}, nil)
	cat.Must(t, followUser, map[string]any{"id": m.customers[2].id}, nil)
	var before feedPage
	ann.Must(t, feedQuery, map[string]any{"first": 1}, &before)
	id := m.note(t, cat, "Shared")
	ann.Must(t, likeNote, map[string]any{"id": id}, nil)
	dan := s.As(m.customers[2].token)
	dan.Must(t, likeNote, map[string]any{"id": id}, nil)
	m.comment(t, dan, id, nil, "Good.")
	ways := waysFrom(t, "Note")
	if len(ways) < 100 {
		t.Fatalf("got %d ways, want at least 100", len(ways))
	}
	differ := 0
	sockets := [2]*socket{dial(t, s, m.owner.token), dial(t, s, m.customers[0].token)}
	people := [2]*apptest.Server{ann, bob}
	for _, way := range ways {
		var delivered, answered [2]noteAnswer
		for i, c := range sockets {
			began := c.follow(t, `subscription W($after: Cursor) { feedUpdates(after: $after) { ... on FeedNoteAdded { note `+way+` } } }`,
				map[string]any{"after": before.Me.Feed.LiveCursor})
			delivered[i] = c.note(t, began)
			answered[i] = answerOf(t, people[i], `query W($id: ID!) { note(id: $id) `+way+` }`, id)
		}
		for i, c := range sockets {
			c.send(t, map[string]any{"type": "complete", "id": string(rune('a' + c.last))})
			delivered[i].Note, answered[i].Note = compact(t, delivered[i].Note), compact(t, answered[i].Note)
		}
		if diff := cmp.Diff(answered, delivered); diff != "" {
			t.Errorf("%s (-answered +delivered)\n%s", way, diff)
		}
		if cmp.Diff(answered[0], answered[1]) != "" {
			differ++
		}
	}
	if differ < 5 {
		t.Errorf("%d of %d ways depend on the viewer: too few for this test", differ, len(ways))
	}
	t.Logf("%d ways, %d of which depend on the viewer", len(ways), differ)
}

// noteAnswer is the note and the error codes of an event or an answer.
type noteAnswer struct {
	Note  json.RawMessage
	Codes []string
}

// note returns the next event of an operation. It skips messages of other operations.
func (c *socket) note(t *testing.T, id string) (s noteAnswer) {
	t.Helper()
	for {
		m, closed := c.read(t)
		if closed != 0 || m.Type == "error" {
			t.Fatalf("closed %d, %s", closed, m.Payload)
		}
		if m.ID != id || m.Type != "next" {
			continue
		}
		var payload struct {
			Data *struct {
				FeedUpdates *struct{ Note json.RawMessage }
			}
			Errors []struct{ Extensions struct{ Code string } }
		}
		if err := json.Unmarshal(m.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		if payload.Data != nil && payload.Data.FeedUpdates != nil {
			s.Note = payload.Data.FeedUpdates.Note
		}
		for _, e := range payload.Errors {
			s.Codes = append(s.Codes, e.Extensions.Code)
		}
		slices.Sort(s.Codes)
		return s
	}
}

// answerOf returns the answer to a query of a note.
func answerOf(t *testing.T, as *apptest.Server, query, id string) (s noteAnswer) {
	t.Helper()
	var data struct{ Note json.RawMessage }
	a := as.Do(t, query, map[string]any{"id": id}, nil)
	if len(a.Data) > 0 {
		if err := json.Unmarshal(a.Data, &data); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range a.Errors {
		s.Codes = append(s.Codes, e.Extensions.Code)
	}
	slices.Sort(s.Codes)
	s.Note = data.Note
	return s
}

func compact(t *testing.T, note json.RawMessage) json.RawMessage {
	t.Helper()
	if len(note) == 0 {
		return json.RawMessage("null")
	}
	var v any
	if err := json.Unmarshal(note, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// waysFrom returns a selection for each path from a type to a leaf field. A path contains no
// type twice.
func waysFrom(t *testing.T, name string) []string {
	t.Helper()
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	var from func(def *ast.Definition, passed []string) []string
	from = func(def *ast.Definition, passed []string) (ways []string) {
		if slices.Contains(passed, def.Name) {
			return nil
		}
		passed = append(slices.Clip(passed), def.Name)
		if def.Kind != ast.Object {
			for _, possible := range schema.GetPossibleTypes(def) {
				for _, way := range from(possible, passed) {
					ways = append(ways, "{ ... on "+possible.Name+" "+way+" }")
				}
			}
			return ways
		}
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			field := f.Name + given(t, f)
			to := schema.Types[f.Type.Name()]
			if to.IsLeafType() {
				ways = append(ways, "{ "+field+" }")
				continue
			}
			for _, way := range from(to, passed) {
				ways = append(ways, "{ "+field+" "+way+" }")
			}
		}
		return ways
	}
	return from(schema.Types[name], nil)
}

// given returns values for the required arguments of a field.
func given(t *testing.T, f *ast.FieldDefinition) string {
	t.Helper()
	values := map[string]string{"Date": `"2026-11-01"`, "Int": "1", "String": `"2026-11"`}
	var list []string
	for _, a := range f.Arguments {
		if !a.Type.NonNull || a.DefaultValue != nil {
			continue
		}
		value, ok := values[a.Type.Name()]
		if !ok {
			t.Fatalf("%s needs a value of type %s: add one here", f.Name, a.Type)
		}
		list = append(list, a.Name+": "+value)
	}
	if len(list) == 0 {
		return ""
	}
	return "(" + strings.Join(list, ", ") + ")"
}
