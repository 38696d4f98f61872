package faulttest

import (
	"context"
	"database/sql"
	_ "embed" // the script
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
	watchEvery    = 250 * time.Millisecond
	watchPatience = time.Second // for one look at one store
	watchedSales  = 50          // the newest, in Redis
)

//go:embed lua/sum.lua
var sumLua string

// A watch looks at both stores during a run: the pieces of a sale add up (C) not only in
// the end, but in the database at every commit and in Redis at every moment, whatever is
// under way. What repairs itself soon is seen by nobody else.
type watch struct {
	place    Place
	places   map[int64]sale // of sales, as the database last said
	looks    map[string]int
	breaches map[string]string // by what was found
	mu       sync.Mutex        // guards the two above
}

func newWatch(place Place) *watch {
	return &watch{place: place, places: map[int64]sale{}, looks: map[string]int{}, breaches: map[string]string{}}
}

// run looks until ctx ends. Stores that do not answer are being harmed.
func (w *watch) run(ctx context.Context) error {
	if w.place.RedisURL() == "" {
		return nil // both stores are the server's own
	}
	db, err := openDatabase(w.place.DatabaseURL())
	if err != nil {
		return err
	}
	rdb, err := openRedis(w.place.RedisURL())
	if err != nil {
		return errors.Join(err, db.Close())
	}
	var both sync.WaitGroup
	both.Go(func() {
		for clock.Sleep(ctx, watchEvery) == nil {
			w.lookAtDatabase(ctx, db)
		}
	})
	both.Go(func() {
		for clock.Sleep(ctx, watchEvery) == nil {
			w.lookAtRedis(ctx, rdb)
		}
	})
	both.Wait()
	return errors.Join(db.Close(), rdb.Close())
}

func (w *watch) lookAtDatabase(ctx context.Context, db *sql.DB) {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	places, err := readSales(ctx, db)
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
	if w.places = places; err == nil {
		w.looks[countLooksDB]++
	}
}

func (w *watch) lookAtRedis(ctx context.Context, rdb redis.UniversalClient) {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	for voucher, cmd := range w.sums(ctx, rdb) {
		n, err := cmd.Int64Slice()
		if err != nil || len(n) == 0 { // it was forgotten
			continue
		}
		w.mu.Lock()
		w.looks[countLooksRedis]++
		w.mu.Unlock()
		if n[1]+n[2] != n[0] {
			w.found("Redis", voucher, n[0], n[1], n[2])
		}
	}
}

// sums asks Redis for the newest sales.
func (w *watch) sums(ctx context.Context, rdb redis.UniversalClient) map[int64]*redis.Cmd {
	w.mu.Lock()
	places := w.places
	w.mu.Unlock()
	newest := slices.Sorted(maps.Keys(places))
	newest = newest[max(0, len(newest)-watchedSales):]
	sums := make(map[int64]*redis.Cmd, len(newest))
	pipe := rdb.Pipeline()
	for _, voucher := range newest {
		at := places[voucher]
		keys := []string{saleKey(at.partition, voucher, "meta"), saleKey(at.partition, voucher, "stock")}
		for bucket := range at.buckets {
			keys = append(keys, bucketKey(at.partition, voucher, bucket))
		}
		sums[voucher] = pipe.Eval(ctx, sumLua, keys)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	return sums
}

// found notes a sale that does not add up, once.
func (w *watch) found(where string, voucher, initial, stock, live int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(where, voucher)
	if _, known := w.breaches[key]; !known {
		w.breaches[key] = fmt.Sprintf("sale %d in %s during the run: %d left + %d sold, of %d", voucher, where, stock, live, initial)
	}
}

// verdict is what was looked at and found.
func (w *watch) verdict() (breaches []Breach, counts map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.breaches)) {
		breaches = append(breaches, Breach{"C", w.breaches[key]})
	}
	return breaches, maps.Clone(w.looks)
}
