package note

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// number takes the next number of the feed for what tx does to a note and writes it
// down, as its last statement.
//
// All numbers come from one row, whose lock the transaction holds from here to its
// commit. So they are dense, a transaction that fails gives its number back, and whoever
// sees a number sees all below it: the order of the numbers is that of the commits. A
// serial column or a time would be drawn before the commit, and a slow transaction would
// appear below what a reader has already passed. What that costs is one commit at a
// time, about two thousand a second with an fsync each; so nothing slow comes after it.
func (s *Service) number(ctx context.Context, tx *ent.Tx, kind noteevent.Kind, n *ent.Note) (seq, follows int64, err error) {
	if s.postgres {
		err = sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.number, []any{n.ID, n.AuthorID, string(kind)}, func(rows *sql.Rows) error { return rows.Scan(&seq, &follows) })
		if err == nil && seq == 0 {
			err = errNoHead
		}
		if err != nil {
			return 0, 0, fmt.Errorf("number it: %w", err)
		}
		return seq, follows, nil
	}
	// SQLite has one writer, and no statement that does all three.
	if seq, follows, err = s.take(ctx, tx, 1); err != nil {
		return 0, 0, err
	}
	if kind == noteevent.KindADDED {
		err = tx.Note.UpdateOneID(n.ID).SetSeq(seq).Exec(ctx)
	}
	if err == nil {
		err = tx.NoteEvent.Create().SetID(seq).SetKind(kind).SetNoteID(n.ID).SetAuthorID(n.AuthorID).Exec(ctx)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("write down number %d: %w", seq, err)
	}
	return seq, follows, nil
}

// errNoHead says that the row is missing that the migrations put there.
var errNoHead = errors.New("feed_head has no row")

// take takes a block of numbers and returns the last one.
func (s *Service) take(ctx context.Context, tx *ent.Tx, n int) (last, follows int64, err error) {
	err = sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.take, []any{n}, func(rows *sql.Rows) error { return rows.Scan(&last, &follows) })
	if err == nil && last == 0 {
		err = errNoHead
	}
	if err != nil {
		return 0, 0, fmt.Errorf("take %d numbers: %w", n, err)
	}
	return last, follows, nil
}

// eventsIn is how many numbers there are in (from, until].
func (s *Service) eventsIn(ctx context.Context, from, until int64) (int, error) {
	n, err := s.db.NoteEvent.Query().Where(noteevent.IDGT(from), noteevent.IDLTE(until)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the numbers %d to %d: %w", from+1, until, err)
	}
	return n, nil
}

// LockHead returns the newest number of the feed and keeps it the newest until tx ends:
// nobody publishes before its commit. It is for follows, which have to know what was there
// at their own commit; their transaction asks for it last. They are counted, so that each
// event can say how many there were before it: whoever knows as many knows to whom it is due.
func (s *Service) LockHead(ctx context.Context, tx *ent.Tx) (head int64, err error) {
	found := false
	err = sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.head, nil, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&head)
	})
	if err == nil && !found {
		err = errNoHead
	}
	if err != nil {
		return 0, fmt.Errorf("read the head of the feed: %w", err)
	}
	return head, nil
}
