package note

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// together publishes a note of each author at once, while the first of all is held up, and
// returns what became of them.
func (p *process) together(t *testing.T, authors []int64) (notes []*Note, errs []error) {
	t.Helper()
	held, err := p.db.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.LockHead(t.Context(), held); err != nil { // the first transaction cannot end
		t.Fatal(err)
	}
	notes, errs = make([]*Note, len(authors)), make([]error, len(authors))
	var all sync.WaitGroup
	for i, author := range authors {
		all.Go(func() {
			notes[i], errs[i] = p.Publish(t.Context(), author, Draft{ShopID: teahouse, Title: fmt.Sprint(i), Content: "Tea."})
		})
		testkit.Eventually(t, 20*time.Second, func() bool { // they come one after the other
			waiting, running := p.publishing.Waiting()
			return running == 1 && waiting == i
		})
	}
	if err := held.Commit(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	return notes, errs
}

func TestPublishersOfAMomentShareATransaction(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann, bob := p.user(t), p.user(t)
	authors := make([]int64, 30)
	for i := range authors {
		authors[i] = []int64{ann, bob}[i%2]
	}
	p.others.calls.Store(0)
	notes, errs := p.together(t, authors)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := p.others.calls.Load(); n != 2 {
		t.Errorf("%d transactions, want that of the first and that of the others", n)
	}
	for i, n := range notes {
		if n.Seq != int64(i+1) || n.Title != fmt.Sprint(i) || n.AuthorID != authors[i] {
			t.Errorf("note %d is %+v", i, n)
		}
		if e := p.db.NoteEvent.GetX(t.Context(), n.Seq); e.NoteID != n.ID || e.AuthorID != n.AuthorID || e.Kind != noteevent.KindADDED {
			t.Errorf("event %d is %v", n.Seq, e)
		}
	}
	for _, id := range []int64{ann, bob} {
		if n := p.db.User.GetX(t.Context(), id).NoteCount; n != 15 {
			t.Errorf("user %d has %d notes", id, n)
		}
	}
}

func TestANoteThatFailsFailsAlone(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann, eve := p.user(t), p.user(t)
	p.others.fails = eve
	notes, errs := p.together(t, []int64{ann, ann, eve, ann})
	for i, err := range errs {
		if failed := i == 2; failed != errors.Is(err, errFails) || failed != (notes[i] == nil) {
			t.Errorf("note %d: %v, %v", i, notes[i], err)
		}
	}
	numbers, _ := p.feed(t)
	dense(t, numbers)
	if len(numbers) != 3 {
		t.Errorf("the feed has %v", numbers)
	}
}

// holdUp keeps the first publisher from ending. It returns how many wait for the next
// transaction, and a function that lets all of them go on.
func (p *process) holdUp(t *testing.T) (waiting func() int, release func()) {
	t.Helper()
	held, err := p.db.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.LockHead(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	waiting = func() int { n, _ := p.publishing.Waiting(); return n }
	return waiting, func() {
		if err := held.Commit(); err != nil {
			t.Error(err)
		}
	}
}

func TestTooManyPublishersAreSentAway(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann := p.user(t)
	waiting, release := p.holdUp(t)
	var all sync.WaitGroup
	publish := func() error {
		_, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Tea", Content: "Tea."})
		return err
	}
	for i := range maxWaiting + 1 { // one is under way
		all.Go(func() {
			if err := publish(); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			testkit.Eventually(t, 20*time.Second, func() bool { _, running := p.publishing.Waiting(); return running == 1 && waiting() == 0 })
		}
	}
	testkit.Eventually(t, 20*time.Second, func() bool { return waiting() == maxWaiting })
	if err := publish(); apierror.KindOf(err) != apierror.Unavailable {
		t.Errorf("got %v", err)
	}
	release()
	all.Wait()
	if n := p.db.Note.Query().CountX(t.Context()); n != maxWaiting+1 {
		t.Errorf("%d notes are stored, want %d", n, maxWaiting+1)
	}
}

// Who goes before anybody has begun with the note takes it back.
func TestAPublisherWhoGoesInTimePublishesNothing(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann := p.user(t)
	waiting, release := p.holdUp(t)
	var first sync.WaitGroup
	first.Go(func() { p.publish(t, ann, "First") })
	testkit.Eventually(t, 20*time.Second, func() bool { _, running := p.publishing.Waiting(); return running == 1 })
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := p.Publish(ctx, ann, Draft{ShopID: teahouse, Title: "Second", Content: "Tea."})
		left <- err
	}()
	testkit.Eventually(t, 20*time.Second, func() bool { return waiting() == 1 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) || waiting() != 0 {
		t.Errorf("got %v, and %d wait", err, waiting())
	}
	release()
	first.Wait()
	if n := p.db.Note.Query().CountX(t.Context()); n != 1 {
		t.Errorf("%d notes are stored, want the first", n)
	}
}
