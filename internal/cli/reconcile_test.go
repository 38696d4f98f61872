package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// snapshot returns the contents of the stores of a stack whose servers have stopped. An
// embedded Redis has ended with them.
func snapshot(t *testing.T, stack *apptest.Stack) []string {
	t.Helper()
	if stack.Config.RedisURL == "" {
		return storetest.Snapshot(t, stack.SQL(t), nil)
	}
	options, err := redis.ParseURL(stack.Config.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return storetest.Snapshot(t, stack.SQL(t), rdb)
}

func TestReconcileRejectsWrongCalls(t *testing.T) {
	stack := apptest.Embedded(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"everything"}, `reconcile: unexpected argument "everything"`},
		{[]string{"--only", "sold,nothing"}, `unknown scan "nothing" (want one of pieces, sales, queues, order-lists, sold, points`},
	} {
		if _, errs, code := stack.Command(t, append([]string{"reconcile"}, tt.args...)...); code != 2 || !strings.Contains(errs, tt.want) {
			t.Errorf("reconcile %v: exit %d, %s", tt.args, code, errs)
		}
	}
}

func TestDryRunAppliesNoMigration(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if _, errs, code := stack.Command(t, "migrate"); code != 0 {
			t.Fatal(errs)
		}
		if _, err := stack.SQL(t).ExecContext(t.Context(), "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := stack.Command(t, "reconcile", "--dry-run"); code != 1 || out != "" || !strings.Contains(errs, "lacks the migration") {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
	})
}

// On a database without settings, opening it would initialize it.
func TestDryRunDoesNotInitializeTheDatabase(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if _, errs, code := stack.Command(t, "migrate"); code != 0 {
			t.Fatal(errs)
		}
		if _, err := stack.SQL(t).ExecContext(t.Context(), "DELETE FROM settings"); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, stack)
		if out, errs, code := stack.Command(t, "reconcile", "--dry-run"); code != 1 || out != "" || !strings.Contains(errs, "no server has started on") {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
		if d := cmp.Diff(before, snapshot(t, stack)); d != "" {
			t.Errorf("the dry run changed something (-before +after):\n%s", d)
		}
	})
}
