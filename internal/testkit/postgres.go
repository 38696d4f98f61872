package testkit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// patience limits one operation at the PostgreSQL server, including a wait for the advisory lock
// and a migration.
const patience = 2 * time.Minute

// Postgres creates an empty database for this test and returns its DSN. After the test it drops the
// database, even if connections are open. The server is the one in TANDIAN_TEST_DATABASE_URL, whose
// role must be allowed to create databases.
func Postgres(tb testing.TB) string {
	tb.Helper()
	s := connect(tb)
	name := freshName()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	// template0 accepts no connections, so none can block the copy.
	if err := s.create(ctx, name, "template0"); err != nil {
		tb.Fatalf("create test database: %v", err)
	}
	return s.dropAfterTest(tb, name)
}

// PostgresFrom is like [Postgres], but the database is a copy of the template called name, which
// migrate fills. The first test that needs the template creates it. All test processes on the
// server share it, and it is never removed. If the server outlives the test run, name must contain
// a version or hash of migrate.
//
// migrate must be deterministic, because it may run in another process. It must close its
// connections before it returns.
func PostgresFrom(tb testing.TB, name string, migrate func(ctx context.Context, dsn string) error) string {
	tb.Helper()
	s := connect(tb)
	sum := sha256.Sum256([]byte(name))
	template, database := "tpl_"+hex.EncodeToString(sum[:12]), freshName()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()

	err := s.create(ctx, database, template)
	if pq.As(err, pqerror.InvalidCatalogName) != nil {
		if err := s.makeTemplate(ctx, template, migrate); err != nil {
			tb.Fatalf("create template database %q: %v", name, err)
		}
		err = s.create(ctx, database, template)
	}
	if err != nil {
		tb.Fatalf("create test database from template %q: %v", name, err)
	}
	return s.dropAfterTest(tb, database)
}

// OwnServer reports whether this test has a PostgreSQL server of its own. If not, it runs the test
// again in a new process with such a server, and the caller must return.
func OwnServer(t *testing.T) bool {
	t.Helper()
	if os.Getenv("TANDIAN_TEST_OWN_SERVER") != "" {
		return true
	}
	Postgres(t) // skips if there is no server
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(Root(t), "scripts", "servers.sh"), "run", program, "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // built from constants
	// The script stops its server when it is interrupted.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	// Without an address the script starts a server.
	cmd.Env = append(os.Environ(), "TANDIAN_TEST_OWN_SERVER=1", "TANDIAN_TEST_DATABASE_URL=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}

// A pgServer creates databases on the tests' PostgreSQL server.
type pgServer struct {
	url *url.URL
	db  *sql.DB
}

// connect opens the tests' PostgreSQL server until the test ends.
func connect(tb testing.TB) pgServer {
	tb.Helper()
	dsn := os.Getenv("TANDIAN_TEST_DATABASE_URL")
	if dsn == "" {
		missingServer(tb, "PostgreSQL")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal("TANDIAN_TEST_DATABASE_URL is not a URL") // the error would show the password
	}
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		tb.Fatalf("TANDIAN_TEST_DATABASE_URL: %v", err)
	}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { _ = db.Close() })
	return pgServer{url: u, db: db}
}

func (s pgServer) dsn(database string) string {
	u := *s.url
	u.Path = "/" + database
	return u.String()
}

// dropAfterTest returns the DSN of a database and drops the database after the test.
func (s pgServer) dropAfterTest(tb testing.TB, database string) string {
	tb.Cleanup(func() {
		// The test's context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.drop(ctx, database); err != nil {
			tb.Errorf("drop test database: %v", err)
		}
	})
	return s.dsn(database)
}

// create creates a database as a copy of another, which must have no connections.
func (s pgServer) create(ctx context.Context, name, template string) error {
	return s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template)
}

// drop drops a database with its replication slots. It first ends the readers of active slots, which
// would block it.
func (s pgServer) drop(ctx context.Context, name string) error {
	_, err := s.db.ExecContext(ctx,
		"SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots WHERE database = $1 AND active", name)
	if err != nil {
		return err
	}
	return s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

func (s pgServer) exec(ctx context.Context, statement string) error {
	_, err := s.db.ExecContext(ctx, statement)
	return err
}

// makeTemplate creates a migrated database unless it exists. An advisory lock serializes the test
// processes. The database gets its name at the end, so a process that dies earlier leaves no
// incomplete template.
func (s pgServer) makeTemplate(ctx context.Context, template string, migrate func(context.Context, string) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	key := lockKey(template)
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", key); err != nil {
		return fmt.Errorf("wait for other test processes: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", key) // after an error, the end of the session unlocks
	}()

	var exists bool
	err = conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", template).Scan(&exists)
	if err != nil || exists {
		return err
	}
	draft := template + "_draft"
	if err := s.drop(ctx, draft); err != nil {
		return err
	}
	if err := s.create(ctx, draft, "template0"); err != nil {
		return err
	}
	if err := migrate(ctx, s.dsn(draft)); err != nil {
		return errors.Join(fmt.Errorf("migrate: %w", err), s.drop(ctx, draft))
	}
	return s.publish(ctx, draft, template)
}

// publish renames a finished template. It first disallows connections, which would block copies.
func (s pgServer) publish(ctx context.Context, draft, template string) error {
	if err := s.exec(ctx, "ALTER DATABASE "+draft+" WITH ALLOW_CONNECTIONS false"); err != nil {
		return err
	}
	// A closed connection may take a moment to disappear from the server.
	_, err := s.db.ExecContext(ctx,
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", draft)
	if err != nil {
		return err
	}
	return s.exec(ctx, "ALTER DATABASE "+draft+" RENAME TO "+template)
}

func freshName() string {
	return "t_" + hex.EncodeToString([]byte(rand.Text())[:10])
}

func lockKey(template string) int64 {
	sum := sha256.Sum256([]byte("testkit " + template))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
