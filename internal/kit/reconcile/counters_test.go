package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

// Seven counters in pages of three; the second and the last are wrong.
func TestCountersAreComparedInPages(t *testing.T) {
	broken := errors.New("repair failed")
	for _, tt := range []struct {
		name    string
		dry     bool
		fails   error
		want    reconcile.Outcome
		repairs []int64
	}{
		{"all are compared and repaired", false, nil, reconcile.Outcome{Compared: 7, Found: 2, Repaired: 2, Lines: []string{"2 is wrong", "7 is wrong"}}, []int64{2, 7}},
		{"a dry run repairs nothing", true, nil, reconcile.Outcome{Compared: 7, Found: 2, Lines: []string{"2 is wrong", "7 is wrong"}}, nil},
		{"a failed repair ends the run", false, broken, reconcile.Outcome{Compared: 3, Found: 1, Lines: []string{"2 is wrong"}}, []int64{2}},
	} {
		var repairs []int64
		read := func(_ context.Context, after int64, most int) (page []int64, err error) {
			for id := after + 1; id <= 7 && len(page) < most; id++ {
				page = append(page, id)
			}
			return page, nil
		}
		check := func(id int64) (int64, string) {
			if id == 2 || id == 7 {
				return id, fmt.Sprintf("%d is wrong", id)
			}
			return id, ""
		}
		repair := func(_ context.Context, id int64) error { repairs = append(repairs, id); return tt.fails }
		scan := reconcile.Scan{Name: "counters", Description: "counters", Run: func(ctx context.Context, r *reconcile.Run) error {
			return reconcile.Counters(ctx, r, 3, read, check, repair)
		}}
		s := reconcile.New(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		s.Add(scan)
		got, err := s.RunOnce(t.Context(), scan, reconcile.Options{DryRun: tt.dry})
		got.Duration = 0
		if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.fails) {
			t.Errorf("%s: %v, %s", tt.name, err, diff)
		}
		if diff := cmp.Diff(tt.repairs, repairs); diff != "" {
			t.Errorf("%s: repaired: %s", tt.name, diff)
		}
	}
}
