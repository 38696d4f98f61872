package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// liveTape is a client of a live feed. It records "+" and "-" with the number of an event,
// and "ready" and "resync" with the position.
type liveTape struct {
	mu       sync.Mutex
	received []string
	cursors  []page.Cursor
	seqs     []int64
	f        broadcast.Subscription
}

func (l *liveTape) Push(u *broadcast.Update) {
	what := "gone"
	v, err := u.Load(context.Background())
	switch u := v.(type) {
	case *feed.Added:
		what = fmt.Sprint("+", liveNumber(u.Cursor))
	case *feed.Removed:
		what = fmt.Sprint("-", liveNumber(u.Cursor))
	case *feed.Ready:
		what = fmt.Sprint("ready ", liveNumber(u.Cursor))
	case *feed.Resync:
		what = fmt.Sprint("resync ", liveNumber(u.Cursor))
	default:
		if !errors.Is(err, broadcast.ErrSkip) {
			what = fmt.Sprint(err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received, l.cursors, l.seqs = append(l.received, what), append(l.cursors, page.Cursor(u.Cursor)), append(l.seqs, u.Seq)
}

func (l *liveTape) Reset()      { l.note("reset") }
func (l *liveTape) End(e error) { l.note(fmt.Sprint("end ", e)) }

func (l *liveTape) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received = append(l.received, what)
}

// now returns the events so far.
func (l *liveTape) now() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.received)
}

// await waits until the events are exactly want.
func (l *liveTape) await(t *testing.T, want ...string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); len(l.now()) < len(want) && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
	if got := l.now(); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func liveNumber(c page.Cursor) (n int64) {
	if err := page.Decode(c, "LIVE", &n); err != nil {
		return -1
	}
	return n
}

// liveRig has two processes without messages between them. See deliverHints.
type liveRig struct {
	a, b      *feedProcess
	viewer    int64
	authors   []int64
	head      int64
	mu        sync.Mutex
	announced [][]byte
}

func newLiveRig(t *testing.T, on storetest.Stores, cfg feed.Config) *liveRig {
	t.Helper()
	r := &liveRig{}
	w := newFeedWorld(t, on)
	cfg.Announce = func(_ context.Context, hint []byte) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.announced = append(r.announced, hint)
		return nil
	}
	ps := [2]*feedProcess{}
	for i := range ps {
		p := openFeed(t, w.on[i], w.wires[i], cache.Options{}, outbox.Options{}, cfg)
		ctx, cancel := context.WithCancel(context.Background())
		var ran sync.WaitGroup
		ran.Go(func() { _ = p.Feed.Run(ctx) })
		t.Cleanup(func() { cancel(); ran.Wait() })
		ps[i] = p
	}
	r.a, r.b = ps[0], ps[1]
	for range 4 {
		u, err := w.on[0].DB.User.Create().SetNickname("a user").Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.authors = append(r.authors, u.ID)
	}
	r.viewer, r.authors = r.authors[0], r.authors[1:]
	r.publish(t, r.a, r.authors[2]) // the log is not empty
	return r
}

// publish publishes notes and updates the head.
func (r *liveRig) publish(t *testing.T, p *feedProcess, authors ...int64) (notes []*note.Note) {
	t.Helper()
	for _, author := range authors {
		n, err := p.publish(t.Context(), author)
		if err != nil {
			t.Fatal(err)
		}
		r.head, notes = n.Seq, append(notes, n)
	}
	return notes
}

func (r *liveRig) follow(t *testing.T, p *feedProcess, authors ...int64) {
	t.Helper()
	for _, author := range authors {
		if err := p.Follows.Follow(t.Context(), r.viewer, author); err != nil {
			t.Fatal(err)
		}
	}
}

// listen subscribes to the viewer's live feed in a process.
func (r *liveRig) listen(t *testing.T, p *feedProcess, after page.Cursor) *liveTape {
	t.Helper()
	source, err := p.Feed.Subscribe(r.viewer, after)
	if err != nil {
		t.Fatal(err)
	}
	tape := &liveTape{}
	if tape.f, err = source.Subscribe(tape); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.f.Close)
	return tape
}

func cursorOf(n int64) page.Cursor { return page.Encode("LIVE", n) }

func plus(n int64) string    { return fmt.Sprint("+", n) }
func readyAt(n int64) string { return fmt.Sprint("ready ", n) }

func TestLiveFeedDeliversEventsInLogOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newLiveRig(t, on, feed.Config{})
		r.follow(t, r.a, r.authors[:2]...)
		begin := r.head
		tape := r.listen(t, r.b, "")
		tape.await(t, readyAt(begin))
		notes := r.publish(t, r.a, r.authors[0], r.authors[2], r.authors[1], r.authors[0]) // the third is not followed
		tape.await(t, readyAt(begin), plus(begin+1), plus(begin+3), plus(begin+4))         // without a message to the other process
		if err := r.a.Notes.Delete(t.Context(), note.Editor{IsAdmin: true}, notes[0].ID); err != nil {
			t.Fatal(err)
		}
		tape.await(t, readyAt(begin), plus(begin+1), plus(begin+3), plus(begin+4), fmt.Sprint("-", begin+5))
		again := r.listen(t, r.a, tape.cursors[2])
		again.await(t, plus(begin+4), fmt.Sprint("-", begin+5), readyAt(begin+5))
		whole := r.listen(t, r.a, cursorOf(begin))
		whole.await(t, "gone", plus(begin+3), plus(begin+4), fmt.Sprint("-", begin+5), readyAt(begin+5))
		tape.f.Close()
		r.publish(t, r.a, r.authors[0])
		again.await(t, plus(begin+4), fmt.Sprint("-", begin+5), readyAt(begin+5), plus(begin+6))
		if got := tape.now(); len(got) != 5 {
			t.Errorf("a closed feed got %q", got)
		}
	})
}

