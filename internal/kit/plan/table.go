package plan

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
)

// A Type describes an object type, an interface or a union of the schema.
type Type struct {
	Name   string
	Is     []string          // interfaces and unions of an object type
	Fields map[string]*Field // of an object type
	Cases  []Case            // object types of an interface or a union
}

// isAbstract reports whether the type is an interface or a union.
func (t *Type) isAbstract() bool { return len(t.Cases) > 0 }

// To returns the types of the fields, or the object types of an abstract type. It may return
// duplicates.
func (t *Type) To() (types []*Type) {
	for _, f := range t.Fields {
		if f.to != nil {
			types = append(types, f.to)
		}
	}
	for _, c := range t.Cases {
		types = append(types, c.typ)
	}
	return types
}

// A Case is an object type of an interface or a union. [CaseOf] and [CaseOfValue] return one.
type Case struct {
	typ  *Type
	is   func(v any) bool
	list func(values []any) any // []*C
}

// CaseOf returns the case of values *C. A nil pointer is null.
func CaseOf[C any](typ *Type) Case {
	return Case{
		typ: typ,
		is:  func(v any) bool { p, ok := v.(*C); return ok && p != nil },
		list: func(values []any) any {
			return mapped(values, func(v any) *C { return v.(*C) }) //nolint:forcetypeassert // is has checked it
		},
	}
}

// CaseOfValue returns the case of values C.
func CaseOfValue[C any](typ *Type) Case {
	return Case{
		typ: typ,
		is:  func(v any) bool { _, ok := v.(C); return ok },
		list: func(values []any) any {
			return mapped(values, func(v any) *C { c := v.(C); return &c }) //nolint:forcetypeassert // is has checked it
		},
	}
}

// A Field is a field of an object type. [Scalar], [LoadedScalar], [Object], [ObjectList],
// [LoadedObject], [LoadedList], [LoadedInterface] and [LoadedInterfaceList] return one. Their P is
// the Go type of the objects that have the field.
type Field struct {
	plain func(out []byte, objs any, i int) []byte // of a field that only reads its object
	load  func(ctx context.Context, objs any, args any) (values any, err error)
	leaf  func(out []byte, values any, i int) []byte // of a loaded leaf

	to       *Type // of objects
	layout   func(f *Field, values any) children
	inner    bool // load only reads the objects
	nullable bool
	sparse   bool // elements of the list may be null

	args  func(ctx context.Context, raw map[string]any) (any, error) // nil: no arguments
	guard func(ctx context.Context, objs any) error                  // nil: no directives
}

// Nullable marks a field that may be null.
func (f *Field) Nullable() *Field { f.nullable = true; return f }

// Sparse marks a list of objects whose elements may be null.
func (f *Field) Sparse() *Field { f.sparse = true; return f }

// Args sets the function that reads the field's arguments. raw holds their values by name, and may
// hold other values. Loaders receive its result and must not modify it, because requests share it.
func (f *Field) Args(args func(ctx context.Context, raw map[string]any) (any, error)) *Field {
	f.args = args
	return f
}

// A Directive calls the function of a directive for one object. next returns a placeholder, because
// the field is read later.
type Directive func(ctx context.Context, obj any, next graphql.Resolver) (any, error)

// Guard runs a directive before the field is read. If the directive returns an error or changes the
// placeholder, the plan fails and gqlgen executes the query. P is the type of the objects.
func Guard[P any](f *Field, directive Directive) *Field {
	before := f.guard
	f.guard = func(ctx context.Context, objs any) error {
		if before != nil {
			if err := before(ctx, objs); err != nil {
				return err
			}
		}
		for _, obj := range objs.([]P) { //nolint:forcetypeassert // typed by the table
			passed := new(int)
			got, err := directive(ctx, obj, func(context.Context) (any, error) { return passed, nil })
			if err != nil {
				return err
			}
			if got != any(passed) {
				return errDirective
			}
		}
		return nil
	}
	return f
}

// Scalar returns a leaf field that only reads its object.
func Scalar[P any](write func(out []byte, obj P) []byte) *Field {
	return &Field{plain: func(out []byte, objs any, i int) []byte { return write(out, objs.([]P)[i]) }} //nolint:forcetypeassert // typed by the table
}

// A Loader reads one value per object, in the order of the objects. args is the result of
// [Field.Args], or nil.
type Loader[P, V any] func(ctx context.Context, objs []P, args any) ([]V, error)

// LoadedScalar returns a leaf field with a loader.
func LoadedScalar[P, V any](write func(out []byte, v V) []byte, load Loader[P, V]) *Field {
	return &Field{
		load: load.untyped,
		leaf: func(out []byte, values any, i int) []byte { return write(out, values.([]V)[i]) }, //nolint:forcetypeassert // of this loader
	}
}

