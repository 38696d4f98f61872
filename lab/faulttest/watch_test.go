package faulttest

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// Only checks during the run find mismatches that the server repairs within seconds.
func TestWatchFindsTemporaryMismatch(t *testing.T) {
	w := openTestWorld(t, Options{People: 3})
	history, err := Create(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	load := &Workload{System: w, History: history}
	if err := load.open(); err != nil {
		t.Fatal(err)
	}
	made := load.makeVoucher(t.Context(), load.random(0), w.People()[1])
	voucher, err := number("FlashVoucher", made.Voucher)
	if err != nil {
		t.Fatal(made, err)
	}
	watch := newWatch(w)
	db, err := openDatabase(w.DatabaseURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rdb, err := openRedis(w.RedisURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	check := func() (found []string) {
		watch.checkDatabase(t.Context(), db)
		watch.checkRedis(t.Context(), rdb)
		breaches, _ := watch.verdict()
		for _, b := range breaches {
			found = append(found, b.Text)
		}
		return found
	}
	stock := saleKey(partitionIn(t, db, voucher), voucher, "stock")
	testkit.Eventually(t, 30*time.Second, func() bool { return rdb.Exists(t.Context(), stock).Val() == 1 })
	if found := check(); len(found) > 0 {
		t.Fatalf("valid sale: got breaches %v", found)
	}
	damage := func() { damageStock(t, rdb, stock) }
	testkit.Eventually(t, 30*time.Second, func() bool { // the server repairs it
		damage()
		return len(check()) == 1
	})
	if _, err := db.ExecContext(t.Context(), `UPDATE flash_sales SET stock = stock - 1`); err != nil {
		t.Fatal(err)
	}
	if found := check(); len(found) != 2 || !strings.Contains(found[1], "the database") {
		t.Errorf("got %v, want two breaches", found)
	}
}

func damageStock(t *testing.T, rdb redis.UniversalClient, key string) {
	t.Helper()
	if err := rdb.Incr(t.Context(), key).Err(); err != nil {
		t.Fatal(err)
	}
}

func partitionIn(t *testing.T, db *sql.DB, voucher int64) int {
	t.Helper()
	sales, err := readSales(context.WithoutCancel(t.Context()), db)
	if err != nil {
		t.Fatal(err)
	}
	return sales[voucher].partition
}
