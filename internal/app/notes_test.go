package app_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const (
	publishNote = `mutation P($input: PublishNoteInput!) { publishNote(input: $input) { note { id } userErrors { code field } } }`
	likeNote    = `mutation L($id: ID!) { likeNote(id: $id) { note { likeCount isLiked } userErrors { code } } }`
	unlikeNote  = `mutation U($id: ID!) { unlikeNote(id: $id) { note { likeCount isLiked } userErrors { code } } }`
	deleteNote  = `mutation D($id: ID!) { deleteNote(id: $id) { deletedNoteId userErrors { code } } }`
	addComment  = `mutation A($input: AddCommentInput!) { addComment(input: $input) { comment { id } userErrors { code field } } }`
	followUser  = `mutation F($id: ID!) { follow(userId: $id) { user { isFollowed followerCount } userErrors { code } } }`
	unfollow    = `mutation F($id: ID!) { unfollow(userId: $id) { user { isFollowed followerCount } userErrors { code } } }`
	noteQuery   = `query N($id: ID!) { note(id: $id) { likeCount commentCount isLiked firstLikers(first: 100) { id } } }`
)

// note publishes a note about the market's shop and returns its id.
func (m market) note(t *testing.T, as *apptest.Server, title string) string {
	t.Helper()
	var made struct {
		PublishNote struct {
			Note       *struct{ ID string }
			UserErrors []apptest.UserError
		}
	}
	as.Must(t, publishNote, map[string]any{"input": map[string]any{"shopId": m.shop, "title": title, "content": "Good."}}, &made)
	if made.PublishNote.Note == nil {
		t.Fatalf("not published: %+v", made.PublishNote.UserErrors)
	}
	return made.PublishNote.Note.ID
}

// comment adds a comment to a note, or a reply to another comment, and returns its id.
func (m market) comment(t *testing.T, as *apptest.Server, note string, parent any, content string) string {
	t.Helper()
	var made struct {
		AddComment struct {
			Comment    *struct{ ID string }
			UserErrors []apptest.UserError
		}
	}
	as.Must(t, addComment, map[string]any{"input": map[string]any{"noteId": note, "parentId": parent, "content": content}}, &made)
	if made.AddComment.Comment == nil {
		t.Fatalf("no comment: %+v", made.AddComment.UserErrors)
	}
	return made.AddComment.Comment.ID
}

// dataOf returns the raw data of an answer without errors.
func dataOf(t *testing.T, as *apptest.Server, query string, variables map[string]any) string {
	t.Helper()
	var data json.RawMessage
	as.Must(t, query, variables, &data)
	return string(data)
}

// After random likes and unlikes, rows, counts, the sorted set in Redis and the answers agree.
func TestLikesNeverDrift(t *testing.T) {
	t.Parallel()
	const taps = 60
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		m := openMarket(t, stack, 12)
		servers := []*apptest.Server{stack.Start(t)}
		if stack.Name == "real" {
			servers = append(servers, stack.Start(t))
		}
		notes := []string{m.note(t, servers[0].As(m.owner.token), "One"), m.note(t, servers[0].As(m.owner.token), "Two")}
		var all sync.WaitGroup
		for i, c := range m.customers {
			for device := range 2 {
				rnd := rand.New(rand.NewPCG(seed, uint64(10*i+device)))
				all.Go(func() {
					for range taps / 2 {
						tap := likeNote
						if rnd.IntN(2) == 0 {
							tap = unlikeNote
						}
						servers[rnd.IntN(len(servers))].As(c.token).Must(t, tap, map[string]any{"id": notes[rnd.IntN(len(notes))]}, nil)
					}
				})
			}
		}
		all.Wait()
		for _, id := range notes {
			want := likersOf(t, servers[0], number(t, id))
			for _, s := range servers {
				var shown struct {
					Note struct {
						LikeCount   int
						FirstLikers []struct{ ID string }
					}
				}
				s.Must(t, noteQuery, map[string]any{"id": id}, &shown)
				got := []string{}
				for _, u := range shown.Note.FirstLikers {
					got = append(got, u.ID)
				}
				if diff := cmp.Diff(want, got); diff != "" || shown.Note.LikeCount != len(want) {
					t.Errorf("note %s: got %d likes (-want +got)\n%s", id, shown.Note.LikeCount, diff)
				}
				for _, c := range m.customers {
					var mine struct{ Note struct{ IsLiked bool } }
					s.As(c.token).Must(t, noteQuery, map[string]any{"id": id}, &mine)
					if mine.Note.IsLiked != slices.Contains(want, c.id) {
						t.Errorf("user %s: got isLiked %v", c.id, mine.Note.IsLiked)
					}
				}
			}
			set, err := servers[0].Components().State.ZRevRange(t.Context(), fmt.Sprintf("td:note:likers:{%d}", number(t, id)), 0, -1).Result()
			if err != nil {
				t.Fatal(err)
			}
			for i, member := range set {
				if n, err := strconv.ParseInt(member, 10, 64); err == nil {
					set[i] = scalar.ID{Type: "User", N: n}.String()
				}
			}
			if diff := cmp.Diff(append(slices.Clone(want), ""), set); diff != "" { // and the mark
				t.Errorf("set in Redis (-want +got)\n%s", diff)
			}
		}
	})
}

