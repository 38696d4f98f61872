package door

import (
	"math"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// shape measures a parsed document before it is validated, for validation is
// the expensive part, in places quadratic, and cannot be stopped between rules.
// Every fragment is measured once, however often it is spread, so a document is
// measured in time that is linear in its text; sums saturate.
type shape struct {
	limits        Limits
	introspection bool
	fragments     map[string]*ast.FragmentDefinition
	measured      map[string]*size // nil while it is being measured

	fields, aliases, directives int // written in the document
	err                         *gqlerror.Error
}

// size is what a selection set comes to when fragments are put in.
type size struct {
	depth  int
	fields int
	plain  bool // has fields that are not introspection
}

// measure says what is too much about a document, or nil.
func measure(doc *ast.QueryDocument, limits Limits, introspection bool) *gqlerror.Error {
	s := shape{
		limits: limits, introspection: introspection,
		fragments: make(map[string]*ast.FragmentDefinition, len(doc.Fragments)), measured: map[string]*size{},
	}
	s.atMost("operations", len(doc.Operations), limits.Operations)
	s.atMost("fragments", len(doc.Fragments), limits.Fragments)
	if s.err != nil {
		return s.err
	}
	for _, f := range doc.Fragments {
		if s.fragments[f.Name] != nil { // validation would walk the one that was not measured
			s.refuse(codeValidation, "There are two fragments with the name %s.", cut(f.Name))
			return s.err
		}
		s.fragments[f.Name] = f
		s.directives += len(f.Directives)
	}
	for _, op := range doc.Operations {
		s.operation(op)
	}
	for _, f := range doc.Fragments { // those that nothing spreads are validated all the same
		s.fragment(f.Name)
	}
	s.atMost("fields", s.fields, limits.Fields)
	s.atMost("aliases", s.aliases, limits.Aliases)
	s.atMost("directives", s.directives, limits.Directives)
	return s.err
}

// atMost refuses the document if n is beyond a limit.
func (s *shape) atMost(what string, n, limit int) {
	if over(n, limit) {
		s.refuse(codeDocument, "The document has too many %s: at most %d are allowed.", what, limit)
	}
}

// refuse notes the first thing that is wrong.
func (s *shape) refuse(code, format string, args ...any) {
	if s.err == nil {
		s.err = refusal(code, format, args...)
	}
}

func (s *shape) operation(op *ast.OperationDefinition) {
	s.atMost("variables", len(op.VariableDefinitions), s.limits.Variables)
	s.directives += len(op.Directives)
	for _, v := range op.VariableDefinitions {
		s.directives += len(v.Directives)
	}
	whole := s.set(op.SelectionSet)
	roots := s.roots(op.SelectionSet, map[string]bool{})
	if op.Operation == ast.Mutation {
		s.atMost("root fields in a mutation", roots, s.limits.Mutations)
	} else {
		s.atMost("root fields", roots, s.limits.RootFields)
	}
	depth := s.limits.Depth
	if !whole.plain && depth >= 0 {
		depth += introspectionDepth
	}
	s.atMost("levels", whole.depth, depth)
	s.atMost("fields, fragments put in", whole.fields, s.limits.Expanded)
}

// introspectionDepth is how much deeper an operation may go that asks for the
// schema alone: what tools send has seven or nine ofType inside each other.
const introspectionDepth = 5

// set measures a selection set.
func (s *shape) set(set ast.SelectionSet) size {
	var all size
	if s.err != nil {
		return all
	}
	names := map[string]int{}
	for _, selection := range set {
		part := s.selection(selection, names)
		all.depth = max(all.depth, part.depth)
		all.fields = sum(all.fields, part.fields)
		all.plain = all.plain || part.plain
	}
	for _, n := range names {
		s.atMost("fields of one name beside each other", n, s.limits.SameName)
	}
	return all
}

// selection measures one selection and counts the response names that it adds
// to those beside it.
func (s *shape) selection(selection ast.Selection, names map[string]int) size {
	switch f := selection.(type) {
	case *ast.Field:
		s.fields++
		s.directives += len(f.Directives)
		if f.Alias != f.Name {
			s.aliases++
		}
		names[f.Alias]++
		return s.field(f)
	case *ast.InlineFragment:
		s.directives += len(f.Directives)
		var all size
		for _, inner := range f.SelectionSet {
			part := s.selection(inner, names)
			all.depth = max(all.depth, part.depth)
			all.fields = sum(all.fields, part.fields)
			all.plain = all.plain || part.plain
		}
		return all
	case *ast.FragmentSpread:
		s.directives += len(f.Directives)
		return s.fragment(f.Name)
	}
	return size{}
}

func (s *shape) field(f *ast.Field) size {
	schema := f.Name == "__schema" || f.Name == "__type"
	if schema && !s.introspection {
		s.refuse(codeValidation, "Introspection is switched off.")
	}
	inner := s.set(f.SelectionSet)
	return size{depth: inner.depth + 1, fields: sum(inner.fields, 1), plain: !schema && f.Name != "__typename"}
}

// fragment measures a fragment, once.
func (s *shape) fragment(name string) size {
	known, begun := s.measured[name]
	switch def := s.fragments[name]; {
	case known != nil:
		return *known
	case begun:
		s.refuse(codeValidation, "The fragment %s contains itself.", cut(name))
		return size{}
	case def == nil: // validation names it
		return size{}
	default:
		s.measured[name] = nil
		whole := s.set(def.SelectionSet)
		s.measured[name] = &whole
		return whole
	}
}

// roots counts the fields at the top, fragments put in. A fragment counts where
// it is spread first: its fields merge with themselves.
func (s *shape) roots(set ast.SelectionSet, seen map[string]bool) int {
	n := 0
	for _, selection := range set {
		switch f := selection.(type) {
		case *ast.Field:
			n++
		case *ast.InlineFragment:
			n += s.roots(f.SelectionSet, seen)
		case *ast.FragmentSpread:
			if def := s.fragments[f.Name]; def != nil && !seen[f.Name] {
				seen[f.Name] = true
				n += s.roots(def.SelectionSet, seen)
			}
		}
	}
	return n
}

// sum adds without wrapping.
func sum(a, b int) int {
	if a > math.MaxInt32-b {
		return math.MaxInt32
	}
	return a + b
}

// maxText is the longest piece of a stranger's text in an error, in bytes.
const maxText = 300

// cut shortens a text to maxText bytes, at the start of a character.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
