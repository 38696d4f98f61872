package checkin

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	bulkBatch   = 500         // months or users per statement
	bulkTimeout = time.Minute // of one call
)

// A Draft is a check-in to store.
type Draft struct {
	User int64
	Day  civil.Date
}

// BulkInsert stores check-ins with their points and returns the number of new ones. An existing day
// stays and earns nothing, so a call can be repeated. It is one transaction, with two statements
// per 500 months, and locks the users until its end. Pass a few thousand drafts per call.
func (s *Service) BulkInsert(ctx context.Context, drafts []Draft) (added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	all, err := draftedMonths(drafts)
	if err != nil {
		return 0, err
	}
	var more map[int64]int // points by user
	var changed []bitRef
	var users, jobs []outbox.JobRef
	err = ent.WithTxAgain(ctx, s.db, sqldb.Retryable, func(tx *ent.Tx) error {
		more, changed, users, jobs = make(map[int64]int), nil, nil, nil
		for part := range slices.Chunk(all, bulkBatch) {
			fresh, _, err := s.unknown(ctx, tx, part)
			if err != nil {
				return err
			}
			stored, err := s.insert(ctx, tx, fresh)
			if err != nil {
				return err
			}
			for _, d := range stored {
				more[d.User] += d.Points
				if d.Month >= s.oldest() { // older months are never read from Redis
					changed = append(changed, d.bitRef)
				}
			}
		}
		if users, err = s.earn(ctx, tx, more); err != nil {
			return err
		}
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, changed...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("insert %d check-ins: %w", len(drafts), err)
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer end()
	s.users.AfterCommit(ctx, slices.Sorted(maps.Keys(more)), users)
	var errs []error
	for part := range slices.Chunk(changed, bulkBatch) {
		errs = append(errs, s.changed(ctx, part...))
	}
	s.outbox.Finish(ctx, errors.Join(errs...), jobs...)
	for _, n := range more {
		added += n / Points
	}
	return added, nil
}

// oldest returns the first month that is stored in Redis.
func (s *Service) oldest() month { return monthOf(s.today()).before(recent - 1) }

// A draftedMonth is a month of a user with its drafts, an element of the parameter of upsert.
type draftedMonth struct {
	bitRef
	Days   days `json:"days"`
	Points int  `json:"points"`
}

// draftedMonths groups drafts by month, in the order of users. The fixed order prevents
// deadlocks between calls.
func draftedMonths(drafts []Draft) ([]draftedMonth, error) {
	of := make(map[bitRef]days)
	for _, d := range drafts {
		p := bitRef{d.User, monthOf(d.Day)}
		if d.Day.Day < 1 || d.Day.Day > p.Month.last() {
			return nil, fmt.Errorf("invalid check-in of user %d: %v is not a day", d.User, d.Day)
		}
		of[p] |= dayBit(d.Day.Day)
	}
	all := make([]draftedMonth, 0, len(of))
	for p, d := range of {
		all = append(all, draftedMonth{bitRef: p, Days: d})
	}
	slices.SortFunc(all, func(a, b draftedMonth) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Month, b.Month))
	})
	return all, nil
}

// insert stores days of months that the lookup did not find, and returns the stored
// months. If another transaction has stored one of the days since, insert reads those
// months again. By then it holds their locks.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, fresh []draftedMonth) (stored []draftedMonth, err error) {
	for len(fresh) > 0 {
		done, err := s.upsert(ctx, tx, fresh)
		if err != nil {
			return nil, fmt.Errorf("insert %d months: %w", len(fresh), err)
		}
		var rest []draftedMonth
		for _, d := range fresh {
			if done[d.bitRef] {
				stored = append(stored, d)
			} else {
				rest = append(rest, d)
			}
		}
		if fresh, _, err = s.unknown(ctx, tx, rest); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// unknown returns the days that the rows lack, with their points, and the days of the rows.
func (s *Service) unknown(ctx context.Context, db sqldb.Querier, all []draftedMonth) (fresh []draftedMonth, rows map[bitRef]days, err error) {
	refs := make([]bitRef, len(all))
	for i, d := range all {
		refs[i] = d.bitRef
	}
	if rows, err = s.rowsOf(ctx, db, refs); err != nil {
		return nil, nil, err
	}
	for _, d := range all {
		if d.Days &^= rows[d.bitRef]; d.Days != 0 {
			d.Points = Points * d.Days.count()
			fresh = append(fresh, d)
		}
	}
	return fresh, rows, nil
}

// upsert stores months with one statement and returns the stored ones. It skips a month
// whose row already has one of the days.
func (s *Service) upsert(ctx context.Context, tx *ent.Tx, all []draftedMonth) (done map[bitRef]bool, err error) {
	done = make(map[bitRef]bool, len(all))
	return done, sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.upsert, []any{sqldb.JSON(all)}, func(rows *sql.Rows) error {
		var p bitRef
		err := rows.Scan(&p.User, &p.Month)
		done[p] = true
		return err
	})
}

// earn adds points to users, in the order of their ids.
func (s *Service) earn(ctx context.Context, tx *ent.Tx, more map[int64]int) ([]outbox.JobRef, error) {
	var jobs []outbox.JobRef
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(more)), bulkBatch) {
		part := make(map[int64]int, len(ids))
		for _, id := range ids {
			part[id] = more[id]
		}
		added, err := s.users.AddPoints(ctx, tx, part)
		if err != nil {
			return nil, fmt.Errorf("add points of %d users: %w", len(ids), err)
		}
		jobs = append(jobs, added...)
	}
	return jobs, nil
}