// likersOf returns the likers of a note from the rows. It fails if the row of counts
// differs.
func likersOf(t *testing.T, s *apptest.Server, note int64) []string {
	t.Helper()
	ids := []string{}
	rows, err := s.Components().DB.QueryContext(t.Context(), "SELECT user_id FROM likes WHERE kind = 'NOTE' AND target_id = $1 ORDER BY id", note)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, scalar.ID{Type: "User", N: n}.String())
	}
	var counted int
	if err := s.Components().DB.QueryRowContext(t.Context(), "SELECT likes FROM note_counts WHERE id = $1", note).Scan(&counted); err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	if counted != len(ids) {
		t.Errorf("note %d: got a count of %d likes, want %d", note, counted, len(ids))
	}
	return ids
}

const hotPage = `query H($first: Int!) { hotNotes(first: $first) { edges { node { isLiked firstLikers { nickname } author { nickname isFollowed } } } } }`

// Children of notes are read in batches, so a page of ten costs the same as a page of two.
func TestHotNotesPageHasFixedRoundTripCount(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.L1Bytes = 0 // otherwise local hits hide the cost
		m := openMarket(t, stack, 12)
		stack.Config.Run = []string{"api"} // workers read on their own
		s := stack.Start(t)
		s.Recovered(t)
		ann := m.customers[0]
		for i, c := range m.customers {
			id := m.note(t, s.As(c.token), "Note")
			for _, liker := range m.customers[:1+i%5] {
				s.As(liker.token).Must(t, likeNote, map[string]any{"id": id}, nil)
			}
			if i%2 == 1 {
				s.As(ann.token).Must(t, followUser, map[string]any{"id": c.id}, nil)
			}
		}
		nested := strings.Replace(hotPage, "firstLikers { nickname }",
			"likeCount commentCount shop { name commentCount } firstLikers { nickname isFollowed } comments(first: 2) { edges { node { author { nickname isFollowed } isLiked replies(first: 2) { edges { node { author { nickname } parent { content } } } } } } }", 1)
		for i, c := range m.customers {
			id := firstNote(t, s.As(c.token))
			for range 1 + i%3 {
				root := m.comment(t, s.As(c.token), id, nil, "Nice")
				m.comment(t, s.As(ann.token), id, root, "Thanks")
			}
		}
		for _, tt := range []struct {
			name, query string
			max         float64
		}{
			{"documented query", hotPage, 9},
			{"all children", nested, 26},
		} {
			cost := func(first int) (least float64) {
				least = math.Inf(1)
				for range 4 { // background work adds to the cost
					statements, trips := storeCalls(t, s, func() { s.As(ann.token).Must(t, tt.query, map[string]any{"first": first}, nil) })
					least = min(least, trips+1000*statements)
				}
				return least
			}
			cost(10)
			two, ten := cost(2), cost(10)
			if two != ten || ten > tt.max {
				t.Errorf("%s: two notes cost %v round trips, ten %v, want equal costs, at most %v, and no statement", tt.name, two, ten, tt.max)
			}
			t.Logf("%s: %v round trips", tt.name, ten)
		}
	})
}

// firstNote returns the newest note of the viewer.
func firstNote(t *testing.T, as *apptest.Server) string {
	t.Helper()
	var mine struct {
		Me struct {
			Notes struct {
				Edges []struct{ Node struct{ ID string } }
			}
		}
	}
	as.Must(t, `{ me { notes(first: 1) { edges { node { id } } } } }`, nil, &mine)
	return mine.Me.Notes.Edges[0].Node.ID
}

