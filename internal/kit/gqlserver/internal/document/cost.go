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

// cost caches properties of one operation of a valid document. Its points are
// calculated once, or once per set of values of the deciding variables.
type cost struct {
	introspection int      // cost of introspection
	repeated      bool     // whether it may repeat a field of OncePerRequest
	deciding      []string // variables that the points depend on
	nullable      []string // nullable variables in non-null positions

	points atomic.Pointer[map[string]int] // by values of the deciding variables
}

// Limits and sizes of the cached points of one operation.
const (
	maxPoints   = 32                             // sets of values
	maxKeyBytes = 96                             // bytes of the values of a set
	costBytes   = 128                            // estimated size of a cost without points
	pointBytes  = maxPoints * (maxKeyBytes + 64) // estimated size of its points
)

func (c *cost) bytes() int {
	if len(c.deciding) == 0 {
		return costBytes
	}
	return costBytes + pointBytes
}

// newCost returns the properties that all requests of a valid operation share.
func (d *Store) newCost(op *ast.OperationDefinition) *cost {
	c := &cost{introspection: d.introspectionCosts.cost(op.SelectionSet, selectionPath{})}
	c.repeated = op.Operation == ast.Mutation && d.repeats(op.SelectionSet, map[string]bool{})
	d.collectDeciding(c, op.SelectionSet, map[*ast.FragmentDefinition]bool{})
	c.nullable = nullable(op)
	return c
}

// repeats reports whether the set has a field of OncePerRequest more than once. It
// ignores directives.
func (d *Store) repeats(set ast.SelectionSet, seen map[string]bool) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if seen[s.Name] && d.oncePerRequest[s.Name] {
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

// collectDeciding adds the variables that the points of a selection set depend on.
// They are those in the arguments of weighted fields. Directives do not matter,
// because skipped fields cost as much.
func (d *Store) collectDeciding(c *cost, set ast.SelectionSet, seen map[*ast.FragmentDefinition]bool) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if len(s.Arguments) > 0 && d.isWeighted(s) {
				for _, argument := range s.Arguments {
					c.addDeciding(argument.Value)
				}
			}
			d.collectDeciding(c, s.SelectionSet, seen)
		case *ast.InlineFragment:
			d.collectDeciding(c, s.SelectionSet, seen)
		case *ast.FragmentSpread:
			if !seen[s.Definition] {
				seen[s.Definition] = true
				d.collectDeciding(c, s.Definition.SelectionSet, seen)
			}
		}
	}
}

func (c *cost) addDeciding(value *ast.Value) {
	if value.Kind == ast.Variable {
		if !slices.Contains(c.deciding, value.Raw) {
			c.deciding = append(c.deciding, value.Raw)
		}
		return
	}
	for _, child := range value.Children {
		c.addDeciding(child.Value)
	}
}

// isWeighted reports whether a field has a complexity function. A field of an
// interface has one if the field of any possible type has one.
func (d *Store) isWeighted(f *ast.Field) bool {
	if f.ObjectDefinition.Kind != ast.Interface {
		return d.weighted[fieldName{f.ObjectDefinition.Name, f.Name}]
	}
	return slices.ContainsFunc(d.es.Schema().GetPossibleTypes(f.ObjectDefinition), func(t *ast.Definition) bool {
		return d.weighted[fieldName{t.Name, f.Name}]
	})
}

type fieldName struct{ object, field string }

// weightedFields returns the fields of a schema that have a complexity function. It
// calls each function without arguments. One that panics counts too.
func weightedFields(es graphql.ExecutableSchema) map[fieldName]bool {
	weighted := map[fieldName]bool{}
	for _, t := range es.Schema().Types {
		if t.Kind != ast.Object {
			continue
		}
		for _, f := range t.Fields {
			if hasComplexityFunc(es, t.Name, f.Name) {
				weighted[fieldName{t.Name, f.Name}] = true
			}
		}
	}
	return weighted
}

//nolint:contextcheck,nolintlint // there is no request yet; nolintlint does not see that contextcheck needs this
func hasComplexityFunc(es graphql.ExecutableSchema, object, field string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true
		}
	}()
	_, ok = es.Complexity(context.Background(), object, field, 1, map[string]any{})
	return ok
}

func (d *Store) calculate(ctx context.Context, c *cost, oc *graphql.OperationContext) int {
	var buf [maxKeyBytes]byte
	key, small := c.key(buf[:0], oc.Variables)
	var known map[string]int
	if at := c.points.Load(); at != nil {
		known = *at
	}
	if points, ok := known[string(key)]; small && ok {
		return points
	}
	es := &complexityRecorder{ExecutableSchema: d.es, weighted: d.weighted}
	points := complexity.Calculate(ctx, es, oc.Operation, oc.Variables)
	if small && !es.unexpected && len(known) < maxPoints {
		more := maps.Clone(known)
		if more == nil {
			more = map[string]int{}
		}
		more[string(key)] = points
		c.points.Store(&more) // entries of a concurrent store are lost, and calculated again
	}
	return points
}

// complexityRecorder records whether a field has an unexpected complexity function.
type complexityRecorder struct {
	graphql.ExecutableSchema
	weighted   map[fieldName]bool
	unexpected bool
}

// Complexity implements graphql.ExecutableSchema.
func (w *complexityRecorder) Complexity(ctx context.Context, object, field string, child int, args map[string]any) (int, bool) {
	points, ok := w.ExecutableSchema.Complexity(ctx, object, field, child, args)
	if ok && !w.weighted[fieldName{object, field}] {
		w.unexpected = true
	}
	return points, ok
}

// key appends a unique encoding of the values of the deciding variables. It returns
// false if the key is too long or a value has a type that JSON lacks.
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
	return key, len(key) <= maxKeyBytes
}

// appendValue appends a value with its type and, if it has one, its length.
func appendValue(key []byte, value any) (_ []byte, ok bool) {
	if len(key) > maxKeyBytes {
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
		if len(v) > maxKeyBytes {
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
	if len(s) > maxKeyBytes {
		return nil, false
	}
	return append(binary.AppendUvarint(key, uint64(len(s))), s...), true
}
