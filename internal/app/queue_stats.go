package app

import (
	"context"
	"log/slog"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// queues is what waits in the background, as the graph asks for it.
type queues struct {
	box   *outbox.Box
	sales *flashsale.Service
	feed  *feed.Service
	log   *slog.Logger
}

// QueueStats returns the figures of each partition of the sales, of the live feeds of
// this process, and of each topic of the outbox.
func (q queues) QueueStats(ctx context.Context) ([]graph.QueueStats, error) {
	topics, err := q.box.Stats(ctx)
	if err != nil {
		return nil, err
	}
	sales, err := q.sales.Stats(ctx)
	if err != nil { // a Redis that is away does not hide what waits in the database
		q.log.WarnContext(ctx, "the queues of sales cannot be seen", "err", err)
	}
	list := make([]graph.QueueStats, 0, len(topics)+len(sales)+1)
	for _, s := range sales {
		list = append(list, graph.QueueStats{Name: s.Name, Lag: int64(s.Lag), Pending: int64(s.Pending), Oldest: s.Oldest, Parked: int64(s.Parked)})
	}
	lag := q.feed.Lag()
	list = append(list, graph.QueueStats{Name: "live", Lag: lag.Numbers, Pending: int64(lag.Joining), Oldest: lag.Oldest})
	for _, s := range topics {
		list = append(list, graph.QueueStats{Name: s.Name, Lag: s.Waiting, Pending: s.Pending, Oldest: s.Oldest, Parked: s.Parked})
	}
	return list, nil
}
