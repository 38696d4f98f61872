package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestInvalidEnvironmentIsAUsageError(t *testing.T) {
	t.Setenv("TANDIAN_LOGINS_PER_ADDRESS", "many")
	if _, errs, code := apptest.Embedded(t).Command(t, "version"); code != 2 || !strings.Contains(errs, "TANDIAN_LOGINS_PER_ADDRESS") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestInvalidSettingsAreOneLine(t *testing.T) {
	stack := apptest.Embedded(t)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"address", []string{"--addr", "8080"}, `--addr: must be HOST:PORT, not "8080"`},
		{"database", []string{"--database-url", "mysql://root:secret@host/db"}, "--database-url: must begin with postgres://"},
		{"redis", []string{"--redis-url", "http://:secret@host"}, "--redis-url: must begin with redis://"},
		{"prefix", []string{"--redis-prefix", "a:{b}"}, "--redis-prefix"},
		{"log level", []string{"--log-level", "loud"}, "--log-level"},
		{"part", []string{"--run", "api,cook"}, `--run: unknown part "cook"`},
		{"unknown flag", []string{"--colour", "red"}, "colour"},
		{"unknown command", []string{"srve"}, `unknown command "srve"`},
		{"extra argument", []string{"outbox", "status", "all"}, `outbox status: unexpected argument "all"; see outbox status --help`},
		{"extra argument for a flag", []string{"seed", "500"}, `seed: unexpected argument "500"`},
		{"not a number", []string{"--redis-pool-size", "many"}, "redis-pool-size"},
	}
	for _, tt := range tests {
		_, errs, code := stack.Command(t, tt.args...)
		if code == 0 || !strings.Contains(errs, tt.want) || strings.Contains(errs, "secret") {
			t.Errorf("%s: got exit %d, %q, want an error with %q", tt.name, code, errs, tt.want)
		}
		if lines := strings.Count(strings.TrimSpace(errs), "\n"); lines > 0 {
			t.Errorf("%s: got %d lines, want one:\n%s", tt.name, lines+1, errs)
		}
	}
}

func TestMigrateStatusListsEveryFile(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if out, errs, code := stack.Command(t, "migrate"); code != 0 || !strings.Contains(out, "is up to date") {
			t.Fatalf("migrate: %d, %s%s", code, out, errs)
		}
		out, errs, code := stack.Command(t, "migrate", "status")
		if code != 0 || !strings.Contains(out, "_shops.sql") || strings.Contains(out, "pending") {
			t.Errorf("migrate status: %d\n%s%s", code, out, errs)
		}
	})
}

// The error is one line and names the fix.
func TestPoolersWithoutSessionsStopEveryCommand(t *testing.T) {
	stack := apptest.Real(t)
	direct := stack.Config.DatabaseURL
	for _, mode := range []string{"transaction", "statement"} {
		stack.Config.DatabaseURL = testkit.PgBouncer(t, direct, "pool_mode = "+mode)
		for _, command := range [][]string{
			{"serve"},
			{"migrate"},
			{"migrate", "status"},
			{"import", "none.csv"},
			{"seed", "--users", "1"},
			{"grant", "+8613800138000", "ADMIN"},
			{"reconcile"},
			{"reconcile", "--dry-run"},
		} {
			begin := time.Now()
			_, stderr, code := stack.Command(t, command...)
			if code == 0 || strings.Count(stderr, "pool_mode = session") != 1 || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
				t.Errorf("%s mode, %s: exit %d, %s", mode, command, code, stderr)
			}
			t.Logf("%s: after %v", command, time.Since(begin))
		}
	}
}
