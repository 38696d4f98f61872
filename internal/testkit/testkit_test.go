package testkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) {
	if note := os.Getenv("TESTKIT_DIE_HOLDING"); note != "" {
		dieHolding(note)
	}
	goleak.VerifyTestMain(m)
}

func TestMissingServersSkipOrFail(t *testing.T) {
	calls := map[string]func(testing.TB){
		"PostgreSQL":          func(tb testing.TB) { testkit.Postgres(tb) },
		"PostgreSQL template": func(tb testing.TB) { testkit.PostgresFrom(tb, "x", nil) },
		"Redis":               func(tb testing.TB) { testkit.Redis(tb) },
	}
	for name, f := range calls {
		for _, tt := range []struct{ name, require, want string }{
			{"skips by default", "", "skipped: needs "},
			{"fails when servers are required", "1", "failed: needs "},
		} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				t.Setenv("TANDIAN_TEST_DATABASE_URL", "")
				t.Setenv("TANDIAN_TEST_REDIS_SERVER", "")
				t.Setenv("TANDIAN_REQUIRE_SERVERS", tt.require)
				got := watch(t, f)
				if !strings.HasPrefix(got, tt.want) || !strings.Contains(got, "run `make test`") {
					t.Errorf("got %q, want %q and a hint", got, tt.want)
				}
			})
		}
	}
}

func TestSharedFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file, require string
		ok                  bool
		want                string // end of the test
	}{
		{name: "found", file: "here.json", ok: true, want: "passed"},
		{name: "missing", file: "missing.json", want: "passed"},
		{name: "missing and required", file: "missing.json", require: "1", want: "failed: shared file"},
		{name: "found and required", file: "here.json", require: "1", ok: true, want: "passed"},
		{name: "outside", file: "../here.json", want: "failed: shared file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TANDIAN_SHARED", dir)
			t.Setenv("TANDIAN_REQUIRE_SHARED", tt.require)
			ok := false
			got := watch(t, func(tb testing.TB) { _, ok = testkit.SharedFile(tb, tt.file) })
			if !strings.HasPrefix(got, tt.want) || ok != tt.ok {
				t.Errorf("got %v and %q, want %v and %q", ok, got, tt.ok, tt.want)
			}
		})
	}
}

func TestSharedFileIsNextToTheRepository(t *testing.T) {
	t.Setenv("TANDIAN_SHARED", "")
	t.Setenv("TANDIAN_REQUIRE_SHARED", "")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(wd, "..", "..", "..", "shared", "data", "x.json")
	if got, _ := testkit.SharedFile(t, "data/x.json"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSeedCanBeRepeated(t *testing.T) {
	t.Setenv("TANDIAN_TEST_SEED", "")
	if a, b := testkit.Seed(t), testkit.Seed(t); a == b {
		t.Errorf("got two equal seeds %d", a)
	}
	t.Setenv("TANDIAN_TEST_SEED", "42")
	if got := testkit.Seed(t); got != 42 {
		t.Errorf("got %d, want 42", got)
	}
}

func TestEventually(t *testing.T) {
	tries := 0
	if got := watch(t, func(tb testing.TB) {
		testkit.Eventually(tb, time.Minute, func() bool { tries++; return tries == 5 })
	}); got != "passed" || tries != 5 {
		t.Errorf("got %q after %d tries, want passed after 5", got, tries)
	}
	if got := watch(t, func(tb testing.TB) {
		testkit.Eventually(tb, 3*time.Millisecond, func() bool { return false })
	}); !strings.HasPrefix(got, "failed: ") {
		t.Errorf("got %q, want a failure", got)
	}
}

func TestRedisIsPrivateAndEndsWithTheTest(t *testing.T) {
	var first string
	t.Run("works", func(t *testing.T) {
		first = testkit.Redis(t)
		second := testkit.Redis(t, "--maxmemory-policy", "allkeys-lfu")
		a, b := dial(t, first), dial(t, second)
		if err := a.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("second server: got %v, want no key of the first", err)
		}
		if err := a.Keys(t.Context(), "*").Err(); !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("forbidden command: got %v", err)
		}
		got, err := testkit.AdminClient(t, b).ConfigGet(t.Context(), "maxmemory-policy").Result()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"maxmemory-policy": "allkeys-lfu"}, got); diff != "" {
			t.Errorf("options (-want +got):\n%s", diff)
		}
	})
	if first == "" {
		t.Skip("needs Redis: run `make test`")
	}
	socket := strings.TrimPrefix(first, "unix://")
	if conn, err := net.Dial("unix", socket); err == nil {
		_ = conn.Close()
		t.Error("got a connection, want no server after the test")
	}
	if _, err := os.Stat(filepath.Dir(socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no directory of the server after the test", err)
	}
}

func TestRedisEndsWithAKilledTestProcess(t *testing.T) {
	testkit.Redis(t) // skips or fails if there is none
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	note := filepath.Join(t.TempDir(), "socket")
	child.Env = append(os.Environ(), "TESTKIT_DIE_HOLDING="+note)
	if err := child.Run(); err == nil {
		t.Fatal("got a regular exit of the child, want a kill")
	}
	socket, err := os.ReadFile(note)
	if err != nil {
		t.Fatalf("got no address of the child: %v", err)
	}
	testkit.Eventually(t, 10*time.Second, func() bool {
		_, err := os.Stat(filepath.Dir(string(socket)))
		return errors.Is(err, os.ErrNotExist)
	})
}

