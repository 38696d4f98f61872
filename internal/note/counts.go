package note

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/notecount"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// Counts returns what is counted of notes, of those that exist, as fresh as
// [Service.ByIDs] and at its cost.
func (s *Service) Counts(ctx context.Context, ids []int64) (map[int64]Counts, error) {
	ctx, span := observe.Span(ctx, "note.Counts")
	defer span.End()
	found, err := s.counts.GetMany(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the counts of %d notes: %w", len(ids), err)
	}
	return found, nil
}

// ReadJSON reads counts as they lie in Redis, without reflection: every page of notes reads
// those of all of them there. It implements cache.Reader.
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

// lockCounts locks the counts of a note until tx ends. It returns nil if there is no
// such note, or it was deleted.
func lockCounts(ctx context.Context, tx *ent.Tx, id int64) (*ent.NoteCount, error) {
	one := tx.NoteCount.Query().Where(notecount.ID(id), notecount.Deleted(false))
	one.Modify(store.ForUpdate)
	row, err := one.Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("lock the counts of note %d: %w", id, err)
	}
	return row, nil
}

// AddLikes adds to the likes of a note, and with 0 only locks them: until tx ends nobody
// else counts a like of it. It returns how many there are then, and what tells of it
// after the commit; that is nil if there is no such note.
func (s *Service) AddLikes(ctx context.Context, tx *ent.Tx, id int64, n int) (total int, tell func(context.Context) error, err error) {
	row, err := lockCounts(ctx, tx, id)
	if row == nil || err != nil {
		return 0, nil, err
	}
	row.Hot += bonus(row.Likes+n) - bonus(row.Likes)
	row.Likes += n
	tell, err = s.write(ctx, tx, row, n)
	return row.Likes, tell, err
}

// AddComments adds to the comments on a note, as [Service.AddLikes] does to its likes. It
// returns the shop that the note is about.
func (s *Service) AddComments(ctx context.Context, tx *ent.Tx, id int64, n int) (shop int64, tell func(context.Context) error, err error) {
	row, err := lockCounts(ctx, tx, id)
	if row == nil || err != nil {
		return 0, nil, err
	}
	about, err := tx.Note.Query().Where(entnote.ID(id)).Select(entnote.FieldShopID).Only(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("read the shop of note %d: %w", id, err)
	}
	row.Comments += n
	tell, err = s.write(ctx, tx, row, n)
	return about.ShopID, tell, err
}

// write writes counts that are locked, if there is anything new about them, and returns
// what tells of it: it keeps them, so that the readers of a note that many like at once
// need not load them.
func (s *Service) write(ctx context.Context, tx *ent.Tx, row *ent.NoteCount, n int) (tell func(context.Context) error, err error) {
	if n == 0 {
		return func(context.Context) error { return nil }, nil
	}
	row.Version++
	err = tx.NoteCount.Update().Where(notecount.ID(row.ID)).
		SetLikes(row.Likes).SetComments(row.Comments).SetHot(row.Hot).SetVersion(row.Version).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("update the counts of note %d: %w", row.ID, err)
	}
	return func(ctx context.Context) error {
		_, err := s.counts.Put(ctx, row.ID, countsOf(row))
		return outbox.Later(err) // Redis is away
	}, nil
}

// LikesChanged forgets what is cached of the counts of notes, whoever changed them.
func (s *Service) LikesChanged(ctx context.Context, ids ...int64) error {
	return outbox.Later(s.counts.Invalidate(ctx, ids...)) // Redis is away
}

// CommentsChanged is [Service.LikesChanged]: likes and comments are kept together.
func (s *Service) CommentsChanged(ctx context.Context, ids ...int64) error {
	return s.LikesChanged(ctx, ids...)
}
