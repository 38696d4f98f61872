package cdc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// The server may invalidate a slot (max_slot_wal_keep_size). That is a setting of the
// whole server, so the test runs itself on a server of its own.
func TestSlotRemovedByServerIsRecreated(t *testing.T) {
	if !testkit.OwnServer(t) {
		return
	}
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.options(at)).stop()
	at.exec(t, `ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'`)
	at.exec(t, `SELECT pg_reload_conf()`)
	testkit.Eventually(t, within, func() bool {
		at.exec(t, `SELECT pg_logical_emit_message(true, 'x', repeat('x', 100000)) FROM generate_series(1, 15)`)
		at.exec(t, `SELECT pg_switch_wal()`)
		at.exec(t, `CHECKPOINT`)
		return at.text(t, `SELECT wal_status FROM pg_replication_slots`) == "lost"
	})
	at.exec(t, `ALTER SYSTEM RESET max_slot_wal_keep_size`)
	at.exec(t, `SELECT pg_reload_conf()`)
	at.exec(t, `INSERT INTO shops (id) VALUES (1)`)
	at.runActive(t, rec.options(at))
	at.exec(t, `INSERT INTO shops (id) VALUES (2)`)
	if diff := cmp.Diff([]string{"missed", "missed", "shops:2"}, rec.await(t, "shops:2")); diff != "" {
		t.Error(diff)
	}
}
