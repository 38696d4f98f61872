package plan

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/kit/kept"
)

// A set is a selection set of one type, ready to be executed.
type set struct {
	typ   *Type
	union *ast.Definition // that an event is of, and typ is one of; or nil
	parts []part
	deep  bool          // something is loaded in it or below
	last  int           // part that is read
	quick []atomic.Bool // of each part: it was, the last time that it was read
	bytes atomic.Int64  // of an answer of a whole operation, the last one or about as long; mostAhead at most
}

// A part is a run of fields that depend on their objects alone, or one other field.
type part struct {
	run   []member  // nil: the field below
	key   *kept.Key // of the run, in the bytes of an object
	name  []byte    // of the field, as it is written: "NAME":
	field *Field
	def   *ast.Field
	fixed any  // arguments, where no variable is among them
	vary  bool // a variable is among the arguments
	bare  bool // all arguments are variables of their names: what the operation has of them is what the field has
	sub   *set
	same  int // the part before it that loads the same, -1 for none
}

// A member is one field of a run.
type member struct {
	name  []byte
	field *Field // nil: __typename
	sub   *set   // of an inner object, which is a run as a whole
}

// compile makes a set of a selection set; ok is false if something is in it that no plan
// knows. With a union, of which the type is one, it is one of that.
func compile(typ *Type, selections ast.SelectionSet, union *ast.Definition) (_ *set, ok bool) {
	s := &set{typ: typ, union: union}
	if !s.add(selections, map[string]*ast.Field{}) || len(s.parts) == 0 {
		return nil, false
	}
	for i := range s.parts {
		p := &s.parts[i]
		if p.run != nil {
			p.key = keyOf(typ, p.run)
			continue
		}
		s.deep = s.deep || p.field.load != nil || p.sub != nil && p.sub.deep
		p.same = -1
		for before := range s.parts[:i] {
			if q := &s.parts[before]; q.run == nil && q.same < 0 && q.field.load == p.field.load && p.field.leaf != nil && p.field.args == nil {
				p.same = before
				break
			}
		}
		if p.same < 0 {
			s.last = i
		}
	}
	s.quick = make([]atomic.Bool, len(s.parts))
	return s, true
}

// add adds the fields of a selection set, and of its fragments; seen are those that are
// there, by alias.
func (s *set) add(selections ast.SelectionSet, seen map[string]*ast.Field) bool {
	for _, selection := range selections {
		ok := false
		switch f := selection.(type) {
		case *ast.Field:
			ok = len(f.Directives) == 0 && s.field(f, seen)
		case *ast.InlineFragment:
			ok = len(f.Directives) == 0 && s.fragment(f.TypeCondition, f.SelectionSet, seen)
		case *ast.FragmentSpread:
			ok = len(f.Directives) == 0 && f.Definition != nil && len(f.Definition.Directives) == 0 &&
				s.fragment(f.Definition.TypeCondition, f.Definition.SelectionSet, seen)
		}
		if !ok {
			return false
		}
	}
	return true
}

// fragment adds the fields of a fragment, if it is one on the set's type.
func (s *set) fragment(on string, selections ast.SelectionSet, seen map[string]*ast.Field) bool {
	switch {
	case on == "", on == s.typ.Name, s.union != nil && on == s.union.Name:
		return s.add(selections, seen)
	default:
		return s.union != nil && slices.Contains(s.union.Types, on) // another one of it
	}
}

// field adds one field.
func (s *set) field(f *ast.Field, seen map[string]*ast.Field) bool {
	if twin := seen[f.Alias]; twin != nil { // the same again says nothing new; what has fields would have to be merged
		return twin.Name == f.Name && len(f.SelectionSet) == 0 && len(f.Arguments) == 0 && len(twin.Arguments) == 0
	}
	seen[f.Alias] = f
	name := append(strconv.AppendQuote(nil, f.Alias), ':')
	if f.Name == "__typename" {
		s.member(member{name: name})
		return true
	}
	field := s.typ.Fields[f.Name]
	if field == nil || (field.to == nil) != (len(f.SelectionSet) == 0) || field.args == nil && len(f.Arguments) > 0 {
		return false
	}
	var sub *set
	if field.to != nil {
		var ok bool
		if sub, ok = compile(field.to, f.SelectionSet, nil); !ok {
			return false
		}
	}
	if field.plain != nil || field.inner != nil && sub.whole() {
		s.member(member{name, field, sub})
		return true
	}
	p := part{name: name, field: field, def: f, sub: sub}
	if field.args != nil {
		for _, a := range f.Arguments {
			p.vary = p.vary || varies(a.Value)
		}
		p.bare = bare(f)
		if !p.vary {
			var err error
			if p.fixed, err = field.args(f.ArgumentMap(nil)); err != nil {
				return false
			}
		}
	}
	s.parts = append(s.parts, p)
	return true
}

// bare says whether a field's arguments can be read from the variables of its operation: each
// argument that the field may have is given by a variable of the same name, and none has a
// default, which would count where there is no variable.
func bare(f *ast.Field) bool {
	for _, may := range f.Definition.Arguments {
		given := f.Arguments.ForName(may.Name)
		if given == nil || given.Value.Kind != ast.Variable || given.Value.Raw != may.Name || may.DefaultValue != nil {
			return false
		}
	}
	return true
}

// varies says whether a value depends on variables.
func varies(v *ast.Value) bool {
	if v == nil {
		return false
	}
	if v.Kind == ast.Variable {
		return true
	}
	for _, child := range v.Children {
		if varies(child.Value) {
			return true
		}
	}
	return false
}

// member adds a field to the run at the end.
func (s *set) member(m member) {
	if n := len(s.parts); n > 0 && s.parts[n-1].run != nil {
		s.parts[n-1].run = append(s.parts[n-1].run, m)
		return
	}
	s.parts = append(s.parts, part{run: []member{m}})
}

// whole says that a set is one run.
func (s *set) whole() bool { return len(s.parts) == 1 && s.parts[0].run != nil }

// keyOf is what a run of a type is known by.
func keyOf(typ *Type, run []member) *kept.Key {
	sum := sha256.Sum256(describe(append([]byte(typ.Name), '{'), typ, run))
	key := kept.Key(sum[:len(kept.Key{})])
	return &key
}

// describe writes a run in one way: names as in the answer, and the fields that they are.
func describe(out []byte, typ *Type, run []member) []byte {
	for _, m := range run {
		out = append(out, m.name...)
		for name, f := range typ.Fields {
			if f == m.field && m.field != nil {
				out = append(out, name...)
			}
		}
		out = append(out, '{')
		if m.sub != nil {
			out = describe(out, m.sub.typ, m.sub.parts[0].run)
		}
		out = append(out, '}')
	}
	return out
}
