package app_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// wantNumbers fails the test for each statement that does not count what it should.
func wantNumbers(t *testing.T, db *sql.DB, want map[string]int) {
	t.Helper()
	for query, n := range want {
		var got int
		if err := db.QueryRow("SELECT " + query).Scan(&got); err != nil || got != n {
			t.Errorf("%s: %d, %v; want %d", query, got, err, n)
		}
	}
}

// What is counted of notes and users is what there is in rows. None of these is above 0
// when all are right.
var miscounted = map[string]int{
	"count(*) FROM note_counts c WHERE likes <> (SELECT count(*) FROM likes l WHERE l.kind = 'NOTE' AND l.target_id = c.id)":                 0,
	"count(*) FROM note_counts c WHERE comments <> (SELECT count(*) FROM comments m WHERE m.note_id = c.id)":                                 0,
	"count(*) FROM users u WHERE note_count <> (SELECT count(*) FROM notes n WHERE n.author_id = u.id)":                                      0,
	"count(*) FROM users u WHERE follower_count <> (SELECT count(*) FROM follows f WHERE f.followee_id = u.id)":                              0,
	"count(*) FROM users u WHERE followee_count <> (SELECT count(*) FROM follows f WHERE f.follower_id = u.id)":                              0,
	"count(*) FROM comments c WHERE reply_count <> (SELECT count(*) FROM comments r WHERE r.root_id = c.id)":                                 0,
	"count(*) FROM shops s WHERE comment_count <> (SELECT count(*) FROM comments m JOIN notes n ON n.id = m.note_id WHERE n.shop_id = s.id)": 0,
	"count(*) FROM notes n LEFT JOIN note_counts c ON c.id = n.id WHERE c.id IS NULL OR n.seq IS NULL":                                       0,
}

func TestSeedMakesFollowsAndNotesAndLikes(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		seed := func(args ...string) string {
			t.Helper()
			return stack.Seed(t, append([]string{"--users", "40", "--shops", "10", "--seed", "7"}, args...)...)
		}
		if out := seed("--notes", "80", "--follows", "300", "--pictures"); !strings.Contains(out, "\n300 follows added, 0 unchanged\n") || !strings.Contains(out, "\n80 notes added, 0 unchanged, ") {
			t.Error(out)
		}
		db := stack.SQL(t)
		var likes int
		if err := db.QueryRow("SELECT count(*) FROM likes").Scan(&likes); err != nil || likes < 100 {
			t.Errorf("%d likes, %v", likes, err)
		}
		wantNumbers(t, db, map[string]int{
			"count(*) FROM notes": 80, "count(*) FROM follows": 300, "seq FROM feed_head": 80,
			"count(*) FROM notes WHERE external_id LIKE 'seed:7:%'":                                                             80,
			"count(*) FROM follows WHERE since_seq > 0":                                                                         0, // before all notes
			"count(*) FROM shops s WHERE NOT EXISTS (SELECT 1 FROM picture_uses u WHERE u.kind = 'SHOP' AND u.owner_id = s.id)": 0,
		})
		wantNumbers(t, db, miscounted)

		// Again, nothing is new; larger numbers add to what is there.
		if out := seed("--notes", "80", "--follows", "300"); !strings.Contains(out, "\n0 follows added, 300 unchanged\n") || !strings.Contains(out, "\n0 notes added, 80 unchanged, 0 likes added\n") {
			t.Error(out)
		}
		if out := seed("--notes", "100", "--follows", "350"); !strings.Contains(out, "\n50 follows added, 300 unchanged\n") || !strings.Contains(out, "\n20 notes added, 80 unchanged, ") {
			t.Error(out)
		}
		wantNumbers(t, db, map[string]int{"count(*) FROM notes": 100, "count(*) FROM follows": 350, "seq FROM feed_head": 100})
		wantNumbers(t, db, miscounted)

		for name, args := range map[string][]string{
			"notes of nobody":          {"--users", "0", "--notes", "1"},
			"notes about nothing":      {"--users", "5", "--shops", "0", "--notes", "1"},
			"one who follows himself":  {"--users", "1", "--follows", "1"},
			"more follows than pairs":  {"--users", "5", "--follows", "21"},
			"fewer than no notes":      {"--users", "5", "--notes", "-1"},
			"a number that is no such": {"--users", "5", "--follows", "many"},
		} {
			if _, errs, exit := stack.Command(t, append([]string{"seed"}, args...)...); exit != 2 || errs == "" {
				t.Errorf("%s: %d %s", name, exit, errs)
			}
		}
		wantNumbers(t, db, map[string]int{"count(*) FROM notes": 100})
	})
}

func TestThePeopleOfTheDemoTownAreThereAtTheFirstStartAlone(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	for range 2 {
		if err := stack.Start(t).Stop(); err != nil {
			t.Fatal(err)
		}
		db := stack.SQL(t)
		wantNumbers(t, db, map[string]int{
			"count(*) FROM notes": 25, "count(*) FROM likes": 80, "count(*) FROM follows": 40, "count(*) FROM comments": 30,
			"count(*) FROM users WHERE external_id LIKE 'demo:%' AND phone IS NULL":                                           8,
			"count(*) FROM follows f JOIN users u ON u.id = f.follower_id WHERE u.phone = '+99900000003' AND f.since_seq = 0": 4,
		})
		wantNumbers(t, db, miscounted)
	}
}
