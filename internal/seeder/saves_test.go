package seeder

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/save"
)

// fakeSaves records the stored saves.
type fakeSaves struct {
	calls  [][]save.Seed
	failAt int // the call that fails, from 1
	stored int // of each call; not new
}

func (f *fakeSaves) BulkInsert(_ context.Context, seeds []save.Seed) (int, error) {
	if f.calls = append(f.calls, slices.Clone(seeds)); len(f.calls) == f.failAt {
		return 0, errStore
	}
	return len(seeds) - f.stored, nil
}

func TestSeedStoresSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = saveBatch + 5
		saves := &fakeSaves{stored: 2}
		plan := Plan{Users: 700, Shops: 40, Saves: n, Seed: 3}
		var out strings.Builder
		if err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, ShopSaves: saves}, plan, &out); err != nil {
			t.Fatal(err)
		}
		if len(saves.calls) != 2 || len(saves.calls[0]) != saveBatch {
			t.Errorf("got %d transactions", len(saves.calls))
		}
		begin, each := time.Now().Add(-activitySpan), float64(activitySpan)/n
		var want []save.Seed
		for s := range GenerateSaves(n, 700, 40, 3) {
			at := begin.Add(time.Duration(float64(len(want)) * each))
			want = append(want, save.Seed{Target: int64(1001 + s.Shop), User: int64(101 + s.User), CreatedAt: at})
		}
		if d := cmp.Diff(want, slices.Concat(saves.calls...)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if lines := out.String(); !strings.Contains(lines, "saves: 5005 of 5005 in ") || !strings.HasSuffix(lines, "\n5001 saves added, 4 unchanged\n") {
			t.Errorf("output %q", lines)
		}

		saves = &fakeSaves{failAt: 2}
		err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, ShopSaves: saves}, plan, io.Discard)
		if !errors.Is(err, errStore) || !strings.Contains(err.Error(), "seed saves 5000 to 5005 of 5005") {
			t.Errorf("error %v", err)
		}
	})
}
