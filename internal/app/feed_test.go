package app_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const feedQuery = `query F($first: Int!, $after: Cursor) { me { feed(first: $first, after: $after) { liveCursor pageInfo { hasNextPage endCursor } edges { cursor node { id title author { id } } } } } }`

// feedPage is the result of feedQuery.
type feedPage struct {
	Me struct {
		Feed struct {
			LiveCursor string
			PageInfo   struct {
				HasNextPage bool
				EndCursor   *string
			}
			Edges []struct {
				Cursor string
				Node   struct{ ID, Title string }
			}
		}
	}
}

// titles returns the titles of a whole feed, read in pages.
func titles(t *testing.T, as *apptest.Server, first int) []string {
	t.Helper()
	list := []string{}
	var after *string
	for {
		var p feedPage
		as.Must(t, feedQuery, map[string]any{"first": first, "after": after}, &p)
		for _, e := range p.Me.Feed.Edges {
			list = append(list, e.Node.Title)
		}
		if !p.Me.Feed.PageInfo.HasNextPage {
			return list
		}
		after = p.Me.Feed.PageInfo.EndCursor
	}
}

func TestFeedShowsNotesOfFollowedUsers(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		s := stack.Start(t)
		reader, ann, bob := s.As(m.customers[0].token), s.As(m.customers[1].token), s.As(m.customers[2].token)
		shows := func(want ...string) {
			t.Helper()
			for _, first := range []int{1, 2, 100} {
				if diff := cmp.Diff(append([]string{}, want...), titles(t, reader, first)); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", first, diff)
				}
			}
		}
		shows()
		for i := range 3 {
			m.note(t, ann, fmt.Sprint("ann ", i))
		}
		shows()
		reader.Must(t, followUser, map[string]any{"id": m.customers[1].id}, nil)
		shows("ann 2", "ann 1", "ann 0")
		bobs := m.note(t, bob, "bob 0")
		third := m.note(t, ann, "ann 3")
		shows("ann 3", "ann 2", "ann 1", "ann 0")
		reader.Must(t, followUser, map[string]any{"id": m.customers[2].id}, nil)
		shows("ann 3", "bob 0", "ann 2", "ann 1", "ann 0")
		ann.Must(t, deleteNote, map[string]any{"id": third}, nil)
		shows("bob 0", "ann 2", "ann 1", "ann 0")
		reader.Must(t, unfollow, map[string]any{"id": m.customers[1].id}, nil)
		shows("bob 0")
		m.note(t, ann, "ann 4")
		shows("bob 0")
		reader.Must(t, followUser, map[string]any{"id": m.customers[1].id}, nil)
		shows("ann 4", "bob 0", "ann 2", "ann 1", "ann 0")
		bob.Must(t, deleteNote, map[string]any{"id": bobs}, nil)
		shows("ann 4", "ann 2", "ann 1", "ann 0")
	})
}

// publishes notes by a person and returns their ids.
func (m market) publishes(t *testing.T, s *apptest.Server, by person, titles ...string) (notes []int64) {
	t.Helper()
	for _, title := range titles {
		made, err := s.Components().Notes.Publish(t.Context(), number(t, by.id), note.Draft{ShopID: number(t, m.shop), Title: title, Content: "Good."})
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, made.ID)
	}
	return notes
}

// mustFollow makes a person follow others.
func mustFollow(t *testing.T, s *apptest.Server, follower person, followees ...person) {
	t.Helper()
	for _, f := range followees {
		if err := s.Components().Follows.Follow(t.Context(), number(t, follower.id), number(t, f.id)); err != nil {
			t.Fatal(err)
		}
	}
}

// countOf returns the result of a counting statement.
func countOf(t *testing.T, s *apptest.Server, statement string, args ...any) (n int) {
	t.Helper()
	if err := s.Components().DB.QueryRowContext(t.Context(), statement, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// fannedOut waits until all published notes are pushed.
func fannedOut(t *testing.T, s *apptest.Server) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() bool {
		return countOf(t, s, "SELECT count(*) FROM outbox_jobs WHERE topic = 'feed' AND done_at IS NULL") == 0
	})
}

// inboxOf returns the key of a person's inbox.
func inboxOf(t *testing.T, p person) string {
	t.Helper()
	return fmt.Sprintf("td:feed:in:{%d}", number(t, p.id))
}

