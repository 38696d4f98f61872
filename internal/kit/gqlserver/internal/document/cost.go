package document

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// A cost is what is known of one operation of a valid document. Its points are
// calculated once, or, where some of its variables decide on them, once for each of so
// many of their values.
type cost struct {
	schema   int      // what its questions about the schema cost
	twice    bool     // whether a field may stand twice in it that must not
	deciding []string // the variables that decide on its points
	nullable []string // variables that may be null and stand where null is not allowed

	points atomic.Pointer[map[string]int] // by the values of those that decide
}

// How many numbers of points are remembered for an operation with variables that decide,
// for values of so many bytes together, and what they are taken to cost.
const (
	maxPoints  = 32
	maxDecided = 96
	costBytes  = 128
	pointBytes = maxPoints * (maxDecided + 64)
)

func (c *cost) bytes() int {
	if len(c.deciding) == 0 {
		return costBytes
	}
	return costBytes + pointBytes
}

// newCost finds out what is the same for all requests of a valid operation.
func (d *Store) newCost(op *ast.OperationDefinition) *cost {
	c := &cost{schema: d.aboutSchema.of(op.SelectionSet, selectionPath{})}
	c.twice = op.Operation == ast.Mutation && d.repeats(op.SelectionSet, map[string]bool{})
	d.decide(c, op.SelectionSet, map[*ast.FragmentDefinition]bool{})
	c.nullable = nullable(op)
	return c
}

// repeats says whether a field that must stand at most once is written more than once,
// whatever the directives beside it say.
func (d *Store) repeats(set ast.SelectionSet, seen map[string]bool) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if seen[s.Name] && d.once[s.Name] {
				return true
			}
			seen[s.Name] = true
		case *ast.InlineFragment:
			if d.repeats(s.SelectionSet, seen) {
				return true
			}
		case *ast.FragmentSpread:
			if d.repeats(s.Definition.SelectionSet, seen) {
				return true
			}
		}
	}
	return false
}

// decide adds the variables that decide on the points of a selection set: those in the
// arguments of fields that are weighed by them. Directives play no part: what is skipped
// costs as much.
func (d *Store) decide(c *cost, set ast.SelectionSet, seen map[*ast.FragmentDefinition]bool) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if len(s.Arguments) > 0 && d.weighs(s) {
				for _, argument := range s.Arguments {
					c.decidedBy(argument.Value)
				}
			}
			d.decide(c, s.SelectionSet, seen)
		case *ast.InlineFragment:
			d.decide(c, s.SelectionSet, seen)
		case *ast.FragmentSpread:
			if !seen[s.Definition] {
				seen[s.Definition] = true
				d.decide(c, s.Definition.SelectionSet, seen)
			}
		}
	}
}

func (c *cost) decidedBy(value *ast.Value) {
	if value.Kind == ast.Variable {
		if !slices.Contains(c.deciding, value.Raw) {
			c.deciding = append(c.deciding, value.Raw)
		}
		return
	}
	for _, child := range value.Children {
		c.decidedBy(child.Value)
	}
}

// weighs says whether a field's points are a function of its arguments: on an interface,
// if they are for any type that it may be of.
func (d *Store) weighs(f *ast.Field) bool {
	if f.ObjectDefinition.Kind != ast.Interface {
		return d.weighed[fieldName{f.ObjectDefinition.Name, f.Name}]
	}
	return slices.ContainsFunc(d.es.Schema().GetPossibleTypes(f.ObjectDefinition), func(t *ast.Definition) bool {
		return d.weighed[fieldName{t.Name, f.Name}]
	})
}

type fieldName struct{ object, field string }

// weighedFields are the fields of a schema that have a function of their own for their
// points. It is asked for each, without arguments, as those are the ones that might not
// be read; a function that panics over that is one too.
func weighedFields(es graphql.ExecutableSchema) map[fieldName]bool {
	weighed := map[fieldName]bool{}
	for _, t := range es.Schema().Types {
		if t.Kind != ast.Object {
			continue
		}
		for _, f := range t.Fields {
			if isWeighed(es, t.Name, f.Name) {
				weighed[fieldName{t.Name, f.Name}] = true
			}
		}
	}
	return weighed
}

