package plan

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"
)

// A selectionSet is a compiled selection set of one object type.
type selectionSet struct {
	parts []fieldGroup
	plain bool         // no part loads or has a guard
	deep  bool         // a part, or a set below, loads
	last  int          // index of the last part that loads
	bytes atomic.Int64 // size of an earlier response; at most maxAhead
}

// A fieldGroup is a compiled field of a selection set.
type fieldGroup struct {
	name  []byte // quoted, with the colon: "NAME":
	typ   []byte // the quoted value of __typename; nil for other fields
	field *Field
	def   *ast.Field
	args  any             // if they contain no variable
	vary  bool            // the arguments contain a variable
	bare  bool            // the operation's variables can be passed as the arguments
	subs  []*selectionSet // of object fields: one per case of an abstract type, or one
	same  int             // index of an earlier part that loads the same leaf; -1 if none
	fast  atomic.Bool     // loading took at most slowAfter the last time
}

// loads reports whether the part reads more than its objects.
func (p *fieldGroup) loads() bool { return p.field != nil && p.field.load != nil && !p.field.inner }

// A selected is the content of a selection set under one alias.
type selected struct {
	def  *ast.Field
	subs ast.SelectionSet // of all fields with this alias
}

// compile compiles a selection set. ok is false if a table lacks a field of it.
func compile(ctx context.Context, typ *Type, selections ast.SelectionSet) (s *selectionSet, ok bool) {
	fields := collection{byAlias: map[string]*selected{}}
	if !fields.collect(typ, selections) {
		return nil, false
	}
	s = &selectionSet{parts: make([]fieldGroup, len(fields.all)), plain: true}
	loaded := map[*Field]int{} // index of the first part of each loaded leaf
	for i, f := range fields.all {
		p := &s.parts[i]
		if !p.compile(ctx, typ, f) {
			return nil, false
		}
		p.same = -1
		if p.field != nil && p.field.leaf != nil {
			first, known := loaded[p.field]
			if !known {
				loaded[p.field] = i
			} else if sameArguments(s.parts[first].def.Arguments, p.def.Arguments) {
				p.same = first
			}
		}
		if p.loads() && p.same < 0 {
			s.last = i
		}
		s.plain = s.plain && (p.field == nil || p.field.plain != nil && p.field.guard == nil)
		s.deep = s.deep || p.loads() || slices.ContainsFunc(p.subs, func(s *selectionSet) bool { return s.deep })
	}
	return s, true
}

// A collection holds the fields of a selection set and of its fragments, one per alias.
type collection struct {
	all     []*selected
	byAlias map[string]*selected
}

// collect adds the fields of a selection set. It returns false at a directive.
func (c *collection) collect(typ *Type, selections ast.SelectionSet) (ok bool) {
	for _, selection := range selections {
		ok := true
		switch f := selection.(type) {
		case *ast.Field:
			ok = c.add(f)
		case *ast.InlineFragment:
			if ok = len(f.Directives) == 0; ok && typ.matches(f.TypeCondition) {
				ok = c.collect(typ, f.SelectionSet)
			}
		case *ast.FragmentSpread:
			if ok = len(f.Directives) == 0 && f.Definition != nil && len(f.Definition.Directives) == 0; ok && typ.matches(f.Definition.TypeCondition) {
				ok = c.collect(typ, f.Definition.SelectionSet)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// matches reports whether a fragment on a type applies to objects of t.
func (t *Type) matches(on string) bool { return on == "" || on == t.Name || slices.Contains(t.Is, on) }

// add adds a field, or merges it with the field of the same alias. It returns false at a directive
// or a conflict.
func (c *collection) add(f *ast.Field) (ok bool) {
	if len(f.Directives) > 0 {
		return false
	}
	existing := c.byAlias[f.Alias]
	if existing == nil {
		existing = &selected{f, slices.Clip(f.SelectionSet)}
		c.byAlias[f.Alias], c.all = existing, append(c.all, existing)
		return true
	}
	if existing.def.Name != f.Name || !sameArguments(existing.def.Arguments, f.Arguments) {
		return false
	}
	existing.subs = append(existing.subs, f.SelectionSet...)
	return true
}

func sameArguments(a, b ast.ArgumentList) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(arg *ast.Argument) bool {
		other := b.ForName(arg.Name)
		return other == nil || other.Value.String() != arg.Value.String()
	})
}

func (p *fieldGroup) compile(ctx context.Context, typ *Type, f *selected) bool {
	p.name, p.def = append(quoted(f.def.Alias), ':'), f.def
	if f.def.Name == "__typename" {
		p.typ = quoted(typ.Name)
		return true
	}
	if p.field = typ.Fields[f.def.Name]; p.field == nil {
		return false
	}
	if to := p.field.to; to != nil && !to.isAbstract() {
		sub, ok := compile(ctx, to, f.subs)
		if !ok {
			return false
		}
		p.subs = []*selectionSet{sub}
	} else if to != nil {
		for _, c := range to.Cases {
			sub, ok := compile(ctx, c.typ, f.subs)
			if !ok {
				return false
			}
			p.subs = append(p.subs, sub)
		}
	}
	if p.field.args == nil {
		return true
	}
	p.vary = slices.ContainsFunc(f.def.Arguments, func(a *ast.Argument) bool { return varies(a.Value) })
	if p.vary {
		p.bare = bare(f.def)
		return true
	}
	var err error
	p.args, err = p.field.args(ctx, f.def.ArgumentMap(nil))
	return err == nil
}

// bare reports whether the operation's variables can be passed as the field's arguments. Each
// argument must be the variable of its own name and have no default, which would apply if the
// variable has no value.
func bare(f *ast.Field) bool {
	return !slices.ContainsFunc(f.Definition.Arguments, func(def *ast.ArgumentDefinition) bool {
		given := f.Arguments.ForName(def.Name)
		return given == nil || given.Value.Kind != ast.Variable || given.Value.Raw != def.Name || def.DefaultValue != nil
	})
}

// varies reports whether a value depends on variables.
func varies(v *ast.Value) bool {
	return v != nil && (v.Kind == ast.Variable || slices.ContainsFunc(v.Children, func(c *ast.ChildValue) bool { return varies(c.Value) }))
}
