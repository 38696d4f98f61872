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

// A commit is in the log before anybody sees it: for as long as it waits for a standby. That
// is a setting of the whole server, so these tests run themselves again with one of their own.

func TestAChangeIsToldOnceItCanBeSeen(t *testing.T) {
	if !testkit.OwnServer(t) {
		return
	}
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.counting(at))
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	heard.await(t, "shops:1 of 1")
	at.toldOnceSeen(t, heard, func() { at.exec(t, `INSERT INTO shops (id) VALUES (2)`) })
}

// The snapshot that told that the first change can be seen must not do so for the second.
func TestAChangeThatRanDuringAQuestionIsToldOnceItCanBeSeen(t *testing.T) {
	if !testkit.OwnServer(t) {
		return
	}
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.counting(at))
	tx, err := at.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO shops (id) VALUES (2)`); err != nil {
		t.Fatal(err)
	}
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	heard.await(t, "shops:1 of 1")
	at.toldOnceSeen(t, heard, func() {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
}

// counting returns options by which a change of shops is heard with the number of shops that
// can be seen then.
func (l *listener) counting(at town) Options {
	o := l.options(at)
	o.Tables[0].OnChange = func(ctx context.Context, keys []string) error {
		var n int
		if err := at.db.QueryRowContext(ctx, `SELECT count(*) FROM shops`).Scan(&n); err != nil {
			return err
		}
		return l.hear(fmt.Sprintf("shops:%s of %d", join(keys), n))
	}
	return o
}

// toldOnceSeen has commits wait for a standby, commits shop 2, and checks when that is told.
func (at town) toldOnceSeen(t *testing.T, heard *listener, commit func()) {
	t.Helper()
	at.exec(t, `CREATE TABLE probes (id bigint)`)
	at.exec(t, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	at.exec(t, `SELECT pg_reload_conf()`)
	// Commits wait from when the checkpointer has read the settings, which nothing shows but a
	// commit that waits.
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
	if got := heard.all(); slices.ContainsFunc(got, func(s string) bool { return s[:min(7, len(s))] == "shops:2" }) {
		t.Errorf("before it could be seen this was told: %q", got)
	}
	at.exec(t, `ALTER SYSTEM RESET synchronous_standby_names`)
	at.exec(t, `SELECT pg_reload_conf()`)
	<-inserted
	<-probed
	heard.await(t, "shops:2 of 2")
	if diff := cmp.Diff([]string{"missed", "shops:1 of 1", "shops:2 of 2"}, heard.all()); diff != "" {
		t.Error(diff)
	}
}
