package bench

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/livebench"
)

// LivePeople inserts users that the server has not seen, and their follows: none, the author, or
// other new users.
func LivePeople(ctx context.Context, db *sql.DB, author int64, p livebench.People) (ids []int64, err error) {
	var crowd, follows, counts string
	err = sqldb.ReadStatements(feedFiles, "postgres", map[string]*string{"crowd": &crowd, "follows": &follows, "counts": &counts})
	if err != nil {
		return nil, err
	}
	others := 0
	if p.Follows > 1 {
		others = p.Follows
	}
	var first, last int64
	if err := db.QueryRowContext(ctx, crowd, p.Number+others).Scan(&first, &last); err != nil {
		return nil, fmt.Errorf("create %d users: %w", p.Number+others, err)
	}
	followees := first + int64(p.Number)
	if p.Follows == 1 {
		followees = author
	}
	if p.Follows > 0 {
		if err := db.QueryRowContext(ctx, follows, first, p.Number, followees, p.Follows).Scan(new(int64), new(int64)); err != nil {
			return nil, fmt.Errorf("insert follows of %d users, %d each: %w", p.Number, p.Follows, err)
		}
		if _, err := db.ExecContext(ctx, counts, followees, p.Follows, p.Number); err != nil {
			return nil, fmt.Errorf("count followers: %w", err)
		}
	}
	for id := first; id < first+int64(p.Number); id++ {
		ids = append(ids, id)
	}
	return ids, nil
}
