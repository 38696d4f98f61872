package app_test

import (
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

const queueStats = `{ queueStats { name lag pending oldestSeconds parked } }`

func TestQueueStatsAreForAdministrators(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := startStaff(t, stack)
		insertJobs(t, stack)
		for _, tt := range []struct {
			name string
			who  *apptest.Server
			want string
		}{{"anonymous", s.anonymous, "UNAUTHENTICATED"}, {"a customer", s.customer, "FORBIDDEN"}, {"a merchant", s.merchant, "FORBIDDEN"}} {
			if c := code(t, tt.who.Do(t, queueStats, nil, nil)); c != tt.want {
				t.Errorf("%s gets %q, want %q", tt.name, c, tt.want)
			}
		}
		type queue struct {
			Name                 string
			Lag, Pending, Parked int
			OldestSeconds        float64
		}
		var got struct{ QueueStats []queue }
		s.admin.Must(t, queueStats, nil, &got)
		named := map[string]queue{}
		for _, q := range got.QueueStats {
			if q.Lag > 0 != (q.OldestSeconds > 0) {
				t.Errorf("got %+v, want an age only with a lag", q)
			}
			q.OldestSeconds = 0
			named[q.Name] = q
		}
		for _, want := range []queue{{Name: "one", Parked: 1}, {Name: "two", Lag: 1, Parked: 1}} {
			if d := cmp.Diff(want, named[want.Name]); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		}
	})
}
