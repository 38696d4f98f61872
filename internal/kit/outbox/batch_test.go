package outbox_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestEachItemOfBatchIsDone(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var mu sync.Mutex
		var done []int64
		calls := 0
		b := o.box(t, handlers{"ids": {Do: outbox.DoBatch(func(_ context.Context, ids ...int64) error {
			mu.Lock()
			defer mu.Unlock()
			done, calls = append(done, ids...), calls+1
			return nil
		})}}, fastOptions())
		all := make([]int64, 601)
		for i := range all {
			all[i] = int64(i) + 1<<60
		}
		tickets, err := outbox.AddBatch(t.Context(), b.Box, b.db, "ids", all...)
		if err != nil || len(tickets) != 3 {
			t.Fatalf("got %d refs, %v", len(tickets), err)
		}
		b.run(t)
		testkit.Eventually(t, patience, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(done) >= len(all)
		})
		slices.Sort(done)
		if d := cmp.Diff(all, done); d != "" || calls != 3 {
			t.Errorf("%d calls (-want +got)\n%s", calls, d)
		}
	})
}

func TestInvalidBatchFails(t *testing.T) {
	do := outbox.DoBatch(func(context.Context, ...int64) error { t.Error("the handler was called"); return nil })
	if err := do(t.Context(), []byte(`["a"]`)); err == nil {
		t.Error("got no error")
	}
}
