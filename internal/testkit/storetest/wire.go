package storetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// ErrCut is what a client of Redis gets whose [FaultyRedis] is cut.
var ErrCut = errors.New("the wire is cut")

// A FaultyRedis is a hook for a client of Redis, as the way to the server: it counts what goes
// over it, and can be cut. The zero value is whole. It is safe for concurrent use.
type FaultyRedis struct {
	Away  atomic.Bool            // nothing passes
	Deaf  atomic.Bool            // scripts do not, outside pipelines
	Trips atomic.Int64           // what passed: commands and pipelines
	After atomic.Pointer[func()] // runs once, after the next pipeline
}

// DialHook implements [redis.Hook].
func (*FaultyRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (w *FaultyRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if w.Away.Load() || w.Deaf.Load() && strings.HasPrefix(cmd.Name(), "eval") {
			cmd.SetErr(ErrCut)
			return ErrCut
		}
		w.Trips.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (w *FaultyRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if w.Away.Load() {
			for _, cmd := range cmds {
				cmd.SetErr(ErrCut)
			}
			return ErrCut
		}
		w.Trips.Add(1)
		err := next(ctx, cmds)
		if after := w.After.Swap(nil); after != nil {
			(*after)()
		}
		return err
	}
}

// Asked is what do asks of the stores: round trips over a wire of the process, and
// statements.
func (p Process) Asked(t testing.TB, w *FaultyRedis, do func()) (trips, statements int) {
	t.Helper()
	before, sent := w.Trips.Load(), p.Statements(t)
	do()
	return int(w.Trips.Load() - before), p.Statements(t) - sent
}

// Statements is how many the process has sent to the database.
func (p Process) Statements(t testing.TB) int {
	t.Helper()
	return p.Observed(t, "tandian_sql_statement_seconds")
}

// Observed is how often a histogram of the process has observed something, whatever its
// labels.
func (p Process) Observed(t testing.TB, histogram string) (n int) {
	t.Helper()
	families, err := p.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == histogram {
			for _, m := range f.GetMetric() {
				n += int(m.GetHistogram().GetSampleCount()) //nolint:gosec // few
			}
		}
	}
	return n
}

// Waiting is how many jobs of an outbox wait for somebody, when none is under way.
func Waiting(t testing.TB, box *outbox.Box) (n int64) {
	t.Helper()
	box.Wait()
	topics, err := box.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		n += topic.Waiting
	}
	return n
}
