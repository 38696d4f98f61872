package graph

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/plan"
)

// A defaulted is a non-null argument with a default, or such a field of an input object.
type defaulted struct {
	object   *ast.Definition
	field    *ast.FieldDefinition
	argument *ast.ArgumentDefinition
	path     []string // of input fields below the argument
	typ      *ast.Type
}

func (d defaulted) String() string {
	return d.object.Name + "." + d.field.Name + "(" + strings.Join(append([]string{d.argument.Name}, d.path...), ".") + ")"
}

// allDefaulted returns all of them in a schema.
func allDefaulted(s *ast.Schema) (all []defaulted) {
	for _, object := range types(s) {
		if object.Kind != ast.Object {
			continue
		}
		for _, f := range fields(object) {
			for _, a := range f.Arguments {
				at := defaulted{object: object, field: f, argument: a, typ: a.Type}
				if a.Type.NonNull && a.DefaultValue != nil {
					all = append(all, at)
				}
				all = append(all, defaultedIn(s, at, a.Type.Name())...)
			}
		}
	}
	return all
}

func defaultedIn(s *ast.Schema, at defaulted, input string) (all []defaulted) {
	d := s.Types[input]
	if d.Kind != ast.InputObject || len(at.path) > 4 {
		return nil
	}
	for _, f := range d.Fields {
		in := at
		in.path, in.typ = append(slices.Clone(at.path), f.Name), f.Type
		if f.Type.NonNull && f.DefaultValue != nil {
			all = append(all, in)
		}
		all = append(all, defaultedIn(s, in, f.Type.Name())...)
	}
	return all
}

// A literal is a value in a document.
func literal(s *ast.Schema, typ *ast.Type, path []string, leaf string) string {
	if len(path) == 0 && leaf != "" {
		return leaf
	}
	if typ.Elem != nil {
		return "[" + literal(s, typ.Elem, path, leaf) + "]"
	}
	d := s.Types[typ.NamedType]
	if d.Kind == ast.Enum {
		return d.EnumValues[0].Name
	}
	if d.Kind == ast.InputObject {
		var members []string
		for _, f := range d.Fields {
			switch {
			case len(path) > 0 && f.Name == path[0] && (leaf != "" || len(path) > 1):
				members = append(members, f.Name+": "+literal(s, f.Type, path[1:], leaf))
			case f.Type.NonNull && f.DefaultValue == nil:
				members = append(members, f.Name+": "+literal(s, f.Type, nil, ""))
			}
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	switch typ.NamedType {
	case "Int":
		return "1"
	case "Float":
		return "1.5"
	case "Boolean":
		return "true"
	case "Time":
		return `"2026-01-02T03:04:05Z"`
	case "Date":
		return `"2026-01-02"`
	}
	return `"U2hvcDox"`
}

// document returns a document with value as the argument.
func (d defaulted) document(t *testing.T, s *ast.Schema, variables, value string) string {
	t.Helper()
	var arguments []string
	for _, a := range d.field.Arguments {
		switch {
		case a == d.argument:
			arguments = append(arguments, a.Name+": "+value)
		case a.Type.NonNull && a.DefaultValue == nil:
			arguments = append(arguments, a.Name+": "+literal(s, a.Type, nil, ""))
		}
	}
	text := d.field.Name + "(" + strings.Join(arguments, ", ") + ")"
	if kind := s.Types[d.field.Type.Name()].Kind; kind != ast.Scalar && kind != ast.Enum {
		text += " { __typename }"
	}
	switch d.object {
	case s.Query:
		return "query" + variables + " { " + text + " }"
	case s.Mutation:
		return "mutation" + variables + " { " + text + " }"
	case s.Subscription:
		return "subscription" + variables + " { " + text + " }"
	}
	if !slices.Contains(d.object.Interfaces, "Node") {
		t.Fatalf("%s cannot be reached by node", d.object.Name)
	}
	return "query" + variables + ` { node(id: "U2hvcDox") { ... on ` + d.object.Name + " { " + text + " } } }"
}

type nullCase struct {
	name, document string
	variables      map[string]any
	refused        bool
}

func TestNullIsRejectedDespiteADefault(t *testing.T) {
	for _, off := range []bool{false, true} {
		es := plan.New(executable(), generated.Plans(New(Services{})), plan.Options{Disabled: off})
		gate, err := gqlserver.New(es, gqlserver.Config{
			Limits: gqlserver.Limits{AnonymousRate: -1}, Log: slog.New(slog.DiscardHandler),
			ErrorPresenter: Present(slog.New(slog.DiscardHandler), func(context.Context) string { return "" }, func(error) bool { return false }),
		})
		if err != nil {
			t.Fatal(err)
		}
		schema := es.Schema()
		all := allDefaulted(schema)
		if len(all) < 20 {
			t.Fatalf("got %d defaults, want at least 20", len(all))
		}
		for _, d := range all {
			nullable := *d.typ
			nullable.NonNull = false
			typ, value := nullable.String(), literal(schema, d.typ, nil, "")
			null := map[string]any{"v": nil}
			cases := []nullCase{
				{"a literal", d.document(t, schema, "", literal(schema, d.argument.Type, d.path, "null")), nil, true},
				{"a variable", d.document(t, schema, "($v: "+typ+")", literal(schema, d.argument.Type, d.path, "$v")), null, true},
				{"a variable's default", d.document(t, schema, "($v: "+typ+" = null)", literal(schema, d.argument.Type, d.path, "$v")), nil, true},
				{"instead of a variable's default", d.document(t, schema, "($v: "+typ+" = "+value+")", literal(schema, d.argument.Type, d.path, "$v")), null, true},
				{"a variable that is not given", d.document(t, schema, "($v: "+typ+")", literal(schema, d.argument.Type, d.path, "$v")), nil, false},
			}
			if len(d.path) > 0 {
				var given any
				// An input object has the form of JSON, except for the quotes around names.
				text := literal(schema, d.argument.Type, d.path, "null")
				for _, name := range slices.Sorted(maps.Keys(inputNames(schema))) {
					text = strings.ReplaceAll(strings.ReplaceAll(text, "{"+name+":", `{"`+name+`":`), ", "+name+":", `, "`+name+`":`)
				}
				if err := json.Unmarshal([]byte(text), &given); err != nil {
					t.Fatalf("%s: %s: %v", d, text, err)
				}
				document := d.document(t, schema, "($v: "+d.argument.Type.String()+")", "$v")
				cases = append(cases, nullCase{"in an object that is a variable", document, map[string]any{"v": given}, true})
			}
			for _, tt := range cases {
				code := codeOf(t, gate, d, tt.document, tt.variables)
				if refused := code == "GRAPHQL_VALIDATION_FAILED" || code == "BAD_USER_INPUT"; refused != tt.refused {
					t.Errorf("%s, %s, without plans: %v: code %q, want refused: %v\n%s", d, tt.name, off, code, tt.refused, tt.document)
				}
			}
		}
	}
}

// inputNames returns the names of all fields of input objects.
func inputNames(s *ast.Schema) map[string]bool {
	names := map[string]bool{}
	for _, d := range types(s) {
		if d.Kind == ast.InputObject {
			for _, f := range d.Fields {
				names[f.Name] = true
			}
		}
	}
	return names
}

// codeOf sends a request and returns the code of the first error, "" for none.
func codeOf(t *testing.T, gate http.Handler, d defaulted, document string, variables map[string]any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	gate.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %s: %v", d, text, err)
	}
	if len(answer.Errors) == 0 {
		return ""
	}
	return answer.Errors[0].Extensions.Code
}
