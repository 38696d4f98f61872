package graph

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/model"
)

func TestQueueStatsShowWaitingJobs(t *testing.T) {
	tests := []struct {
		name string
		from QueueStats
		want model.QueueStats
	}{
		{"nothing waits", QueueStats{Name: "drop"}, model.QueueStats{Name: "drop"}},
		{
			"each in its place",
			QueueStats{Name: "drop", Lag: 3, Pending: 2, Oldest: 1500 * time.Millisecond, Parked: 1},
			model.QueueStats{Name: "drop", Lag: 3, Pending: 2, OldestSeconds: 1.5, Parked: 1},
		},
		{
			"more than 32 bits",
			QueueStats{Lag: 1 << 40, Pending: 1 << 41, Parked: 1 << 42},
			model.QueueStats{Lag: 1 << 40, Pending: 1 << 41, Parked: 1 << 42},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, queueStats(tt.from)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
