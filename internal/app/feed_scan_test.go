package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// The scan reports no inbox because of later follows and unfollows, or of celebrities.
func TestScanFindsInboxesThatLackNotes(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.FeedPushThreshold = 2
		m := openMarket(t, stack, 4)
		s := stack.Start(t)
		reader, ann, bob, star := s.As(m.customers[0].token), s.As(m.customers[1].token), s.As(m.customers[2].token), s.As(m.customers[3].token)
		follows := func(who *apptest.Server, verb string, followee int) {
			t.Helper()
			who.Must(t, verb, map[string]any{"id": m.customers[followee].id}, nil)
		}
		follows(reader, followUser, 1)
		follows(reader, followUser, 3)
		follows(bob, followUser, 3)
		titles(t, reader, 100)
		var notes []string
		for i := range 3 {
			notes = append(notes, m.note(t, ann, fmt.Sprint("ann ", i)))
			m.note(t, star, fmt.Sprint("star ", i))
		}
		titles(t, reader, 100)
		inbox := fmt.Sprintf("td:feed:in:{%d}", number(t, m.customers[0].id))
		rdb := s.Components().State
		testkit.Eventually(t, 20*time.Second, func() bool {
			return rdb.ZCard(t.Context(), inbox).Val() == 4 // and the mark
		})
		scans, err := s.Components().Scans().ByName("feed-inboxes")
		if err != nil {
			t.Fatal(err)
		}
		scan := func(dry bool) (reconcile.Outcome, string) {
			t.Helper()
			o, err := s.Components().Scans().RunOnce(t.Context(), scans[0], reconcile.Options{DryRun: dry, Rate: -1})
			if err != nil {
				t.Fatal(err)
			}
			return o, strings.Join(o.Lines, "\n")
		}
		right := func(when string) {
			t.Helper()
			if o, lines := scan(true); o.Compared != 1 || o.Found != 0 {
				t.Errorf("%s: got %d compared inboxes, %d wrong, want 1 and 0: %s", when, o.Compared, o.Found, lines)
			}
		}
		right("a complete inbox")
		m.note(t, bob, "bob")
		follows(reader, followUser, 2)
		right("a later follow")
		follows(reader, unfollow, 2)
		right("a later unfollow")

		lost := number(t, notes[1])
		if n := rdb.ZRem(t.Context(), inbox, fmt.Sprintf("%d/%d", number(t, m.customers[1].id), lost)).Val(); n != 1 {
			t.Fatalf("removed %d entries from the inbox, want 1", n)
		}
		want := fmt.Sprintf("note %d by user %d is missing", lost, number(t, m.customers[1].id))
		// The scan skips notes whose fan-out is not recorded as finished.
		testkit.Eventually(t, 20*time.Second, func() bool {
			o, lines := scan(true)
			return o.Found == 1 && o.Repaired == 0 && strings.Contains(lines, want)
		})
		if o, lines := scan(false); o.Found != 1 || o.Repaired != 1 || !strings.Contains(lines, want) {
			t.Errorf("%+v", o)
		}
		if got := titles(t, reader, 100); len(got) != 6 {
			t.Errorf("got feed %v, want 6 notes", got)
		}
		right("a repaired inbox")
	})
}
