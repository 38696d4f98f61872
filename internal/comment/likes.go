package comment

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// LockLikes locks comments until tx ends, in id order, and prevents the deletion of their notes. It
// returns the number of likes of each comment, without missing comments and those on deleted notes.
//
// add adds to the likes of these comments. The caller runs the returned function after the commit,
// to update the cache. If that fails, the outbox job of the caller calls [Service.InvalidateLikes].
func (s *Service) LockLikes(ctx context.Context, tx *ent.Tx, ids []int64) (
	likes map[int64]int, add func(context.Context, map[int64]int) (afterCommit func(*cache.Pipeline), err error), err error,
) {
	var live []int64
	err = s.sql.lockNotes.Each(ctx, tx, ids, func(rows *sql.Rows) error { // notes are locked before comments
		var id int64
		err := rows.Scan(&id)
		live = append(live, id)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("lock notes of %d comments: %w", len(ids), err)
	}
	if likes, err = s.lockComments(ctx, tx, live); err != nil {
		return nil, nil, err
	}
	return likes, func(ctx context.Context, more map[int64]int) (func(*cache.Pipeline), error) {
		rows, err := s.addCounts(ctx, tx, more, nil)
		return func(p *cache.Pipeline) { s.comments.PutIn(p, byID(rows)) }, err
	}, nil
}

// lockComments locks comments until tx ends, in id order, and returns their likes.
func (s *Service) lockComments(ctx context.Context, tx *ent.Tx, ids []int64) (likes map[int64]int, err error) {
	likes = make(map[int64]int, len(ids))
	err = s.sql.lockComments.Each(ctx, tx, ids, func(rows *sql.Rows) error {
		var id int64
		var n int
		err := rows.Scan(&id, &n)
		likes[id] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lock %d comments: %w", len(ids), err)
	}
	return likes, nil
}

// addCounts adds likes and replies to comments, by id, and returns their rows.
func (s *Service) addCounts(ctx context.Context, tx *ent.Tx, likes, replies map[int64]int) ([]*Comment, error) {
	type counts struct {
		ID      int64 `json:"id"`
		Likes   int   `json:"likes"`
		Replies int   `json:"replies"`
	}
	var more []counts
	for id, n := range likes {
		more = append(more, counts{ID: id, Likes: n})
	}
	for id, n := range replies {
		more = append(more, counts{ID: id, Replies: n})
	}
	if len(more) == 0 {
		return nil, nil
	}
	var changed []*Comment
	scan := ent.Scanner[ent.Comment]()
	err := sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.addCounts, []any{sqldb.JSON(more)}, func(rows *sql.Rows) error {
		r, err := scan(rows)
		if err == nil {
			changed = append(changed, fromRow(r))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("update counts of %d comments: %w", len(more), err)
	}
	return changed, nil
}

// InvalidateLikes invalidates cached comments after a change of their likes. It is
// idempotent and may run late.
func (s *Service) InvalidateLikes(ctx context.Context, ids ...int64) error {
	return outbox.Transient(s.comments.Invalidate(ctx, ids...)) // Redis is unavailable
}
