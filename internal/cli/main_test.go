package cli_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as the program does
	}
	code := m.Run()
	_ = os.RemoveAll(programDir)
	os.Exit(code)
}

// testFile writes a temporary file and returns its path.
func testFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// code returns the code of the only error of an answer, or "".
func code(t *testing.T, a apptest.Answer) string {
	t.Helper()
	if len(a.Errors) > 1 {
		t.Errorf("more than one error: %+v", a.Errors)
	}
	for _, e := range a.Errors {
		return e.Extensions.Code
	}
	return ""
}

const meQuery = `{ me { id nickname phone role } }`

type meAnswer struct {
	Me *struct{ ID, Nickname, Phone, Role string }
}

// wantNumbers checks the number that each query selects.
func wantNumbers(t *testing.T, db *sql.DB, want map[string]int) {
	t.Helper()
	for query, n := range want {
		var got int
		if err := db.QueryRow("SELECT " + query).Scan(&got); err != nil || got != n {
			t.Errorf("%s: got %d, %v, want %d", query, got, err, n)
		}
	}
}