// feedEntry is a note in a feed.
type feedEntry struct {
	seq, note int64
	title     string
}

// expectedFeed returns at most limit entries of the feed below a number, from the database.
func expectedFeed(t *testing.T, s *apptest.Server, reader person, below int64, limit int) (list []feedEntry) {
	t.Helper()
	rows, err := s.Components().DB.QueryContext(t.Context(), `SELECT n.seq, n.id, n.title FROM notes AS n JOIN follows AS f ON f.followee_id = n.author_id
		WHERE f.follower_id = $1 AND n.deleted_at IS NULL AND n.seq < $2 ORDER BY n.seq DESC LIMIT $3`, number(t, reader.id), below, limit)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var p feedEntry
		if err := rows.Scan(&p.seq, &p.note, &p.title); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// numbered returns n titles.
func numbered(name string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(name, " ", i))
	}
	return list
}

// A page costs one read of the log, one script and one read of notes, for any number of
// followed users. Celebrities cost one more round trip. Children are read in batches.
func TestFeedPageHasFixedRoundTripCount(t *testing.T) {
	t.Parallel()
	const (
		bare = `query F($first: Int!, $after: Cursor) { me { feed(first: $first, after: $after) { edges { node { id } } } } }`
		full = `query F($first: Int!, $after: Cursor) { me { feed(first: $first, after: $after) { edges { node { title isLiked likeCount commentCount author { nickname isFollowed } shop { name } } } } } }`
	)
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.L1Bytes = 0 // otherwise local hits hide the cost
		stack.Config.FeedPushThreshold = 4
		m := openMarket(t, stack, 18)
		one, twelve, starry := m.customers[0], m.customers[1], m.customers[2]
		authors, stars := m.customers[3:15], m.customers[15:]
		s := stack.Start(t)
		mustFollow(t, s, one, authors[0])
		for _, author := range authors {
			mustFollow(t, s, twelve, author)
			mustFollow(t, s, starry, author)
		}
		for _, star := range stars {
			mustFollow(t, s, starry, star)
			for _, fan := range authors[:3] {
				mustFollow(t, s, fan, star)
			}
		}
		for i, author := range m.customers[3:] {
			m.publishes(t, s, author, numbered(fmt.Sprint(i), 2)...)
		}
		m.publishes(t, s, authors[0], numbered("more", 25)...)
		if n := countOf(t, s, "SELECT count(*) FROM feed_stars"); n != len(stars) {
			t.Fatalf("got %d celebrities, want %d", n, len(stars))
		}
		fannedOut(t, s)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		stack.Config.Run = []string{"api"} // workers read on their own
		s = stack.Start(t)
		type cost struct{ statements, trips float64 }
		costOf := func(who person, query string, variables map[string]any) cost {
			least := cost{math.Inf(1), math.Inf(1)}
			for range 5 { // background work adds to the cost
				statements, trips := storeCalls(t, s, func() { s.As(who.token).Must(t, query, variables, nil) })
				least = cost{min(least.statements, statements), min(least.trips, trips)}
			}
			return least
		}
		for _, tt := range []struct {
			name string
			who  person
			want cost // without session and user
		}{
			{"one author", one, cost{1, 2}},
			{"twelve authors", twelve, cost{1, 2}},
			{"twelve authors and three celebrities", starry, cost{1, 3}},
		} {
			var first feedPage
			s.As(tt.who.token).Must(t, feedQuery, map[string]any{"first": 10}, &first) // also warms the server
			session := costOf(tt.who, `{ me { id } }`, nil)
			var fulls []cost
			for _, after := range []*string{nil, first.Me.Feed.PageInfo.EndCursor} {
				for _, n := range []int{2, 10} {
					page := map[string]any{"first": n, "after": after}
					var shown feedPage
					s.As(tt.who.token).Must(t, feedQuery, page, &shown)
					if got := len(shown.Me.Feed.Edges); got != n {
						t.Fatalf("%s: got %[3]d notes, want %[2]d", tt.name, n, got)
					}
					got := costOf(tt.who, bare, page)
					got = cost{got.statements - session.statements, got.trips - session.trips}
					if got != tt.want {
						t.Errorf("%s: %d notes, after a cursor: %v, cost %v, want %v", tt.name, n, after != nil, got, tt.want)
					}
					fulls = append(fulls, costOf(tt.who, full, page))
				}
			}
			more := cost{tt.want.statements + session.statements, tt.want.trips + session.trips + 5} // for shops, authors, counts, likes, follows
			for _, c := range fulls {
				if c != fulls[0] || c.statements > more.statements || c.trips > more.trips {
					t.Errorf("%s: pages with children of notes cost %v, want equal costs, at most %v", tt.name, fulls, more)
				}
			}
			t.Logf("%s: %v statements and round trips, %v for the session, %v with children of notes", tt.name, tt.want, session, fulls[0])
		}
	})
}

