package document

import (
	"math"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// shape measures a parsed document before its validation, which is expensive, partly
// quadratic, and cannot be stopped between rules. It measures every fragment once,
// however often it is spread, so the time is linear in the text. Sums saturate.
type shape struct {
	limits        Limits
	introspection bool
	fragments     map[string]*ast.FragmentDefinition
	measured      map[string]*size // nil while it is being measured

	fields, aliases, directives, nodes int // written in the document
	err                                *gqlerror.Error
}

// size is the size of a selection set with its fragments expanded.
type size struct {
	depth   int
	fields  int
	hasData bool                // has fields other than introspection
	names   map[string]sameName // fields by response name
}

// sameName counts the sibling fields of one response name.
type sameName struct {
	n        int
	overlaps int // maximum below one of them
}

// measure returns the number of nodes of a document's tree, and an error if it
// exceeds a limit.
func measure(doc *ast.QueryDocument, limits Limits, introspection bool) (nodes int, err *gqlerror.Error) {
	s := shape{
		limits: limits, introspection: introspection,
		fragments: make(map[string]*ast.FragmentDefinition, len(doc.Fragments)), measured: map[string]*size{},
	}
	s.checkLimit("operations", len(doc.Operations), limits.Operations)
	s.checkLimit("fragments", len(doc.Fragments), limits.Fragments)
	if s.err != nil {
		return 0, s.err
	}
	for _, f := range doc.Fragments {
		if s.fragments[f.Name] != nil { // validation would walk the fragment that is not measured
			return 0, errcode.Errorf(errcode.ValidationFailed, "The document has two fragments named %s.", errcode.Truncate(f.Name))
		}
		s.fragments[f.Name] = f
		s.countDirectives(f.Directives)
	}
	for _, op := range doc.Operations {
		s.operation(op)
	}
	for _, f := range doc.Fragments { // validation walks unused fragments too
		s.checkSize(s.fragment(f.Name), s.limits.Depth+introspectionDepth) // the operations check the exact depth
	}
	s.checkLimit("aliases", s.aliases, limits.Aliases)
	s.checkLimit("directives", s.directives, limits.Directives)
	return s.nodes + s.fields + s.directives + len(doc.Operations) + len(doc.Fragments), s.err
}

func (s *shape) checkLimit(what string, n, limit int) {
	if errcode.Exceeds(n, limit) {
		s.refuse(errcode.DocumentTooLarge, "The document has too many %s. The limit is %d.", what, limit)
	}
}

// refuse records the first error.
func (s *shape) refuse(code, format string, args ...any) {
	if s.err == nil {
		s.err = errcode.Errorf(code, format, args...)
	}
}

func (s *shape) operation(op *ast.OperationDefinition) {
	s.checkLimit("variables", len(op.VariableDefinitions), s.limits.Variables)
	s.countDirectives(op.Directives)
	s.nodes += 2 * len(op.VariableDefinitions) // and their types
	for _, v := range op.VariableDefinitions {
		s.countDirectives(v.Directives)
		s.value(v.DefaultValue)
	}
	whole := s.set(op.SelectionSet)
	roots := s.roots(op.SelectionSet, map[string]bool{})
	if op.Operation == ast.Mutation {
		s.checkLimit("root fields in a mutation", roots, s.limits.Mutations)
	} else {
		s.checkLimit("root fields", roots, s.limits.RootFields)
	}
	depth := s.limits.Depth
	if !whole.hasData {
		depth += introspectionDepth
	}
	s.checkSize(whole, depth)
}

func (s *shape) checkSize(whole size, depth int) {
	if s.limits.Depth >= 0 {
		s.checkLimit("levels", whole.depth, depth)
	}
	s.checkLimit("fields with fragments expanded", whole.fields, s.limits.Expanded)
	s.checkLimit("overlapping fields", whole.overlaps(), s.limits.Overlaps)
}

// introspectionDepth is the additional depth for operations that only read the
// schema. The queries of tools nest seven or nine ofType.
const introspectionDepth = 5

func (s *shape) set(set ast.SelectionSet) size {
	all := size{names: map[string]sameName{}}
	s.add(&all, set, map[string]bool{})
	return all
}

// add adds the selections of a set and of its fragments to their siblings. Fields of
// a fragment merge with themselves, so its names count once.
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
			s.countDirectives(f.Directives)
			s.add(all, f.SelectionSet, spread)
		case *ast.FragmentSpread:
			s.nodes++
			s.countDirectives(f.Directives)
			part := s.fragment(f.Name)
			all.depth = max(all.depth, part.depth)
			all.fields = sum(all.fields, part.fields)
			s.checkLimit("fields with fragments expanded", all.fields, s.limits.Expanded)
			all.hasData = all.hasData || part.hasData
			if !spread[f.Name] {
				spread[f.Name] = true
				for name, same := range part.names {
					all.merge(name, same)
				}
			}
		}
	}
}

func (s *shape) field(all *size, f *ast.Field) {
	s.fields++
	s.checkLimit("fields", s.fields, s.limits.Fields) // now, because the work below grows with the fields
	if f.Alias != f.Name {
		s.aliases++
	}
	s.countDirectives(f.Directives)
	s.arguments(f.Arguments)
	schema := f.Name == "__schema" || f.Name == "__type"
	if schema && !s.introspection {
		s.refuse(errcode.ValidationFailed, "Introspection is disabled.")
	}
	inner := s.set(f.SelectionSet)
	all.depth = max(all.depth, inner.depth+1)
	all.fields = sum(all.fields, sum(inner.fields, 1))
	all.hasData = all.hasData || !schema && f.Name != "__typename"
	all.merge(f.Alias, sameName{1, inner.overlaps()})
}

// merge adds sibling fields of one response name.
func (z *size) merge(name string, same sameName) {
	there := z.names[name]
	z.names[name] = sameName{there.n + same.n, max(there.overlaps, same.overlaps)}
}

// overlaps returns the number of field pairs that OverlappingFieldsCanBeMerged
// compares: all pairs of siblings of one name, and for each pair those below it.
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
		s.refuse(errcode.ValidationFailed, "The fragment %s spreads itself.", errcode.Truncate(name))
		return size{}
	case def == nil: // validation reports it
		return size{}
	default:
		s.measured[name] = nil
		whole := s.set(def.SelectionSet)
		s.measured[name] = &whole
		return whole
	}
}

// countDirectives counts directives and the values of their arguments.
func (s *shape) countDirectives(directives ast.DirectiveList) {
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

// value counts a literal and those inside it. The parser limits their depth. It
// rejects numbers that fit no type, such as 1e999, because gqlparser panics on them.
func (s *shape) value(v *ast.Value) {
	if v == nil {
		return
	}
	s.nodes++
	var err error
	switch isInt, isFloat := v.Kind == ast.IntValue, v.Kind == ast.FloatValue; {
	case isInt:
		_, err = strconv.ParseInt(v.Raw, 10, 64)
	case isFloat:
		_, err = strconv.ParseFloat(v.Raw, 64)
	}
	if err != nil {
		s.refuse(errcode.ValidationFailed, "The number %s is out of range.", errcode.Truncate(v.Raw))
	}
	for _, c := range v.Children {
		s.value(c.Value)
	}
}

// roots returns the number of root fields with fragments expanded. A fragment counts
// once, because its fields merge with themselves.
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

// sum adds without overflow.
func sum(a, b int) int { return min(a+b, math.MaxInt32) }

// product multiplies without overflow.
func product(a, b int) int { return min(a*b, math.MaxInt32) }
