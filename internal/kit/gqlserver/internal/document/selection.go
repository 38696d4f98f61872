package document

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Selection identifies the fields that a subscription selects of an update.
// Subscriptions with equal selections get the same bytes, unless these depend on the
// viewer.
type Selection [sha256.Size]byte

// SelectionOf returns the selection of a subscription. It covers the name and the
// response name of the root field, and everything below. Fragments are expanded, @skip
// and @include applied, and variables in arguments replaced by their values.
//
// It does not depend on the format of the document, or on the names of operations,
// fragments and variables. It ignores the arguments of the root field, which choose
// among updates. ok is false if the subscription must not share its selection.
func SelectionOf(oc *graphql.OperationContext) (key Selection, ok bool) {
	defer func() {
		if recover() != nil { // invalid value, which the execution reports
			ok = false
		}
	}()
	p := printer{oc: oc}
	p.rootFields(oc.Operation.SelectionSet)
	return sha256.Sum256(p.out), p.root != nil && !p.multipleRoots
}

// printer writes a selection in a canonical form.
type printer struct {
	oc            *graphql.OperationContext
	out           []byte
	root          *ast.Field
	multipleRoots bool // has different root fields
}

// rootFields writes the root field. All fragments here are on the subscription type.
func (p *printer) rootFields(set ast.SelectionSet) {
	for _, s := range set {
		if !included(directivesOf(s), p.oc.Variables) {
			continue
		}
		switch s := s.(type) {
		case *ast.Field:
			if p.root != nil && (p.root.Alias != s.Alias || p.root.Name != s.Name) {
				p.multipleRoots = true
			}
			p.root = s
			p.write(s.Alias, ":", s.Name)
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		case *ast.InlineFragment:
			p.rootFields(s.SelectionSet)
		case *ast.FragmentSpread:
			p.rootFields(s.Definition.SelectionSet)
		}
	}
}

func (p *printer) selections(set ast.SelectionSet) {
	p.write("{")
	for _, s := range set {
		if !included(directivesOf(s), p.oc.Variables) {
			continue
		}
		switch s := s.(type) {
		case *ast.Field:
			p.write(s.Alias, ":", s.Name)
			p.arguments(s.ArgumentMap(p.oc.Variables))
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		case *ast.InlineFragment:
			p.write("...", s.TypeCondition)
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		case *ast.FragmentSpread:
			p.write("...", s.Definition.TypeCondition)
			p.directives(s.Directives)
			p.selections(s.Definition.SelectionSet)
		}
	}
	p.write("}")
}

// included reports whether @skip and @include include a selection.
func included(directives ast.DirectiveList, variables map[string]any) bool {
	isTrue := func(d *ast.Directive) bool {
		is, _ := d.ArgumentMap(variables)["if"].(bool)
		return is
	}
	skip, include := directives.ForName("skip"), directives.ForName("include")
	return (skip == nil || !isTrue(skip)) && (include == nil || isTrue(include))
}

// directives writes all directives except @skip and @include.
func (p *printer) directives(list ast.DirectiveList) {
	for _, d := range list {
		if d.Name != "skip" && d.Name != "include" {
			p.write("@", d.Name)
			p.arguments(d.ArgumentMap(p.oc.Variables))
		}
	}
}

func (p *printer) arguments(values map[string]any) {
	if len(values) > 0 {
		p.value(values)
	}
}

// write appends names or signs, none of which contains a space.
func (p *printer) write(list ...string) {
	for _, w := range list {
		p.out = append(append(p.out, w...), ' ')
	}
}

// value writes a value as a resolver gets it. Equal integers are written alike,
// whatever their Go type, and differ from every float.
func (p *printer) value(v any) {
	switch v := v.(type) {
	case nil:
		p.write("null")
	case bool:
		p.write(strconv.FormatBool(v))
	case string:
		p.write(strconv.Quote(v))
	case json.Number:
		p.write(v.String())
	case int:
		p.write(strconv.Itoa(v))
	case int64:
		p.write(strconv.FormatInt(v, 10))
	case float64:
		p.write(strconv.FormatFloat(v, 'e', -1, 64)) // differs from every integer
	case []any:
		p.write("[")
		for _, e := range v {
			p.value(e)
		}
		p.write("]")
	case map[string]any:
		p.write("(")
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			p.write(strconv.Quote(name))
			p.value(v[name])
		}
		p.write(")")
	default:
		panic(fmt.Sprintf("unknown value type %T", v))
	}
}
