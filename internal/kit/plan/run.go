package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/kept"
)

var (
	errCount = errors.New("a loader answered for another number of objects")
	errNull  = errors.New("nothing is there that must be")
)

// A batch is all objects of an answer that stand in one place.
type batch struct {
	set   *set
	objs  any // []P
	n     int
	parts []result // of the set
}

// A result is what a part of a set has for each object.
type result struct {
	values any
	of     children
	below  *batch
}

// mostAhead is for how many bytes of an answer there is room from the beginning, if the one
// before had as many: who asks for little must not pay for who asked for much.
const mostAhead = 64 << 10

// wrote remembers how long an answer was, unless the one that is remembered will do: all
// processors share the number.
func (s *set) wrote(bytes int) {
	if n, known := min(int64(bytes), mostAhead), s.bytes.Load(); n > known || n < known/2 {
		s.bytes.Store(n)
	}
}

// ahead is for how many bytes of an answer there is to be room from the beginning.
func (s *set) ahead() int64 { return s.bytes.Load()*9/8 + 64 }

// run reads what a set of one object needs, the only one of objs, and appends what is written
// of it to out, with end behind it. Whatever goes wrong, also in a loader, is an error: then
// nothing was done that [After] was to do.
func (s *set) run(ctx context.Context, objs any, vars map[string]any, out, end []byte) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	run := &running{Context: ctx, root: batch{set: s, objs: objs, n: 1}}
	run.after = run.first[:0]
	if err := run.root.fill(run, vars); err != nil { //nolint:contextcheck // it is of the context, with what is done afterwards
		return nil, err
	}
	data = append(run.root.write(out, 0), end...)
	s.wrote(len(data))
	for _, do := range run.after {
		do()
	}
	return data, nil
}

// slow is how long something takes that was not in memory: what is loaded beside it need
// not wait.
const slow = 50 * time.Microsecond

// fill reads what a batch and all below it need: what was slow the last time, or was never
// read yet, beside the rest.
func (b *batch) fill(ctx context.Context, vars map[string]any) error {
	b.parts = make([]result, len(b.set.parts))
	var others *beside                   // none, as a rule: what is in memory is read one by one
	defer func() { _ = others.wait() }() // also after an error or a panic of what is read here
	apart := false                       // something was slow just now
	for i := range b.set.parts {
		p := &b.set.parts[i]
		if p.run != nil || p.same >= 0 {
			continue
		}
		var err error
		switch {
		case !b.set.deep || i == b.set.last: // nothing waits for it
			err = b.part(ctx, vars, i)
		case apart || !b.set.quick[i].Load():
			if others == nil {
				others = &beside{errs: make([]error, len(b.set.parts))}
			}
			others.read(ctx, b, vars, i)
		default:
			err = b.timed(ctx, vars, i)
			apart = apart || !b.set.quick[i].Load()
		}
		if err != nil {
			return err
		}
	}
	err := others.wait()
	for i := range b.set.parts {
		if same := b.set.parts[i].same; b.set.parts[i].run == nil && same >= 0 {
			b.parts[i].values = b.parts[same].values
		}
	}
	return err
}

// beside are parts that are read in goroutines of their own. Nil is none.
type beside struct {
	all  sync.WaitGroup
	errs []error
}

func (o *beside) read(ctx context.Context, b *batch, vars map[string]any, i int) {
	o.all.Go(func() { o.errs[i] = b.safely(ctx, vars, i) })
}

func (o *beside) wait() error {
	if o == nil {
		return nil
	}
	o.all.Wait()
	return errors.Join(o.errs...)
}

// safely is part, in a goroutine of its own.
func (b *batch) safely(ctx context.Context, vars map[string]any, i int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return b.timed(ctx, vars, i)
}

// timed is part, and remembers whether it was quick.
func (b *batch) timed(ctx context.Context, vars map[string]any, i int) error {
	begin := time.Now()
	err := b.part(ctx, vars, i)
	if quick, known := time.Since(begin) <= slow, &b.set.quick[i]; known.Load() != quick {
		known.Store(quick)
	}
	return err
}

