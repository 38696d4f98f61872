package shop

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	rewritePage    = 500
	rewriteEvery   = time.Hour
	rewriteLimit   = 6 * time.Hour    // per run, for millions of shops
	rewriteTimeout = 30 * time.Second // per statement
)

// SearchTexts returns the job that rewrites outdated search texts. Texts are outdated after
// an upgrade that changes their form, and while servers of the previous release write.
//
// The job reads pages of 500 rows, rewrites the outdated ones in one statement, and pauses
// for the same time. It skips rows that are locked or changed meanwhile. It may run in
// several processes, and a run after an interruption finds the remaining rows. Searches
// find a row before and after its rewrite.
func (s *Service) SearchTexts() schedule.Job {
	return schedule.Job{Name: "shop.search-texts", Every: rewriteEvery, Timeout: rewriteLimit, Do: s.rewriteSearchTexts}
}

// searchRow is a shop whose stored search text is outdated.
type searchRow struct {
	ID     int64  `json:"id"`
	Stored string `json:"stored"`
	Wanted string `json:"wanted"`
}

func (s *Service) rewriteSearchTexts(ctx context.Context) error {
	rewritten := 0
	for after, n := int64(0), rewritePage; n == rewritePage; {
		began := time.Now()
		rows, last, read, err := s.searchRows(ctx, after)
		if err != nil {
			return err
		}
		count, err := s.rewriteRows(ctx, rows)
		if err != nil {
			return err
		}
		after, n, rewritten = last, read, rewritten+count
		if err := clock.Sleep(ctx, time.Since(began)); err != nil {
			return fmt.Errorf("rewrite search texts after shop %d: %w", after, err)
		}
	}
	if rewritten > 0 {
		s.log.InfoContext(ctx, "search texts rewritten", "shops", rewritten)
	}
	return nil
}

// searchRows reads the page of shops after an id. It returns the outdated ones, the last id
// and the number of shops.
func (s *Service) searchRows(ctx context.Context, after int64) (differ []searchRow, last int64, n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	last = after
	err = sqldb.Each(ctx, s.db, s.sql.searchTexts, []any{after, rewritePage}, func(rows *sql.Rows) error {
		var row searchRow
		var name, address string
		var area *string
		if err := rows.Scan(&row.ID, &name, &area, &address, &row.Stored); err != nil {
			return err
		}
		last, n = row.ID, n+1
		if row.Wanted = searchText(name, optional.Value(area), address); row.Wanted != row.Stored {
			differ = append(differ, row)
		}
		return nil
	})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("select search texts after shop %d: %w", after, err)
	}
	return differ, last, n, nil
}

// rewriteRows stores the wanted texts and returns the number of changed rows. It does not
// increment versions, because no cache contains the text.
func (s *Service) rewriteRows(ctx context.Context, rows []searchRow) (n int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	texts, err := json.Marshal(rows)
	if err != nil {
		return 0, fmt.Errorf("encode search texts: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	err = sqldb.Each(ctx, s.db, s.sql.rewrite, []any{string(texts)}, func(*sql.Rows) error {
		n++
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("rewrite search texts of %d shops: %w", len(rows), err)
	}
	return n, nil
}
