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

// number takes the next number of the feed for a change of a note and stores the event. It
// must be the last operation of tx. follows is the number of earlier transactions that
// added follows, see [Service.LockHead].
//
// All numbers come from one row, which tx locks until its commit. So numbers have no gaps
// and follow the order of commits. A failed transaction consumes none, and a reader that
// sees a number sees all lower ones. A sequence or a timestamp is drawn before the commit,
// so a slow transaction would appear below entries that readers have passed. The cost is
// one commit at a time, about two thousand a second with an fsync each.
func (s *Service) number(ctx context.Context, tx *ent.Tx, kind noteevent.Kind, n *ent.Note) (seq, follows int64, err error) {
	if s.postgres {
		err = sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.number, []any{n.ID, n.AuthorID, string(kind)}, func(rows *sql.Rows) error { return rows.Scan(&seq, &follows) })
		if err == nil && seq == 0 {
			err = errNoHead
		}
		if err != nil {
			return 0, 0, fmt.Errorf("assign feed number to note %d: %w", n.ID, err)
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
		return 0, 0, fmt.Errorf("store event %d: %w", seq, err)
	}
	return seq, follows, nil
}

// errNoHead reports that the row of the migrations is missing.
var errNoHead = errors.New("feed_head has no row")

// take takes n consecutive numbers and returns the last one.
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

// eventsIn returns the number of events in (from, until].
func (s *Service) eventsIn(ctx context.Context, from, until int64) (int, error) {
	n, err := s.db.NoteEvent.Query().Where(noteevent.IDGT(from), noteevent.IDLTE(until)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count events %d to %d: %w", from+1, until, err)
	}
	return n, nil
}

// LockHead returns the newest number of the feed and locks it until tx ends: no note is
// published before the commit of tx. Transactions that add follows call it last, to know
// the feed at their commit. The row counts these transactions, and each event contains the
// count. A process that has read as many of them knows the recipients of the event.
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
