package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// writer is a client of a server that is killed. It records the answered writes.
type writer struct {
	person
	likes, follows   *bool // nil if the last write had no answer
	comments, notes  int   // answered
	mayHave          int   // comments and notes without an answer
	checkedIn        bool
	client           http.Client
	answers, unknown *atomic.Int64
}

// ask sends a mutation. It reports false if there was no answer.
func (w *writer) ask(ctx context.Context, url, query string, variables map[string]any) (bool, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.token)
	answer, err := w.client.Do(r)
	if err != nil {
		w.unknown.Add(1)
		return false, nil // the server was killed
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Data   map[string]struct{ UserErrors []apptest.UserError }
		Errors []any
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		w.unknown.Add(1)
		return false, nil // the server was killed during the answer
	}
	for _, one := range got.Data {
		if len(one.UserErrors) > 0 {
			return false, fmt.Errorf("%s: %v", query, one.UserErrors)
		}
	}
	if len(got.Errors) > 0 || len(got.Data) != 1 {
		return false, fmt.Errorf("%s: %v", query, got.Errors)
	}
	w.answers.Add(1)
	return true, nil
}

// write makes one random write.
func (w *writer) write(ctx context.Context, url string, rnd *rand.Rand, note, author, shop string) error {
	flip := func(state **bool, yes, no string, variables map[string]any) error {
		to, query := rnd.IntN(3) > 0, no
		if to {
			query = yes
		}
		*state = nil
		ok, err := w.ask(ctx, url, query, variables)
		if ok {
			*state = &to
		}
		return err
	}
	add := func(n *int, query string, variables map[string]any) error {
		ok, err := w.ask(ctx, url, query, variables)
		if ok {
			*n++
		} else {
			w.mayHave++
		}
		return err
	}
	switch rnd.IntN(8) {
	case 0, 1, 2:
		return flip(&w.likes, `mutation($id: ID!) { likeNote(id: $id) { userErrors { code } } }`, `mutation($id: ID!) { unlikeNote(id: $id) { userErrors { code } } }`, map[string]any{"id": note})
	case 3, 4:
		return flip(&w.follows, `mutation($id: ID!) { follow(userId: $id) { userErrors { code } } }`, `mutation($id: ID!) { unfollow(userId: $id) { userErrors { code } } }`, map[string]any{"id": author})
	case 5:
		return add(&w.comments, `mutation($input: AddCommentInput!) { addComment(input: $input) { userErrors { code } } }`, map[string]any{"input": map[string]any{"noteId": note, "content": "Good."}})
	case 6:
		return add(&w.notes, `mutation($input: PublishNoteInput!) { publishNote(input: $input) { userErrors { code } } }`, map[string]any{"input": map[string]any{"shopId": shop, "title": "Tea", "content": "Good."}})
	}
	ok, err := w.ask(ctx, url, `mutation { checkIn { userErrors { code } } }`, nil)
	w.checkedIn = w.checkedIn || ok
	return err
}