// part reads one part, and what is below it.
func (b *batch) part(ctx context.Context, vars map[string]any, i int) error {
	p, r := &b.set.parts[i], &b.parts[i]
	if p.field.load == nil { // a part of the objects
		r.values = p.field.gather(b.objs)
		return r.descend(ctx, vars, p)
	}
	args := p.fixed
	if p.vary {
		var err error
		if args, err = p.field.args(p.arguments(vars)); err != nil {
			return err
		}
	}
	var err error
	if r.values, err = p.field.load.load(ctx, b.objs, args); err != nil || p.sub == nil {
		return err
	}
	return r.descend(ctx, vars, p)
}

// arguments are those of a field with a variable among them.
func (p *part) arguments(vars map[string]any) map[string]any {
	if p.bare {
		return vars
	}
	return p.def.ArgumentMap(vars)
}

// descend goes on with the objects that a part has.
func (r *result) descend(ctx context.Context, vars map[string]any, p *part) error {
	r.of = p.field.children(r.values)
	r.below = &batch{set: p.sub, objs: r.of.objs, n: r.of.n}
	if r.of.null || !p.field.nullable && r.of.one != nil && r.of.n < len(r.of.one) {
		return errNull
	}
	if r.of.n == 0 {
		return nil
	}
	return r.below.fill(ctx, vars)
}

// write writes one object of a batch.
func (b *batch) write(out []byte, i int) []byte {
	out = append(out, '{')
	for n := range b.set.parts {
		p := &b.set.parts[n]
		if n > 0 {
			out = append(out, ',')
		}
		if p.run != nil {
			out = p.writeRun(out, b.set.typ, b.objs, i)
			continue
		}
		out = append(out, p.name...)
		r := &b.parts[n]
		switch {
		case p.field.leaf != nil:
			out = p.field.leaf(out, r.values, i)
		case r.of.one != nil:
			if at := r.of.one[i]; at >= 0 {
				out = r.below.write(out, int(at))
			} else {
				out = append(out, "null"...)
			}
		default:
			out = append(out, '[')
			for at := r.of.many[i]; at < r.of.many[i+1]; at++ {
				if at > r.of.many[i] {
					out = append(out, ',')
				}
				out = r.below.write(out, int(at))
			}
			out = append(out, ']')
		}
	}
	return append(out, '}')
}

// writeRun writes the run of an object, from its bytes if it keeps them.
func (p *part) writeRun(out []byte, typ *Type, objs any, i int) []byte {
	var bytes *kept.Bytes
	if typ.Kept != nil {
		bytes = typ.Kept(objs, i)
	}
	if bytes == nil {
		return writeMembers(out, typ, p.run, objs, i)
	}
	out, ok := bytes.Append(out, p.key)
	if !ok {
		begin := len(out)
		out = writeMembers(out, typ, p.run, objs, i)
		bytes.Keep(p.key, out[begin:])
	}
	return out
}

// writeMembers writes fields that depend on their object alone.
func writeMembers(out []byte, typ *Type, run []member, objs any, i int) []byte {
	for n := range run {
		m := &run[n]
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, m.name...)
		switch {
		case m.field == nil:
			out = append(append(append(out, '"'), typ.Name...), '"')
		case m.field.plain != nil:
			out = m.field.plain(out, objs, i)
		default:
			out = m.writeInner(out, objs, i)
		}
	}
	return out
}

// writeInner writes an object that is a part of another one, or a list of them.
func (m *member) writeInner(out []byte, objs any, i int) []byte {
	of := m.field.children(m.field.inner(objs, i))
	run := &m.sub.parts[0]
	if of.null || of.many == nil && of.n == 0 && !m.field.nullable {
		panic(errNull) // for gqlgen, which says where
	}
	if of.many == nil {
		if of.n == 0 {
			return append(out, "null"...)
		}
		return append(run.writeRun(append(out, '{'), m.sub.typ, of.objs, 0), '}')
	}
	out = append(out, '[')
	for n := range of.n {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(run.writeRun(append(out, '{'), m.sub.typ, of.objs, n), '}')
	}
	return append(out, ']')
}
