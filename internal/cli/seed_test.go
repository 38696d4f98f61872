package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// miscounted lists queries that count wrong counters: all return 0.
var miscounted = map[string]int{
	"count(*) FROM note_counts c WHERE likes <> (SELECT count(*) FROM likes l WHERE l.kind = 'NOTE' AND l.target_id = c.id)":                                                        0,
	"count(*) FROM note_counts c WHERE comments <> (SELECT count(*) FROM comments m WHERE m.note_id = c.id)":                                                                        0,
	"count(*) FROM users u WHERE note_count <> (SELECT count(*) FROM notes n WHERE n.author_id = u.id)":                                                                             0,
	"count(*) FROM users u WHERE follower_count <> (SELECT count(*) FROM follows f WHERE f.followee_id = u.id)":                                                                     0,
	"count(*) FROM users u WHERE followee_count <> (SELECT count(*) FROM follows f WHERE f.follower_id = u.id)":                                                                     0,
	"count(*) FROM comments c WHERE reply_count <> (SELECT count(*) FROM comments r WHERE r.root_id = c.id)":                                                                        0,
	"count(*) FROM shops s WHERE comment_count <> (SELECT count(*) FROM comments m JOIN notes n ON n.id = m.note_id WHERE n.shop_id = s.id)":                                        0,
	"count(*) FROM shops s WHERE save_count <> (SELECT count(*) FROM saves v WHERE v.kind = 'SHOP' AND v.target_id = s.id)":                                                         0,
	"count(*) FROM shops s WHERE stars_1 + stars_2 + stars_3 + stars_4 + stars_5 <> (SELECT count(*) FROM ratings r WHERE r.shop_id = s.id)":                                        0,
	"count(*) FROM shops s WHERE stars_1 + 2 * stars_2 + 3 * stars_3 + 4 * stars_4 + 5 * stars_5 <> (SELECT COALESCE(sum(r.stars), 0) FROM ratings r WHERE r.shop_id = s.id)":       0,
	"count(*) FROM shops s WHERE taste_sum + environment_sum + service_sum <> (SELECT COALESCE(sum(r.taste + r.environment + r.service), 0) FROM ratings r WHERE r.shop_id = s.id)": 0,
	"count(*) FROM ratings r JOIN shops s ON s.id = r.shop_id WHERE r.user_id = s.owner_id":                                                                                         0,
	"count(*) FROM notes n LEFT JOIN note_counts c ON c.id = n.id WHERE c.id IS NULL OR n.seq IS NULL":                                                                              0,
}

func TestSeedCreatesFollowsNotesAndLikes(t *testing.T) {
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

		// A second run adds nothing; larger numbers add data.
		if out := seed("--notes", "80", "--follows", "300"); !strings.Contains(out, "\n0 follows added, 300 unchanged\n") || !strings.Contains(out, "\n0 notes added, 80 unchanged, 0 likes added\n") {
			t.Error(out)
		}
		if out := seed("--notes", "100", "--follows", "350"); !strings.Contains(out, "\n50 follows added, 300 unchanged\n") || !strings.Contains(out, "\n20 notes added, 80 unchanged, ") {
			t.Error(out)
		}
		wantNumbers(t, db, map[string]int{"count(*) FROM notes": 100, "count(*) FROM follows": 350, "seq FROM feed_head": 100})
		wantNumbers(t, db, miscounted)

		for name, args := range map[string][]string{
			"notes without users":     {"--users", "0", "--notes", "1"},
			"notes without shops":     {"--users", "5", "--shops", "0", "--notes", "1"},
			"one user, one follow":    {"--users", "1", "--follows", "1"},
			"more follows than pairs": {"--users", "5", "--follows", "21"},
			"negative notes":          {"--users", "5", "--notes", "-1"},
			"an invalid number":       {"--users", "5", "--follows", "many"},
		} {
			if _, errs, exit := stack.Command(t, append([]string{"seed"}, args...)...); exit != 2 || errs == "" {
				t.Errorf("%s: %d %s", name, exit, errs)
			}
		}
		wantNumbers(t, db, map[string]int{"count(*) FROM notes": 100})
	})
}