// A server is killed three times while many users write. All answered writes are stored, the
// counters are right, and another server shows both.
func TestKilledServerLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	const users, kills, answersBetween = 40, 3, 400
	stack := apptest.Real(t)
	seed := testkit.Seed(t)
	m := openMarket(t, stack, users)
	s := stack.Start(t)
	author := m.owner
	var published struct {
		PublishNote struct{ Note struct{ ID string } }
	}
	s.As(author.token).Must(t, `mutation($input: PublishNoteInput!) { publishNote(input: $input) { note { id } } }`,
		map[string]any{"input": map[string]any{"shopId": m.shop, "title": "Tea", "content": "Good tea."}}, &published)
	note := published.PublishNote.Note.ID
	var answers, unknown atomic.Int64
	writers := make([]*writer, users)
	for i := range writers {
		writers[i] = &writer{person: m.customers[i], answers: &answers, unknown: &unknown}
	}
	for round := range kills {
		cfg := stack.Config
		cfg.Addr = net.JoinHostPort("127.0.0.1", testkit.FreePort(t))
		p := startServing(t, cfg)
		url := "http://" + cfg.Addr
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		var all sync.WaitGroup
		for i, w := range writers {
			rnd := rand.New(rand.NewPCG(seed, uint64(round*users+i)))
			all.Go(func() {
				for before := unknown.Load(); ctx.Err() == nil && unknown.Load() == before; {
					if err := w.write(ctx, url, rnd, note, author.id, m.shop); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		until := answers.Load() + answersBetween
		testkit.Eventually(t, time.Minute, func() bool { return answers.Load() >= until || t.Failed() })
		p.kill(t)
		all.Wait()
		stop()
		for _, w := range writers {
			w.client.CloseIdleConnections()
		}
	}
	if unknown.Load() == 0 {
		t.Error("no write was in flight at a kill, so the test checks nothing")
	}
	t.Logf("%d answers, %d writes without one", answers.Load(), unknown.Load())
	wantStored(t, s, writers, number(t, note), number(t, author.id))
	testkit.Eventually(t, 30*time.Second, func() bool {
		return countOf(t, s, "SELECT count(*) FROM outbox_jobs WHERE done_at IS NULL") == 0
	})
	wantShown(t, s, writers, note, author.id)
}

// wantStored compares the answered writes with the rows, and the rows with the counters.
func wantStored(t *testing.T, s *apptest.Server, writers []*writer, note, author int64) {
	t.Helper()
	for _, w := range writers {
		id := number(t, w.id)
		for what, state := range map[string]struct {
			want  *bool
			query string
		}{
			"like":   {w.likes, fmt.Sprintf("SELECT count(*) FROM likes WHERE kind = 'NOTE' AND target_id = %d AND user_id = %d", note, id)},
			"follow": {w.follows, fmt.Sprintf("SELECT count(*) FROM follows WHERE followee_id = %d AND follower_id = %d", author, id)},
		} {
			if got := countOf(t, s, state.query) == 1; state.want != nil && got != *state.want {
				t.Errorf("user %d: stored %s: got %t, want %t", id, what, got, *state.want)
			}
		}
		comments := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM comments WHERE author_id = %d", id))
		notes := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM notes WHERE author_id = %d", id))
		if comments < w.comments || notes < w.notes || comments+notes > w.comments+w.notes+w.mayHave {
			t.Errorf("user %d: got %d comments and %d notes; %d and %d were answered, %d not", id, comments, notes, w.comments, w.notes, w.mayHave)
		}
		if n := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM check_ins WHERE user_id = %d", id)); w.checkedIn && n != 1 {
			t.Errorf("user %d: a check-in is lost", id)
		}
	}
	for what, query := range map[string]string{
		"likes of notes":    "SELECT count(*) FROM note_counts AS c WHERE likes <> (SELECT count(*) FROM likes WHERE kind = 'NOTE' AND target_id = c.id)",
		"comments of notes": "SELECT count(*) FROM note_counts AS c WHERE comments <> (SELECT count(*) FROM comments WHERE note_id = c.id)",
		"comments of shops": "SELECT count(*) FROM shops AS s WHERE comment_count <> (SELECT count(*) FROM comments AS c JOIN notes AS n ON n.id = c.note_id WHERE n.shop_id = s.id)",
		"counts of users": `SELECT count(*) FROM users AS u WHERE follower_count <> (SELECT count(*) FROM follows WHERE followee_id = u.id)
			OR followee_count <> (SELECT count(*) FROM follows WHERE follower_id = u.id) OR note_count <> (SELECT count(*) FROM notes WHERE author_id = u.id)`,
		"points": "SELECT count(*) FROM users AS u WHERE points <> (SELECT coalesce(sum(points), 0) FROM check_ins WHERE user_id = u.id)",
	} {
		if n := countOf(t, s, query); n != 0 {
			t.Errorf("got %d rows with wrong %s", n, what)
		}
	}
}

// wantShown compares the answers of a server to every user with the rows.
func wantShown(t *testing.T, s *apptest.Server, writers []*writer, note, author string) {
	t.Helper()
	likes := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM likes WHERE kind = 'NOTE' AND target_id = %d", number(t, note)))
	comments := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM comments WHERE note_id = %d", number(t, note)))
	followers := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM follows WHERE followee_id = %d", number(t, author)))
	for _, w := range writers {
		var got struct {
			Note struct {
				LikeCount, CommentCount int
				IsLiked                 bool
				Author                  struct {
					FollowerCount int
					IsFollowed    bool
				}
			}
		}
		s.As(w.token).Must(t, `query($id: ID!) { note(id: $id) { likeCount commentCount isLiked author { followerCount isFollowed } } }`, map[string]any{"id": note}, &got)
		n := got.Note
		liked := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM likes WHERE kind = 'NOTE' AND target_id = %d AND user_id = %d", number(t, note), number(t, w.id))) == 1
		follows := countOf(t, s, fmt.Sprintf("SELECT count(*) FROM follows WHERE followee_id = %d AND follower_id = %d", number(t, author), number(t, w.id))) == 1
		if n.LikeCount != likes || n.CommentCount != comments || n.Author.FollowerCount != followers || n.IsLiked != liked || n.Author.IsFollowed != follows {
			t.Errorf("user %s sees %+v; the rows have %d likes, %d comments, %d followers, like %t, follow %t", w.id, n, likes, comments, followers, liked, follows)
		}
	}
}

// startServing starts a process and waits until it serves.
func startServing(t *testing.T, cfg config.Config) *process {
	t.Helper()
	p := startProcess(t, cfg)
	testkit.Eventually(t, time.Minute, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+cfg.Addr+"/graphql", strings.NewReader(`{"query":"{ __typename }"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusOK
	})
	return p
}
