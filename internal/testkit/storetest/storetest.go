// Package storetest provides embedded and real stores to tests of domain packages, and opens them
// like a server process. It is separate from testkit because it needs ent and kit/sqldb, whose tests
// need testkit.
package storetest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/keytable"
)

// Stores configures the stores of a test. The stores are initially empty, and all processes of the
// test share them.
type Stores struct {
	SQL   sqldb.SQLConfig
	Redis redisdb.RedisConfig

	original redisdb.RedisConfig // Redis before the test changes it
}

// patience is the timeout of Redis calls. It is long, so that Redis does not seem unavailable on a
// busy machine. Tests of an unavailable Redis use a hook or a shorter timeout.
const patience = 5 * time.Second

func stores(sql sqldb.SQLConfig, redis redisdb.RedisConfig) Stores {
	redis.Timeout, redis.PoolTimeout = patience, patience
	return Stores{sql, redis, redis}
}

// Each runs a test on SQLite with the embedded Redis, and on PostgreSQL with a real one.
func Each(t *testing.T, test func(*testing.T, Stores)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, embedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, Real(t)) })
}

// Real returns a PostgreSQL database and a real Redis.
func Real(t testing.TB) Stores {
	t.Helper()
	return stores(sqldb.SQLConfig{URL: Postgres(t)}, redisdb.RedisConfig{URL: Redis(t), Role: "state"})
}

// Redis returns the URL of a private Redis: one server, or the topology that `make test-cluster`
// selects.
func Redis(tb testing.TB) string {
	tb.Helper()
	if url, ok := testkit.RedisTopology(tb); ok {
		return url
	}
	return testkit.Redis(tb)
}

// Postgres returns the DSN of a private database with all tables, copied from a migrated template.
// The tables are empty.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return testkit.PostgresFrom(tb, version(tb), migrated)
}

// version returns the template name of the newest migration.
func version(tb testing.TB) string {
	files, err := migrate.Files("postgres")
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := fs.ReadDir(files, ".")
	if err != nil || len(dir) == 0 {
		tb.Fatalf("list migrations: got %d, %v", len(dir), err)
	}
	return "migrated to " + dir[len(dir)-1].Name()
}

func migrated(ctx context.Context, dsn string) error {
	return makeTables(ctx, sqldb.SQLConfig{URL: dsn})
}

func makeTables(ctx context.Context, cfg sqldb.SQLConfig) error {
	db, err := sqldb.OpenSQL(cfg)
	if err != nil {
		return err
	}
	files, err := migrate.Files(db.Dialect)
	if err == nil {
		_, err = db.Migrate(ctx, files)
	}
	return errors.Join(err, db.Close())
}

