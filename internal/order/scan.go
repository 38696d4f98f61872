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
	recent     = 24 * time.Hour
	scanPage   = 500
	scanLists  = 500              // lists a second
	scanCounts = 5000             // counters a second
	countLimit = 30 * time.Second // of the statement that counts a page of them
	maxScanned = 100_000          // users whom a scan remembers, not to compare their lists twice
)

// Scans are what this room compares: lists, and what it counts orders into. Points come
// from check-ins too; who compares them has to know both.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "order-lists", Description: "order lists in Redis of who ordered in the last day, and marks of queued orders, with the orders", Rate: scanLists, Redis: true, Run: s.scanLists},
		{Name: "sold", Description: "pieces sold of each shop, with the paid orders", Rate: scanCounts, Run: s.soldCounter().scan},
		{Name: "points", Description: "points of each user, with the paid orders and the check-ins", Rate: scanCounts, Run: s.pointsCounter().scan},
	}
}

// scanLists walks over the orders of the last day, the oldest first, and compares the
// lists of their users. It ends at what was young when it began, which no list is judged
// by: with those who order meanwhile it would not end. What a list shows of an order, its number and the moment of its admission, never changes; so
// who has no order that is as young has no list that changed.
func (s *Service) scanLists(ctx context.Context, r *reconcile.Run) error {
	began := s.now()
	at, until := listKey{Ms: began.Add(-recent).UnixMilli()}, began.Add(-compareYoung).UnixMilli()
	seen := map[int64]bool{}
	for n := scanPage; n == scanPage; {
		rows, err := s.db.Order.Query().
			Where(entorder.CreatedAtGTE(at.Ms), entorder.CreatedAtLTE(until), entorder.Or(entorder.CreatedAtGT(at.Ms), entorder.IDGT(at.Number))).
			Order(entorder.ByCreatedAt(), entorder.ByID()).Limit(scanPage).
			Select(entorder.FieldID, entorder.FieldUserID, entorder.FieldCreatedAt).All(ctx)
		if err != nil {
			return fmt.Errorf("read who ordered after %v: %w", time.UnixMilli(at.Ms).UTC(), err)
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

// scanListsOf compares the lists of users. A list that is not in Redis is right.
func (s *Service) scanListsOf(ctx context.Context, r *reconcile.Run, users []int64) error {
	kept, err := s.lists.window.Peek(ctx, users...)
	if err != nil {
		return err
	}
	for _, list := range kept {
		flaw, err := s.flawOf(ctx, s.db, list)
		if err != nil {
			return err
		}
		if flaw == "" {
			continue
		}
		r.Report(fmt.Sprintf("list of user %d: %s", list.Key, flaw))
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
		for _, l := range again { // a reader was quick
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

// scanMarksOf looks for orders of users that are marked as queued, and have long had
// their rows. Marks of tries that were refused have none, and end by themselves.
func (s *Service) scanMarksOf(ctx context.Context, r *reconcile.Run, users []int64) error {
	marks, err := s.lists.marks(ctx, users, s.now().Add(-compareYoung).UnixMilli())
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
			return fmt.Errorf("select %d orders that are marked as queued: %w", len(ids), err)
		}
		for _, row := range rows {
			over = append(over, listEntry{row.UserID, row.ID, row.CreatedAt})
		}
	}
	for _, o := range over {
		r.Report(fmt.Sprintf("user %d: order %d is marked as queued, and has its row", o.User, o.Number))
	}
	if r.DryRun || len(over) == 0 {
		return nil
	}
	// The list is told first: until the order is in it, the mark is what shows it.
	if err := s.lists.addOnce(ctx, over); err != nil {
		return err
	}
	if err := s.lists.unqueue(ctx, over); err != nil {
		return err
	}
	r.CountRepaired(len(over))
	return nil
}

// marks reads the orders that users have marked as queued, up to a time.
func (l *listCache) marks(ctx context.Context, users []int64, until int64) ([]listEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	pipe := l.rdb.Pipeline()
	cmds := make([]*redis.ZSliceCmd, len(users))
	for i, user := range users {
		cmds[i] = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
			Key: l.keys.queued(user), ByScore: true, Start: "-inf", Stop: until, Count: queuedMost,
		})
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var marks []listEntry
	for i, cmd := range cmds {
		found, err := cmd.Result()
		if err != nil {
			return nil, fmt.Errorf("read what %d users have queued: %w", len(users), err)
		}
		marks = append(marks, markedBy(users[i], found)...)
	}
	return marks, nil
}

var (
	//go:embed sql/count_sold.sql
	countSold string
	//go:embed sql/count_points.sql
	countPoints string
)

// A counter is a column that the tally counts orders into.
type counter struct {
	s        *Service
	noun     string // whose: "shop"
	unit     string // what it counts
	truth    string // what says how many
	text     string // the statement of a page
	args     []any  // of it, behind the first two
	lock     func(ctx context.Context, tx *ent.Tx, id int64) error
	add      func(ctx context.Context, tx *ent.Tx, more map[int64]int) ([]outbox.JobRef, error)
	announce func(ctx context.Context, ids []int64, tickets []outbox.JobRef)
}

func (s *Service) soldCounter() counter {
	return counter{
		s: s, noun: "shop", unit: "pieces sold", truth: "the orders", text: sqldb.Statement(countSold),
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.Shop.Query().Where(entshop.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: s.cfg.Shops.AddSold, announce: s.cfg.Shops.AfterCommit,
	}
}

func (s *Service) pointsCounter() counter {
	return counter{
		s: s, noun: "user", unit: "points", truth: "orders and check-ins", text: sqldb.Statement(countPoints), args: []any{perPoint},
		lock: func(ctx context.Context, tx *ent.Tx, id int64) error {
			row := tx.User.Query().Where(entuser.ID(id))
			row.Modify(sqldb.ForUpdate)
			_, err := row.IDs(ctx)
			return err
		},
		add: s.cfg.Users.AddPoints, announce: s.cfg.Users.AfterCommit,
	}
}

// A drift is a counter that is not what the rows say.
type drift struct {
	id        int64
	is, wants int
}

// scan compares all counters of a kind, in pages.
func (c counter) scan(ctx context.Context, r *reconcile.Run) error {
	read := func(ctx context.Context, after int64, most int) ([]drift, error) {
		return c.page(ctx, c.s.db, after, most)
	}
	return reconcile.Counters(ctx, r, scanPage, read, c.look, c.mend)
}

// look says how a counter differs.
func (c counter) look(d drift) (id int64, differs string) {
	if d.is != d.wants {
		differs = fmt.Sprintf("%s %d: it has %d %s, and %s say %d", c.noun, d.id, d.is, c.unit, c.truth, d.wants)
	}
	return d.id, differs
}

// page reads counters behind an id.
func (c counter) page(ctx context.Context, db sqldb.Querier, after int64, most int) (page []drift, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, c.text, append([]any{after, most}, c.args...), func(rows *sql.Rows) error {
		var d drift
		err := rows.Scan(&d.id, &d.is, &d.wants)
		page = append(page, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the %s of each %s behind %d: %w", c.unit, c.noun, after, err)
	}
	return page, nil
}

// mend sets a counter to what the rows say while its own is locked: who tallies adds to it
// before or after, and marks his orders as counted in the same transaction; who checks in
// adds to it in the transaction of his check-in.
func (c counter) mend(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var tickets []outbox.JobRef
	err := c.s.tx(ctx, func(tx *ent.Tx) error {
		tickets = nil
		if err := c.lock(ctx, tx, id); err != nil {
			return fmt.Errorf("lock it: %w", err)
		}
		page, err := c.page(ctx, tx, id-1, 1)
		if err != nil || len(page) == 0 || page[0].id != id || page[0].is == page[0].wants {
			return err
		}
		tickets, err = c.add(ctx, tx, map[int64]int{id: page[0].wants - page[0].is})
		return err
	})
	if err != nil {
		return fmt.Errorf("set the %s of %s %d right: %w", c.unit, c.noun, id, err)
	}
	c.announce(ctx, []int64{id}, tickets)
	return nil
}
