package app_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// tool runs a program of PostgreSQL.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	postgres, _, err := subprocess.FindPostgres()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, filepath.Join(filepath.Dir(postgres), name), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// mustOrder orders a voucher.
func mustOrder(t *testing.T, s *apptest.Server, who person, voucher string) *shownOrder {
	t.Helper()
	var got placed
	s.As(who.token).Must(t, orderVoucher, map[string]any{"v": voucher}, &got)
	if got.OrderVoucher.Order == nil {
		t.Fatalf("no order: %q", got.code())
	}
	return got.OrderVoucher.Order
}

// The steps are those of docs/operate/backup.md: a dump is restored into a new database, and
// Redis starts empty. Only changes after the dump are lost.
func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs PostgreSQL and Redis: run `make test`")
	}
	stack := apptest.Real(t)
	m := openMarket(t, stack, 4)
	s := stack.Start(t)
	voucher := m.flash(t, s, 10, -time.Minute, time.Hour)
	kept := mustOrder(t, s, m.customers[0], voucher)
	stored := func(s *apptest.Server, who person, id string) string {
		var got struct {
			Order *struct{ Number, Status string }
		}
		s.As(who.token).Must(t, `query O($id: ID!) { order(id: $id) { number status } }`, map[string]any{"id": id}, &got)
		if got.Order == nil {
			return "none"
		}
		return got.Order.Status
	}
	await(t, 10*time.Second, 20*time.Millisecond, "the order before the dump", "UNPAID", func() string { return stored(s, m.customers[0], kept.ID) })

	dump := filepath.Join(t.TempDir(), "tandian.dump")
	tool(t, "pg_dump", "--format=custom", "--file="+dump, stack.Config.DatabaseURL)
	lost := mustOrder(t, s, m.customers[1], voucher)
	await(t, 10*time.Second, 20*time.Millisecond, "the order after the dump", "UNPAID", func() string { return stored(s, m.customers[1], lost.ID) })
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	restored := *stack
	restored.Config.DatabaseURL, restored.Config.RedisURL = testkit.Postgres(t), testkit.Redis(t)
	tool(t, "pg_restore", "--no-owner", "--exit-on-error", "--dbname="+restored.Config.DatabaseURL, dump)
	if out, errs, code := restored.Command(t, "migrate", "status"); code != 0 || strings.Contains(out, "pending") {
		t.Fatalf("migrate status of the restored database: %d\n%s%s", code, out, errs)
	}
	s = restored.Start(t)
	// The open session is still valid.
	if status := stored(s, m.customers[0], kept.ID); status != "UNPAID" {
		t.Errorf("the order before the dump is %s", status)
	}
	if status := stored(s, m.customers[1], lost.ID); status != "none" {
		t.Errorf("the order after the dump is %s", status)
	}
	// Only customers without an order in the dump can buy.
	numbers := map[string]bool{kept.Number: true, lost.Number: true}
	for _, who := range m.customers[1:] {
		o := mustOrder(t, s, who, voucher)
		if numbers[o.Number] {
			t.Errorf("number %s is used twice", o.Number)
		}
		numbers[o.Number] = true
		await(t, 10*time.Second, 20*time.Millisecond, "an order after the restore", "UNPAID", func() string { return stored(s, who, o.ID) })
	}
	var again placed
	s.As(m.customers[0].token).Must(t, orderVoucher, map[string]any{"v": voucher}, &again)
	if again.code() != "ALREADY_ORDERED" {
		t.Errorf("a second order: got %q, want ALREADY_ORDERED", again.code())
	}
	if orders, users, stock := sold(t, &restored, voucher); orders != 4 || users != 4 || stock != 6 {
		t.Errorf("%d orders of %d users, stock %d; want 4, 4 and 6", orders, users, stock)
	}
	var shown struct {
		Voucher struct{ Sale struct{ Stock int } }
	}
	s.Must(t, stockQuery, map[string]any{"v": voucher}, &shown)
	if shown.Voucher.Sale.Stock != 6 {
		t.Errorf("the page shows stock %d, want 6", shown.Voucher.Sale.Stock)
	}
	s.Login(t, "+8613900000001") // a new user
}

