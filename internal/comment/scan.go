package comment

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/ent/notecount"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage   = 500
	scanCounts = 5000             // counters per second
	countLimit = 30 * time.Second // per statement
)

// Scans returns the consistency scan of comment and reply counts.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{{
		Name: "comments", Description: "comment counts of notes and shops, and reply counts, against comments", Rate: scanCounts,
		Run: func(ctx context.Context, r *reconcile.Run) error {
			for _, c := range []counter{s.repliesCounter(), s.notesCounter(), s.shopsCounter()} {
				if err := c.scan(ctx, r); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

// counter is a column that counts comments.
type counter struct {
	s    *Service
	noun string // owner of the column, for example "shop"
	unit string // counted objects
	text string // statement that reads a page
	lock func(ctx context.Context, tx *ent.Tx, id int64) error
	// add adds to the counter and returns a function to run after the commit.
	add func(ctx context.Context, tx *ent.Tx, id int64, more int) (afterCommit func(context.Context), err error)
}

func (s *Service) repliesCounter() counter {
	return counter{
		s: s, noun: "comment", unit: "replies", text: s.sql.countReplies,
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.Comment.Query().Where(entcomment.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: func(ctx context.Context, tx *ent.Tx, id int64, more int) (func(context.Context), error) {
			rows, err := s.addCounts(ctx, tx, nil, map[int64]int{id: more})
			if err != nil {
				return nil, err
			}
			job, err := outbox.AddBatch(ctx, s.outbox, tx, addedTopic, id)
			return func(ctx context.Context) { s.outbox.Finish(ctx, s.put(ctx, rows...), job...) }, err
		},
	}
}

func (s *Service) notesCounter() counter {
	return counter{
		s: s, noun: "note", unit: "comments", text: s.sql.countNotes,
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.NoteCount.Query().Where(notecount.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: func(ctx context.Context, tx *ent.Tx, id int64, more int) (func(context.Context), error) {
			shops, afterCommit, err := s.notes.AddComments(ctx, tx, map[int64]int{id: more})
			if err != nil || len(shops) == 0 {
				return nil, err
			}
			job, err := outbox.AddBatch(ctx, s.outbox, tx, recountedTopic, id)
			return func(ctx context.Context) { s.outbox.Finish(ctx, afterCommit(ctx), job...) }, err
		},
	}
}

func (s *Service) shopsCounter() counter {
	return counter{
		s: s, noun: "shop", unit: "comments", text: s.sql.countShops,
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.Shop.Query().Where(entshop.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: func(ctx context.Context, tx *ent.Tx, id int64, more int) (func(context.Context), error) {
			jobs, err := s.shops.AddComments(ctx, tx, map[int64]int{id: more})
			return func(ctx context.Context) { s.shops.AfterCommitCounts(ctx, []int64{id}, jobs) }, err
		},
	}
}

type drift struct {
	id             int64
	stored, actual int
}

func (c counter) scan(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
		return c.page(ctx, c.s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, c.describe, c.repair)
}

func (c counter) describe(d drift) (id int64, differs string) {
	if d.stored != d.actual {
		differs = fmt.Sprintf("%s %d: %d %s stored, %d counted", c.noun, d.id, d.stored, c.unit, d.actual)
	}
	return d.id, differs
}

func (c counter) page(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []drift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, c.text, []any{after, limit}, func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.id, &d.stored, &d.actual)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count %s of each %s after %d: %w", c.unit, c.noun, after, err)
	}
	return page, nil
}

// repair corrects a counter while its row is locked. Without the lock, concurrent scans
// would add the same difference twice.
func (c counter) repair(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var afterCommit func(context.Context)
	err := ent.WithTx(ctx, c.s.db, func(tx *ent.Tx) error {
		if err := c.lock(ctx, tx, id); err != nil {
			return fmt.Errorf("lock row: %w", err)
		}
		page, err := c.page(ctx, tx, id-1, 1)
		if err != nil || len(page) == 0 || page[0].id != id || page[0].stored == page[0].actual {
			return err
		}
		afterCommit, err = c.add(ctx, tx, id, page[0].actual-page[0].stored)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair %s of %s %d: %w", c.unit, c.noun, id, err)
	}
	if afterCommit != nil {
		afterCommit(ctx)
	}
	return nil
}
