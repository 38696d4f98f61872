package cdc

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// A commit that waits for a standby is in the log before it is visible. That is a setting of
// the whole server, so these tests run themselves on a server of their own.

func TestChangeIsDeliveredWhenVisible(t *testing.T) {
	if !testkit.OwnServer(t) {
		return
	}
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.counting(at))
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	rec.await(t, "shops:1 of 1")
	at.deliveredWhenVisible(t, rec, func() { at.exec(t, `INSERT INTO shops (id) VALUES (2)`) })
}

// The snapshot that shows the first change must not show the second one.
func TestChangeDuringSnapshotIsDeliveredWhenVisible(t *testing.T) {
	if !testkit.OwnServer(t) {
		return
	}
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.counting(at))
	tx, err := at.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO shops (id) VALUES (2)`); err != nil {
		t.Fatal(err)
	}
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	rec.await(t, "shops:1 of 1")
	at.deliveredWhenVisible(t, rec, func() {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
}

// counting returns options that record a change of shops with the number of visible
// shops.
func (l *recorder) counting(at database) Options {
	o := l.options(at)
	o.Tables[0].OnChange = func(ctx context.Context, keys []string) error {
		var n int
		if err := at.db.QueryRowContext(ctx, `SELECT count(*) FROM shops`).Scan(&n); err != nil {
			return err
		}
		return l.record(fmt.Sprintf("shops:%s of %d", join(keys), n))
	}
	return o
}

// deliveredWhenVisible makes commits wait for a standby, commits shop 2, and checks its
// delivery.
func (at database) deliveredWhenVisible(t *testing.T, rec *recorder, commit func()) {
	t.Helper()
	at.exec(t, `CREATE TABLE probes (id bigint)`)
	at.exec(t, `ALTER SYSTEM SET synchronous_standby_names = 'missing'`)
	at.exec(t, `SELECT pg_reload_conf()`)
	// Commits wait after the checkpointer has read the settings. Only a waiting commit shows that.
	waiting := func() string {
		return at.text(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	}
	probed := make(chan struct{}, 1)
	probed <- struct{}{}
	testkit.Eventually(t, within, func() bool {
		select {
		case <-probed:
			go func() {
				at.exec(t, `INSERT INTO probes (id) VALUES (1)`)
				probed <- struct{}{}
			}()
		default:
		}
		return waiting() == "1"
	})
	inserted := make(chan struct{})
	go func() {
		defer close(inserted)
		commit()
	}()
	testkit.Eventually(t, within, func() bool {
		return waiting() == "2" &&
			at.text(t, `SELECT sent_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication`) == "true"
	})
	time.Sleep(200 * time.Millisecond) // for a reader that would not wait
	if got := rec.all(); slices.ContainsFunc(got, func(s string) bool { return s[:min(7, len(s))] == "shops:2" }) {
		t.Errorf("got deliveries before visibility: %q", got)
	}
	at.exec(t, `ALTER SYSTEM RESET synchronous_standby_names`)
	at.exec(t, `SELECT pg_reload_conf()`)
	<-inserted
	<-probed
	rec.await(t, "shops:2 of 2")
	if diff := cmp.Diff([]string{"missed", "shops:1 of 1", "shops:2 of 2"}, rec.all()); diff != "" {
		t.Error(diff)
	}
}
