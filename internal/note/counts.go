package note

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Counts returns the counters of the existing notes, like [Service.ByIDs].
func (s *Service) Counts(ctx context.Context, ids []int64) (map[int64]Counts, error) {
	ctx, span := observe.Span(ctx, "note.Counts")
	defer span.End()
	found, err := s.counts.GetMany(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the counts of %d notes: %w", len(ids), err)
	}
	return found, nil
}

// ReadJSON implements cache.Reader without reflection, because every page of notes reads counts.
func (c *Counts) ReadJSON(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	for more := ok; more; {
		var name, number []byte
		if name, rest, ok = bytes.Cut(rest, []byte(":")); !ok {
			return false
		}
		end := bytes.IndexAny(rest, ",}")
		if end < 0 {
			return false
		}
		number, more, rest = rest[:end], rest[end] == ',', rest[end+1:]
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || number[0] == '+' {
			return false
		}
		switch string(name) {
		case `"likes"`:
			c.Likes = int(n)
		case `"comments"`:
			c.Comments = int(n)
		case `"saves"`:
			c.Saves = int(n)
		case `"hot"`:
			c.Hot = n
		case `"version"`:
			c.Version = n
		default:
			return false
		}
	}
	return ok && len(rest) == 0
}

type countRow struct {
	ID int64 `json:"id"`
	Counts
	shop int64
}

// lockCounts locks the counts of notes in id order. It omits missing and deleted notes.
func (s *Service) lockCounts(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]*countRow, error) {
	rows := make(map[int64]*countRow, len(ids))
	err := s.sql.lockCounts.Each(ctx, tx, ids, func(found *sql.Rows) error {
		var r countRow
		var err error
		r.ID, r.Counts, err = readCounts(found, &r.shop)
		rows[r.ID] = &r
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lock the counts of %d notes: %w", len(ids), err)
	}
	return rows, nil
}

// LockLikes locks the counts of notes until tx ends, in id order. It returns the likes of each
// note, without missing and deleted notes.
//
// add adds to these likes. The caller runs the returned function after the commit, to update the
// cache. If that fails, the outbox job of the caller calls [Service.InvalidateLikes].
func (s *Service) LockLikes(ctx context.Context, tx *ent.Tx, ids []int64) (
	likes map[int64]int, add func(context.Context, map[int64]int) (afterCommit func(*cache.Pipeline), err error), err error,
) {
	rows, err := s.lockCounts(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	likes = make(map[int64]int, len(rows))
	for id, r := range rows {
		likes[id] = r.Likes
	}
	return likes, func(ctx context.Context, more map[int64]int) (func(*cache.Pipeline), error) {
		var changed []*countRow
		for id, n := range more {
			r := rows[id]
			r.Hot += bonus(r.Likes+n) - bonus(r.Likes)
			r.Likes += n
			changed = append(changed, r)
		}
		counts, err := s.updateCounts(ctx, tx, changed)
		return func(p *cache.Pipeline) { s.counts.PutIn(p, counts) }, err
	}, nil
}

// LikesCounted caches counts that package like has stored.
func (s *Service) LikesCounted(p *cache.Pipeline, id int64, likes, comments, saves int, hot, version int64) {
	s.counts.PutIn(p, map[int64]Counts{id: {Likes: likes, Comments: comments, Saves: saves, Hot: hot, Version: version}})
}

// LockSaves is [Service.LockLikes] for the saves of notes. After the commit, the caller calls
// [Service.InvalidateSaves].
func (s *Service) LockSaves(ctx context.Context, tx *ent.Tx, ids []int64) (
	saves map[int64]int, add func(context.Context, map[int64]int) error, err error,
) {
	rows, err := s.lockCounts(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	saves = make(map[int64]int, len(rows))
	for id, r := range rows {
		saves[id] = r.Saves
	}
	return saves, func(ctx context.Context, more map[int64]int) error {
		var changed []*countRow
		for id, n := range more {
			rows[id].Saves += n
			changed = append(changed, rows[id])
		}
		_, err := s.updateCounts(ctx, tx, changed)
		return err
	}, nil
}

// AddComments adds to the comments of notes and locks their counts until tx ends. It
// returns the shop of each note, without missing and deleted notes, and a function to run
// after the commit, as for [Service.LockLikes].
func (s *Service) AddComments(ctx context.Context, tx *ent.Tx, more map[int64]int) (
	shops map[int64]int64, afterCommit func(context.Context) error, err error,
) {
	rows, err := s.lockCounts(ctx, tx, slices.Collect(maps.Keys(more)))
	if err != nil {
		return nil, nil, err
	}
	shops = make(map[int64]int64, len(rows))
	for id, r := range rows {
		r.Comments += more[id]
		shops[id] = r.shop
	}
	counts, err := s.updateCounts(ctx, tx, slices.Collect(maps.Values(rows)))
	return shops, func(ctx context.Context) error {
		return outbox.Transient(s.counts.PutMany(ctx, counts)) // Redis is unavailable
	}, err
}

// updateCounts stores locked counts and returns them with their new versions. The caller caches
// them after the commit: readers of a popular note then need no load.
func (s *Service) updateCounts(ctx context.Context, tx *ent.Tx, rows []*countRow) (map[int64]Counts, error) {
	counts := make(map[int64]Counts, len(rows))
	if len(rows) == 0 {
		return counts, nil
	}
	for _, r := range rows {
		r.Version++
		counts[r.ID] = r.Counts
	}
	if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.updateCounts, sqldb.JSON(rows)); err != nil {
		return nil, fmt.Errorf("update the counts of %d notes: %w", len(rows), err)
	}
	return counts, nil
}

// InvalidateLikes invalidates the cached counts of notes.
func (s *Service) InvalidateLikes(ctx context.Context, ids ...int64) error {
	return outbox.Transient(s.counts.Invalidate(ctx, ids...)) // Redis is unavailable
}

// InvalidateComments is [Service.InvalidateLikes]: all counts of a note share a record.
func (s *Service) InvalidateComments(ctx context.Context, ids ...int64) error {
	return s.InvalidateLikes(ctx, ids...)
}

// InvalidateSaves is [Service.InvalidateLikes].
func (s *Service) InvalidateSaves(ctx context.Context, ids ...int64) error {
	return s.InvalidateLikes(ctx, ids...)
}
