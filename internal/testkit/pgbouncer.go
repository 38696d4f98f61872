package testkit

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// PgBouncer starts a PgBouncer for the database of dsn and returns the DSN through it. It ends with
// the test. Settings are lines of its configuration section [pgbouncer], such as
// "pool_mode = transaction". Clients need no password.
//
// The program is the one in TANDIAN_TEST_PGBOUNCER.
func PgBouncer(tb testing.TB, dsn string, settings ...string) string {
	tb.Helper()
	program := os.Getenv("TANDIAN_TEST_PGBOUNCER")
	if program == "" {
		missingServer(tb, "PgBouncer")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal("PgBouncer: the DSN is not a URL") // the error would show the password
	}
	dir, err := os.MkdirTemp(shortTemp(), "td") //nolint:usetesting // another user must read it
	if err != nil {
		tb.Fatalf("start PgBouncer: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := FreePort(tb)
	password, _ := u.User.Password()
	write := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // another user reads it
			tb.Fatalf("start PgBouncer: %v", err)
		}
		return path
	}
	users := write("users.txt", fmt.Sprintf("%q %q", u.User.Username(), password))
	config := write("pgbouncer.ini", append([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s", u.Hostname(), u.Port()),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + port, "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + users,
	}, settings...)...)
	args := []string{"-c", guard, "guard", dir, program}
	if os.Getuid() == 0 { // it refuses to run as root
		args = append(args, "-u", "nobody")
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user reads it
		tb.Fatalf("start PgBouncer: %v", err)
	}
	cmd := exec.Command("sh", append(args, config)...) //nolint:noctx // it ends with its input
	cmd.Dir = dir
	stop, err := startGuard(cmd)
	if err != nil {
		tb.Fatalf("start PgBouncer: %v", err)
	}
	tb.Cleanup(stop)
	through := *u
	through.Host = net.JoinHostPort("127.0.0.1", port)
	deadline := time.Now().Add(10 * time.Second)
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(tb.Context(), "tcp", through.Host)
		if err == nil {
			_ = conn.Close()
			return through.String()
		}
		if time.Sleep(5 * time.Millisecond); time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "log")) //nolint:gosec // a test's directory
			tb.Fatalf("PgBouncer does not answer: %v\n%s", err, log)
		}
	}
}
