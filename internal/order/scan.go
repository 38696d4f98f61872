package order

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	recent       = 24 * time.Hour
	scanPage     = 500
	scanLists    = 500              // lists a second
	scanCounts   = 5000             // counters a second
	countTimeout = 30 * time.Second // for one page of counters
	maxScanned   = 100_000          // users that a scan remembers, to compare each list once
)

// Scans returns the consistency scans of order lists, shop sales and user points. Points also
// come from check-ins, so their scan reads both.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "order-lists", Description: "order lists and queued marks in Redis of the last day's buyers, against orders", Rate: scanLists, Redis: true, Run: s.scanLists},
		{Name: "sold", Description: "sales of each shop, against paid orders", Rate: scanCounts, Run: s.soldCounter().scan},
		{Name: "points", Description: "points of each user, against paid orders and check-ins", Rate: scanCounts, Run: s.pointsCounter().scan},
	}
}

// scanLists reads the orders of the last day, oldest first, and compares the lists of their
// users. It ends at orders that were too young at its start; otherwise new orders would keep
// it running. Number and time of admission never change, so the lists of users without younger
// orders do not change meanwhile.
func (s *Service) scanLists(ctx context.Context, r *reconcile.Run) error {
	began := s.now()
	at, until := listKey{Ms: began.Add(-recent).UnixMilli()}, began.Add(-minCompareAge).UnixMilli()
	seen := map[int64]bool{}
	for n := scanPage; n == scanPage; {
		rows, err := s.db.Order.Query().
			Where(entorder.CreatedAtGTE(at.Ms), entorder.CreatedAtLTE(until), entorder.Or(entorder.CreatedAtGT(at.Ms), entorder.IDGT(at.Number))).
			Order(entorder.ByCreatedAt(), entorder.ByID()).Limit(scanPage).
			Select(entorder.FieldID, entorder.FieldUserID, entorder.FieldCreatedAt).All(ctx)
		if err != nil {
			return fmt.Errorf("select orders after %v: %w", time.UnixMilli(at.Ms).UTC(), err)
		}
		if n = len(rows); n > 0 {
			at = listKey{rows[n-1].CreatedAt, rows[n-1].ID}
		}
		if len(seen) > maxScanned {
			clear(seen)
		}
		var users []int64
		for _, row := range rows {
			if !seen[row.UserID] {
				seen[row.UserID] = true
				users = append(users, row.UserID)
			}
		}
		if err := r.Compare(ctx, len(users)); err != nil {
			return err
		}
		if err := errors.Join(s.scanListsOf(ctx, r, users), s.scanMarksOf(ctx, r, users)); err != nil {
			return err
		}
	}
	return nil
}

// scanListsOf compares the lists of users. A list that is not in Redis is correct.
func (s *Service) scanListsOf(ctx context.Context, r *reconcile.Run, users []int64) error {
	cached, err := s.lists.window.Peek(ctx, users...)
	if err != nil {
		return err
	}
	for _, list := range cached {
		flaw, err := s.flawOf(ctx, s.db, list)
		if err != nil {
			return err
		}
		if flaw == "" {
			continue
		}
		r.Report(fmt.Sprintf("list of user %d %s", list.Key, flaw))
		if r.DryRun {
			continue
		}
		if err := s.dropList(ctx, list.Key); err != nil {
			return err
		}
		again, err := s.lists.window.Peek(ctx, list.Key)
		if err != nil {
			return err
		}
		for _, l := range again { // a reader has rebuilt it
			if flaw, err = s.flawOf(ctx, s.db, l); err != nil {
				return err
			}
		}
		if len(again) == 0 || flaw == "" {
			r.CountRepaired(1)
		}
	}
	return nil
}

