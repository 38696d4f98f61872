package app

import (
	"context"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// queues is what waits in the background, as the graph asks for it.
type queues struct{ box *outbox.Box }

// QueueStats returns the figures of each topic of the outbox.
func (q queues) QueueStats(ctx context.Context) ([]graph.QueueStats, error) {
	topics, err := q.box.Stats(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]graph.QueueStats, len(topics))
	for i, s := range topics {
		list[i] = graph.QueueStats{Name: s.Name, Lag: s.Waiting, Pending: s.Pending, Oldest: s.Oldest, Parked: s.Parked}
	}
	return list, nil
}