// dieHolding starts a Redis, writes its address to note, and kills its own process.
func dieHolding(note string) {
	tb := &spy{ctx: context.Background()}
	url := testkit.Redis(tb)
	if err := os.WriteFile(note, []byte(strings.TrimPrefix(url, "unix://")), 0o600); err != nil {
		panic(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {}
}

func TestPostgresCreatesAndDropsDatabases(t *testing.T) {
	var dsns []string
	t.Run("works", func(t *testing.T) {
		dsns = []string{testkit.Postgres(t), testkit.Postgres(t)}
		for _, dsn := range dsns {
			// In a shared database, the second statement would fail.
			query(t, dsn, "CREATE TABLE mine (id int)")
		}
		// An open connection must not block the removal of the database.
		db := open(t, dsns[0])
		if _, err := db.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if dsns == nil {
		t.Skip("needs PostgreSQL: run `make test`")
	}
	for _, dsn := range dsns {
		db := open(t, dsn)
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("got a connection, want no database after the test")
		}
	}
}

func TestPostgresSupportsUnicodeAndLogicalReplication(t *testing.T) {
	dsn := testkit.Postgres(t)
	var lower, level string
	row := open(t, dsn).QueryRowContext(t.Context(), "SELECT lower('ÄÉ'), current_setting('wal_level')")
	if err := row.Scan(&lower, &level); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"äé", "logical"}, []string{lower, level}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPostgresFromMigratesOnce(t *testing.T) {
	testkit.Postgres(t)                             // skips or fails if there is none
	name := fmt.Sprint("testkit ", testkit.Seed(t)) // the server may have templates of earlier runs
	var migrated atomic.Int32
	migrate := func(ctx context.Context, dsn string) error {
		migrated.Add(1)
		db := open(t, dsn) // left open: it must not block copies
		_, err := db.ExecContext(ctx, "CREATE TABLE shops (id int); INSERT INTO shops VALUES (1)")
		return err
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			// A spy, since a failure in this goroutine may not end the test.
			tb := &spy{ctx: t.Context()}
			got := watch(tb, func(testing.TB) {
				dsn := testkit.PostgresFrom(tb, name, migrate)
				db := open(tb, dsn)
				var n int
				err := db.QueryRowContext(tb.ctx, "UPDATE shops SET id = id + 1 RETURNING id").Scan(&n)
				if err != nil || n != 2 {
					t.Errorf("got %d, %v, want a private copy with 2", n, err)
				}
			})
			tb.cleanup()
			if got != "passed" || tb.outcome != "" {
				t.Errorf("%s %s", got, tb.outcome)
			}
		})
	}
	wg.Wait()
	if got := migrated.Load(); got != 1 {
		t.Errorf("got %d migrations, want 1", got)
	}
}

func TestFailedMigrationLeavesNoTemplate(t *testing.T) {
	name := fmt.Sprint("testkit broken ", testkit.Seed(t))
	testkit.Postgres(t) // skips or fails if there is none
	broken := func(context.Context, string) error { return errors.New("no such column") }
	if got := watch(t, func(tb testing.TB) { testkit.PostgresFrom(tb, name, broken) }); !strings.Contains(got, "no such column") {
		t.Errorf("got %q, want the error of the migration", got)
	}
	migrated := false
	dsn := testkit.PostgresFrom(t, name, func(context.Context, string) error {
		migrated = true
		return nil
	})
	query(t, dsn, "SELECT 1")
	if !migrated {
		t.Error("got the failed template, want another migration")
	}
}

func open(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func query(tb testing.TB, dsn, statement string) {
	tb.Helper()
	if _, err := open(tb, dsn).ExecContext(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

func dial(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	client := redis.NewClient(options)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// A spy is a testing.TB that records the outcome of a test.
type spy struct {
	testing.TB // other methods panic

	ctx      context.Context
	outcome  string // "skipped: …", "failed: …" or ""
	cleanups []func()
}

func (s *spy) Helper()                  {}
func (s *spy) Context() context.Context { return s.ctx }
func (s *spy) Cleanup(f func())         { s.cleanups = append(s.cleanups, f) }
func (s *spy) Logf(string, ...any)      {}
func (s *spy) Fatal(args ...any)        { s.end("failed: " + fmt.Sprint(args...)) }
func (s *spy) Fatalf(f string, a ...any) {
	s.end("failed: " + fmt.Sprintf(f, a...))
}
func (s *spy) Errorf(f string, a ...any) { s.outcome = "failed: " + fmt.Sprintf(f, a...) }
func (s *spy) Skipf(f string, a ...any)  { s.end("skipped: " + fmt.Sprintf(f, a...)) }

func (s *spy) end(outcome string) {
	s.outcome = outcome
	runtime.Goexit()
}

func (s *spy) cleanup() {
	for len(s.cleanups) > 0 {
		last := len(s.cleanups) - 1
		f := s.cleanups[last]
		s.cleanups = s.cleanups[:last]
		f()
	}
}

// watch runs f as a test and returns its outcome: "passed", "skipped: …" or "failed: …".
func watch(tb testing.TB, f func(testing.TB)) string {
	tb.Helper()
	s, isSpy := tb.(*spy)
	if !isSpy {
		s = &spy{ctx: tb.Context()}
		defer s.cleanup()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(s)
	}()
	<-done
	if s.outcome == "" {
		return "passed"
	}
	return s.outcome
}
