package graph

import (
	"context"
	"time"

	"github.com/tandian-dev/tandian/graph/model"
)

// Queues reports the background work of all instances.
type Queues interface {
	QueueStats(ctx context.Context) ([]QueueStats, error) // by name
}

// QueueStats are the statistics of one queue.
type QueueStats struct {
	Name    string
	Lag     int64         // waiting jobs
	Pending int64         // of these: running, or waiting for a retry
	Oldest  time.Duration // age of the oldest waiting job
	Parked  int64         // jobs that have failed too often
}

func queueStats(s QueueStats) model.QueueStats {
	return model.QueueStats{Name: s.Name, Lag: int(s.Lag), Pending: int(s.Pending), OldestSeconds: s.Oldest.Seconds(), Parked: int(s.Parked)}
}
