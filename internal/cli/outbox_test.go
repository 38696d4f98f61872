package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// insertJobs inserts two parked jobs and a waiting one, of topics without handlers.
func insertJobs(t *testing.T, stack *apptest.Stack) {
	t.Helper()
	const insert = `INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at, parked_at) VALUES
		('one', '0', 10, 10, 1, 1, 1), ('two', '0', 10, 10, 1, 1, 1), ('two', '0', 0, 0, 1, 1, NULL)`
	if _, err := stack.SQL(t).ExecContext(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
}

// topics returns the rows of outbox status for the topics of insertJobs, without ages.
func topics(t *testing.T, stack *apptest.Stack) []string {
	t.Helper()
	out, errs, code := stack.Command(t, "outbox", "status")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || strings.Join(strings.Fields(lines[0]), " ") != "TOPIC WAITING PENDING OLDEST PARKED" {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	var rows []string
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "one") && !strings.HasPrefix(line, "two") {
			continue // a topic of the server
		}
		cells := strings.Fields(line)
		if age := cells[3]; !regexp.MustCompile(`^(0s|\d+h\d+m[\d.]+s)$`).MatchString(age) {
			t.Errorf("the age is %q", age)
		}
		rows = append(rows, strings.Join(append(cells[:3:3], cells[4]), " "))
	}
	return rows
}

func TestOutboxCommandsShowAndRetryJobs(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		check := func(when string, want ...string) {
			t.Helper()
			if d := cmp.Diff(want, topics(t, stack)); d != "" {
				t.Errorf("%s (-want +got)\n%s", when, d)
			}
		}
		replay := func(want string, args ...string) {
			t.Helper()
			out, errs, code := stack.Command(t, append([]string{"outbox", "replay"}, args...)...)
			if code != 0 || !strings.HasSuffix(out, "retry: "+want+".\n") {
				t.Errorf("replay %v: exit %d, %s%s; want %s", args, code, out, errs, want)
			}
		}
		check("at the start")
		insertJobs(t, stack)
		check("after the insert", "one 0 0 1", "two 1 0 1")
		replay("0", "three")
		replay("1", "two")
		check("after the replay of one topic", "one 0 0 1", "two 2 1 0")
		replay("1")
		replay("0")
		check("after the replay of all", "one 1 1 0", "two 2 1 0")
	})
}

func TestOutboxCommandsRejectWrongCalls(t *testing.T) {
	stack := apptest.Embedded(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"status", "two"}, `unexpected argument "two"`},
		{[]string{"replay", "one", "two"}, "takes at most one TOPIC, not 2"},
	} {
		if _, errs, code := stack.Command(t, append([]string{"outbox"}, tc.args...)...); code != 2 || !strings.Contains(errs, tc.want) {
			t.Errorf("outbox %v: exit %d, %s", tc.args, code, errs)
		}
	}
}
