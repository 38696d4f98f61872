package sqldb_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func open(t *testing.T, u string) *sqldb.SQL {
	t.Helper()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type remedy struct{ name, url, want string }

func endsAtOnce(t *testing.T, tests []remedy) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			begin := time.Now()
			err := open(t, tt.url).Await(ctx, func(err error) { t.Errorf("got a retry: %v", err) })
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "horse") {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			t.Log(err)
		})
	}
}

func exec(t *testing.T, db *sqldb.SQL, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestAwaitReturnsPermanentErrorsWithAdvice(t *testing.T) {
	u, err := url.Parse(testkit.Postgres(t)) // without TLS, and without passwords
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, u.String())
	exec(t, db, "CREATE ROLE locked LOGIN", "REVOKE CONNECT ON DATABASE "+strings.TrimPrefix(u.Path, "/")+" FROM public")
	t.Cleanup(func() { exec(t, db, "DROP ROLE locked") })
	as := func(user, database, query string) string {
		return "postgres://" + user + "@" + u.Host + database + query
	}
	port := u.Port()
	endsAtOnce(t, []remedy{
		{"no TLS", as("tandian", u.Path, ""), "sslmode=disable"},
		{"TLS required", as("tandian", u.Path, "?sslmode=require"), "sslmode=disable"},
		{"no role", as("bob", u.Path, "?sslmode=disable"), "create the role"},
		{"no database", as("tandian:correcthorse", "/none", "?sslmode=disable"), "CREATE DATABASE"},
		{"no right to connect", as("locked", u.Path, "?sslmode=disable"), "GRANT CONNECT"},
		{"an unknown parameter", as("tandian", u.Path, "?sslmode=disable&colour=red"), "parameters after the ?"},
		{"an invalid parameter value", as("tandian", u.Path, "?sslmode=disable&work_mem=much"), "parameters after the ?"},
		{"several hosts", "postgres://bob@127.0.0.1,127.0.0.1" + u.Path + "?sslmode=disable&target_session_attrs=read-write&port=" + port + "," + port, "create the role"},
	})
}

const hba = `local   all all trust
hostssl all only_tls 127.0.0.1/32 trust
host    all tandian  127.0.0.1/32 trust
host    all ann      127.0.0.1/32 scram-sha-256
`

// The server is like Debian's: TLS with an unknown certificate authority, and passwords.
func TestAwaitReturnsAdviceForTLSAndPasswords(t *testing.T) {
	if !testkit.OwnServer(t) {
		return
	}
	u, err := url.Parse(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, u.String())
	ca := testkit.NewCA(t)
	cert, key := ca.Sign("server", time.Hour, "localhost")
	exec(t, db, "CREATE ROLE ann LOGIN PASSWORD 'correct'", "CREATE ROLE only_tls LOGIN")
	inData(t, db, "server.crt", content(t, cert))
	inData(t, db, "server.key", content(t, key))
	inData(t, db, "pg_hba.conf", hba)
	exec(t, db, "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	plain, encrypted := "?sslmode=disable", "?sslmode=require"
	testkit.Eventually(t, 10*time.Second, func() bool {
		u.RawQuery = "sslmode=require"
		return open(t, u.String()).Ping() == nil
	})
	as := func(user, host, query string) string {
		return "postgres://" + user + "@" + host + ":" + u.Port() + u.Path + query
	}
	endsAtOnce(t, []remedy{
		{"a wrong password", as("ann:correcthorse", "127.0.0.1", ""), "correct the user and the password"},
		{"no password", as("ann", "127.0.0.1", plain), "correct the user and the password"},
		{"no line for the user", as("bob", "127.0.0.1", encrypted), "pg_hba.conf"},
		{"TLS wanted", as("only_tls", "127.0.0.1", plain), "sslmode=require"},
		{"an unknown CA", as("tandian", "localhost", "?sslmode=verify-full"), "the CA"},
		{"another host name", as("tandian", "127.0.0.1", "?sslmode=verify-full&sslrootcert="+url.QueryEscape(ca.File)), "host name"},
		{"another CA", as("tandian", "localhost", "?sslmode=verify-ca&sslrootcert="+url.QueryEscape(testkit.NewCA(t).File)), "the CA"},
		{"a missing file", as("tandian", "localhost", "?sslmode=verify-ca&sslrootcert=/none"), "/none"},
	})
	for _, good := range []string{
		as("ann:correct", "127.0.0.1", ""), // the command of the README
		as("ann:correct", "127.0.0.1", plain),
		as("only_tls", "localhost", "?sslmode=verify-full&sslrootcert="+url.QueryEscape(ca.File)),
	} {
		if err := open(t, good).Await(t.Context(), func(err error) { t.Errorf("got a retry: %v", err) }); err != nil {
			t.Error(err)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a test file
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inData writes a file through the server, which may run as another user.
func inData(t *testing.T, db *sqldb.SQL, name, text string) {
	t.Helper()
	var dir string
	if err := db.QueryRowContext(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "COPY (SELECT unnest(string_to_array('"+strings.ReplaceAll(strings.TrimSpace(text), "'", "''")+"', E'\n'))) TO PROGRAM 'umask 077; cat > "+dir+"/"+name+"'")
}

// refusing rejects the first n connections with an error code, and forwards later ones to a server.
func refusing(t *testing.T, code string, n int, to string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if i < n {
				_, _ = conn.Read(make([]byte, 1024))
				fields := "SFATAL\x00VFATAL\x00C" + code + "\x00Mnot now\x00\x00"
				_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(4 + len(fields))}, fields...))
				_ = conn.Close()
				continue
			}
			go forward(conn, to)
		}
	}()
	return l.Addr().String()
}

func forward(from net.Conn, to string) {
	defer func() { _ = from.Close() }()
	conn, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = conn.(*net.TCPConn).ReadFrom(from); _ = conn.Close() }() //nolint:forcetypeassert // the network is tcp
	_, _ = from.(*net.TCPConn).ReadFrom(conn)                                   //nolint:forcetypeassert // the network is tcp
}

func TestAwaitRetriesTransientErrors(t *testing.T) {
	u, err := url.Parse(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	live := u.Host
	for _, code := range []string{"57P03", "53300", "08006", "57P01", "53400", "XX000"} {
		t.Run(code, func(t *testing.T) {
			u.Host = refusing(t, code, 2, live)
			var reports []error
			err := open(t, u.String()).Await(t.Context(), func(err error) { reports = append(reports, err) })
			if err != nil || len(reports) != 2 || sqldb.SQLState(reports[0]) != code {
				t.Errorf("got %v after %v, want two reports", err, reports)
			}
		})
	}
	for name, host := range map[string]string{"refused": "127.0.0.1:" + testkit.FreePort(t), "no such name": "none.invalid"} {
		t.Run(name, func(t *testing.T) {
			u.Host = host
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			reports := 0
			err := open(t, u.String()).Await(ctx, func(error) { reports++ })
			if err == nil || !strings.Contains(err.Error(), "does not respond") || reports == 0 {
				t.Errorf("got %v after %d reports", err, reports)
			}
		})
	}
	t.Run("one host is unavailable", func(t *testing.T) {
		several := "postgres://bob@127.0.0.1,127.0.0.1/none?sslmode=disable&target_session_attrs=read-write&port=" + testkit.FreePort(t) + "," + strings.TrimPrefix(live, "127.0.0.1:")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := open(t, several).Await(ctx, func(error) {}); err == nil || !strings.Contains(err.Error(), "does not respond") {
			t.Errorf("got %v", err)
		}
	})
}