// A base backup and the WAL archive restore any moment since the backup: with earlier
// commits and without later ones. The steps are those of docs/operate/backup.md.
func TestPointInTimeRecovery(t *testing.T) {
	testkit.SkipIfShort(t)
	t.Parallel()
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs PostgreSQL and Redis: run `make test`")
	}
	archive, base := t.TempDir(), t.TempDir()
	for dir := archive; dir != os.TempDir(); dir = filepath.Dir(dir) { // Postgres runs as another user
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // a temporary directory
			t.Fatal(err)
		}
	}
	old, err := subprocess.StartPostgres(t.Context(), "-c", "wal_level=logical", "-c", "archive_mode=on", "-c", "archive_command=cp %p "+archive+"/%f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Stop)
	stack := apptest.Real(t)
	stack.Config.DatabaseURL = old.URL
	m := openMarket(t, stack, 4)
	s := stack.Start(t)
	db := stack.SQL(t)
	value := func(query string) (text string) {
		if err := db.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return text
	}
	voucher := m.flash(t, s, 10, -time.Minute, time.Hour)
	orders := func() string { return value(`SELECT count(*) FROM orders WHERE status = 'UNPAID'`) }
	mustOrder(t, s, m.customers[0], voucher)
	await(t, 10*time.Second, 20*time.Millisecond, "orders before the backup", "1", orders)
	tool(t, "pg_basebackup", "-D", base, "-Ft", "-z", "-X", "stream", "-c", "fast", "-d", old.URL)
	mustOrder(t, s, m.customers[1], voucher)
	await(t, 10*time.Second, 20*time.Millisecond, "orders before the moment", "2", orders)
	moment := value(`SELECT clock_timestamp()::text`)
	mustOrder(t, s, m.customers[2], voucher)
	await(t, 10*time.Second, 20*time.Millisecond, "orders after the moment", "3", orders)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	last := value(`SELECT pg_walfile_name(pg_switch_wal())`)
	await(t, 30*time.Second, 50*time.Millisecond, "the archive has the last WAL file", "true", func() string {
		return value(`SELECT (last_archived_wal >= '` + last + `')::text FROM pg_stat_archiver`)
	})

	restored, err := subprocess.StartRestored(t.Context(), func(data string) error {
		for _, part := range []struct{ name, into string }{
			{"base.tar.gz", data}, // creates the directory of the other
			{"pg_wal.tar.gz", filepath.Join(data, "pg_wal")},
		} {
			if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(base, part.name), "-C", part.into).CombinedOutput(); err != nil {
				return fmt.Errorf("unpack %s: %w: %s", part.name, err, out)
			}
		}
		return os.WriteFile(filepath.Join(data, "recovery.signal"), nil, 0o600)
	}, "-c", "wal_level=logical", "-c", "restore_command=cp "+archive+"/%f %p", "-c", "recovery_target_time="+moment, "-c", "recovery_target_action=promote")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restored.Stop)
	again := *stack
	again.Config.DatabaseURL, again.Config.RedisURL = restored.URL, testkit.Redis(t)
	db = again.SQL(t)
	await(t, 30*time.Second, 50*time.Millisecond, "the database takes writes", "false", func() string { return value(`SELECT pg_is_in_recovery()::text`) })
	if n := orders(); n != "2" {
		t.Fatalf("got %s orders, want the 2 before the moment", n)
	}
	s = again.Start(t)
	for i, want := range []string{"ALREADY_ORDERED", "ALREADY_ORDERED", "", ""} {
		var got placed
		s.As(m.customers[i].token).Must(t, orderVoucher, map[string]any{"v": voucher}, &got)
		if got.code() != want {
			t.Errorf("customer %d gets %q, want %q", i, got.code(), want)
		}
	}
	await(t, 10*time.Second, 20*time.Millisecond, "orders in the end", "4", orders)
	// The second run checks the repairs of the first.
	for _, args := range [][]string{{"reconcile"}, {"reconcile", "--dry-run"}} {
		if out, errs, code := again.Command(t, args...); code != 0 || strings.Contains(out+errs, "unrepaired") {
			t.Errorf("%v: %d\n%s%s", args, code, out, errs)
		}
	}
}

// A server that restarts during an upgrade finds a migration that only newer servers know.
// Migrations only add, so the older server can serve.
func TestServerStartsOnNewerDatabase(t *testing.T) {
	t.Parallel()
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs PostgreSQL and Redis: run `make test`")
	}
	stack := apptest.Real(t)
	m := openMarket(t, stack, 2)
	before := stack.Start(t)
	psql := func(statement string) {
		tool(t, "psql", "--set=ON_ERROR_STOP=1", "--command="+statement, stack.Config.DatabaseURL)
	}
	psql(`ALTER TABLE users ADD COLUMN motto character varying NULL, ADD COLUMN rank bigint NOT NULL DEFAULT 0;
		CREATE TABLE badges (id bigint PRIMARY KEY, user_id bigint NOT NULL REFERENCES users);
		INSERT INTO goose_db_version (version_id, is_applied) VALUES (29991231000000, true)`)
	after := stack.Start(t)
	for name, s := range map[string]*apptest.Server{"one that runs": before, "one that restarts": after} {
		s.Login(t, map[string]string{"one that runs": "+8613900000001", "one that restarts": "+8613900000002"}[name]) // writes to a changed table
		voucher := m.flash(t, s, 2, -time.Minute, time.Hour)
		if o := mustOrder(t, s, m.customers[0], voucher); o.Number == "" {
			t.Errorf("%s: an order without a number", name)
		}
	}
}
