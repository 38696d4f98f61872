package flashsale

import (
	"context"
	"errors"
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestFirstStartStoresPartitions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := storetest.Open(t, on)
		writes := 0
		p.DB.Setting.Use(func(next ent.Mutator) ent.Mutator {
			return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
				if writes++; writes > 1 {
					return nil, errors.New("written again")
				}
				return next.Mutate(ctx, m)
			})
		})
		if ok, err := PartitionsFixed(t.Context(), p.DB); ok || err != nil {
			t.Errorf("before the first start: got %t, %v", ok, err)
		}
		for _, want := range []int{4, 8} {
			if n, err := ensurePartitions(t.Context(), p.DB, want); n != 4 || err != nil || writes != 1 {
				t.Errorf("want %d partitions: got %d, %v after %d writes", want, n, err, writes)
			}
		}
		if ok, err := PartitionsFixed(t.Context(), p.DB); !ok || err != nil {
			t.Errorf("after the first start: got %t, %v", ok, err)
		}
	})
}