// It starts with an empty Redis.
func TestColdHotNotesPageHasFixedStatementCount(t *testing.T) {
	stack := apptest.Real(t)
	m := openMarket(t, stack, 11)
	s := stack.Start(t)
	for _, c := range m.customers {
		id := m.note(t, s.As(c.token), "Note")
		s.As(c.token).Must(t, likeNote, map[string]any{"id": id}, nil)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	stack.Config.Run = []string{"api"}
	cost := func(prefix string, first int) float64 {
		stack.Config.RedisPrefix = prefix // without keys
		s := stack.Start(t)
		awaitIdle(t, s)
		statements, _ := storeCalls(t, s, func() { s.As(m.customers[0].token).Must(t, hotPage, map[string]any{"first": first}, nil) })
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		return statements
	}
	if two, ten := cost("two", 2), cost("ten", 10); two != ten || ten > 12 {
		t.Errorf("two notes cost %v statements, ten %v, want equal costs, at most 12", two, ten)
	}
}

func TestNoteLifecycle(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		s := stack.Start(t)
		other := s
		if stack.Name == "real" {
			other = stack.Start(t)
		}
		ann, bob, cid := s.As(m.customers[0].token), other.As(m.customers[1].token), s.As(m.customers[2].token)
		is := func(as *apptest.Server, query string, variables map[string]any, want string) {
			t.Helper()
			if got := dataOf(t, as, query, variables); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		id := m.note(t, ann, "<i>Tea</i> @bob")
		by := map[string]any{"id": id}
		is(other, `query N($id: ID!) { note(id: $id) { title author { noteCount notes { edges { node { id } } } } shop { notes { edges { node { title } } } } } }`, by,
			fmt.Sprintf(`{"note":{"title":"<i>Tea</i> @bob","author":{"noteCount":1,"notes":{"edges":[{"node":{"id":%q}}]}},"shop":{"notes":{"edges":[{"node":{"title":"<i>Tea</i> @bob"}}]}}}}`, id))
		for range 2 { // idempotent both ways
			is(bob, likeNote, by, `{"likeNote":{"note":{"likeCount":1,"isLiked":true},"userErrors":[]}}`)
		}
		is(cid, likeNote, by, `{"likeNote":{"note":{"likeCount":2,"isLiked":true},"userErrors":[]}}`)
		for range 2 {
			is(bob, unlikeNote, by, `{"unlikeNote":{"note":{"likeCount":1,"isLiked":false},"userErrors":[]}}`)
		}
		is(bob, `mutation M($id: ID!) { a: likeNote(id: $id) { note { likeCount } } b: unlikeNote(id: $id) { note { likeCount } } c: likeNote(id: $id) { note { likeCount } } d: likeNote(id: $id) { note { likeCount } } e: unlikeNote(id: $id) { note { likeCount } } }`, by,
			`{"a":{"note":{"likeCount":2}},"b":{"note":{"likeCount":1}},"c":{"note":{"likeCount":2}},"d":{"note":{"likeCount":2}},"e":{"note":{"likeCount":1}}}`)
		root := m.comment(t, bob, id, nil, "Where is it?")
		reply := m.comment(t, ann, id, root, "Round the corner.")
		m.comment(t, cid, id, reply, "No, behind the bridge.")
		is(s, `query C($id: ID!) { note(id: $id) { commentCount shop { commentCount } comments(first: 3) { edges { node { content parent { id } replyCount replies(first: 5) { edges { node { content parent { content } replies(first: 1) { edges { node { id } } } } } } } } } } }`, by,
			`{"note":{"commentCount":3,"shop":{"commentCount":3},"comments":{"edges":[{"node":{"content":"Where is it?","parent":null,"replyCount":2,"replies":{"edges":[`+
				`{"node":{"content":"Round the corner.","parent":{"content":"Where is it?"},"replies":{"edges":[]}}},`+
				`{"node":{"content":"No, behind the bridge.","parent":{"content":"Round the corner."},"replies":{"edges":[]}}}]}}}]}}}`)
		for range 2 {
			is(ann, `mutation L($id: ID!) { likeComment(id: $id) { comment { likeCount isLiked } userErrors { code } } }`, map[string]any{"id": root}, `{"likeComment":{"comment":{"likeCount":1,"isLiked":true},"userErrors":[]}}`)
		}
		is(ann, `mutation L($id: ID!) { unlikeComment(id: $id) { comment { likeCount isLiked } userErrors { code } } }`, map[string]any{"id": root}, `{"unlikeComment":{"comment":{"likeCount":0,"isLiked":false},"userErrors":[]}}`)

		if got := code(t, bob.Do(t, deleteNote, by, nil)); got != "FORBIDDEN" {
			t.Errorf("another user deletes the note: got %q", got)
		}
		is(ann, deleteNote, by, fmt.Sprintf(`{"deleteNote":{"deletedNoteId":%q,"userErrors":[]}}`, id))
		is(ann, deleteNote, by, `{"deleteNote":{"deletedNoteId":null,"userErrors":[{"code":"NOT_FOUND"}]}}`)
		is(other, `query N($id: ID!, $c: ID!, $shop: ID!) { note(id: $id) { id } nodes(ids: [$id, $c]) { id } hotNotes { edges { node { id } } } shop(id: $shop) { commentCount notes { edges { node { id } } } } }`,
			map[string]any{"id": id, "c": root, "shop": m.shop}, `{"note":null,"nodes":[null,null],"hotNotes":{"edges":[]},"shop":{"commentCount":0,"notes":{"edges":[]}}}`)
		is(ann, `{ me { noteCount notes { edges { node { id } } } } }`, nil, `{"me":{"noteCount":0,"notes":{"edges":[]}}}`)
		for _, tap := range []struct{ query, want string }{
			{likeNote, `{"likeNote":{"note":null,"userErrors":[{"code":"NOT_FOUND"}]}}`},
			{unlikeNote, `{"unlikeNote":{"note":null,"userErrors":[{"code":"NOT_FOUND"}]}}`},
		} {
			is(bob, tap.query, by, tap.want)
		}
		is(bob, addComment, map[string]any{"input": map[string]any{"noteId": id, "content": "Too late"}}, `{"addComment":{"comment":null,"userErrors":[{"code":"NOT_FOUND","field":["input","noteId"]}]}}`)
		is(bob, `mutation L($id: ID!) { likeComment(id: $id) { comment { id } userErrors { code } } }`, map[string]any{"id": root}, `{"likeComment":{"comment":null,"userErrors":[{"code":"NOT_FOUND"}]}}`)
	})
}

