package follow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

const (
	insertTimeout = time.Minute // per call of BulkInsert
	insertBatch   = 500         // rows per statement
)

// A Draft is a follow to insert.
type Draft struct{ Follower, Followee int64 }

// BulkInsert stores the follows that do not exist yet, in the order of the drafts and in one
// transaction. It returns their number. It ignores missing users and users that follow
// themselves. It does not check the limit: callers must stay within [MaxFollowees], otherwise
// [Service.Common] ignores older follows.
//
// It locks all users first, in the order of ids, so that the counts stay exact.
func (s *Service) BulkInsert(ctx context.Context, drafts []Draft) (added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	var stored []pair
	var users, own []outbox.JobRef
	err = s.tx(ctx, func(tx *ent.Tx) (err error) {
		stored, users, own, err = s.insertDrafts(ctx, tx, drafts)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("insert %d follows: %w", len(drafts), err)
	}
	if len(stored) == 0 {
		return 0, nil
	}
	changes := changesOf(stored)
	s.outbox.Finish(ctx, s.invalidate(ctx, changes...), own...)
	s.cfg.Users.AfterCommit(ctx, usersOf(changes), users)
	return len(stored), nil
}

// insertDrafts is the transaction of BulkInsert.
func (s *Service) insertDrafts(ctx context.Context, tx *ent.Tx, drafts []Draft) (stored []pair, users, own []outbox.JobRef, err error) {
	there, err := s.lockUsers(ctx, tx, drafts)
	if err != nil {
		return nil, nil, nil, err
	}
	var pairs []pair
	for _, d := range drafts {
		if d.Follower != d.Followee && there[d.Follower] && there[d.Followee] {
			pairs = append(pairs, pair{d.Follower, d.Followee})
		}
	}
	for part := range slices.Chunk(pairs, insertBatch) {
		some, err := s.insert(ctx, tx, part)
		if err != nil {
			return nil, nil, nil, err
		}
		stored = slices.AppendSeq(stored, maps.Keys(some))
	}
	if len(stored) == 0 {
		return nil, nil, nil, nil
	}
	followers, followees := countsOf(stored)
	if users, err = s.cfg.Users.AddFollows(ctx, tx, followers, followees); err != nil {
		return nil, nil, nil, fmt.Errorf("count %d follows: %w", len(stored), err)
	}
	own, err = outbox.AddBatch(ctx, s.outbox, tx, topic, changesOf(stored)...)
	return stored, users, own, err
}

// lockUsers locks the users of drafts, and reports which of them exist.
func (s *Service) lockUsers(ctx context.Context, tx *ent.Tx, drafts []Draft) (map[int64]bool, error) {
	all := make([]int64, 0, 2*len(drafts))
	for _, d := range drafts {
		all = append(all, d.Follower, d.Followee)
	}
	there := map[int64]bool{}
	for part := range slices.Chunk(sortedUnique(all), insertBatch) {
		found, err := s.cfg.Users.LockFollows(ctx, tx, part)
		if err != nil {
			return nil, fmt.Errorf("lock %d users: %w", len(part), err)
		}
		for id := range found {
			there[id] = true
		}
	}
	return there, nil
}

// countsOf counts pairs by follower, which gains followees, and by followee, which gains followers.
func countsOf(pairs []pair) (followers, followees map[int64]int) {
	followers, followees = map[int64]int{}, map[int64]int{}
	for _, p := range pairs {
		followers[p[0]]++
		followees[p[1]]++
	}
	return followers, followees
}

func changesOf(pairs []pair) []change {
	changes := make([]change, len(pairs))
	for i, p := range pairs {
		changes[i] = change{p[0], p[1]}
	}
	return changes
}
