package salebench

import (
	"context"
	_ "embed" // the script and the statements
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/harness"
)

//go:embed lua/bare.lua
var bareLua string

//go:embed sql/table.sql
var tableSQL string

//go:embed sql/insert.sql
var insertSQL string

const (
	batch   = 500 // rows of a bare INSERT
	writers = 4   // that INSERT at a time
)

// bare holds the rates of the bare stores, per second.
type bare struct {
	admissions map[int]float64 // by callers
	rows       float64
}

// anchors measures bare admissions and bare batches, in turns.
func (b *saleBench) anchors(ctx context.Context) ([]harness.Row, error) {
	if _, err := b.db.ExecContext(ctx, sqldb.Statement(tableSQL)); err != nil {
		return nil, fmt.Errorf("make a table: %w", err)
	}
	admissions, inserts := make(map[int]rates), rates(nil)
	for range b.Rounds {
		for _, callers := range b.Callers {
			rate, err := b.bareAdmissions(ctx, callers)
			if err != nil {
				return nil, err
			}
			admissions[callers] = append(admissions[callers], rate)
		}
		rate, err := b.bareInserts(ctx)
		if err != nil {
			return nil, err
		}
		inserts = append(inserts, rate)
	}
	b.bare = bare{admissions: make(map[int]float64), rows: inserts.median()}
	var rows []harness.Row
	for _, callers := range b.Callers {
		b.bare.admissions[callers] = admissions[callers].median()
		rows = append(rows, harness.Row{
			What: fmt.Sprintf("bare script and ZADD in one pipeline a second, %d at a time", callers), Measured: admissions[callers].String(),
		})
	}
	return append(rows, harness.Row{
		What: fmt.Sprintf("rows a second in bare INSERTs of %d, %d at a time", batch, writers), Measured: inserts.String(),
	}), nil
}

// bareAdmissions returns the bare admissions per second of the Redis of the sale.
func (b *saleBench) bareAdmissions(ctx context.Context, callers int) (float64, error) {
	script := redis.NewScript(bareLua)
	keys := []string{"{salebench}:stock", "{salebench}:buyers", "{salebench}:orders"}
	defer b.rdb.Unlink(context.WithoutCancel(ctx), append(keys, "{salebench}:queued")...)
	if err := script.Load(ctx, b.rdb).Err(); err != nil {
		return 0, fmt.Errorf("load the bare script: %w", err)
	}
	var n atomic.Int64
	took, err := harness.RunParallel(ctx, callers, b.Users, func(ctx context.Context) error {
		order := strconv.FormatInt(n.Add(1), 10)
		_, err := b.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			script.EvalSha(ctx, p, keys, order, order)
			p.ZAdd(ctx, "{salebench}:queued", redis.Z{Member: order})
			return nil
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("admit by the bare script: %w", err)
	}
	return float64(b.Users) / took.Seconds(), nil
}

// bareInserts returns the rows per second that the database of the orders stores.
func (b *saleBench) bareInserts(ctx context.Context) (float64, error) {
	defer func() { _, _ = b.db.ExecContext(context.WithoutCancel(ctx), "TRUNCATE salebench_orders") }()
	insert := sqldb.Statement(insertSQL)
	batches := max(b.Users/batch, writers)
	var n atomic.Int64
	took, err := harness.RunParallel(ctx, writers, batches, func(ctx context.Context) error {
		end := n.Add(batch)
		ids := make([]int64, batch)
		for i := range ids {
			ids[i] = end - int64(i)
		}
		_, err := b.db.ExecContext(ctx, insert, pq.Array(ids), pq.Array(ids), time.Now().UnixMilli())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("insert bare rows: %w", err)
	}
	return float64(batches*batch) / took.Seconds(), nil
}

// rates are per second, of several rounds.
type rates []float64

func (r rates) median() float64 { return slices.Sorted(slices.Values(r))[len(r)/2] }

func (r rates) String() string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", r.median(), slices.Min(r), slices.Max(r))
}