func TestFeedIsPrivate(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		s := stack.Start(t)
		ann, bob, author := m.customers[0], m.customers[1], m.customers[2]
		mustFollow(t, s, ann, author)
		mustFollow(t, s, bob, author)
		m.publishes(t, s, author, "one", "two", "three")
		for _, tt := range []struct {
			name, query, want string
			who               *apptest.Server
		}{
			{"own", `{ user(id: %q) { feed { edges { node { title } } } } }`, `{"user":{"feed":{"edges":[{"node":{"title":"three"}},{"node":{"title":"two"}},{"node":{"title":"one"}}]}}}`, s.As(ann.token)},
			{"another user's", `{ user(id: %q) { feed { edges { node { title } } } } }`, `{"user":{"feed":null}}`, s.As(bob.token)},
			{"an administrator", `{ user(id: %q) { feed { liveCursor } } }`, `{"user":{"feed":null}}`, s.As(m.admin.token)},
			{"anonymous", `{ user(id: %q) { feed { liveCursor } } }`, `{"user":{"feed":null}}`, s},
		} {
			if got := dataOf(t, tt.who, fmt.Sprintf(tt.query, ann.id), nil); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if got := dataOf(t, s, `{ me { feed { liveCursor } } }`, nil); got != `{"me":null}` {
			t.Errorf("without a session: %s", got)
		}
		var mine feedPage
		s.As(ann.token).Must(t, feedQuery, map[string]any{"first": 1}, &mine)
		var others struct {
			HotNotes struct{ PageInfo struct{ EndCursor string } }
			User     struct {
				Notes struct{ PageInfo struct{ EndCursor string } }
			}
		}
		s.Must(t, fmt.Sprintf(`{ hotNotes(first: 1) { pageInfo { endCursor } } user(id: %q) { notes(first: 1) { pageInfo { endCursor } } } }`, author.id), nil, &others)
		for _, tt := range []struct {
			name  string
			first int
			after any
			want  string
		}{
			{"zero", 0, nil, "BAD_USER_INPUT"},
			{"one", 1, nil, ""},
			{"the maximum", 100, nil, ""},
			{"too many", 101, nil, "BAD_USER_INPUT"},
			{"negative", -1, nil, "BAD_USER_INPUT"},
			{"an invalid cursor", 1, "x", "BAD_USER_INPUT"},
			{"the live cursor", 1, mine.Me.Feed.LiveCursor, "BAD_USER_INPUT"},
			{"a cursor of hot notes", 1, others.HotNotes.PageInfo.EndCursor, "BAD_USER_INPUT"},
			{"a cursor of an author's notes", 1, others.User.Notes.PageInfo.EndCursor, "BAD_USER_INPUT"},
			{"a cursor of the feed", 1, mine.Me.Feed.Edges[0].Cursor, ""},
		} {
			if got := code(t, s.As(ann.token).Do(t, feedQuery, map[string]any{"first": tt.first, "after": tt.after}, nil)); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
		// All feeds share positions: from Ann's position, Bob gets older notes of Bob's feed.
		var page feedPage
		s.As(bob.token).Must(t, feedQuery, map[string]any{"first": 1, "after": mine.Me.Feed.Edges[0].Cursor}, &page)
		if len(page.Me.Feed.Edges) != 1 || page.Me.Feed.Edges[0].Node.Title != "two" {
			t.Errorf("after Ann's cursor, Bob gets %+v", page.Me.Feed.Edges)
		}
	})
}

