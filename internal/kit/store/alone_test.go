package store

import (
	"database/sql"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestOneTransactionAtATimeIsAloneAtAName(t *testing.T) {
	db, err := OpenSQL(SQLConfig{URL: testkit.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
	is := func(tx *sql.Tx, name string, want bool) {
		t.Helper()
		if alone, err := Alone(t.Context(), tx, name); alone != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, alone, err, want)
		}
	}
	one, other := begin(), begin()
	is(one, "reconcile", true)
	is(other, "reconcile", false)
	is(other, "compare", true)
	if err := one.Commit(); err != nil {
		t.Fatal(err)
	}
	is(other, "reconcile", true)
	is(begin(), "compare", false)
}
