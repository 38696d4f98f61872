package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// itemsAtOnce of ids and short keys fit a payload.
const itemsAtOnce = 250

// AddBatch adds jobs for items of one kind, such as the ids of changed rows, 250
// in each. An item has at most 60 bytes as JSON.
func AddBatch[T any](ctx context.Context, b *Box, tx Execer, topic string, items ...T) ([]Ticket, error) {
	var tickets []Ticket
	for part := range slices.Chunk(items, itemsAtOnce) {
		t, err := b.Add(ctx, tx, topic, part)
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, t)
	}
	return tickets, nil
}

// DoBatch makes a [Handler.Do] of what does the items of a job that [AddBatch] added.
func DoBatch[T any](do func(ctx context.Context, items ...T) error) func(ctx context.Context, payload []byte) error {
	return func(ctx context.Context, payload []byte) error {
		var items []T
		if err := json.Unmarshal(payload, &items); err != nil {
			return fmt.Errorf("read the items of a job: %w", err)
		}
		return do(ctx, items...)
	}
}
