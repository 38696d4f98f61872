package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	_ "embed"
)

// gqlgen's complexity takes the schema to be free, and answers about it know no
// deadline. So it is counted here: a list as many times as it has elements, on
// average over the schema where it stands below "types", at most elsewhere.

// IntrospectionQuery is the query that tools send to read the schema.
//
//go:embed introspection.graphql
var IntrospectionQuery string

// introspectionCosts knows what questions about one schema cost.
type introspectionCosts struct {
	average, most map[string]int // elements of lists, by "__Type.fields"
	whole         int            // what the whole schema costs, asked for as tools do
}

// A value about the schema costs about a tenth of a field's point to answer.
const introspectionShare = 10

func newIntrospectionCosts(schema *ast.Schema) (*introspectionCosts, error) {
	c := &introspectionCosts{average: map[string]int{}, most: map[string]int{}}
	c.list("__Schema.types", 1, len(schema.Types))
	c.list("__Schema.directives", 1, len(schema.Directives))
	totals := map[string]int{}
	fields := 0
	for _, t := range schema.Types {
		for name, n := range map[string]int{
			"fields": len(t.Fields), "inputFields": len(t.Fields), "interfaces": len(t.Interfaces),
			"enumValues": len(t.EnumValues), "possibleTypes": len(schema.PossibleTypes[t.Name]),
		} {
			totals["__Type."+name] += n
			c.most["__Type."+name] = max(c.most["__Type."+name], n)
		}
		for _, f := range t.Fields {
			fields++
			totals["__Field.args"] += len(f.Arguments)
			c.most["__Field.args"] = max(c.most["__Field.args"], len(f.Arguments))
		}
	}
	for name, n := range totals {
		of := len(schema.Types)
		if name == "__Field.args" {
			of = fields
		}
		c.average[name] = (n + of - 1) / max(of, 1)
	}
	for _, d := range schema.Directives {
		c.list("__Directive.args", 1, max(c.most["__Directive.args"], len(d.Arguments)))
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: IntrospectionQuery})
	if err != nil {
		return nil, fmt.Errorf("the introspection query: %w", err)
	}
	if errs := validate(schema, doc, ruleSet(true), 1); len(errs) > 0 {
		return nil, errors.Join(errors.New("the introspection query is not valid"), errs[0])
	}
	c.whole = c.of(doc.Operations[0].SelectionSet, selectionPath{})
	return c, nil
}

func (c *introspectionCosts) list(name string, average, most int) {
	c.average[name], c.most[name] = max(average, most), most
}

// selectionPath say where in the schema a selection set stands.
type selectionPath struct {
	types bool // below "types": once for each of them
	wraps int  // ofType above
}

// maxWraps is how many ofType lead somewhere: [T!]! is three. Below them is null.
const maxWraps = 3

// of is what the questions about the schema in a selection set cost; 0 if there
// are none.
func (c *introspectionCosts) of(set ast.SelectionSet, at selectionPath) int {
	cost := 0
	for _, selection := range set {
		switch f := selection.(type) {
		case *ast.Field:
			cost = sum(cost, c.field(f, at))
		case *ast.InlineFragment:
			cost = sum(cost, c.of(f.SelectionSet, at))
		case *ast.FragmentSpread:
			cost = sum(cost, c.of(f.Definition.SelectionSet, at))
		}
	}
	return cost
}

func (c *introspectionCosts) field(f *ast.Field, at selectionPath) int {
	name := f.ObjectDefinition.Name + "." + f.Name
	switch {
	case f.Name == "__schema", f.Name == "__type":
		return sum(1, c.of(f.SelectionSet, selectionPath{}))
	case !strings.HasPrefix(name, "__"):
		return c.of(f.SelectionSet, at) // an ordinary field, whose points gqlgen counts
	case name == "__Type.ofType" && at.wraps == maxWraps:
		return 1
	case name == "__Type.ofType":
		return sum(1, c.of(f.SelectionSet, selectionPath{wraps: at.wraps + 1}))
	}
	times := 1
	if isList := f.Definition.Type.Elem != nil; isList && at.types {
		times = c.average[name]
	} else if isList {
		times = c.most[name]
	}
	inner := selectionPath{types: name == "__Schema.types" || at.types && name == "__Type.fields"}
	return sum(1, product(times, c.of(f.SelectionSet, inner)))
}
