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

// ErrInjected is the error of commands that a [FaultyRedis] rejects.
var ErrInjected = errors.New("injected Redis failure")

// A FaultyRedis is a client hook that counts round trips and injects failures. The zero value
// injects none. It is safe for concurrent use.
type FaultyRedis struct {
	Down        atomic.Bool            // reject all commands
	FailScripts atomic.Bool            // reject scripts outside pipelines
	Trips       atomic.Int64           // commands and pipelines sent
	After       atomic.Pointer[func()] // runs once, after the next pipeline
}

// DialHook implements [redis.Hook].
func (*FaultyRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (w *FaultyRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if w.Down.Load() || w.FailScripts.Load() && strings.HasPrefix(cmd.Name(), "eval") {
			cmd.SetErr(ErrInjected)
			return ErrInjected
		}
		w.Trips.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (w *FaultyRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if w.Down.Load() {
			for _, cmd := range cmds {
				cmd.SetErr(ErrInjected)
			}
			return ErrInjected
		}
		w.Trips.Add(1)
		err := next(ctx, cmds)
		if after := w.After.Swap(nil); after != nil {
			(*after)()
		}
		return err
	}
}

// CountCalls runs do and returns its numbers of Redis round trips through w and of SQL statements.
func (p Process) CountCalls(t testing.TB, w *FaultyRedis, do func()) (trips, statements int) {
	t.Helper()
	before, sent := w.Trips.Load(), p.Statements(t)
	do()
	return int(w.Trips.Load() - before), p.Statements(t) - sent
}

// Statements returns the number of SQL statements of the process.
func (p Process) Statements(t testing.TB) int {
	t.Helper()
	return p.Observed(t, "tandian_sql_statement_seconds")
}

// Observed returns the number of observations of a histogram of the process, with any labels.
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

// CountWaiting waits until no job of an outbox runs and returns the number of waiting jobs.
func CountWaiting(t testing.TB, box *outbox.Box) (n int64) {
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
