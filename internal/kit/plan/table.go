package plan

import (
	"context"
	"slices"

	"github.com/tandian-dev/tandian/internal/kit/kept"
)

// A Type is what a plan knows of an object type of the schema. The zero Fields is a type of
// which nothing but __typename is known.
type Type struct {
	Name   string
	Fields map[string]*Field
	// Kept is where the bytes of an object are kept, see [Keeps]. Nil keeps none.
	Kept func(objs any, i int) *kept.Bytes
}

// Keeps makes a Type.Kept of P.
func Keeps[P any](of func(P) *kept.Bytes) func(objs any, i int) *kept.Bytes {
	return func(objs any, i int) *kept.Bytes { return of(objs.([]P)[i]) } //nolint:forcetypeassert // the table says so
}

// A Field is one of a [Type]: made by [Plain], [Inner], [Inners], [Leaf], [Link] or
// [Links].
type Field struct {
	plain    func(out []byte, objs any, i int) []byte // of the object alone
	load     *loader
	leaf     func(out []byte, values any, i int) []byte // of what was loaded
	to       *Type                                      // of an object or of many
	list     bool                                       // of many
	nullable bool
	children func(values any) children
	inner    func(objs any, i int) (values any) // of an object that is a part of another one: as load has them
	gather   func(objs any) (values any)        // the same of all of them
	args     func(map[string]any) (any, error)  // nil: there are none
}

// Viewerless says whether a field depends on its object alone.
func (f *Field) Viewerless() bool { return f.load == nil }

// A Shape is what a table and a schema both say of a field.
type Shape struct {
	To       *Type // nil: a leaf
	List     bool  // of objects
	Nullable bool  // an object
	Args     bool  // there are some
}

// Shape returns it, for tests that compare both.
func (f *Field) Shape() Shape { return Shape{f.to, f.list, f.nullable, f.args != nil} }

// Nullable says that the field may be null.
func (f *Field) Nullable() *Field { f.nullable = true; return f }

// With says how the arguments are read, by their names: of a map that may have more than them,
// and that nobody may change. An error leaves the query to gqlgen.
func (f *Field) With(args func(map[string]any) (any, error)) *Field { f.args = args; return f }

// A loader reads something of all objects that stand in one place.
type loader struct {
	load func(ctx context.Context, objs, args any) (values any, err error)
}

// Loader reads values of objects, in their order.
type Loader[P, V any] func(ctx context.Context, objs []P) ([]V, error)

// children are the objects of a field of several objects.
type children struct {
	objs any // []C
	n    int
	one  []int32 // of each parent: the place of its child, -1 for null
	many []int32 // of each parent and one more: the place of its first child
	null bool    // one of many is not there, which no list of ours allows
}

// Plain is a field whose value is written from its object.
func Plain[P any](write func(out []byte, obj P) []byte) *Field {
	return &Field{plain: func(out []byte, objs any, i int) []byte { return write(out, objs.([]P)[i]) }} //nolint:forcetypeassert // the table says so
}

// Inner is an object that is a part of its parent. It is null if it is nil.
func Inner[P, C any](to *Type, get func(P) *C) *Field {
	f := one[C](to)
	f.inner = func(objs any, i int) any { return []*C{get(objs.([]P)[i])} } //nolint:forcetypeassert // the table says so
	f.gather = func(objs any) any { return mapped(objs.([]P), get) }        //nolint:forcetypeassert // the table says so
	return f
}

// Inners are several objects that are a part of their parent.
func Inners[P, C any](to *Type, get func(P) []*C) *Field {
	f := many[C](to)
	f.inner = func(objs any, i int) any { return [][]*C{get(objs.([]P)[i])} } //nolint:forcetypeassert // the table says so
	f.gather = func(objs any) any { return mapped(objs.([]P), get) }          //nolint:forcetypeassert // the table says so
	return f
}

func mapped[P, V any](list []P, to func(P) V) []V {
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = to(v)
	}
	return out
}

// Leaves makes fields of one loader, which is called once for all of them.
func Leaves[P, V any](load Loader[P, V]) func(write func(out []byte, v V) []byte) *Field {
	l := &loader{func(ctx context.Context, objs, _ any) (any, error) {
		of := objs.([]P) //nolint:forcetypeassert // the table says so
		values, err := load(ctx, of)
		return counted(of, values, err)
	}}
	return func(write func(out []byte, v V) []byte) *Field {
		return &Field{load: l, leaf: func(out []byte, values any, i int) []byte { return write(out, values.([]V)[i]) }} //nolint:forcetypeassert // of this loader
	}
}

// Leaf is one field of a loader of its own.
func Leaf[P, V any](write func(out []byte, v V) []byte, load Loader[P, V]) *Field {
	return Leaves(load)(write)
}

// Link is an object that is read.
func Link[P, C, A any](to *Type, load func(ctx context.Context, objs []P, args A) ([]*C, error)) *Field {
	f := one[C](to)
	f.load = &loader{func(ctx context.Context, objs, args any) (any, error) {
		a, _ := args.(A)
		of := objs.([]P) //nolint:forcetypeassert // the table says so
		values, err := load(ctx, of, a)
		return counted(of, values, err)
	}}
	return f
}

// Links are several objects that are read.
func Links[P, C, A any](to *Type, load func(ctx context.Context, objs []P, args A) ([][]*C, error)) *Field {
	f := many[C](to)
	f.load = &loader{func(ctx context.Context, objs, args any) (any, error) {
		a, _ := args.(A)
		of := objs.([]P) //nolint:forcetypeassert // the table says so
		values, err := load(ctx, of, a)
		return counted(of, values, err)
	}}
	return f
}

// counted makes a loader that forgot somebody an error.
func counted[P, V any](objs []P, values []V, err error) (any, error) {
	if err == nil && len(values) != len(objs) {
		err = errCount
	}
	return values, err
}

// onlyFirst are the places of a single child. Nobody changes it.
var onlyFirst = []int32{0} //nolint:gochecknoglobals // a constant that Go cannot say

func one[C any](to *Type) *Field {
	return &Field{to: to, children: func(values any) children {
		list := values.([]*C) //nolint:forcetypeassert // of this field
		if len(list) == 1 && list[0] != nil {
			return children{objs: values, n: 1, one: onlyFirst}
		}
		c := children{one: make([]int32, len(list))}
		objs := make([]*C, 0, len(list))
		for i, v := range list {
			if c.one[i] = -1; v != nil {
				c.one[i] = int32(len(objs)) //nolint:gosec // an answer has fewer
				objs = append(objs, v)
			}
		}
		c.objs, c.n = objs, len(objs)
		return c
	}}
}

func many[C any](to *Type) *Field {
	return &Field{to: to, list: true, children: func(values any) children {
		lists := values.([][]*C) //nolint:forcetypeassert // of this field
		c := children{many: make([]int32, 1, len(lists)+1)}
		var objs []*C
		if len(lists) == 1 {
			objs = lists[0]
			c.many = append(c.many, int32(len(objs))) //nolint:gosec // an answer has fewer
		} else {
			for _, list := range lists {
				objs = append(objs, list...)
				c.many = append(c.many, int32(len(objs))) //nolint:gosec // an answer has fewer
			}
		}
		c.objs, c.n, c.null = objs, len(objs), slices.Contains(objs, nil)
		return c
	}}
}
