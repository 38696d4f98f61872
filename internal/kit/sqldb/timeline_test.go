package sqldb

import (
	"net"
	"net/url"
	"strconv"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// The first of two servers is dead, like a primary whose standby was promoted.
func TestConnectionsUseTheWritableHost(t *testing.T) {
	u, err := url.Parse(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	dead, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, deadPort, _ := net.SplitHostPort(dead.Addr().String())
	_ = dead.Close()
	q, host := u.Query(), u.Hostname()
	q.Set("port", deadPort+","+u.Port())
	q.Set("target_session_attrs", "read-write")
	u.Host, u.RawQuery = host+","+host, q.Encode()
	if err := CheckDatabaseURL(u.String()); err != nil {
		t.Fatal(err)
	}
	db, err := OpenSQL(SQLConfig{URL: u.String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	line, err := db.Timeline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.ParseUint(line, 16, 32); err != nil || n == 0 {
		t.Errorf("got timeline %q, want hexadecimal digits", line)
	}
}