// SQLite returns a directory with a private database with all tables, which are empty. It copies a
// database that this process migrated once, because migrations of SQLite are slow under the race
// detector.
func SQLite(tb testing.TB) (dir string) {
	tb.Helper()
	from, err := emptySQLite()
	if err != nil {
		tb.Fatal(err)
	}
	dir = tb.TempDir()
	if err := os.CopyFS(dir, from); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// emptySQLite returns the files of a migrated database, in memory.
var emptySQLite = sync.OnceValues(func() (fs.FS, error) {
	dir, err := os.MkdirTemp("", "tandian-empty-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := makeTables(context.Background(), sqldb.SQLConfig{DataDir: dir}); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := fstest.MapFS{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name())) //nolint:gosec // a temporary directory
		if err != nil {
			return nil, err
		}
		all[f.Name()] = &fstest.MapFile{Data: data, Mode: 0o600}
	}
	return all, nil
})

// EachAndCluster is like [Each], but also runs the test on [Cluster], unless -short is set. Use it
// for tests of scripts and pipelines.
func EachAndCluster(t *testing.T, test func(*testing.T, Stores)) {
	t.Helper()
	Each(t, test)
	if testing.Short() {
		return
	}
	t.Run("cluster", func(t *testing.T) { test(t, Cluster(t)) })
}

// Cluster returns a PostgreSQL database and a Redis Cluster of three masters. The cluster takes
// seconds to start, so subtests should share it.
func Cluster(t *testing.T) Stores {
	t.Helper()
	return stores(sqldb.SQLConfig{URL: Postgres(t)}, redisdb.RedisConfig{URL: testkit.RedisCluster(t), Role: "state"})
}

// Emptied empties the Redis, and returns it with a new PostgreSQL database. Use it between tests
// that share a cluster.
func (s Stores) Emptied(t testing.TB) Stores {
	t.Helper()
	admin := s.original
	admin.URL = testkit.RedisAdmin(t, admin.URL)
	rdb, err := redisdb.OpenRedis(admin, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	empty := func(ctx context.Context, node *redis.Client) error { return node.FlushAll(ctx).Err() } //nolint:forbidigo // a server of the tests alone
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(t.Context(), empty)
	case *redis.Client:
		err = empty(t.Context(), c)
	default:
		t.Fatalf("unknown client type %T", rdb)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.SQL.URL = Postgres(t)
	return s
}

func embedded(t testing.TB) Stores {
	s, err := embedredis.Start(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Keys only expire while Run runs.
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var clock sync.WaitGroup
	clock.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() {
		stop()
		clock.Wait()
		_ = s.Close()
	})
	return stores(sqldb.SQLConfig{DataDir: SQLite(t)}, redisdb.RedisConfig{URL: "redis://embedded", Role: "state", Dial: s.Dial})
}

// Prefix is the Redis key prefix of a Process.
const Prefix = "td"

// A Process holds the dependencies of a domain package in one process. Several processes may share
// stores.
type Process struct {
	DB       *ent.Client
	SQL      *sqldb.SQL // below DB
	Dialect  string     // of SQL
	Redis    redis.UniversalClient
	Locks    *lock.Locker // in Postgres, or in this process for SQLite
	Hub      *cache.Client
	Registry *prometheus.Registry
	Log      *slog.Logger
	Secrets  *testkit.Secrets // must not occur in Log; Open checks that at the end of the test
}

// Open opens stores until the test ends. Then it checks the keys in Redis against the table in
// docs/redis-keys.md, and the log for secrets.
func Open(t testing.TB, on Stores) Process {
	t.Helper()
	reg, out := prometheus.NewRegistry(), new(testkit.Log)
	db, err := sqldb.OpenSQL(on.SQL)
	if err != nil {
		t.Fatal(err)
	}
	rdb, err := redisdb.OpenRedis(on.Redis, redisdb.NewRedisMetrics(reg))
	if err != nil {
		t.Fatal(err)
	}
	p := Process{
		DB: ent.NewClient(ent.Driver(db.Driver(sqldb.NewSQLMetrics(reg, nil)))), SQL: db, Dialect: db.Dialect, Redis: rdb, Registry: reg,
		Log: slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})), Secrets: &testkit.Secrets{},
	}
	if p.Hub, err = cache.NewClient(rdb, cache.Options{Prefix: Prefix, RedisTimeout: on.Redis.Timeout, Log: p.Log}); err != nil {
		t.Fatal(err)
	}
	if p.Locks, err = openLocks(db, lock.Options{MaxHold: -1, Log: p.Log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Hub.Wait()
		closing, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := p.Locks.Close(closing); err != nil {
			t.Errorf("close locks: %v", err)
		}
		checkKeys(t, on.original)
		_ = rdb.Close()
		_ = db.Close()
		for _, line := range p.Secrets.Leaks(out.String()) {
			t.Errorf("the log shows a secret: %s", line)
		}
	})
	return p
}

func openLocks(db *sqldb.SQL, o lock.Options) (*lock.Locker, error) {
	if db.Dialect == dialect.Postgres {
		return dblock.NewPostgres(db.DB, o)
	}
	return dblock.NewLocal(o)
}

// NewOutbox returns an outbox on the stores, without handlers. It does not run.
func (p Process) NewOutbox(t testing.TB) *outbox.Box {
	t.Helper()
	box, err := outbox.New(p.SQL.DB, outbox.Options{Dialect: p.Dialect, Log: p.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Wait)
	return box
}

// Relay runs the outbox until the test ends.
func Relay(t *testing.T, box *outbox.Box) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- box.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// checkKeys checks the keys with a new client, because the test may have modified its own.
func checkKeys(t testing.TB, cfg redisdb.RedisConfig) {
	cfg.Timeout = keytable.Patience
	rdb, err := redisdb.OpenRedis(cfg, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Error(err)
		return
	}
	keytable.Check(t, rdb, Prefix)
	_ = rdb.Close()
}
