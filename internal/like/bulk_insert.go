package like

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	insertBatch       = 500         // likes per statement
	bulkInsertTimeout = time.Minute // per call
)

// Draft is a like to store.
type Draft struct {
	Target int64 `json:"target"`
	User   int64 `json:"user"`
}

// BulkInsert stores likes, in order, and returns the number of new ones. It skips existing
// likes and missing targets, so it is idempotent.
//
// It runs one transaction, with a statement per 500 likes, and locks the counts of the
// targets until the end. Pass a few thousand likes per call.
func (s *Service) BulkInsert(ctx context.Context, drafts []Draft) (added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, bulkInsertTimeout)
	defer cancel()
	var more map[int64]int
	var changes []change
	var job []outbox.JobRef
	err = s.tx(ctx, func(tx *ent.Tx) error {
		likes, add, err := s.target.LockLikes(ctx, tx, sorted(drafts, func(d Draft) int64 { return d.Target }))
		if err != nil {
			return fmt.Errorf("lock targets: %w", err)
		}
		existing := slices.DeleteFunc(slices.Clone(drafts), func(d Draft) bool { _, exists := likes[d.Target]; return !exists })
		more = make(map[int64]int)
		for part := range slices.Chunk(existing, insertBatch) {
			rows, err := s.insert(ctx, tx, part)
			if err != nil {
				return err
			}
			for _, r := range rows {
				more[r.Target]++
			}
		}
		if _, err := add(ctx, more); err != nil {
			return fmt.Errorf("count likes: %w", err)
		}
		changes = changesOf(existing, more)
		job, err = outbox.AddBatch(ctx, s.outbox, tx, s.topic(), changes...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("bulk insert %d likes of %ss: %w", len(drafts), s.noun(), err)
	}
	for _, n := range more {
		added += n
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer end()
	s.outbox.Finish(ctx, s.invalidate(ctx, changes...), job...)
	return added, nil
}

// insert stores missing likes. It returns them by id, which is the order of drafts.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, drafts []Draft) ([]row, error) {
	rows, err := s.readRows(ctx, tx, s.sql.insert, string(s.kind), s.now().UnixMilli(), sqldb.JSON(drafts))
	if err != nil {
		return nil, fmt.Errorf("insert %d likes: %w", len(drafts), err)
	}
	return rows, nil
}

// tx runs work in a transaction, and retries once if another one makes the database abort it.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}

// changesOf returns the changes to publish for new likes, one per target and one per user.
func changesOf(drafts []Draft, more map[int64]int) []change {
	drafts = slices.DeleteFunc(slices.Clone(drafts), func(d Draft) bool { return more[d.Target] == 0 })
	var changes []change
	for _, id := range sorted(drafts, func(d Draft) int64 { return d.Target }) {
		changes = append(changes, change{Target: id})
	}
	for _, user := range sorted(drafts, func(d Draft) int64 { return d.User }) {
		changes = append(changes, change{User: user})
	}
	return changes
}

// sorted returns the distinct ids of drafts, ascending.
func sorted(drafts []Draft, id func(Draft) int64) []int64 {
	ids := make([]int64, len(drafts))
	for i, d := range drafts {
		ids[i] = id(d)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
