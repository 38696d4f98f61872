package document

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// A nullable variable is valid in a non-null position if the position or the variable
// has a default: "$n: Int" in "first: Int! = 20". The default applies if no value is
// given, but an explicit null is an error (GraphQL specification, "Coercing Field
// Arguments"). Validation cannot detect it, and gqlgen handles it inconsistently: some
// types read null as their zero value, a directive panics. So the values of such
// variables are checked before an operation runs.

// nullable returns the nullable variables of an operation in non-null positions.
func nullable(op *ast.OperationDefinition) (names []string) {
	walk := valueWalk{visit: func(v *ast.Value) bool {
		def := op.VariableDefinitions.ForName(v.Raw)
		if mustNotBeNull(v) && def != nil && !def.Type.NonNull && !slices.Contains(names, v.Raw) {
			names = append(names, v.Raw)
		}
		return true
	}}
	if len(op.VariableDefinitions) > 0 {
		walk.selections(op.SelectionSet)
	}
	return names
}

// refuseNulls returns an error if a variable in a non-null position is null. It
// ignores selections that @skip and @include exclude.
func (c *cost) refuseNulls(op *ast.OperationDefinition, variables map[string]any) (refused *gqlerror.Error) {
	if !slices.ContainsFunc(c.nullable, func(name string) bool { return isNull(variables, name) }) {
		return nil
	}
	walk := valueWalk{
		visit: func(v *ast.Value) bool {
			if mustNotBeNull(v) && isNull(variables, v.Raw) {
				refused = errcode.Errorf(errcode.ValidationFailed, "Variable \"$%s\" must not be null where a value of type %q is required.", errcode.Truncate(v.Raw), v.ExpectedType)
				refused.Locations = []gqlerror.Location{{Line: v.Position.Line, Column: v.Position.Column}}
			}
			return refused == nil
		},
		included: func(directives ast.DirectiveList) bool { return included(directives, variables) },
	}
	walk.selections(op.SelectionSet)
	return refused
}

func mustNotBeNull(v *ast.Value) bool { return v.ExpectedType != nil && v.ExpectedType.NonNull }

func isNull(variables map[string]any, name string) bool {
	value, given := variables[name]
	return given && value == nil
}

// valueWalk visits the variables in the arguments of fields and directives of a valid
// operation. It visits each fragment once, and ends when visit returns false.
type valueWalk struct {
	visit    func(variable *ast.Value) (proceed bool)
	included func(ast.DirectiveList) bool // of a selection; nil includes every selection
	seen     map[*ast.FragmentDefinition]bool
}

func (w *valueWalk) selections(set ast.SelectionSet) (proceed bool) {
	for _, selection := range set {
		directives := directivesOf(selection)
		if !w.directives(directives) {
			return false
		}
		if w.included != nil && !w.included(directives) {
			continue
		}
		if !w.selection(selection) {
			return false
		}
	}
	return true
}

func (w *valueWalk) selection(selection ast.Selection) (proceed bool) {
	switch s := selection.(type) {
	case *ast.Field:
		return w.arguments(s.Arguments) && w.selections(s.SelectionSet)
	case *ast.InlineFragment:
		return w.selections(s.SelectionSet)
	case *ast.FragmentSpread:
		if s.Definition == nil || w.seen[s.Definition] {
			return true
		}
		if w.seen == nil {
			w.seen = map[*ast.FragmentDefinition]bool{}
		}
		w.seen[s.Definition] = true
		return w.selections(s.Definition.SelectionSet)
	}
	panic(fmt.Sprintf("unknown selection %T", selection))
}

func (w *valueWalk) directives(list ast.DirectiveList) (proceed bool) {
	for _, d := range list {
		if !w.arguments(d.Arguments) {
			return false
		}
	}
	return true
}

func (w *valueWalk) arguments(list ast.ArgumentList) (proceed bool) {
	for _, a := range list {
		if !w.value(a.Value) {
			return false
		}
	}
	return true
}

func (w *valueWalk) value(v *ast.Value) (proceed bool) {
	if v.Kind == ast.Variable {
		return w.visit(v)
	}
	for _, child := range v.Children {
		if !w.value(child.Value) {
			return false
		}
	}
	return true
}