//nolint:contextcheck,nolintlint // a schema is asked about itself, for nobody; the one linter heeds this, and the other does not see that
func isWeighed(es graphql.ExecutableSchema, object, field string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true
		}
	}()
	_, ok = es.Complexity(context.Background(), object, field, 1, map[string]any{})
	return ok
}

// calculate is the complexity of an operation with these variables.
func (d *Store) calculate(ctx context.Context, c *cost, oc *graphql.OperationContext) int {
	var room [maxDecided]byte
	key, small := c.key(room[:0], oc.Variables)
	var known map[string]int
	if at := c.points.Load(); at != nil {
		known = *at
	}
	if points, ok := known[string(key)]; small && ok {
		return points
	}
	es := &watched{ExecutableSchema: d.es, weighed: d.weighed}
	points := complexity.Calculate(ctx, es, oc.Operation, oc.Variables)
	if small && !es.surprised && len(known) < maxPoints {
		more := maps.Clone(known)
		if more == nil {
			more = map[string]int{}
		}
		more[string(key)] = points
		c.points.Store(&more) // what somebody else stored meanwhile is calculated once more
	}
	return points
}

// watched is a schema that notices if fields are weighed that were not known to be.
type watched struct {
	graphql.ExecutableSchema
	weighed   map[fieldName]bool
	surprised bool
}

// Complexity implements graphql.ExecutableSchema.
func (w *watched) Complexity(ctx context.Context, object, field string, child int, args map[string]any) (int, bool) {
	points, ok := w.ExecutableSchema.Complexity(ctx, object, field, child, args)
	if ok && !w.weighed[fieldName{object, field}] {
		w.surprised = true
	}
	return points, ok
}

// key is the values of the variables that decide, no two of which have the same; ok is
// false if they are too long, or of a kind that JSON does not have.
func (c *cost) key(key []byte, variables map[string]any) (_ []byte, ok bool) {
	for _, name := range c.deciding {
		value, there := variables[name]
		if !there {
			key = append(key, '-')
			continue
		}
		if key, ok = appendValue(key, value); !ok {
			return nil, false
		}
	}
	return key, len(key) <= maxDecided
}

// appendValue writes a value with its kind and, where it has one, its length.
func appendValue(key []byte, value any) (_ []byte, ok bool) {
	if len(key) > maxDecided {
		return nil, false
	}
	switch v := value.(type) {
	case nil:
		return append(key, 'n'), true
	case bool:
		if v {
			return append(key, 't'), true
		}
		return append(key, 'f'), true
	case string:
		return appendText(append(key, 's'), v)
	case json.Number:
		return appendText(append(key, '#'), string(v))
	case int:
		return binary.AppendVarint(append(key, 'i'), int64(v)), true
	case int64:
		return binary.AppendVarint(append(key, 'l'), v), true
	case float64:
		return binary.AppendUvarint(append(key, 'd'), math.Float64bits(v)), true
	case []any:
		key = binary.AppendUvarint(append(key, '['), uint64(len(v)))
		for _, element := range v {
			if key, ok = appendValue(key, element); !ok {
				return nil, false
			}
		}
		return key, true
	case map[string]any:
		if len(v) > maxDecided {
			return nil, false
		}
		key = binary.AppendUvarint(append(key, '{'), uint64(len(v)))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if key, ok = appendText(key, name); !ok {
				return nil, false
			}
			if key, ok = appendValue(key, v[name]); !ok {
				return nil, false
			}
		}
		return key, true
	}
	return nil, false
}

func appendText(key []byte, s string) (_ []byte, ok bool) {
	if len(s) > maxDecided {
		return nil, false
	}
	return append(binary.AppendUvarint(key, uint64(len(s))), s...), true
}
