package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	_ "embed"
)

// gqlgen's complexity ignores introspection, and introspection has no deadline. So its
// cost is counted here. A list counts by its length: the average of the schema below
// "types", the maximum elsewhere.

// IntrospectionQuery is the query with which tools read the whole schema.
//
//go:embed introspection.graphql
var IntrospectionQuery string

// introspectionCosts calculates the cost of introspection of one schema.
type introspectionCosts struct {
	averageLen, maxLen map[string]int // lengths of lists, by names such as "__Type.fields"
	whole              int            // cost of IntrospectionQuery
}

// introspectionShare is the number of introspection values per complexity point. A
// value takes about a tenth of the time of a field.
const introspectionShare = 10

func newIntrospectionCosts(schema *ast.Schema) (*introspectionCosts, error) {
	c := &introspectionCosts{averageLen: map[string]int{}, maxLen: map[string]int{}}
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
			c.maxLen["__Type."+name] = max(c.maxLen["__Type."+name], n)
		}
		for _, f := range t.Fields {
			fields++
			totals["__Field.args"] += len(f.Arguments)
			c.maxLen["__Field.args"] = max(c.maxLen["__Field.args"], len(f.Arguments))
		}
	}
	for name, n := range totals {
		of := len(schema.Types)
		if name == "__Field.args" {
			of = fields
		}
		c.averageLen[name] = (n + of - 1) / max(of, 1)
	}
	for _, d := range schema.Directives {
		c.list("__Directive.args", 1, max(c.maxLen["__Directive.args"], len(d.Arguments)))
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: IntrospectionQuery})
	if err != nil {
		return nil, fmt.Errorf("parse the introspection query: %w", err)
	}
	if errs := validate(schema, doc, ruleSet(true), 1); len(errs) > 0 {
		return nil, errors.Join(errors.New("validate the introspection query"), errs[0])
	}
	c.whole = c.cost(doc.Operations[0].SelectionSet, selectionPath{})
	return c, nil
}

func (c *introspectionCosts) list(name string, averageLen, maxLen int) {
	c.averageLen[name], c.maxLen[name] = max(averageLen, maxLen), maxLen
}

// selectionPath is the position of a selection set in an introspection query.
type selectionPath struct {
	types bool // below "types", once per type
	wraps int  // number of ofType above
}

// maxWraps is the maximum number of nested ofType that are not null, as in [T!]!.
const maxWraps = 3

// cost returns the cost of the introspection in a selection set, or 0 without any.
func (c *introspectionCosts) cost(set ast.SelectionSet, at selectionPath) int {
	cost := 0
	for _, selection := range set {
		switch f := selection.(type) {
		case *ast.Field:
			cost = sum(cost, c.field(f, at))
		case *ast.InlineFragment:
			cost = sum(cost, c.cost(f.SelectionSet, at))
		case *ast.FragmentSpread:
			cost = sum(cost, c.cost(f.Definition.SelectionSet, at))
		}
	}
	return cost
}

func (c *introspectionCosts) field(f *ast.Field, at selectionPath) int {
	name := f.ObjectDefinition.Name + "." + f.Name
	switch {
	case f.Name == "__schema", f.Name == "__type":
		return sum(1, c.cost(f.SelectionSet, selectionPath{}))
	case !strings.HasPrefix(name, "__"):
		return c.cost(f.SelectionSet, at) // gqlgen counts the points of ordinary fields
	case name == "__Type.ofType" && at.wraps == maxWraps:
		return 1
	case name == "__Type.ofType":
		return sum(1, c.cost(f.SelectionSet, selectionPath{wraps: at.wraps + 1}))
	}
	times := 1
	if isList := f.Definition.Type.Elem != nil; isList && at.types {
		times = c.averageLen[name]
	} else if isList {
		times = c.maxLen[name]
	}
	inner := selectionPath{types: name == "__Schema.types" || at.types && name == "__Type.fields"}
	return sum(1, product(times, c.cost(f.SelectionSet, inner)))
}