func TestWriteAccess(t *testing.T) {
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 1)
	s := stack.Start(t)
	ann := s.As(m.customers[0].token)
	note := m.note(t, ann, "Tea")
	for name, query := range map[string]string{
		"publish": publishNote, "comment": addComment,
		"like": likeNote, "unlike": unlikeNote, "delete": deleteNote, "follow": followUser, "unfollow": unfollow,
	} {
		variables := map[string]any{"id": note, "input": map[string]any{"shopId": m.shop, "title": "x", "content": "x"}}
		if name == "comment" {
			variables["input"] = map[string]any{"noteId": note, "content": "x"}
		}
		if got := code(t, s.Do(t, query, variables, nil)); got != "UNAUTHENTICATED" {
			t.Errorf("%s without a session: %q", name, got)
		}
		if name == "publish" || name == "comment" {
			continue
		}
		wrong := map[string]any{"id": m.shop}
		if got := code(t, ann.Do(t, query, wrong, nil)); got != "BAD_USER_INPUT" {
			t.Errorf("%s with an id of a shop: %q", name, got)
		}
	}
	for _, list := range []string{
		`{ hotNotes(first: 0) { pageInfo { hasNextPage } } }`, `{ hotNotes(first: 101) { pageInfo { hasNextPage } } }`, `{ hotNotes(after: "x") { pageInfo { hasNextPage } } }`,
		`{ me { notes(first: 101) { pageInfo { hasNextPage } } } }`, `{ me { followers(first: 0) { pageInfo { hasNextPage } } } }`, `{ me { followees(after: "x") { pageInfo { hasNextPage } } } }`,
		`{ me { commonFollowees(first: 101) { pageInfo { hasNextPage } } } }`, `{ hotNotes { edges { node { firstLikers(first: 0) { id } } } } }`, `{ hotNotes { edges { node { comments(first: 0) { pageInfo { hasNextPage } } } } } }`,
	} {
		if got := code(t, ann.Do(t, list, nil, nil)); got != "BAD_USER_INPUT" {
			t.Errorf("%s: %q", list, got)
		}
	}
}

