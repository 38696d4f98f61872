package graph

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/internal/account"
)

func TestResponseIncludesWritesOfItsRequest(t *testing.T) {
	ctx := WithCaller(t.Context(), account.Viewer{ID: 7}, "192.0.2.1")
	caller := callerOf(ctx)
	caller.remember(noteLiked, 1, true)
	caller.remember(noteLiked, 2, true)
	caller.remember(noteLiked, 2, false)
	for _, tt := range []struct {
		name   string
		viewer int64
		field  string
		asked  []int64 // ids that the store reads; it returns true for each
		want   map[int64]bool
	}{
		{"written relations are not read", 7, noteLiked, []int64{3}, map[int64]bool{1: true, 2: false, 3: true}},
		{"another field is read", 7, commentLiked, []int64{1, 2, 3}, map[int64]bool{1: true, 2: true, 3: true}},
		{"another viewer is read", 8, noteLiked, []int64{1, 2, 3}, map[int64]bool{1: true, 2: true, 3: true}},
	} {
		caller.become(account.Viewer{ID: tt.viewer})
		got, err := related(ctx, tt.field, []int64{1, 2, 3}, func(_ context.Context, viewer int64, ids []int64) (map[int64]bool, error) {
			if viewer != tt.viewer || !slices.Equal(ids, tt.asked) {
				t.Errorf("%s: got a read of %v for viewer %d, want %v for %d", tt.name, ids, viewer, tt.asked, tt.viewer)
			}
			found := map[int64]bool{}
			for _, id := range ids {
				found[id] = true
			}
			return found, nil
		})
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}
