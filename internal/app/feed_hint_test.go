package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// hints waits for the announcement of the log head and returns the announcements since the
// last call.
func (r *liveRig) hints(t *testing.T) (list [][]byte) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if n := len(r.announced); n == 0 || !strings.Contains(string(r.announced[n-1]), fmt.Sprintf(`"last":%d,`, r.head)) {
			return false
		}
		list, r.announced = r.announced, nil
		return true
	})
	return list
}

// deliverHints delivers the announcements to the viewer's process.
func (r *liveRig) deliverHints(t *testing.T) {
	t.Helper()
	for _, hint := range r.hints(t) {
		r.b.Feed.ReceiveHint(hint)
	}
}

// hinted returns how many events a process delivered from announcements.
func (p *feedProcess) hinted(t *testing.T) (n int) {
	t.Helper()
	families, err := p.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tandian_feed_live_hinted_total" {
			n = int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return n
}

// newHintRig returns a rig whose viewer follows two authors. The viewer's process has read
// an event, so it knows the number of begun follows.
func newHintRig(t *testing.T, on storetest.Stores) (r *liveRig, tape *liveTape, want []string) {
	t.Helper()
	r = newLiveRig(t, on, feed.Config{})
	r.follow(t, r.a, r.authors[:2]...)
	tape = r.listen(t, r.b, "")
	want = []string{readyAt(r.head)}
	tape.await(t, want...)
	r.publish(t, r.a, r.authors[0])
	r.deliverHints(t)
	want = append(want, plus(r.head))
	tape.await(t, want...)
	return r, tape, want
}

func TestAnnouncedEventNeedsNoLogRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r, tape, want := newHintRig(t, on)
		before := r.b.hinted(t)
		const rounds = 10
		for range rounds {
			notes := r.publish(t, r.a, r.authors[0], r.authors[2]) // the second is not followed
			r.deliverHints(t)
			want = append(want, plus(r.head-1))
			tape.await(t, want...)
			if err := r.a.Notes.Delete(t.Context(), note.Editor{IsAdmin: true}, notes[0].ID); err != nil {
				t.Fatal(err)
			}
			r.head++
			r.deliverHints(t)
			want = append(want, fmt.Sprint("-", r.head))
			tape.await(t, want...)
		}
		// The process also reads the log every second, perhaps before an announcement.
		if n := r.b.hinted(t) - before; n < 2*rounds || n > 3*rounds {
			t.Errorf("%d of %d events were delivered from announcements, want at least two thirds", n, 3*rounds)
		}
		// Pages and later subscribers see the same log.
		again := r.listen(t, r.b, "")
		again.await(t, readyAt(r.head))
		p, err := r.b.Feed.Page(t.Context(), r.viewer, 10, "")
		if err != nil || len(p.Edges) != 1 {
			t.Errorf("got a page of %d notes, %v; want the one that was not deleted", len(p.Edges), err)
		}
	})
}

// A hint may be lost, repeated, late or invalid: the log contains the missing events, and
// no event is delivered twice.
func TestWrongHintsAreHarmless(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r, tape, want := newHintRig(t, on)
		var old [][]byte
		publish := func(authors ...int64) {
			r.publish(t, r.a, authors...)
			for i := range authors {
				want = append(want, plus(r.head-int64(len(authors)-1-i)))
			}
		}
		for range 10 {
			publish(r.authors[0])
			old = append(old, r.hints(t)...) // lost
			publish(r.authors[1], r.authors[0])
			r.deliverHints(t)
			tape.await(t, want...)
			for _, hint := range old {
				r.b.Feed.ReceiveHint(hint)
			}
			for _, nonsense := range []string{"", "x", "{", `{"last":"1"}`, `{"last":0}`, `{"last":9,"events":[{}]}`, fmt.Sprintf(`{"last":%d,"events":[]}`, r.head)} {
				r.b.Feed.ReceiveHint([]byte(nonsense))
			}
			publish(r.authors[0])
			for range 2 {
				r.b.Feed.ReceiveHint(slices.Concat([]byte("  "), r.hints(t)[0])) // no valid number
				publish(r.authors[1])
			}
			if _, err := r.b.Feed.Page(t.Context(), r.viewer, 10, ""); err != nil { // the process knows the notes, but its live feeds do not
				t.Fatal(err)
			}
			r.deliverHints(t)
			tape.await(t, want...)
		}
	})
}

// Announcements contain the number of begun follows. A process that knows fewer rereads them
// before it delivers.
func TestAnnouncedEventReachesUnannouncedFollows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r, tape, want := newHintRig(t, on)
		for range 10 {
			r.publish(t, r.a, r.authors[2]) // not due
			r.follow(t, r.a, r.authors[2])
			r.publish(t, r.a, r.authors[2])
			r.deliverHints(t)
			want = append(want, plus(r.head))
			tape.await(t, want...)
			if err := r.a.Follows.Unfollow(t.Context(), r.viewer, r.authors[2]); err != nil {
				t.Fatal(err)
			}
			r.b.Feed.RefreshFollows(r.viewer) // as the process that ends a follow does
			testkit.Eventually(t, 20*time.Second, func() bool { return r.b.Feed.FolloweeCount(r.viewer) == 2 })
		}
	})
}
