package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// batchItems ids or short keys fit into a payload.
const batchItems = 250

// AddBatch adds jobs for items of one kind, such as the ids of changed rows: one statement, 250
// items per job. An item has at most 60 bytes as JSON. Without items it adds no job.
func AddBatch[T any](ctx context.Context, b *Box, tx Execer, topic string, items ...T) ([]JobRef, error) {
	if len(items) == 0 {
		return nil, nil
	}
	return b.add(ctx, tx, topic, batchPayloads(items)...)
}

// DraftBatch prepares the jobs of [AddBatch] for a statement of the caller.
func DraftBatch[T any](b *Box, topic string, items ...T) (Draft, error) {
	return b.draft(topic, batchPayloads(items)...)
}

func batchPayloads[T any](items []T) []any {
	payloads := make([]any, 0, len(items)/batchItems+1)
	for part := range slices.Chunk(items, batchItems) {
		payloads = append(payloads, part)
	}
	return payloads
}

// DoBatch returns a [Handler.Do] that passes the items of a job of [AddBatch] to do.
func DoBatch[T any](do func(ctx context.Context, items ...T) error) func(ctx context.Context, payload []byte) error {
	return func(ctx context.Context, payload []byte) error {
		var items []T
		if err := json.Unmarshal(payload, &items); err != nil {
			return fmt.Errorf("decode items of outbox job: %w", err)
		}
		return do(ctx, items...)
	}
}
