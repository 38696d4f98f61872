package logreader

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// The server itself may take a slot away (max_slot_wal_keep_size). That is a
// setting of the whole server, so this test runs itself again with one of its own.
func TestASlotThatTheServerHasTakenAwayIsMadeAnew(t *testing.T) {
	if os.Getenv("TANDIAN_TEST_OWN_SERVER") == "" {
		onOwnServer(t)
		return
	}
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.options(at)).stop()
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
	at.runActive(t, heard.options(at))
	at.exec(t, `INSERT INTO shops (id) VALUES (2)`)
	if diff := cmp.Diff([]string{"missed", "missed", "shops:2"}, heard.await(t, "shops:2")); diff != "" {
		t.Error(diff)
	}
}

// onOwnServer runs this test alone, on servers that nobody else uses.
func onOwnServer(t *testing.T) {
	t.Helper()
	testkit.Postgres(t) // skips where there is no server
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../../scripts/servers.sh", "run", program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it takes its server with it
	cmd.WaitDelay = 10 * time.Second
	// Without an address the script starts a server.
	cmd.Env = append(os.Environ(), "TANDIAN_TEST_OWN_SERVER=1", "TANDIAN_TEST_DATABASE_URL=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
