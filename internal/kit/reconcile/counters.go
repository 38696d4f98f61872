package reconcile

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	countPage  = 500
	countLimit = 30 * time.Second // per statement
)

// RowCounts describes stored numbers of rows to a scan. The statement reads a page of them, so that
// rows and numbers are consistent. Its parameters are the id before the page and the maximum
// number of ids. It returns the id, the stored number and the actual number, in the order of ids.
type RowCounts struct {
	Format    string // of a finding, with verbs for id, stored and actual number
	Statement string
}

type rowCount struct {
	id             int64
	stored, actual int
}

// Compare compares the numbers in pages, like [Counters].
func (c RowCounts) Compare(ctx context.Context, r *Run, db sqldb.Querier, repair func(ctx context.Context, id int64) error) error {
	read := func(ctx context.Context, after int64, limit int) ([]rowCount, error) {
		return c.read(ctx, db, after, limit)
	}
	check := func(n rowCount) (id int64, differs string) {
		if n.stored != n.actual {
			differs = fmt.Sprintf(c.Format, n.id, n.stored, n.actual)
		}
		return n.id, differs
	}
	return Counters(ctx, r, countPage, read, check, repair)
}

// Missing returns the difference between the actual and the stored number of an id, 0 if the id
// does not exist.
func (c RowCounts) Missing(ctx context.Context, db sqldb.Querier, id int64) (int, error) {
	page, err := c.read(ctx, db, id-1, 1)
	if err != nil || len(page) == 0 || page[0].id != id {
		return 0, err
	}
	return page[0].actual - page[0].stored, nil
}

func (c RowCounts) read(ctx context.Context, db sqldb.Querier, after int64, limit int) (page []rowCount, err error) {
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	err = sqldb.Each(ctx, db, c.Statement, []any{after, limit}, func(rows *sql.Rows) error {
		var n rowCount
		err := rows.Scan(&n.id, &n.stored, &n.actual)
		page = append(page, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count rows of %d ids after %d: %w", limit, after, err)
	}
	return page, nil
}

// Counters compares counters in pages of the given size. The function read returns up to
// limit counters after an id, in the order of ids. The same statement counts their rows.
// check returns the id of a counter, and the difference, or "" if there is none. repair
// counts the rows again under a lock and sets the counter.
func Counters[C any](ctx context.Context, r *Run, size int,
	read func(ctx context.Context, after int64, limit int) ([]C, error), check func(C) (id int64, differs string), repair func(ctx context.Context, id int64) error,
) error {
	for after, n := int64(0), size; n == size; {
		page, err := read(ctx, after, size)
		if err != nil {
			return err
		}
		if n = len(page); n == 0 {
			return nil
		}
		after, _ = check(page[n-1])
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
		for _, c := range page {
			id, differs := check(c)
			if differs == "" {
				continue
			}
			r.Report(differs)
			if r.DryRun {
				continue
			}
			if err := repair(ctx, id); err != nil {
				return err
			}
			r.CountRepaired(1)
		}
	}
	return nil
}