// Object returns a field whose object is part of its parent. nil is null.
func Object[P, C any](to *Type, get func(P) *C) *Field {
	f := LoadedObject(to, loaderOf(get))
	f.inner = true
	return f
}

// ObjectList returns a list field whose objects are part of their parent. nil is null.
func ObjectList[P, C any](to *Type, get func(P) []*C) *Field {
	f := LoadedList(to, loaderOf(get))
	f.inner = true
	return f
}

// LoadedObject returns an object field with a loader. nil is null.
func LoadedObject[P, C any](to *Type, load Loader[P, *C]) *Field {
	return &Field{to: to, load: load.untyped, layout: layoutOne[C]}
}

// LoadedList returns a list field with a loader. nil is null.
func LoadedList[P, C any](to *Type, load Loader[P, []*C]) *Field {
	return &Field{to: to, load: load.untyped, layout: layoutMany[C]}
}

// LoadedInterface returns a field of an interface or a union with a loader. nil is null.
func LoadedInterface[P, I any](to *Type, load Loader[P, I]) *Field {
	return &Field{to: to, load: load.untyped, layout: layoutOneAny[I]}
}

// LoadedInterfaceList returns a list field of an interface or a union with a loader. nil is null.
func LoadedInterfaceList[P, I any](to *Type, load Loader[P, []I]) *Field {
	return &Field{to: to, load: load.untyped, layout: layoutManyAny[I]}
}

// untyped returns an error if the loader returns too few or too many values.
func (load Loader[P, V]) untyped(ctx context.Context, objs any, args any) (any, error) {
	of := objs.([]P) //nolint:forcetypeassert // typed by the table
	values, err := load(ctx, of, args)
	if err == nil && len(values) != len(of) {
		err = errCount
	}
	return values, err
}

// loaderOf returns a loader that only reads the objects.
func loaderOf[P, V any](get func(P) V) Loader[P, V] {
	return func(_ context.Context, objs []P, _ any) ([]V, error) { return mapped(objs, get), nil }
}

// Each returns the loader of a resolver of one object. It resolves several objects in parallel,
// like gqlgen.
func Each[P, V any](resolve func(ctx context.Context, obj P, args any) (V, error)) Loader[P, V] {
	return func(ctx context.Context, objs []P, args any) ([]V, error) {
		values := make([]V, len(objs))
		if len(objs) == 1 {
			var err error
			values[0], err = resolve(ctx, objs[0], args)
			return values, err
		}
		var all parallel
		for i, obj := range objs {
			all.run(func() (err error) {
				values[i], err = resolve(ctx, obj, args)
				return err
			})
		}
		return values, all.wait()
	}
}

// Refs converts a loader of structs to a loader of pointers.
func Refs[P, V any](load Loader[P, V]) Loader[P, *V] {
	return func(ctx context.Context, objs []P, args any) ([]*V, error) {
		values, err := load(ctx, objs, args)
		return Pointers(values), err
	}
}

// ListRefs converts a loader of lists of structs to a loader of lists of pointers.
func ListRefs[P, V any](load Loader[P, []V]) Loader[P, []*V] {
	return func(ctx context.Context, objs []P, args any) ([][]*V, error) {
		values, err := load(ctx, objs, args)
		return mapped(values, Pointers[V]), err
	}
}

// Pointers returns pointers to the elements of a list. It returns nil for nil.
func Pointers[V any](list []V) []*V {
	if list == nil {
		return nil
	}
	out := make([]*V, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func mapped[F, T any](list []F, to func(F) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = to(v)
	}
	return out
}

// A parallel runs functions in goroutines. The zero value is ready.
type parallel struct {
	all sync.WaitGroup
	mu  sync.Mutex
	err error // the first one
}

func (p *parallel) run(f func() error) {
	p.all.Go(func() {
		if err := guarded(f); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.err == nil {
				p.err = err
			}
		}
	})
}

// wait waits for all functions and returns the first error.
func (p *parallel) wait() error {
	p.all.Wait()
	return p.err
}

// children holds the objects of a field of several parents. Positions count all of them.
type children struct {
	objs   any     // []*C, of an object type
	n      int     // length of objs
	groups []group // of an interface or a union, instead of objs: one per case
	one    []int32 // position of each parent's child, -1 for null; nil for lists
	many   []int32 // position of each parent's first child, and the end
	absent []bool  // lists that are null; nil if none
	at     []slot  // slot of each position; nil: positions are indexes of objs
	null   bool    // a value that must not be null is null
}

// A group holds the objects of one case.
type group struct {
	objs any
	n    int
}

// A slot is the index of an object in its group, or null.
type slot struct{ group, i int32 }

const nullGroup = -1

