package like

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

const (
	plantBatch   = 500         // likes of one statement
	plantTimeout = time.Minute // of one call
)

// Draft is a like of a seed.
type Draft struct {
	Target int64 `json:"target"`
	User   int64 `json:"user"`
}

// Plant stores likes, of one target in the order of the drafts, and returns how many
// were added: those that are there stay, and a target that there is not is overlooked.
// It is one transaction, with a statement for 500 likes and two calls of the target
// for each that is liked, whose counts are locked until its end. So a call of some
// thousand likes is a good size, and to repeat one that failed does no harm.
func (s *Service) Plant(ctx context.Context, drafts []Draft) (added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, plantTimeout)
	defer cancel()
	var more map[int64]int
	var changes []change
	var job []outbox.Ticket
	err = s.tx(ctx, func(tx *ent.Tx) error {
		there, err := s.lock(ctx, tx, drafts)
		if err != nil {
			return err
		}
		if more, err = s.insert(ctx, tx, there); err != nil {
			return err
		}
		for _, id := range sorted(there, func(d Draft) int64 { return d.Target }) {
			if n := more[id]; n > 0 {
				if _, _, err := s.target.AddLikes(ctx, tx, id, n); err != nil {
					return fmt.Errorf("add %d likes to %s %d: %w", n, s.noun(), id, err)
				}
			}
		}
		changes = changesOf(there, more)
		job, err = outbox.AddBatch(ctx, s.outbox, tx, s.topic(), changes...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("plant %d likes of %ss: %w", len(drafts), s.noun(), err)
	}
	for _, n := range more {
		added += n
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer end()
	s.outbox.Settle(ctx, s.changed(ctx, changes...), job...)
	return added, nil
}

// lock locks the counts of all targets, in the order of their ids lest two calls wait
// for each other, and returns the drafts of those that there are.
func (s *Service) lock(ctx context.Context, tx *ent.Tx, drafts []Draft) ([]Draft, error) {
	there := make(map[int64]bool)
	for _, id := range sorted(drafts, func(d Draft) int64 { return d.Target }) {
		_, tell, err := s.target.AddLikes(ctx, tx, id, 0)
		if err != nil {
			return nil, fmt.Errorf("lock %s %d: %w", s.noun(), id, err)
		}
		there[id] = tell != nil
	}
	return slices.DeleteFunc(slices.Clone(drafts), func(d Draft) bool { return !there[d.Target] }), nil
}

// insert returns how many likes of each target were added.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, drafts []Draft) (map[int64]int, error) {
	more := make(map[int64]int)
	for part := range slices.Chunk(drafts, plantBatch) {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("write down %d likes: %w", len(part), err)
		}
		args := []any{string(s.kind), s.now().UnixMilli(), string(text)}
		err = sqlfile.Each(ctx, tx, s.sql.plant, args, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			more[id]++
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("insert %d likes: %w", len(part), err)
		}
	}
	return more, nil
}

// changesOf is what is to be told of planted likes: of each target and of each user once.
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

// sorted are ids of drafts, each once.
func sorted(drafts []Draft, id func(Draft) int64) []int64 {
	ids := make([]int64, len(drafts))
	for i, d := range drafts {
		ids[i] = id(d)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
