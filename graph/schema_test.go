package graph

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// Update makes tests rewrite the golden files from responses of the embedded stores.
var Update = flag.Bool("update", false, "rewrite the golden files")

// executable returns the executable schema without services.
func executable() graphql.ExecutableSchema {
	return generated.NewExecutableSchema(New(Services{}))
}

// types returns the types of a schema without the built-in ones.
func types(s *ast.Schema) []*ast.Definition {
	var list []*ast.Definition
	for _, name := range slices.Sorted(maps.Keys(s.Types)) {
		if d := s.Types[name]; !d.BuiltIn {
			list = append(list, d)
		}
	}
	return list
}

// fields returns the fields of a type without __schema and __type.
func fields(d *ast.Definition) []*ast.FieldDefinition {
	return slices.DeleteFunc(slices.Clone(d.Fields), func(f *ast.FieldDefinition) bool { return strings.HasPrefix(f.Name, "__") })
}

func TestSchemaHasDescriptions(t *testing.T) {
	described := func(description, format string, args ...any) {
		t.Helper()
		if strings.TrimSpace(description) == "" {
			t.Errorf(format+" has no description", args...)
		}
	}
	n := 0
	for _, d := range types(executable().Schema()) {
		n++
		if d.Name != "Query" && d.Name != "Mutation" && d.Name != "Subscription" { // described by the specification
			described(d.Description, "%s", d.Name)
		}
		for _, f := range fields(d) {
			described(f.Description, "%s.%s", d.Name, f.Name)
			for _, a := range f.Arguments {
				described(a.Description, "%s.%s(%s)", d.Name, f.Name, a.Name)
			}
		}
		for _, v := range d.EnumValues {
			described(v.Description, "%s.%s", d.Name, v.Name)
		}
	}
	if n < 10 {
		t.Errorf("got %d types, want at least 10", n)
	}
}

// cost returns the cost of a field whose children cost ten.
func cost(t *testing.T, es graphql.ExecutableSchema, d *ast.Definition, f *ast.FieldDefinition, n int) int {
	t.Helper()
	c, ok := es.Complexity(t.Context(), d.Name, f.Name, 10, arguments(t, f, n))
	if !ok {
		return 1 + 10 // the default of gqlgen
	}
	return c
}

// arguments returns arguments that request n elements of a list.
func arguments(t *testing.T, f *ast.FieldDefinition, n int) map[string]any {
	t.Helper()
	args := map[string]any{}
	for _, a := range f.Arguments {
		switch {
		case a.Name == "first", a.Name == "top":
			args[a.Name] = n
		case a.Type.String() == "[ID!]!":
			args[a.Name] = slices.Repeat([]any{scalar.ID{Type: "Shop", N: 1}.String()}, n)
		case a.Type.String() == "ID!":
			args[a.Name] = scalar.ID{Type: "Shop", N: 1}.String()
		case a.Type.String() == "ShopRankingKind!":
			args[a.Name] = "TRENDING"
		case a.Type.String() == "Date!":
			day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			if a.Name == "to" {
				day = day.AddDate(0, 0, n-1)
			}
			args[a.Name] = day.Format(time.DateOnly)
		case a.Type.NonNull && a.DefaultValue == nil:
			t.Fatalf("this test has no value for the argument %s: %v of %s", a.Name, a.Type, f.Name)
		}
	}
	return args
}

func TestListsCostOncePerElement(t *testing.T) {
	es := executable()
	lists := 0
	extra := map[string]int{"User.commonFollowees": 200, "User.feed": 100} // in addition to the elements
	for _, d := range types(es.Schema()) {
		if d.Kind != ast.Object {
			continue
		}
		for _, f := range fields(d) {
			connection := strings.HasSuffix(f.Type.Name(), "Connection")
			edges := strings.HasSuffix(d.Name, "Connection") && f.Name == "edges" // counted at the connection
			leaves := es.Schema().Types[f.Type.Name()].IsLeafType()               // scalars cost nothing
			reasons := f.Name == "userErrors"                                     // bounded by the arguments, in memory
			if edges || leaves || reasons || (!connection && f.Type.Elem == nil) {
				continue
			}
			lists++
			more := extra[d.Name+"."+f.Name]
			one, hundred := cost(t, es, d, f, 1), cost(t, es, d, f, 100)
			sized := connection || f.Arguments.ForName("first") != nil || f.Arguments.ForName("top") != nil || f.Arguments.ForName("ids") != nil
			switch {
			case sized && (one != more+1+10 || hundred != more+1+100*10):
				t.Errorf("%s.%s costs %d for 1 and %d for 100 elements; want %d and %d", d.Name, f.Name, one, hundred, more+11, more+1001)
			case !sized && one <= 1+10:
				t.Errorf("%s.%s is a list that costs %d, as a single object would", d.Name, f.Name, one)
			}
		}
	}
	if lists < 4 {
		t.Errorf("got %d lists, want at least 4", lists)
	}
}

