package bench

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/bench/livebench"
	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

// LiveConfig says what [Live] measures. All servers are its own.
type LiveConfig struct {
	Dir         string        // where to look for a checkout, upwards
	Program     string        // this one, which is run again as Tandian's server and as its author
	Only        string        // tables to print, between commas: those of bench/cmd/live; "" for all
	Rounds      int           // turns of each
	Each        time.Duration // of a load
	Stall       time.Duration // how long one is waited for who never reads
	Subscribers string        // numbers, between commas
	Pin         bool          // the server has a processor for itself
}

// Live prints how Tandian's live feed compares with what else a Go server could use for
// it, ours among them.
func Live(ctx context.Context, cfg LiveConfig, out, progress io.Writer) error {
	return beside(ctx, cfg.Only, cfg.Dir, func() error { return nil }, comparison{program: "live", args: []string{
		"--ours", cfg.Program, "--rounds", strconv.Itoa(cfg.Rounds), "--dur", cfg.Each.String(), "--stall", cfg.Stall.String(),
		"--n", cfg.Subscribers, "--pin=" + strconv.FormatBool(cfg.Pin),
	}}, out, progress)
}

// LivePeople makes users who have not asked for anything yet, and whom they follow: nobody,
// the author, or others, who follow nobody themselves.
func LivePeople(ctx context.Context, db *sql.DB, author int64, p livebench.People) (ids []int64, err error) {
	var crowd, follows, counts string
	err = sqlfile.Read(feedFiles, "postgres", map[string]*string{"crowd": &crowd, "follows": &follows, "counts": &counts})
	if err != nil {
		return nil, err
	}
	others := 0
	if p.Follows > 1 {
		others = p.Follows
	}
	var first, last int64
	if err := db.QueryRowContext(ctx, crowd, p.Number+others).Scan(&first, &last); err != nil {
		return nil, fmt.Errorf("make %d users: %w", p.Number+others, err)
	}
	followees := first + int64(p.Number)
	if p.Follows == 1 {
		followees = author
	}
	if p.Follows > 0 {
		if err := db.QueryRowContext(ctx, follows, first, p.Number, followees, p.Follows).Scan(new(int64), new(int64)); err != nil {
			return nil, fmt.Errorf("have %d users follow %d each: %w", p.Number, p.Follows, err)
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
