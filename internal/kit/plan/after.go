package plan

import (
	"context"
	"sync"
)

// Defer calls a function that is not part of an answer, such as counting, once a plan has
// answered. If the plan fails it is not called, since gqlgen then reads everything again.
// Outside a plan it is called at once.
func Defer(ctx context.Context, do func()) {
	run := runningOf(ctx)
	if run == nil {
		do()
		return
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.after = append(run.after, do)
}

// Shared loads something for the same objects once, when several resolvers of a plan need
// it. Objects are the same if they are the same slice. ok is false outside a plan, and load
// was not called.
func Shared[P, V any](ctx context.Context, name string, objs []*P, load func([]*P) ([]V, error)) (values []V, ok bool, err error) {
	run := runningOf(ctx)
	if run == nil || len(objs) == 0 {
		return nil, false, nil
	}
	run.mu.Lock()
	key := share{name, objs[0], len(objs)}
	s := run.shares[key]
	if s == nil {
		s = &shared{}
		if run.shares == nil {
			run.shares = map[share]*shared{}
		}
		run.shares[key] = s
	}
	run.mu.Unlock()
	s.once.Do(func() { s.values, s.err = load(objs) })
	values, _ = s.values.([]V)
	return values, true, s.err
}

// A share names what is loaded for a list of objects.
type share struct {
	name  string
	first any
	n     int
}

type shared struct {
	once   sync.Once
	values any
	err    error
}