func layoutOne[C any](f *Field, values any) children {
	list := values.([]*C) //nolint:forcetypeassert // of this field
	if !slices.Contains(list, nil) {
		return children{objs: list, n: len(list), one: counting(len(list))}
	}
	c := children{one: make([]int32, len(list)), null: !f.nullable}
	objs := make([]*C, 0, len(list))
	for i, v := range list {
		if c.one[i] = -1; v != nil {
			c.one[i] = int32(len(objs)) //nolint:gosec // a response has fewer
			objs = append(objs, v)
		}
	}
	c.objs, c.n = objs, len(objs)
	return c
}

func layoutMany[C any](f *Field, values any) children {
	all, c := concat(f, values.([][]*C)) //nolint:forcetypeassert // of this field
	if !slices.Contains(all, nil) {
		c.objs, c.n = all, len(all)
		return c
	}
	c.null = c.null || !f.sparse
	c.at = make([]slot, len(all))
	objs := make([]*C, 0, len(all))
	for i, v := range all {
		if c.at[i] = (slot{group: nullGroup}); v != nil {
			c.at[i] = slot{i: int32(len(objs))} //nolint:gosec // a response has fewer
			objs = append(objs, v)
		}
	}
	c.objs, c.n = objs, len(objs)
	return c
}

func layoutOneAny[I any](f *Field, values any) children {
	c := groupByCase(f, values.([]I), f.nullable) //nolint:forcetypeassert // of this field
	c.one = counting(len(c.at))
	return c
}

func layoutManyAny[I any](f *Field, values any) children {
	all, c := concat(f, values.([][]I)) //nolint:forcetypeassert // of this field
	s := groupByCase(f, all, f.sparse)
	c.groups, c.at, c.null = s.groups, s.at, c.null || s.null
	return c
}

// concat joins the lists of all parents.
func concat[V any](f *Field, lists [][]V) (all []V, c children) {
	c.many = make([]int32, 1, len(lists)+1)
	for i, list := range lists {
		if list == nil && f.nullable {
			if c.absent == nil {
				c.absent = make([]bool, len(lists))
			}
			c.absent[i] = true
		}
		if all == nil {
			all = slices.Clip(list)
		} else {
			all = append(all, list...)
		}
		c.many = append(c.many, int32(len(all))) //nolint:gosec // a response has fewer
	}
	return all, c
}

// groupByCase groups objects by the cases of the field's type. A value without a case is null.
func groupByCase[I any](f *Field, list []I, nullable bool) (c children) {
	cases := f.to.Cases
	of := make([][]any, len(cases))
	c.at = make([]slot, len(list))
	for i, v := range list {
		c.at[i].group = nullGroup
		if n := slices.IndexFunc(cases, func(c Case) bool { return c.is(v) }); n >= 0 {
			c.at[i] = slot{int32(n), int32(len(of[n]))} //nolint:gosec // a response has fewer
			of[n] = append(of[n], v)
		} else {
			c.null = c.null || !nullable
		}
	}
	c.groups = make([]group, len(cases))
	for n, objs := range of {
		if len(objs) > 0 {
			c.groups[n] = group{cases[n].list(objs), len(objs)}
		}
	}
	return c
}

// counting returns the numbers 0 to n-1. The result must not be modified.
func counting(n int) []int32 {
	if n <= len(firstIndexes) {
		return firstIndexes[:n:n]
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i) //nolint:gosec // a response has fewer
	}
	return out
}

// firstIndexes serves short lists without an allocation. It must not be modified.
var firstIndexes = func() (indexes [256]int32) { //nolint:gochecknoglobals // never modified
	for i := range indexes {
		indexes[i] = int32(i) //nolint:gosec // 256
	}
	return indexes
}()

// OrNull appends null for nil, and otherwise calls write.
func OrNull[V any](out []byte, v *V, write func([]byte, V) []byte) []byte {
	if v == nil {
		return append(out, "null"...)
	}
	return write(out, *v)
}

// NonNull returns the value of a leaf that must not be null. For nil the plan fails and gqlgen
// executes the query.
func NonNull[V any](v *V) V {
	if v == nil {
		panic(errNull)
	}
	return *v
}

// List appends a list of leaves.
func List[V any](out []byte, list []V, write func([]byte, V) []byte) []byte {
	out = append(out, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = write(out, v)
	}
	return append(out, ']')
}

// ListOrNull appends null for nil, and otherwise a list of leaves.
func ListOrNull[V any](out []byte, list []V, write func([]byte, V) []byte) []byte {
	if list == nil {
		return append(out, "null"...)
	}
	return List(out, list, write)
}

// Marshal appends a leaf with its marshaler.
func Marshal(out []byte, m graphql.Marshaler) []byte {
	w := writer(out)
	m.MarshalGQL(&w)
	return w
}

// A writer appends to a slice.
type writer []byte

func (w *writer) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }

func (w *writer) WriteString(s string) (int, error) { *w = append(*w, s...); return len(s), nil }

func quoted(name string) []byte { return strconv.AppendQuote(nil, name) }
