package graph

import (
	"context"
	"time"

	"github.com/tandian-dev/tandian/graph/model"
)

// Queues says what waits to be done in the background, over all instances.
type Queues interface {
	QueueStats(ctx context.Context) ([]QueueStats, error) // by name
}

// QueueStats are the figures of one line of work.
type QueueStats struct {
	Name    string
	Lag     int64         // jobs that wait
	Pending int64         // of these: tried already, or being tried
	Oldest  time.Duration // since the oldest of them was added
	Parked  int64         // jobs that failed too often
}

func queueStats(s QueueStats) model.QueueStats {
	return model.QueueStats{Name: s.Name, Lag: int(s.Lag), Pending: int(s.Pending), OldestSeconds: s.Oldest.Seconds(), Parked: int(s.Parked)}
}
