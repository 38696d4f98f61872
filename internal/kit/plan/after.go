package plan

import (
	"context"
	"sync"
)

// Defer calls do after the plan has produced a response. Use it for effects that are not part of
// the response, such as counting. If the plan fails, do is not called: gqlgen then calls the
// resolvers again. Outside a plan, Defer calls do at once.
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

// Shared calls load once per plan for the same name and the same slice of objects, and returns its
// result to all resolvers. Outside a plan, and without objects, ok is false and load is not called.
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

// A share identifies a shared load: a name and a slice of objects.
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