// The live cursor moves with every published or deleted note, also of unfollowed users.
func TestLiveCursorFollowsTheLog(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		s := stack.Start(t)
		other := s
		if stack.Name == "real" {
			other = stack.Start(t)
		}
		ann, author, unfollowed := m.customers[0], m.customers[1], m.customers[2]
		mustFollow(t, s, ann, author)
		head := func() string {
			t.Helper()
			var p feedPage
			s.As(ann.token).Must(t, feedQuery, map[string]any{"first": 1}, &p)
			return p.Me.Feed.LiveCursor
		}
		seen := map[string]string{head(): "the beginning"}
		var theirs []int64
		for _, step := range []struct {
			name  string
			do    func()
			moves bool
		}{
			{"nothing", func() {}, false},
			{"a followed author publishes", func() { theirs = m.publishes(t, other, author, "one") }, true},
			{"a follow", func() { mustFollow(t, other, ann, unfollowed) }, false},
			{"an unfollow", func() { s.As(ann.token).Must(t, unfollow, map[string]any{"id": unfollowed.id}, nil) }, false},
			{"an unfollowed user publishes", func() { m.publishes(t, other, unfollowed, "two") }, true},
			{"a note is deleted", func() {
				if err := other.Components().Notes.Delete(t.Context(), note.Editor{IsAdmin: true}, theirs[0]); err != nil {
					t.Fatal(err)
				}
			}, true},
		} {
			before := head()
			step.do()
			after := head()
			if again := head(); again != after {
				t.Errorf("%s: got cursor %q, then %q", step.name, after, again)
			}
			if step.moves == (after == before) {
				t.Errorf("%s: got cursor %q, then %q, want a move: %v", step.name, before, after, step.moves)
			}
			if when, twice := seen[after]; step.moves && twice {
				t.Errorf("%s: got the cursor of %q again", step.name, when)
			}
			seen[after] = step.name
		}
	})
}

// Each page equals the database below the last note of the previous page, also after losses
// of Redis and concurrent writes.
func TestPagingSurvivesALostInbox(t *testing.T) {
	t.Parallel()
	const inPage = 7
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 6)
		s := stack.Start(t)
		other := s
		if stack.Name == "real" {
			other = stack.Start(t)
		}
		reader, authors := m.customers[0], m.customers[1:]
		mustFollow(t, s, reader, authors...)
		for i := range 60 {
			m.publishes(t, other, authors[(i*i+i/7)%len(authors)], fmt.Sprint("note ", i))
		}
		redis := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		key, published := inboxOf(t, reader), 0
		losses := []struct {
			name string
			lose func()
			real bool // needs a real Redis
		}{
			{"nothing", func() {}, false},
			{"the inbox", func() { redis(s.Components().Cache.Unlink(t.Context(), key).Err()) }, false},
			{"the newest follow", func() { redis(s.Components().Cache.Unlink(t.Context(), key+":s").Err()) }, false},
			{"follows of the reader", func() {
				redis(s.Components().Cache.Unlink(t.Context(), fmt.Sprintf("td:follow:out:{%d}", number(t, reader.id))).Err())
			}, false},
			{"everything", func() { redis(testkit.AdminClient(t, s.Components().Cache).FlushAll(t.Context()).Err()) }, true},
		}
		for _, loss := range losses {
			if loss.real && stack.Name != "real" {
				continue
			}
			pages, shown, below := 0, map[string]bool{}, int64(math.MaxInt64)
			var after *string
			for more := true; more; pages++ {
				var p feedPage
				s.As(reader.token).Must(t, feedQuery, map[string]any{"first": inPage, "after": after}, &p)
				got := []string{}
				for _, e := range p.Me.Feed.Edges {
					got = append(got, e.Node.Title)
					if shown[e.Node.Title] {
						t.Errorf("loss of %s: %q is shown twice", loss.name, e.Node.Title)
					}
					shown[e.Node.Title] = true
				}
				next := expectedFeed(t, s, reader, below, inPage+1)
				want, wantMore := []string{}, len(next) > inPage
				for _, at := range next[:min(len(next), inPage)] {
					want = append(want, at.title)
				}
				if diff := cmp.Diff(want, got); diff != "" || wantMore != p.Me.Feed.PageInfo.HasNextPage {
					t.Fatalf("loss of %s: page %d, more: %v (-want +got):\n%s", loss.name, pages, p.Me.Feed.PageInfo.HasNextPage, diff)
				}
				more, after = wantMore, p.Me.Feed.PageInfo.EndCursor
				if !more {
					break
				}
				below = next[inPage-1].seq
				loss.lose()
				if pages%2 == 1 { // another user publishes, and deletes shown and unshown notes
					m.publishes(t, other, authors[published%len(authors)], fmt.Sprint("meanwhile ", published))
					published++
					for _, gone := range []int64{next[0].note, next[inPage].note} {
						redis(other.Components().Notes.Delete(t.Context(), note.Editor{IsAdmin: true}, gone))
					}
				}
			}
			if pages < 4 {
				t.Errorf("%s: got %d pages, want at least 4", loss.name, pages)
			}
		}
	})
}

