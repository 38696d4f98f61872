package app_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const feedUpdates = `subscription F($after: Cursor) { feedUpdates(after: $after) {
  __typename
  ... on FeedNoteAdded { cursor note { id title author { nickname } } }
  ... on FeedNoteRemoved { cursor noteId }
  ... on FeedReady { cursor }
  ... on FeedResync { cursor }
} }`

// liveTown has two users. Ann follows Bob.
type liveTown struct {
	market
	s, ann, bob *apptest.Server
}

func newLiveTown(t *testing.T, stack *apptest.Stack) liveTown {
	t.Helper()
	m := openMarket(t, stack, 2)
	s := stack.Start(t)
	town := liveTown{m, s, s.As(m.customers[0].token), s.As(m.customers[1].token)}
	town.ann.Must(t, followUser, map[string]any{"id": m.customers[1].id}, nil)
	return town
}

// dialAnn opens a socket of ann.
func (l liveTown) dialAnn(t *testing.T, at *apptest.Server) *socket {
	t.Helper()
	return dial(t, at, l.customers[0].token)
}

func TestFeedIsUpdatedLive(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		town := newLiveTown(t, stack)
		bob := town.bob
		if stack.Name == "real" {
			bob = bob.OnServer(stack.Start(t))
		}
		var before feedPage
		town.ann.Must(t, feedQuery, map[string]any{"first": 1}, &before)
		first := town.note(t, bob, "First")
		c := town.dialAnn(t, town.s)
		c.follow(t, feedUpdates, map[string]any{"after": before.Me.Feed.LiveCursor})
		c.becomes(t, `"title":"First"`)
		if got := c.event(t); !strings.Contains(got, `"FeedReady"`) {
			t.Fatalf("after the missed note: got %s, want FeedReady", got)
		}
		for i := range 10 {
			town.note(t, bob, fmt.Sprint("Live ", i))
			if got := c.event(t); !strings.Contains(got, fmt.Sprintf(`"title":"Live %d"`, i)) {
				t.Fatalf("note %d: got %s", i, got)
			}
		}
		bob.Must(t, deleteNote, map[string]any{"id": first}, nil)
		if got := c.event(t); !strings.Contains(got, `"FeedNoteRemoved"`) || !strings.Contains(got, first) {
			t.Fatalf("a deleted note: got %s", got)
		}
		town.ann.Must(t, unfollow, map[string]any{"id": town.customers[1].id}, nil)
		ann := number(t, town.customers[0].id)
		testkit.Eventually(t, 20*time.Second, func() bool { return town.s.Components().Feed.FolloweeCount(ann) == 0 })
		town.note(t, bob, "Unfollowed")
		town.ann.Must(t, followUser, map[string]any{"id": town.customers[1].id}, nil)
		town.note(t, bob, "Followed")
		if got := c.event(t); !strings.Contains(got, `"title":"Followed"`) {
			t.Fatalf("got %s after the new follow", got)
		}
	})
}

func TestLiveFeedRejectsUnusableCursors(t *testing.T) {
	town := newLiveTown(t, apptest.Embedded(t))
	for _, tt := range []struct{ name, after, want string }{
		{"garbage", "x", "BAD_USER_INPUT"},
		{"of another list", string(page.Encode("FEED", 1)), "BAD_USER_INPUT"},
		{"beyond the log", string(page.Encode("LIVE", 1<<40)), `"FeedResync"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := town.dialAnn(t, town.s)
			c.follow(t, feedUpdates, map[string]any{"after": tt.after})
			if got := c.event(t); !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	t.Run("anonymous", func(t *testing.T) {
		c := dial(t, town.s, "")
		c.follow(t, feedUpdates, nil)
		if got := c.event(t); got != "UNAUTHENTICATED" {
			t.Errorf("%s", got)
		}
	})
}

// Browsers resume a broken event stream with the id of its last event.
func TestEventStreamResumesAfterLastEvent(t *testing.T) {
	town := newLiveTown(t, apptest.Embedded(t))
	open := func(last string) (next func() (id, data string), end func()) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, town.s.URL+"/graphql", strings.NewReader(`{"query":"subscription { feedUpdates { __typename ... on FeedNoteAdded { note { title } } } }"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Authorization", "Bearer "+town.customers[0].token)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		end = func() { _ = res.Body.Close() }
		t.Cleanup(end)
		lines := bufio.NewScanner(res.Body)
		return func() (id, data string) {
			for lines.Scan() {
				if v, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
					id = v
				}
				if v, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					return id, v
				}
			}
			t.Fatalf("the stream ended: %v", lines.Err())
			return "", ""
		}, end
	}
	next, end := open("")
	if _, data := next(); !strings.Contains(data, "FeedReady") {
		t.Fatal(data)
	}
	stays, _ := open("")
	if _, data := stays(); !strings.Contains(data, "FeedReady") {
		t.Fatal(data)
	}
	town.note(t, town.bob, "One")
	id, data := next()
	if id == "" || !strings.Contains(data, "One") {
		t.Fatalf("id %q, data %s", id, data)
	}
	end()
	town.note(t, town.bob, "Two")
	// The resumed stream reads the note from the log.
	for _, want := range []string{"One", "Two"} {
		if _, data := stays(); !strings.Contains(data, want) {
			t.Fatalf("note %s: got %s", want, data)
		}
	}
	next, _ = open(id)
	if _, data := next(); !strings.Contains(data, "Two") {
		t.Errorf("resumed with %s, want note Two", data)
	}
}

func TestLogoutEndsLiveFeedsOnEveryServer(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		town := newLiveTown(t, stack)
		other := town.s
		if stack.Name == "real" {
			other = stack.Start(t)
		}
		var all []*socket
		for _, at := range []*apptest.Server{town.s, other} {
			c := town.dialAnn(t, at)
			c.follow(t, feedUpdates, nil)
			c.becomes(t, "FeedReady")
			all = append(all, c)
		}
		stays := dial(t, other, town.customers[1].token)
		stays.follow(t, feedUpdates, nil)
		stays.becomes(t, "FeedReady")
		town.ann.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
		began := time.Now()
		for _, c := range all {
			if got := c.event(t); got != "closed 4403" {
				t.Errorf("%s", got)
			}
		}
		if d := time.Since(began); d > 30*time.Second { // a periodic recheck takes a minute
			t.Errorf("the logout took %v", d)
		}
		stays.send(t, map[string]any{"type": "ping"})
		if m, closed := stays.read(t); m.Type != "pong" {
			t.Errorf("another user's socket: %v %d", m.Type, closed)
		}
	})
}

func TestQueueStatsShowLiveFeedLag(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	stats, err := s.Components().Queues.QueueStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range stats {
		if q.Name == "live" {
			return
		}
	}
	t.Errorf("%+v", stats)
}