// The viewer's process gets no message about a follow. It reads the follow from the log
// before it delivers the notes that are due because of it.
func TestFollowCountsFromItsCommitWithoutMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newLiveRig(t, on, feed.Config{})
		r.follow(t, r.a, r.authors[1])
		begin := r.head
		tape := r.listen(t, r.b, "")
		tape.await(t, readyAt(begin))
		want := []string{readyAt(begin)}
		for range 20 {
			r.publish(t, r.a, r.authors[0])
			r.follow(t, r.a, r.authors[0])
			r.publish(t, r.a, r.authors[0], r.authors[1])
			want = append(want, plus(r.head-1), plus(r.head))
			r.b.Feed.ReceiveHint(nil)
			tape.await(t, want...)
			if err := r.a.Follows.Unfollow(t.Context(), r.viewer, r.authors[0]); err != nil {
				t.Fatal(err)
			}
			r.b.Feed.MarkFollowsStale() // as after the end of a follow
			waitForFollows(t, r)
		}
	})
}

// waitForFollows waits until the viewer's process knows only one followed author.
func waitForFollows(t *testing.T, r *liveRig) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() bool { return r.b.Feed.FolloweeCount(r.viewer) == 1 })
}

func TestEndedFollowIsPublished(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newLiveRig(t, on, feed.Config{})
		r.follow(t, r.a, r.authors[:2]...)
		begin := r.head
		tape := r.listen(t, r.b, "")
		tape.await(t, readyAt(begin))
		if err := r.a.Follows.Unfollow(t.Context(), r.viewer, r.authors[0]); err != nil {
			t.Fatal(err)
		}
		r.b.Feed.RefreshFollows(r.viewer, 12345)
		waitForFollows(t, r)
		r.publish(t, r.a, r.authors[0], r.authors[1])
		tape.await(t, readyAt(begin), plus(begin+2))
	})
}

func TestLiveFeedResumes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newLiveRig(t, on, feed.Config{LogTailSize: 40})
		r.follow(t, r.a, r.authors[0])
		first := r.head
		r.listen(t, r.b, "").await(t, readyAt(first))
		for range 100 {
			r.publish(t, r.a, r.authors[0])
		}
		r.b.Feed.ReceiveHint([]byte(fmt.Sprint(r.head)))
		testkit.Eventually(t, 20*time.Second, func() bool { return r.b.Feed.Lag().Numbers == 0 })
		t.Run("older than the log tail", func(t *testing.T) {
			r.listen(t, r.b, cursorOf(first)).await(t, fmt.Sprint("resync ", r.head), readyAt(r.head))
		})
		t.Run("before the resync", func(t *testing.T) {
			tape, resync := r.listen(t, r.b, cursorOf(first)), fmt.Sprint("resync ", r.head)
			tape.await(t, resync, readyAt(r.head))
			tape.f.Resume(tape.seqs[0] - 1)
			tape.await(t, resync, readyAt(r.head), "reset", resync, readyAt(r.head))
			tape.f.Resume(tape.seqs[0])
			tape.await(t, resync, readyAt(r.head), "reset", resync, readyAt(r.head), "reset", readyAt(r.head))
		})
		t.Run("ahead of the process", func(t *testing.T) {
			r.publish(t, r.a, r.authors[0])
			r.listen(t, r.b, cursorOf(r.head)).await(t, readyAt(r.head))
		})
		t.Run("beyond the log", func(t *testing.T) {
			r.listen(t, r.b, cursorOf(r.head+1000)).await(t, fmt.Sprint("resync ", r.head), readyAt(r.head))
		})
		t.Run("invalid", func(t *testing.T) {
			for _, c := range []page.Cursor{"x", page.Encode("FEED", 1), page.Encode("LIVE", "one")} {
				_, err := r.b.Feed.Subscribe(r.viewer, c)
				if f, ok := errors.AsType[*apierror.Error](err); !ok || f.Kind != apierror.BadUserInput {
					t.Errorf("%q: %v", c, err)
				}
			}
		})
		t.Run("in the same subscription", func(t *testing.T) {
			tape := r.listen(t, r.b, "")
			begin := r.head
			tape.await(t, readyAt(begin))
			r.publish(t, r.a, r.authors[0], r.authors[0])
			tape.await(t, readyAt(begin), plus(begin+1), plus(begin+2))
			tape.f.Resume(tape.seqs[1])
			tape.await(t, readyAt(begin), plus(begin+1), plus(begin+2), "reset", plus(begin+2))
			tape.f.Resume(tape.seqs[0] - 1) // before the ready event
			tape.await(t, readyAt(begin), plus(begin+1), plus(begin+2), "reset", plus(begin+2), "reset", plus(begin+1), plus(begin+2), readyAt(begin+2))
		})
	})
}

func TestBareNumberAnnouncesAllBelow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newLiveRig(t, on, feed.Config{})
		r.follow(t, r.a, r.authors[0])
		tape := r.listen(t, r.b, "")
		tape.await(t, readyAt(r.head))
		r.publish(t, r.a, r.authors[0], r.authors[0])
		r.b.Feed.ReceiveHint([]byte(fmt.Sprint(r.head)))
		r.b.Feed.ReceiveHint([]byte("a hint of another version"))
		tape.await(t, readyAt(r.head-2), plus(r.head-1), plus(r.head))
		r.a.Feed.SeqCommitted(r.head) // a bare number, as for a thousand notes
		testkit.Eventually(t, 20*time.Second, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return string(r.announced[len(r.announced)-1]) == fmt.Sprint(r.head)
		})
	})
}