func TestSeedCreatesRatingsAndSaves(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		for _, step := range []struct {
			ratings, saves string
			want           []string // lines
		}{
			{"200", "150", []string{"200 ratings added, 0 unchanged", "150 saves added, 0 unchanged"}},
			{"200", "150", []string{"0 ratings added, 200 unchanged", "0 saves added, 150 unchanged"}},
			{"390", "400", []string{"190 ratings added, 200 unchanged", "250 saves added, 150 unchanged"}}, // all pairs
		} {
			out := stack.Seed(t, "--users", "40", "--shops", "10", "--seed", "7", "--ratings", step.ratings, "--saves", step.saves)
			for _, line := range step.want {
				if !strings.Contains(out, "\n"+line+"\n") {
					t.Errorf("no %q in\n%s", line, out)
				}
			}
			wantNumbers(t, stack.SQL(t), miscounted)
		}
		wantNumbers(t, stack.SQL(t), map[string]int{"count(*) FROM ratings": 390, "count(*) FROM saves": 400})
		for name, args := range map[string][]string{
			"ratings without users":   {"--ratings", "1"},
			"more ratings than pairs": {"--users", "40", "--shops", "10", "--ratings", "391"},
			"saves without shops":     {"--users", "40", "--shops", "0", "--saves", "1"},
			"an invalid number":       {"--users", "40", "--saves", "some"},
		} {
			if _, errs, exit := stack.Command(t, append([]string{"seed"}, args...)...); exit != 2 || errs == "" {
				t.Errorf("%s: %d %s", name, exit, errs)
			}
		}
	})
}

func TestSeedCreatesSignedInUsers(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		path := filepath.Join(t.TempDir(), "tokens.tsv")
		seed := []string{"--users", "12", "--shops", "130", "--seed", "7", "--tokens", path}
		if out := stack.Seed(t, seed...); !strings.Contains(out, "130 added") {
			t.Fatal(out)
		}
		first := tokens(t, path)
		if out := stack.Seed(t, seed...); !strings.Contains(out, "0 added, 0 changed, 130 unchanged") {
			t.Fatalf("again: %s", out)
		}
		s := stack.Start(t)
		again := tokens(t, path)
		if len(first) != 12 || len(again) != 12 {
			t.Fatalf("%d and %d lines", len(first), len(again))
		}
		for i, p := range again {
			want := "CUSTOMER"
			switch i {
			case 0:
				want = "ADMIN"
			case 1:
				want = "MERCHANT"
			}
			for _, token := range []string{p.token, first[i].token} {
				var a meAnswer
				s.As(token).Must(t, meQuery, nil, &a)
				if a.Me == nil || a.Me.ID != p.id || a.Me.ID != first[i].id || a.Me.Role != want || p.role != want {
					t.Errorf("line %d, %s: me is %+v", i, p.role, a.Me)
				}
			}
		}
		// The merchant owns the shops, newest first, each once.
		merchant, seen, after := s.As(again[1].token), map[string]bool{}, ""
		for page := 0; ; page++ {
			var p struct {
				Me struct {
					Shops struct {
						Edges    []struct{ Node struct{ ID string } }
						PageInfo struct {
							HasNextPage bool
							EndCursor   string
						}
					}
				}
			}
			vars := map[string]any{"after": after}
			if after == "" {
				vars = nil
			}
			merchant.Must(t, `query S($after: Cursor) { me { shops(first: 50, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } } } }`, vars, &p)
			for _, e := range p.Me.Shops.Edges {
				if seen[e.Node.ID] {
					t.Errorf("shop %s is listed twice", e.Node.ID)
				}
				seen[e.Node.ID] = true
			}
			if after = p.Me.Shops.PageInfo.EndCursor; !p.Me.Shops.PageInfo.HasNextPage || page > 5 {
				break
			}
		}
		if len(seen) != 130 {
			t.Errorf("the merchant owns %d shops, want 130", len(seen))
		}
		if _, errs, exit := stack.Command(t, "seed", "--tokens", path); exit != 2 || errs == "" {
			t.Errorf("tokens without users: %d %s", exit, errs)
		}
	})
}

type person struct{ id, role, token string }

// tokens reads the file of seed --tokens.
func tokens(t *testing.T, path string) (people []person) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("got a line of %d fields, want 3", len(f))
		}
		people = append(people, person{f[0], f[1], f[2]})
	}
	return people
}
