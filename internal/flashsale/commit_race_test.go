package flashsale

import (
	"database/sql"
	"testing"
	"time"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// The commit starts without stock and waits for a transaction that releases a unit: the commit
// gets it. Only on Postgres can a transaction wait for another one's row.
func TestUnitReleasedDuringCommitIsSold(t *testing.T) {
	on := storetest.Real(t)
	r := newRig(t, on, rigOptions{})
	db, err := sqldb.OpenSQL(on.SQL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	v := r.open(t, 1)
	first, second := r.attemptOf(t, by(v, 1)), r.attemptOf(t, by(v, 2))
	commitAll(t, r, first)
	type result struct {
		done committed
		err  error
	}
	ended := make(chan result, 1)
	err = entTx(t, r, func(tx rigTx) error {
		if err := tx.Order.UpdateOneID(first.Order).SetStatus(entorder.StatusCANCELLED).Exec(t.Context()); err != nil {
			return err
		}
		if _, err := r.Release(t.Context(), tx, []sale.Reservation{first.hold()}); err != nil {
			return err
		}
		go func() {
			done, err := r.writer.commit(t.Context(), []attempt{second})
			ended <- result{done, err}
		}()
		testkit.Eventually(t, 10*time.Second, func() bool { return waiting(t, db.DB) == 1 })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-ended
	if got.err != nil || got.done.outcomes[0].result != sale.Stored {
		t.Errorf("%+v, %v", got.done.outcomes, got.err)
	}
	if left := r.stock(t, v); left != 0 {
		t.Errorf("got %d left, want 0", left)
	}
}

// waiting returns the number of database sessions that wait for a lock.
func waiting(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
