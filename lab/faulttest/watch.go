package faulttest

import (
	"context"
	"database/sql"
	_ "embed" // for the script
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	watchEvery   = 250 * time.Millisecond
	watchTimeout = time.Second // for one check of one store
	watchedSales = 50          // newest sales, in Redis
)

//go:embed lua/sum.lua
var sumLua string

// watch checks during a run that the units of a sale add up (C): in the database at every
// commit and in Redis at every moment. Only such checks find errors that servers repair within
// seconds.
type watch struct {
	system   System
	sales    map[int64]sale // latest rows of sales
	checks   map[string]int
	breaches map[string]string // by sale and store
	mu       sync.Mutex        // guards checks and breaches
}

func newWatch(system System) *watch {
	return &watch{system: system, sales: map[int64]sale{}, checks: map[string]int{}, breaches: map[string]string{}}
}

// run checks both stores until ctx ends. It skips stores that do not answer during faults.
func (w *watch) run(ctx context.Context) error {
	if w.system.RedisURL() == "" {
		return nil // both stores are embedded
	}
	db, err := openDatabase(w.system.DatabaseURL())
	if err != nil {
		return err
	}
	rdb, err := openRedis(w.system.RedisURL())
	if err != nil {
		return errors.Join(err, db.Close())
	}
	var both sync.WaitGroup
	both.Go(func() {
		for clock.Sleep(ctx, watchEvery) == nil {
			w.checkDatabase(ctx, db)
		}
	})
	both.Go(func() {
		for clock.Sleep(ctx, watchEvery) == nil {
			w.checkRedis(ctx, rdb)
		}
	})
	both.Wait()
	return errors.Join(db.Close(), rdb.Close())
}

func (w *watch) checkDatabase(ctx context.Context, db *sql.DB) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	sales, err := readSales(ctx, db)
	if err != nil {
		return
	}
	err = sqldb.Each(ctx, db, statement("torn"), nil, func(rows *sql.Rows) error {
		var voucher, initial, stock, live int64
		if err := rows.Scan(&voucher, &initial, &stock, &live); err != nil {
			return err
		}
		w.found("the database", voucher, initial, stock, live)
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sales = sales; err == nil {
		w.checks[countDBChecks]++
	}
}

func (w *watch) checkRedis(ctx context.Context, rdb redis.UniversalClient) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	for voucher, cmd := range w.sums(ctx, rdb) {
		n, err := cmd.Int64Slice()
		if err != nil || len(n) == 0 { // the sale is not in Redis
			continue
		}
		w.mu.Lock()
		w.checks[countRedisChecks]++
		w.mu.Unlock()
		if n[1]+n[2] != n[0] {
			w.found("Redis", voucher, n[0], n[1], n[2])
		}
	}
}

// sums reads the newest sales from Redis.
func (w *watch) sums(ctx context.Context, rdb redis.UniversalClient) map[int64]*redis.Cmd {
	w.mu.Lock()
	sales := w.sales
	w.mu.Unlock()
	newest := slices.Sorted(maps.Keys(sales))
	newest = newest[max(0, len(newest)-watchedSales):]
	sums := make(map[int64]*redis.Cmd, len(newest))
	pipe := rdb.Pipeline()
	for _, voucher := range newest {
		at := sales[voucher]
		keys := []string{saleKey(at.partition, voucher, "meta"), saleKey(at.partition, voucher, "stock")}
		for bucket := range at.buckets {
			keys = append(keys, bucketKey(at.partition, voucher, bucket))
		}
		sums[voucher] = pipe.Eval(ctx, sumLua, keys)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	return sums
}

// found records a sale that does not add up, once.
func (w *watch) found(where string, voucher, initial, stock, live int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(where, voucher)
	if _, known := w.breaches[key]; !known {
		w.breaches[key] = fmt.Sprintf("sale %d in %s during the run: %d left + %d sold, of %d", voucher, where, stock, live, initial)
	}
}

// verdict returns the breaches and the number of checks.
func (w *watch) verdict() (breaches []Breach, counts map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.breaches)) {
		breaches = append(breaches, Breach{"C", w.breaches[key]})
	}
	return breaches, maps.Clone(w.checks)
}
