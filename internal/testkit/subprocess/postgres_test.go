package subprocess

import (
	"os"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

func TestStartPostgresIsDurableAndRemovesItsData(t *testing.T) {
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs PostgreSQL: run `make test`")
	}
	temp, err := os.MkdirTemp("/tmp", "tandian-measure") //nolint:usetesting // another user must read it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil { //nolint:gosec // the same
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	s, err := StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := db.QueryRowContext(t.Context(), "SELECT current_setting($1)", setting).Scan(&value); err != nil || value != "on" {
			t.Errorf("%s: got %q, %v", setting, value, err)
		}
	}
	_ = db.Close()
	s.Stop()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("got files left: %v, %v", left, err)
	}
}