// An author with three followers is a celebrity, whose notes are not pushed. Readers see no
// difference.
func TestAuthorBecomesAndStopsBeingACelebrity(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.FeedPushThreshold = 3
		m := openMarket(t, stack, 5)
		s := stack.Start(t)
		s.Recovered(t) // the recovery would remove inboxes
		author, fans := m.customers[0], m.customers[1:4]
		mustFollow(t, s, fans[0], author)
		mustFollow(t, s, fans[1], author)
		var published []string
		followers := fans[:2]
		publish := func(stage string, pushed int) {
			t.Helper()
			inboxes := map[string]int64{} // members: the entries and the mark
			for _, fan := range followers {
				titles(t, s.As(fan.token), 100) // creates the inbox
				inboxes[fan.id] = s.Components().Cache.ZCard(t.Context(), inboxOf(t, fan)).Val()
			}
			was := s.Counter(t, "tandian_feed_pushed_total")
			m.publishes(t, s, author, stage+" a", stage+" b")
			published = append([]string{stage + " b", stage + " a"}, published...)
			fannedOut(t, s)
			for i, fan := range followers {
				now, err := s.Components().Cache.ZCard(t.Context(), inboxOf(t, fan)).Result()
				if want := inboxes[fan.id] + int64(pushed); err != nil || now != want {
					t.Errorf("%s: got %[3]d members in the inbox of fan %[2]d, %[4]v, want %[5]d", stage, i, now, err, want)
				}
				for _, first := range []int{1, 100} {
					if diff := cmp.Diff(published, titles(t, s.As(fan.token), first)); diff != "" {
						t.Errorf("%s: fan %d, pages of %d (-want +got):\n%s", stage, i, first, diff)
					}
				}
			}
			if got := s.Counter(t, "tandian_feed_pushed_total") - was; got != float64(pushed*len(followers)) {
				t.Errorf("%s: got %v pushes, want %d", stage, got, pushed*len(followers))
			}
		}
		publish("two follow", 2)
		mustFollow(t, s, fans[2], author)
		followers = fans
		publish("three follow", 0)
		s.As(fans[2].token).Must(t, unfollow, map[string]any{"id": author.id}, nil)
		followers = fans[:2]
		publish("two follow again", 2)
		mustFollow(t, s, fans[2], author)
		followers = fans
		publish("three follow again", 0)
		if n := countOf(t, s, "SELECT count(*) FROM feed_stars"); n != 1 {
			t.Errorf("got %d celebrities, want 1", n)
		}
	})
}

func TestQueueStatsShowPendingFanOuts(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		stack.Config.Run = []string{"api"}
		s := stack.Start(t)
		s.Recovered(t)
		lag := func() (n int) {
			t.Helper()
			var got struct {
				QueueStats []struct {
					Name        string
					Lag, Parked int
				}
			}
			s.As(m.admin.token).Must(t, queueStats, nil, &got)
			for _, q := range got.QueueStats {
				if q.Name == "feed" {
					n += q.Lag + 1000*q.Parked
				}
			}
			return n
		}
		if n := lag(); n != 0 {
			t.Errorf("got a lag of %d at the beginning, want 0", n)
		}
		mustFollow(t, s, m.customers[1], m.customers[0])
		m.publishes(t, s, m.customers[0], "one", "two", "three")
		if n := lag(); n != 3 {
			t.Errorf("got a lag of %d, want 3", n)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		stack.Config.Run = []string{"api", "workers"}
		s = stack.Start(t)
		testkit.Eventually(t, 20*time.Second, func() bool { return lag() == 0 })
		if diff := cmp.Diff([]string{"three", "two", "one"}, titles(t, s.As(m.customers[1].token), 10)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