// scanMarksOf removes the queued marks of orders that have a row. Marks of refused orders have
// none, and expire.
func (s *Service) scanMarksOf(ctx context.Context, r *reconcile.Run, users []int64) error {
	marks, err := s.lists.queuedUntil(ctx, users, s.now().Add(-minCompareAge).UnixMilli())
	if err != nil || len(marks) == 0 {
		return err
	}
	var over []listEntry
	for part := range slices.Chunk(marks, scanPage) {
		ids := make([]int64, len(part))
		for i, m := range part {
			ids[i] = m.Number
		}
		rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...)).Select(entorder.FieldID, entorder.FieldUserID, entorder.FieldCreatedAt).All(ctx)
		if err != nil {
			return fmt.Errorf("select %d orders marked as queued: %w", len(ids), err)
		}
		for _, row := range rows {
			over = append(over, listEntry{row.UserID, row.ID, row.CreatedAt})
		}
	}
	for _, o := range over {
		r.Report(fmt.Sprintf("user %d: order %d is marked as queued but has a row", o.User, o.Number))
	}
	if r.DryRun || len(over) == 0 {
		return nil
	}
	// Update the list first: only the mark shows an order that is not in the list.
	if err := s.lists.addOnce(ctx, over); err != nil {
		return err
	}
	if err := s.lists.unqueue(ctx, over); err != nil {
		return err
	}
	r.CountRepaired(len(over))
	return nil
}

func (l *listCache) queuedUntil(ctx context.Context, users []int64, until int64) ([]listEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	cmds := make([]*redis.ZSliceCmd, len(users))
	for i, user := range users {
		cmds[i] = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
			Key: l.keys.queued(user), ByScore: true, Start: "-inf", Stop: until, Count: maxQueued,
		})
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var marks []listEntry
	for i, cmd := range cmds {
		found, err := cmd.Result()
		if err != nil {
			return nil, fmt.Errorf("read queued orders of %d users: %w", len(users), err)
		}
		marks = append(marks, parseQueued(users[i], found)...)
	}
	return marks, nil
}

var (
	//go:embed sql/count_sold.sql
	countSold string
	//go:embed sql/count_points.sql
	countPoints string
)

// A counter is a column that UpdateCounters maintains.
type counter struct {
	s           *Service
	noun        string // owner of the column: "shop"
	unit        string // counted unit
	source      string // source of truth
	text        string // statement for one page
	args        []any  // its arguments after the first two
	lock        func(ctx context.Context, tx *ent.Tx, id int64) error
	add         func(ctx context.Context, tx *ent.Tx, more map[int64]int) ([]outbox.JobRef, error)
	afterCommit func(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

func (s *Service) soldCounter() counter {
	return counter{
		s: s, noun: "shop", unit: "sales", source: "the orders", text: sqldb.Statement(countSold),
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.Shop.Query().Where(entshop.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: s.cfg.Shops.AddSold, afterCommit: s.cfg.Shops.AfterCommit,
	}
}

func (s *Service) pointsCounter() counter {
	return counter{
		s: s, noun: "user", unit: "points", source: "orders and check-ins", text: sqldb.Statement(countPoints), args: []any{perPoint},
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.User.Query().Where(entuser.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: s.cfg.Users.AddPoints, afterCommit: s.cfg.Users.AfterCommit,
	}
}

// A drift is a counter and its value according to the rows.
type drift struct {
	id        int64
	got, want int
}

func (c counter) scan(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, limit int) ([]drift, error) {
		return c.page(ctx, c.s.db, after, limit)
	}
	return reconcile.Counters(ctx, r, scanPage, read, c.compare, c.repair)
}

func (c counter) compare(d drift) (id int64, differs string) {
	if d.got != d.want {
		differs = fmt.Sprintf("%s %d: has %d %s, want %d according to %s", c.noun, d.id, d.got, c.unit, d.want, c.source)
	}
	return d.id, differs
}

func (c counter) page(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []drift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err = sqldb.Each(ctx, db, c.text, append([]any{after, limit}, c.args...), func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.id, &d.got, &d.want)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count %s of each %s after %d: %w", c.unit, c.noun, after, err)
	}
	return page, nil
}

// repair sets a counter to the value of the rows while its row is locked. UpdateCounters and
// check-ins change the counter and their own rows in one transaction, before or after that.
func (c counter) repair(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var jobs []outbox.JobRef
	err := c.s.tx(ctx, func(tx *ent.Tx) error {
		jobs = nil
		if err := c.lock(ctx, tx, id); err != nil {
			return fmt.Errorf("lock row: %w", err)
		}
		page, err := c.page(ctx, tx, id-1, 1)
		if err != nil || len(page) == 0 || page[0].id != id || page[0].got == page[0].want {
			return err
		}
		jobs, err = c.add(ctx, tx, map[int64]int{id: page[0].want - page[0].got})
		return err
	})
	if err != nil {
		return fmt.Errorf("repair %s of %s %d: %w", c.unit, c.noun, id, err)
	}
	c.afterCommit(ctx, []int64{id}, jobs)
	return nil
}
