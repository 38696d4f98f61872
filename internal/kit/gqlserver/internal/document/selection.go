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

// A Selection stands for what a subscription wants of an update: subscriptions with
// the same one are sent the same bytes, unless these depend on who asks.
type Selection [sha256.Size]byte

// SelectionOf is the selection of a subscription: its root field, by its name and the
// name in the answer, and everything below, as it is executed: fragments are put in,
// @skip and @include are decided, arguments have their values. How the document is
// written, the names of operations, fragments and variables, and the arguments of the
// root field, which choose among updates, are no part of it. ok is false if it has none:
// then it is like no other.
func SelectionOf(oc *graphql.OperationContext) (key Selection, ok bool) {
	defer func() {
		if recover() != nil { // a value that cannot be read: execution will say so
			ok = false
		}
	}()
	p := printer{oc: oc}
	p.rootFields(oc.Operation.SelectionSet)
	return sha256.Sum256(p.out), p.root != nil && !p.several
}

// A printer writes a selection in one way.
type printer struct {
	oc      *graphql.OperationContext
	out     []byte
	root    *ast.Field
	several bool // different root fields
}

// rootFields goes through fragments, all of which are on the one type that there is.
func (p *printer) rootFields(set ast.SelectionSet) {
	for _, s := range set {
		if !included(directivesOf(s), p.oc.Variables) {
			continue
		}
		switch s := s.(type) {
		case *ast.Field:
			if p.root != nil && (p.root.Alias != s.Alias || p.root.Name != s.Name) {
				p.several = true
			}
			p.root = s
			p.words(s.Alias, ":", s.Name)
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
	p.words("{")
	for _, s := range set {
		if !included(directivesOf(s), p.oc.Variables) {
			continue
		}
		switch s := s.(type) {
		case *ast.Field:
			p.words(s.Alias, ":", s.Name)
			p.arguments(s.ArgumentMap(p.oc.Variables))
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		case *ast.InlineFragment:
			p.words("...", s.TypeCondition)
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		case *ast.FragmentSpread:
			p.words("...", s.Definition.TypeCondition)
			p.directives(s.Directives)
			p.selections(s.Definition.SelectionSet)
		}
	}
	p.words("}")
}

// included decides @skip and @include of a selection.
func included(directives ast.DirectiveList, variables map[string]any) bool {
	isTrue := func(d *ast.Directive) bool {
		is, _ := d.ArgumentMap(variables)["if"].(bool)
		return is
	}
	skip, include := directives.ForName("skip"), directives.ForName("include")
	return (skip == nil || !isTrue(skip)) && (include == nil || isTrue(include))
}

// directives are those that are not decided by now.
func (p *printer) directives(list ast.DirectiveList) {
	for _, d := range list {
		if d.Name != "skip" && d.Name != "include" {
			p.words("@", d.Name)
			p.arguments(d.ArgumentMap(p.oc.Variables))
		}
	}
}

func (p *printer) arguments(values map[string]any) {
	if len(values) > 0 {
		p.value(values)
	}
}

// words are names or signs. None has a blank in it.
func (p *printer) words(list ...string) {
	for _, w := range list {
		p.out = append(append(p.out, w...), ' ')
	}
}

// value writes a value as a resolver gets it: a whole number is the same however it came,
// but never a fraction.
func (p *printer) value(v any) {
	switch v := v.(type) {
	case nil:
		p.words("null")
	case bool:
		p.words(strconv.FormatBool(v))
	case string:
		p.words(strconv.Quote(v))
	case json.Number:
		p.words(v.String())
	case int:
		p.words(strconv.Itoa(v))
	case int64:
		p.words(strconv.FormatInt(v, 10))
	case float64:
		p.words(strconv.FormatFloat(v, 'e', -1, 64)) // which no whole number looks like
	case []any:
		p.words("[")
		for _, e := range v {
			p.value(e)
		}
		p.words("]")
	case map[string]any:
		p.words("(")
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			p.words(strconv.Quote(name))
			p.value(v[name])
		}
		p.words(")")
	default:
		panic(fmt.Sprintf("a value of type %T", v))
	}
}
