package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

var (
	errCount     = errors.New("a loader returned the wrong number of values")
	errNull      = errors.New("a value that must not be null is null")
	errDirective = errors.New("a directive changed a value")
	errAdded     = errors.New("a resolver added an error")
)

// maxAhead limits the reserved capacity of a response, in bytes. Otherwise a long response would
// make later short ones expensive.
const maxAhead = 64 << 10

// wrote stores the size of a response, unless the stored size is close: writes to a variable that
// all processors share are slow.
func (s *selectionSet) wrote(bytes int) {
	if n, known := min(int64(bytes), maxAhead), s.bytes.Load(); n > known || n < known/2 {
		s.bytes.Store(n)
	}
}

// ahead returns the number of bytes to reserve for a response.
func (s *selectionSet) ahead() int64 { return s.bytes.Load()*9/8 + 64 }

// A batch holds the objects of one type at one position of a response.
type batch struct {
	set   *selectionSet
	objs  any // []*C
	n     int
	parts []result // parallel to set.parts
}

// A result holds the values of a part for the objects of a batch.
type result struct {
	values any
	of     children
	below  []batch // parallel to the part's subs
}

// An execution is the state of one run of a plan.
type execution struct {
	vars map[string]any

	mu     sync.Mutex
	after  []func()
	shares map[share]*shared
}

type runningKey struct{}

func runningOf(ctx context.Context) *execution {
	run, _ := ctx.Value(runningKey{}).(*execution)
	return run
}

// run executes the set for the only object of objs, and appends the object and end to out. If it
// fails, it calls no function that was passed to [Defer].
func (s *selectionSet) run(ctx context.Context, objs any, vars map[string]any, out, end []byte) (data []byte, err error) {
	run := &execution{vars: vars}
	ctx = graphql.WithResponseContext(context.WithValue(ctx, runningKey{}, run), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	err = guarded(func() error {
		root := batch{set: s, objs: objs, n: 1}
		if err := root.fill(ctx, run); err != nil {
			return err
		}
		data = append(root.write(out, 0), end...)
		return nil
	})
	if err == nil && len(graphql.GetErrors(ctx)) > 0 {
		err = errAdded
	}
	if err != nil {
		return nil, err
	}
	s.wrote(len(data))
	for _, do := range run.after {
		do()
	}
	return data, nil
}

// guarded converts a panic to an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if why, ok := p.(error); ok && errors.Is(why, errNull) {
				err = errNull
			}
		}
	}()
	return f()
}

// slowAfter is the maximum duration of a part that is not slow. Fast parts read from memory.
const slowAfter = 50 * time.Microsecond

// fill reads the fields of a batch and of all batches below it. New parts, and parts that were slow
// the last time, run in parallel. So do all parts after a slow one.
func (b *batch) fill(ctx context.Context, run *execution) error {
	if b.set.plain {
		return nil
	}
	b.parts = make([]result, len(b.set.parts))
	var others *parallel // nil while all parts are fast
	defer func() {
		if others != nil { // also after an error or a panic
			_ = others.wait()
		}
	}()
	slowSeen := false // an earlier part of this run was slow
	for i := range b.set.parts {
		p := &b.set.parts[i]
		if p.field == nil || p.same >= 0 || p.field.load == nil && p.field.guard == nil {
			continue
		}
		var err error
		switch {
		case !b.set.deep || i == b.set.last || !p.loads(): // no part waits for it
			err = b.part(ctx, run, i)
		case slowSeen || !p.fast.Load():
			if others == nil {
				others = &parallel{}
			}
			others.run(func() error { return b.timed(ctx, run, i) })
		default:
			err = b.timed(ctx, run, i)
			slowSeen = slowSeen || !p.fast.Load()
		}
		if err != nil {
			return err
		}
	}
	if others != nil {
		if err := others.wait(); err != nil {
			return err
		}
	}
	for i := range b.set.parts {
		if same := b.set.parts[i].same; same >= 0 {
			b.parts[i].values = b.parts[same].values
		}
	}
	return nil
}

// timed calls part and records whether it was fast.
func (b *batch) timed(ctx context.Context, run *execution, i int) error {
	begin := time.Now()
	err := b.part(ctx, run, i)
	if fast, known := time.Since(begin) <= slowAfter, &b.set.parts[i].fast; known.Load() != fast {
		known.Store(fast)
	}
	return err
}

// part reads one part and all batches below it.
func (b *batch) part(ctx context.Context, run *execution, i int) error {
	p, r := &b.set.parts[i], &b.parts[i]
	if p.field.guard != nil {
		if err := p.field.guard(ctx, b.objs); err != nil {
			return err
		}
	}
	if p.field.load == nil {
		return nil
	}
	args := p.args
	var err error
	if p.vary {
		raw := run.vars
		if !p.bare {
			raw = p.def.ArgumentMap(run.vars)
		}
		if args, err = p.field.args(ctx, raw); err != nil {
			return err
		}
	}
	if r.values, err = p.field.load(ctx, b.objs, args); err != nil || p.field.to == nil {
		return err
	}
	if r.of = p.field.layout(p.field, r.values); r.of.null {
		return errNull
	}
	r.below = make([]batch, len(p.subs))
	for n := range p.subs {
		below := &r.below[n]
		if below.set = p.subs[n]; r.of.groups != nil {
			below.objs, below.n = r.of.groups[n].objs, r.of.groups[n].n
		} else {
			below.objs, below.n = r.of.objs, r.of.n
		}
		if below.n == 0 {
			continue
		}
		if err := below.fill(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// write appends one object of a batch.
func (b *batch) write(out []byte, i int) []byte {
	out = append(out, '{')
	for n := range b.set.parts {
		p := &b.set.parts[n]
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, p.name...)
		switch {
		case p.typ != nil:
			out = append(out, p.typ...)
		case p.field.plain != nil:
			out = p.field.checkNull(p.field.plain(out, b.objs, i), len(out))
		case p.field.leaf != nil:
			out = p.field.checkNull(p.field.leaf(out, b.parts[n].values, i), len(out))
		default:
			out = b.parts[n].write(out, i)
		}
	}
	return append(out, '}')
}

// checkNull panics with errNull if the value from begin on is null and the field is not nullable. It
// returns out.
func (f *Field) checkNull(out []byte, begin int) []byte {
	if !f.nullable && string(out[begin:]) == "null" {
		panic(errNull)
	}
	return out
}

// write appends the objects of one parent.
func (r *result) write(out []byte, i int) []byte {
	if r.of.one != nil {
		return r.object(out, r.of.one[i])
	}
	if r.of.absent != nil && r.of.absent[i] {
		return append(out, "null"...)
	}
	out = append(out, '[')
	for at := r.of.many[i]; at < r.of.many[i+1]; at++ {
		if at > r.of.many[i] {
			out = append(out, ',')
		}
		out = r.object(out, at)
	}
	return append(out, ']')
}

// object appends the object at a position.
func (r *result) object(out []byte, position int32) []byte {
	at := slot{i: position}
	if position >= 0 && r.of.at != nil {
		at = r.of.at[position]
	}
	if position < 0 || at.group == nullGroup {
		return append(out, "null"...)
	}
	return r.below[at.group].write(out, int(at.i))
}
