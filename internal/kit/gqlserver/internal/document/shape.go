package document

import (
	"math"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
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

	fields, aliases, directives, nodes int // written in the document
	err                                *gqlerror.Error
}

// size is what a selection set comes to when fragments are put in.
type size struct {
	depth  int
	fields int
	plain  bool                // has fields that are not introspection
	names  map[string]sameName // its fields by response name
}

// sameName is the fields of one response name beside each other.
type sameName struct {
	n        int
	overlaps int // the most below one of them
}

// measure returns how many nodes the tree of a document has, and what is too
// much about it, or nil.
func measure(doc *ast.QueryDocument, limits Limits, introspection bool) (nodes int, err *gqlerror.Error) {
	s := shape{
		limits: limits, introspection: introspection,
		fragments: make(map[string]*ast.FragmentDefinition, len(doc.Fragments)), measured: map[string]*size{},
	}
	s.atMost("operations", len(doc.Operations), limits.Operations)
	s.atMost("fragments", len(doc.Fragments), limits.Fragments)
	if s.err != nil {
		return 0, s.err
	}
	for _, f := range doc.Fragments {
		if s.fragments[f.Name] != nil { // validation would walk the one that was not measured
			return 0, errcode.Errorf(errcode.ValidationFailed, "There are two fragments with the name %s.", errcode.Truncate(f.Name))
		}
		s.fragments[f.Name] = f
		s.directed(f.Directives)
	}
	for _, op := range doc.Operations {
		s.operation(op)
	}
	for _, f := range doc.Fragments { // those that nothing spreads are validated all the same
		s.within(s.fragment(f.Name), s.limits.Depth+introspectionDepth) // whose fragment it is, its operation says
	}
	s.atMost("aliases", s.aliases, limits.Aliases)
	s.atMost("directives", s.directives, limits.Directives)
	return s.nodes + s.fields + s.directives + len(doc.Operations) + len(doc.Fragments), s.err
}

// atMost refuses the document if n is beyond a limit.
func (s *shape) atMost(what string, n, limit int) {
	if errcode.Exceeds(n, limit) {
		s.refuse(errcode.DocumentTooLarge, "The document has too many %s: at most %d are allowed.", what, limit)
	}
}

// refuse notes the first thing that is wrong.
func (s *shape) refuse(code, format string, args ...any) {
	if s.err == nil {
		s.err = errcode.Errorf(code, format, args...)
	}
}

func (s *shape) operation(op *ast.OperationDefinition) {
	s.atMost("variables", len(op.VariableDefinitions), s.limits.Variables)
	s.directed(op.Directives)
	s.nodes += 2 * len(op.VariableDefinitions) // and their types
	for _, v := range op.VariableDefinitions {
		s.directed(v.Directives)
		s.value(v.DefaultValue)
	}
	whole := s.set(op.SelectionSet)
	roots := s.roots(op.SelectionSet, map[string]bool{})
	if op.Operation == ast.Mutation {
		s.atMost("root fields in a mutation", roots, s.limits.Mutations)
	} else {
		s.atMost("root fields", roots, s.limits.RootFields)
	}
	depth := s.limits.Depth
	if !whole.plain {
		depth += introspectionDepth
	}
	s.within(whole, depth)
}

// within refuses a selection set that is too much as a whole.
func (s *shape) within(whole size, depth int) {
	if s.limits.Depth >= 0 {
		s.atMost("levels", whole.depth, depth)
	}
	s.atMost("fields, fragments put in", whole.fields, s.limits.Expanded)
	s.atMost("overlapping fields", whole.overlaps(), s.limits.Overlaps)
}

// introspectionDepth is how much deeper an operation may go that asks for the
// schema alone: what tools send has seven or nine ofType inside each other.
const introspectionDepth = 5

// set measures a selection set.
func (s *shape) set(set ast.SelectionSet) size {
	all := size{names: map[string]sameName{}}
	s.add(&all, set, map[string]bool{})
	return all
}

