package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestPoolersWithoutSessionsAreRefused(t *testing.T) {
	tests := []struct {
		name     string
		settings []string
	}{
		{"transaction", []string{"pool_mode = transaction"}},
		{"statement", []string{"pool_mode = statement"}},
		{"one server connection", []string{"pool_mode = transaction", "default_pool_size = 1"}},
		{"round robin", []string{"pool_mode = transaction", "server_round_robin = 1", "min_pool_size = 2"}},
		{"round robin of three", []string{"pool_mode = statement", "server_round_robin = 1", "min_pool_size = 3"}},
		{"reset after each transaction", []string{"pool_mode = transaction", "server_reset_query_always = 1"}},
	}
	direct := testkit.Postgres(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := testkit.PgBouncer(t, direct, tt.settings...)
			if strings.HasPrefix(tt.name, "round robin") {
				fillPool(t, u)
			}
			refusedAsPooled(t, u)
		})
	}
}

// fillPool makes the pooler open three server connections.
func fillPool(t *testing.T, u string) {
	t.Helper()
	db, err := sql.Open("postgres", u)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			if _, err := db.ExecContext(t.Context(), "SELECT pg_sleep(0.1)"); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
}

func refusedAsPooled(t *testing.T, u string) {
	t.Helper()
	db := openSQL(t, SQLConfig{URL: u})
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := db.Await(ctx, func(err error) { t.Logf("got a retry: %v", err) })
	if !errors.Is(err, errPooled) || strings.Count(err.Error(), "\n") > 0 {
		t.Fatalf("got %v, want one line about a pooler in transaction mode", err)
	}
	t.Logf("refused after %v: %v", time.Since(begin), err)
}

// Concurrent traffic changes the order of the sessions.
func TestBusyPoolersWithoutSessionsAreRefused(t *testing.T) {
	direct := testkit.Postgres(t)
	for _, mode := range []string{"0", "1"} {
		t.Run("server_round_robin "+mode, func(t *testing.T) {
			u := testkit.PgBouncer(t, direct, "pool_mode = transaction", "default_pool_size = 6", "server_round_robin = "+mode)
			stop := traffic(t, u, 12, "SELECT pg_sleep(0.0005)")
			defer stop()
			for range 10 {
				refusedAsPooled(t, u)
			}
		})
	}
}

// While the pool is busy, the check waits and retries.
func TestPoolersWithABusyPoolAreRefusedLater(t *testing.T) {
	u := testkit.PgBouncer(t, testkit.Postgres(t), "pool_mode = transaction", "default_pool_size = 1")
	refused := make(chan struct{})
	stop := traffic(t, u, 1, "SELECT pg_sleep(1.3)")
	go func() { defer close(refused); refusedAsPooled(t, u) }()
	<-refused
	stop()
}

// traffic runs a statement on n connections until stop is called.
func traffic(t *testing.T, u string, n int, statement string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	started := make(chan struct{}, n)
	for range n {
		clients.Go(func() {
			db, err := sql.Open("postgres", u)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = db.Close() }()
			for first := true; ctx.Err() == nil; first = false {
				if first {
					if _, err := db.ExecContext(context.WithoutCancel(ctx), "SELECT 1"); err != nil {
						t.Error(err)
					}
					started <- struct{}{}
				}
				if _, err := db.ExecContext(context.WithoutCancel(ctx), statement); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range n {
		<-started
	}
	return func() { cancel(); clients.Wait() }
}

func TestPostgresAndPoolersInSessionModeAreAdmitted(t *testing.T) {
	direct := testkit.Postgres(t)
	tests := []struct {
		name   string
		url    func(t *testing.T) string
		within time.Duration
	}{
		{"direct", func(*testing.T) string { return direct }, time.Second},
		{"session mode", func(t *testing.T) string { return testkit.PgBouncer(t, direct, "pool_mode = session") }, time.Second},
		{"session mode, round robin", func(t *testing.T) string {
			return testkit.PgBouncer(t, direct, "pool_mode = session", "server_round_robin = 1")
		}, time.Second},
		{"session mode, one server connection", func(t *testing.T) string {
			return testkit.PgBouncer(t, direct, "pool_mode = session", "default_pool_size = 1")
		}, 3 * time.Second},
		{"session mode, two server connections", func(t *testing.T) string {
			return testkit.PgBouncer(t, direct, "pool_mode = session", "default_pool_size = 2")
		}, 3 * time.Second},
		{"one connection left", func(t *testing.T) string { return limited(t, direct, 1) }, time.Second},
		{"two connections left", func(t *testing.T) string { return limited(t, direct, 2) }, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := tt.url(t)
			for range 3 {
				db := openSQL(t, SQLConfig{URL: u})
				begin := time.Now()
				if err := db.Await(t.Context(), func(err error) {
					if SQLState(err) != "53300" { // the session of the previous round may not have ended
						t.Errorf("got a retry: %v", err)
					}
				}); err != nil {
					t.Fatal(err)
				}
				took := time.Since(begin)
				if t.Logf("admitted after %v", took); took > tt.within {
					t.Errorf("took %v", took)
				}
			}
		})
	}
}

// limited returns the URL of a new role with at most n connections.
func limited(t *testing.T, direct string, n int) string {
	t.Helper()
	role := "limited_" + strconv.Itoa(n)
	db := openSQL(t, SQLConfig{URL: direct})
	if _, err := db.ExecContext(t.Context(), "CREATE ROLE "+role+" LOGIN CONNECTION LIMIT "+strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = db.ExecContext(context.WithoutCancel(t.Context()), "DROP ROLE "+role) })
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// Await checks unused hosts too.
func TestPoolersBehindOneOfSeveralHostsAreRefused(t *testing.T) {
	direct := testkit.Postgres(t)
	session := testkit.PgBouncer(t, direct, "pool_mode = session")
	transaction := testkit.PgBouncer(t, direct, "pool_mode = transaction")
	unavailable := strings.Replace(direct, hostOf(t, direct), "127.0.0.1:"+testkit.FreePort(t), 1)
	for _, tt := range []struct {
		name  string
		hosts []string
		want  bool // refused
	}{
		{"the second", []string{direct, transaction}, true},
		{"the first", []string{transaction, session}, true},
		{"none", []string{direct, session}, false},
		{"one unavailable", []string{unavailable, session}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := openSQL(t, SQLConfig{URL: severalHosts(t, tt.hosts...)})
			err := db.Await(t.Context(), func(err error) { t.Errorf("got a retry: %v", err) })
			if errors.Is(err, errPooled) != tt.want || err != nil && !tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// severalHosts merges URLs of one database into a URL with several hosts.
func severalHosts(t *testing.T, urls ...string) string {
	t.Helper()
	var hosts, ports []string
	for _, raw := range urls {
		host, port, _ := strings.Cut(hostOf(t, raw), ":")
		hosts, ports = append(hosts, host), append(ports, port)
	}
	u, err := url.Parse(urls[0])
	if err != nil {
		t.Fatal(err)
	}
	u.Host = strings.Join(hosts, ",")
	query := u.Query()
	query.Set("port", strings.Join(ports, ","))
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()
	return u.String()
}
