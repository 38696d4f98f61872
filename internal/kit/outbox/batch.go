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
// in each, by one statement. An item has at most 60 bytes as JSON. Without items it
// adds no job.
func AddBatch[T any](ctx context.Context, b *Box, tx Execer, topic string, items ...T) ([]JobRef, error) {
	if len(items) == 0 {
		return nil, nil
	}
	return b.add(ctx, tx, topic, payloadsOf(items)...)
}

// DraftBatch prepares the jobs of [AddBatch] for a statement of the caller's own.
func DraftBatch[T any](b *Box, topic string, items ...T) (Draft, error) {
	return b.draft(topic, payloadsOf(items)...)
}

func payloadsOf[T any](items []T) []any {
	payloads := make([]any, 0, len(items)/itemsAtOnce+1)
	for part := range slices.Chunk(items, itemsAtOnce) {
		payloads = append(payloads, part)
	}
	return payloads
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