// add adds the selections of a set, and of the fragments in it, to what is
// beside them. Fields of a fragment merge with themselves, so it has names once.
func (s *shape) add(all *size, set ast.SelectionSet, spread map[string]bool) {
	for _, selection := range set {
		if s.err != nil {
			return
		}
		switch f := selection.(type) {
		case *ast.Field:
			s.field(all, f)
		case *ast.InlineFragment:
			s.nodes++
			s.directed(f.Directives)
			s.add(all, f.SelectionSet, spread)
		case *ast.FragmentSpread:
			s.nodes++
			s.directed(f.Directives)
			part := s.fragment(f.Name)
			all.depth = max(all.depth, part.depth)
			all.fields = sum(all.fields, part.fields)
			s.atMost("fields, fragments put in", all.fields, s.limits.Expanded)
			all.plain = all.plain || part.plain
			if !spread[f.Name] {
				spread[f.Name] = true
				for name, same := range part.names {
					all.beside(name, same)
				}
			}
		}
	}
}

// field adds a field and what is below it.
func (s *shape) field(all *size, f *ast.Field) {
	s.fields++
	s.atMost("fields", s.fields, s.limits.Fields) // at once: what is measured below grows with them
	if f.Alias != f.Name {
		s.aliases++
	}
	s.directed(f.Directives)
	s.arguments(f.Arguments)
	schema := f.Name == "__schema" || f.Name == "__type"
	if schema && !s.introspection {
		s.refuse(errcode.ValidationFailed, "Introspection is switched off.")
	}
	inner := s.set(f.SelectionSet)
	all.depth = max(all.depth, inner.depth+1)
	all.fields = sum(all.fields, sum(inner.fields, 1))
	all.plain = all.plain || !schema && f.Name != "__typename"
	all.beside(f.Alias, sameName{1, inner.overlaps()})
}

// beside adds fields of one name to those that are there.
func (z *size) beside(name string, same sameName) {
	there := z.names[name]
	z.names[name] = sameName{there.n + same.n, max(there.overlaps, same.overlaps)}
}

// overlaps is how many pairs of fields the rule looks at that wants fields of
// one name to mean the same: of n beside each other each with each, and for each
// such pair what is below it.
func (z *size) overlaps() int {
	pairs := 0
	for _, same := range z.names {
		pairs = sum(pairs, product(product(same.n, same.n), sum(1, same.overlaps)))
	}
	return pairs
}

// fragment measures a fragment, once.
func (s *shape) fragment(name string) size {
	known, begun := s.measured[name]
	switch def := s.fragments[name]; {
	case known != nil:
		return *known
	case begun:
		s.refuse(errcode.ValidationFailed, "The fragment %s contains itself.", errcode.Truncate(name))
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

// directed counts directives and the values of their arguments.
func (s *shape) directed(directives ast.DirectiveList) {
	s.directives += len(directives)
	for _, d := range directives {
		s.arguments(d.Arguments)
	}
}

func (s *shape) arguments(arguments ast.ArgumentList) {
	s.nodes += len(arguments)
	for _, a := range arguments {
		s.value(a.Value)
	}
}

// value counts a literal and those in it. The parser bounds their depth. A number that no
// type has, of twenty digits or 1e999, is refused here: gqlparser panics when it is read.
func (s *shape) value(v *ast.Value) {
	if v == nil {
		return
	}
	s.nodes++
	var err error
	switch whole, broken := v.Kind == ast.IntValue, v.Kind == ast.FloatValue; {
	case whole:
		_, err = strconv.ParseInt(v.Raw, 10, 64)
	case broken:
		_, err = strconv.ParseFloat(v.Raw, 64)
	}
	if err != nil {
		s.refuse(errcode.ValidationFailed, "The number %s is too large.", errcode.Truncate(v.Raw))
	}
	for _, c := range v.Children {
		s.value(c.Value)
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
func sum(a, b int) int { return min(a+b, math.MaxInt32) }

// product multiplies without wrapping.
func product(a, b int) int { return min(a*b, math.MaxInt32) }