func TestListCostDoesNotOverflow(t *testing.T) {
	const most = 1<<31 - 1
	tests := []struct {
		name           string
		n, child, want int
	}{
		{"a page", 20, 3, 61},
		{"the greatest page", page.Max, 3, 301},
		{"a size of none", 0, 3, 4},
		{"a negative size", -1 << 31, 3, 4},
		{"a size out of bounds", most, 3, 1 + 10*page.Max*3},
		{"huge children", 100, most, 1 + 100<<20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := times(tt.n, tt.child); got != tt.want {
				t.Errorf("%d × %d costs %d, want %d", tt.n, tt.child, got, tt.want)
			}
		})
	}
}

// Without a login, only mutations that sign in are allowed.
func TestMutationsRequireALogin(t *testing.T) {
	open := map[string]bool{"sendLoginCode": true, "login": true}
	mutations := fields(executable().Schema().Types["Mutation"])
	for _, f := range mutations {
		if (requiredRole(f.Directives) == "") != open[f.Name] {
			t.Errorf("%s: got required role %q", f.Name, requiredRole(f.Directives))
		}
	}
	if len(mutations) < 7 {
		t.Errorf("got %d mutations, want at least 7", len(mutations))
	}
}

// contractFile contains the public contract: one line for each type, field, input field
// and enum value, with the parts that clients rely on.
const contractFile = "testdata/contract/schema.txt"

func TestSchemaKeepsTheContract(t *testing.T) {
	got := map[string]string{}
	for _, d := range types(executable().Schema()) {
		maps.Copy(got, shape(d))
	}
	if len(got) < 200 {
		t.Fatalf("the schema has only %d parts", len(got))
	}
	if *Update {
		var text strings.Builder
		for _, part := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&text, "%s: %s\n", part, got[part])
		}
		if err := os.WriteFile(contractFile, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatalf("%v; go test ./graph -run Contract -update writes it", err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		part, is, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		want[part] = is
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-contract +schema)\n%s\nIf clients can bear the change, go test ./graph -run Contract -update", d)
	}
}

// docs/reference/schema.graphql is the schema in one file, for tools of clients.
func TestReferenceHasTheSchemaOfTheContract(t *testing.T) {
	const file = "../docs/reference/schema.graphql"
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(executable().Schema())
	if *Update {
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(page), text.String()); d != "" {
		t.Errorf("(-file +schema)\n%s\ngo test ./graph -run Contract -update writes it", d)
	}
}

func TestReferencePageOfErrorsHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Codes of `userErrors`\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var want, got []string
	for _, value := range executable().Schema().Types["ErrorCode"].EnumValues {
		want = append(want, value.Name)
	}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.ToUpper(cells[1]) == cells[1] && !strings.HasPrefix(line, "|-") {
			for code := range strings.SplitSeq(cells[1], ",") {
				got = append(got, strings.TrimSpace(code))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-schema +page)\n%s", d)
	}
}

// shape returns the contract of a type: its kind and interfaces, and the type, arguments
// and required role of each field.
func shape(d *ast.Definition) map[string]string {
	interfaces := slices.Clone(d.Interfaces)
	slices.Sort(interfaces)
	parts := map[string]string{d.Name: fmt.Sprintf("%s %v %v", d.Kind, interfaces, d.Types)}
	for _, f := range fields(d) {
		var args []string
		for _, a := range f.Arguments {
			args = append(args, fmt.Sprintf("%s: %s = %s", a.Name, a.Type, a.DefaultValue))
		}
		slices.Sort(args)
		parts[d.Name+"."+f.Name] = fmt.Sprintf("%v(%s) = %s %s", f.Type, strings.Join(args, ", "), f.DefaultValue, requiredRole(f.Directives))
	}
	for _, v := range d.EnumValues {
		parts[d.Name+"."+v.Name] = "value"
	}
	return parts
}

// requiredRole returns the role that a field requires.
func requiredRole(list ast.DirectiveList) string {
	d := list.ForName("auth")
	if d == nil {
		return ""
	}
	if role := d.Arguments.ForName("role"); role != nil {
		return "@auth " + role.Value.String()
	}
	return "@auth CUSTOMER"
}
