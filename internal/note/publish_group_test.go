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

// publishTogether publishes one note of each author at once, while the first one is blocked,
// and returns the results.
func (p *process) publishTogether(t *testing.T, authors []int64) (notes []*Note, errs []error) {
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
		testkit.Eventually(t, 20*time.Second, func() bool { // enqueue them in order
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

func TestConcurrentPublishersShareATransaction(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann, bob := p.user(t), p.user(t)
	authors := make([]int64, 30)
	for i := range authors {
		authors[i] = []int64{ann, bob}[i%2]
	}
	p.fakes.calls.Store(0)
	notes, errs := p.publishTogether(t, authors)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := p.fakes.calls.Load(); n != 2 {
		t.Errorf("got %d transactions, want 2", n)
	}
	for i, n := range notes {
		if n.Seq != int64(i+1) || n.Title != fmt.Sprint(i) || n.AuthorID != authors[i] {
			t.Errorf("note %d: got %+v", i, n)
		}
		if e := p.db.NoteEvent.GetX(t.Context(), n.Seq); e.NoteID != n.ID || e.AuthorID != n.AuthorID || e.Kind != noteevent.KindADDED {
			t.Errorf("event %d: got %v", n.Seq, e)
		}
	}
	for _, id := range []int64{ann, bob} {
		if n := p.db.User.GetX(t.Context(), id).NoteCount; n != 15 {
			t.Errorf("user %d: got %d notes, want 15", id, n)
		}
	}
}

func TestFailedNoteFailsAlone(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann, eve := p.user(t), p.user(t)
	p.fakes.failsFor = eve
	notes, errs := p.publishTogether(t, []int64{ann, ann, eve, ann})
	for i, err := range errs {
		if failed := i == 2; failed != errors.Is(err, errFails) || failed != (notes[i] == nil) {
			t.Errorf("note %d: got %v, %v", i, notes[i], err)
		}
	}
	numbers, _ := p.feed(t)
	dense(t, numbers)
	if len(numbers) != 3 {
		t.Errorf("got numbers %v, want three", numbers)
	}
}

// blockPublishing blocks the first publisher. It returns the number of publishers that wait for
// the next transaction, and a function that unblocks all.
func (p *process) blockPublishing(t *testing.T) (waiting func() int, release func()) {
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

func TestTooManyPublishersAreRejected(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann := p.user(t)
	waiting, release := p.blockPublishing(t)
	var all sync.WaitGroup
	publish := func() error {
		_, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Tea", Content: "Tea."})
		return err
	}
	for i := range maxWaiting + 1 { // one is running
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
		t.Errorf("got %d notes, want %d", n, maxWaiting+1)
	}
}

// A publisher cancels while its note waits for a transaction.
func TestCancelledPublisherPublishesNothing(t *testing.T) {
	p := open(t, storetest.Real(t))
	ann := p.user(t)
	waiting, release := p.blockPublishing(t)
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
		t.Errorf("got %v and %d waiting", err, waiting())
	}
	release()
	first.Wait()
	if n := p.db.Note.Query().CountX(t.Context()); n != 1 {
		t.Errorf("got %d notes, want 1", n)
	}
}