func TestFollowAndUnfollow(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 4)
		s := stack.Start(t)
		other := s
		if stack.Name == "real" {
			other = stack.Start(t)
		}
		people := m.customers
		ann, bob := s.As(people[0].token), other.As(people[1].token)
		does := func(as *apptest.Server, query, id, want string) {
			t.Helper()
			if got := dataOf(t, as, query, map[string]any{"id": id}); !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		for range 2 {
			does(ann, followUser, people[1].id, `{"user":{"isFollowed":true,"followerCount":1},"userErrors":[]}`)
		}
		does(ann, followUser, people[0].id, `{"user":null,"userErrors":[{"code":"CANNOT_FOLLOW_SELF"}]}`)
		does(ann, followUser, scalar.ID{Type: "User", N: 999_999}.String(), `{"user":null,"userErrors":[{"code":"NOT_FOUND"}]}`)
		does(ann, followUser, people[2].id, `"isFollowed":true`)
		does(bob, followUser, people[2].id, `"followerCount":2`)
		does(bob, followUser, people[3].id, `"followerCount":1`)
		does(bob, `query U($id: ID!) { user(id: $id) { followeeCount commonFollowees { edges { node { id } } } followees { edges { node { id } } } } }`, people[0].id,
			fmt.Sprintf(`{"user":{"followeeCount":2,"commonFollowees":{"edges":[{"node":{"id":%q}}]},"followees":{"edges":[{"node":{"id":%[1]q}},{"node":{"id":%q}}]}}}`, people[2].id, people[1].id))
		does(s, `query U($id: ID!) { user(id: $id) { followers { edges { node { id isFollowed } } } commonFollowees { edges { node { id } } } } }`, people[2].id,
			fmt.Sprintf(`"followers":{"edges":[{"node":{"id":%q,"isFollowed":false}},{"node":{"id":%q,"isFollowed":false}}]},"commonFollowees":{"edges":[]}`, people[1].id, people[0].id))
		key := fmt.Sprintf("td:follow:out:{%d}", number(t, people[0].id))
		testkit.Eventually(t, 20*time.Second, func() bool { // a set that was read during a follow is not cached
			does(bob, `query U($id: ID!) { user(id: $id) { followees { edges { node { id } } } } }`, people[0].id, people[1].id)
			return s.Components().State.ZScore(t.Context(), key, fmt.Sprint(number(t, people[1].id))).Err() == nil
		})
		for range 2 {
			does(ann, unfollow, people[1].id, `{"user":{"isFollowed":false,"followerCount":0},"userErrors":[]}`)
		}
		if n, err := s.Components().State.ZScore(t.Context(), key, fmt.Sprint(number(t, people[1].id))).Result(); err == nil {
			t.Errorf("the set in Redis contains an unfollowed user: %v", n)
		}
	})
}

func TestAliasesDoNotMixAnswers(t *testing.T) {
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 2)
	s := stack.Start(t)
	ann := s.As(m.customers[0].token)
	note := m.note(t, ann, "Tea")
	root := m.comment(t, ann, note, nil, "One")
	for _, content := range []string{"a", "b"} {
		m.comment(t, ann, note, root, content)
	}
	m.comment(t, ann, note, nil, "Two")
	for _, tt := range []struct{ query, want string }{
		{
			`{ hotNotes { edges { x: node { comments(first: 1) { edges { node { content } } } } y: node { comments(first: 2) { edges { node { content } } } } } } }`,
			`{"hotNotes":{"edges":[{"x":{"comments":{"edges":[{"node":{"content":"Two"}}]}},"y":{"comments":{"edges":[{"node":{"content":"Two"}},{"node":{"content":"One"}}]}}}]}}`,
		},
		{
			`{ hotNotes { edges { x: node { f: author { noteCount } } y: node { f: shop { commentCount } } } } }`,
			`{"hotNotes":{"edges":[{"x":{"f":{"noteCount":1}},"y":{"f":{"commentCount":4}}}]}}`,
		},
		{
			`{ hotNotes { edges { node { comments(first: 2) { a: edges { node { replies(first: 1) { edges { node { content } } } } } b: edges { node { replies(first: 2) { edges { node { content } } } } } } } } } }`,
			`{"hotNotes":{"edges":[{"node":{"comments":{"a":[{"node":{"replies":{"edges":[]}}},{"node":{"replies":{"edges":[{"node":{"content":"a"}}]}}}],` +
				`"b":[{"node":{"replies":{"edges":[]}}},{"node":{"replies":{"edges":[{"node":{"content":"a"}},{"node":{"content":"b"}}]}}}]}}}]}}`,
		},
		{`{ hotNotes { edges { node { counts: author { noteCount } likeCount commentCount } } } }`, `{"hotNotes":{"edges":[{"node":{"counts":{"noteCount":1},"likeCount":0,"commentCount":4}}]}}`},
	} {
		if got := dataOf(t, s, tt.query, nil); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.query, got, tt.want)
		}
	}
}
