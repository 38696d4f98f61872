package plan

import (
	"context"
	"sync"
)

// After has something done that is no part of an answer, such as counting: once a plan has
// answered, and not at all if it fails, as gqlgen then reads all again. Where ctx is that of
// no plan, it is done at once.
func After(ctx context.Context, do func()) {
	run, ok := ctx.Value(runningKey{}).(*running)
	if !ok {
		do()
		return
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.after = append(run.after, do)
}

// running is the context of a plan that runs.
type running struct {
	context.Context //nolint:containedctx // it is one
	root            batch

	mu    sync.Mutex
	after []func()
	first [1]func() // room for what there is, as a rule
}

type runningKey struct{}

// Value implements context.Context.
func (r *running) Value(key any) any {
	if key == (runningKey{}) {
		return r
	}
	return r.Context.Value(key)
}
