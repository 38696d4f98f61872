package note

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// feed returns all visible events, in order.
func (p *process) feed(t *testing.T) (numbers []int64, rows []*ent.NoteEvent) {
	t.Helper()
	rows = p.db.NoteEvent.Query().Order(noteevent.ByID()).AllX(t.Context())
	for _, r := range rows {
		numbers = append(numbers, r.ID)
	}
	return numbers, rows
}

// dense fails unless the numbers are 1, 2, 3 …
func dense(t *testing.T, numbers []int64) {
	t.Helper()
	for i, n := range numbers {
		if n != int64(i+1) {
			t.Fatalf("got number %d at position %d", n, i+1)
		}
	}
}

var errRollback = errors.New("rolled back on purpose")

// Concurrent writers publish and delete, some slowly, some with a rollback at the end. The
// events that a concurrent reader sees only grow at the end.
func TestNumbersAreDenseAndFollowCommits(t *testing.T) {
	const writers, each = 8, 12
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		p := open(t, on)
		ann := p.user(t)
		ctx, stop := context.WithCancel(t.Context())
		var reader, all sync.WaitGroup
		reader.Go(func() {
			for ctx.Err() == nil {
				rows, err := p.db.NoteEvent.Query().Order(noteevent.ByID()).All(context.WithoutCancel(ctx))
				if err != nil {
					t.Error(err)
					return
				}
				for i, r := range rows { // a late lower number would be a gap here
					if r.ID != int64(i+1) {
						t.Errorf("reader: got number %d at position %d", r.ID, i+1)
						return
					}
				}
			}
		})
		for w := range writers {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(w)))
				for i := range each {
					if err := p.write(t.Context(), ann, rnd, fmt.Sprintf("%d of %d", i, w)); err != nil && !errors.Is(err, errRollback) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		stop()
		reader.Wait()
		numbers, rows := p.feed(t)
		dense(t, numbers)
		head := p.db.FeedHead.GetX(t.Context(), 1).Seq
		notes := p.db.Note.Query().AllX(t.Context())
		if int(head) != len(rows) || len(rows) == 0 || len(rows) >= writers*each*2 {
			t.Errorf("got head %d and %d events", head, len(rows))
		}
		added := 0
		for _, n := range notes {
			i := slices.IndexFunc(rows, func(e *ent.NoteEvent) bool { return e.Kind == noteevent.KindADDED && e.NoteID == n.ID })
			if i < 0 || n.Seq == nil || *n.Seq != rows[i].ID || rows[i].AuthorID != ann {
				t.Errorf("note %d: got number %v and event %d", n.ID, n.Seq, i)
			}
			added++
			if n.DeletedAt != nil {
				j := slices.IndexFunc(rows, func(e *ent.NoteEvent) bool { return e.Kind == noteevent.KindREMOVED && e.NoteID == n.ID })
				if j <= i {
					t.Errorf("note %d: got event %d for its publication and %d for its deletion", n.ID, i, j)
				}
				added++
			}
		}
		if added != len(rows) {
			t.Errorf("got %d events, want %d", len(rows), added)
		}
	})
}

// write publishes a note slowly, and sometimes rolls back or deletes it.
func (p *process) write(ctx context.Context, author int64, rnd *rand.Rand, title string) error {
	before, after, undo := time.Duration(rnd.IntN(3000))*time.Microsecond, time.Duration(rnd.IntN(500))*time.Microsecond, rnd.IntN(4) == 0
	var note *ent.Note
	err := ent.WithTx(ctx, p.db, func(tx *ent.Tx) (err error) {
		note, err = tx.Note.Create().SetAuthorID(author).SetShopID(teahouse).SetTitle(title).SetContent("Tea.").SetCreatedAt(1).Save(ctx)
		if err == nil {
			err = tx.NoteCount.Create().SetID(note.ID).SetHot(1).Exec(ctx)
		}
		time.Sleep(before) // numbers must not follow the order of inserts
		if err == nil {
			_, _, err = p.number(ctx, tx, noteevent.KindADDED, note)
		}
		time.Sleep(after)
		if err == nil && undo {
			err = errRollback
		}
		return err
	})
	if err != nil || rnd.IntN(3) > 0 {
		return err
	}
	return p.Delete(ctx, Editor{UserID: author}, note.ID)
}

// The transaction that begins and inserts first commits last.
func TestSlowTransactionGetsTheLaterNumber(t *testing.T) {
	on := storetest.Real(t) // SQLite has one writer
	p, other := open(t, on), open(t, on)
	ann, bob := p.user(t), p.user(t)
	inserted, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.fakes.slow = func(context.Context) { // before the number is taken
		once.Do(func() { close(inserted); <-goOn })
	}
	slow := make(chan *Note, 1)
	go func() {
		n, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Slow", Content: "Tea."})
		if err != nil {
			t.Error(err)
		}
		slow <- n
	}()
	<-inserted
	quick := other.publish(t, bob, "Quick") // does not wait for the slow one
	close(goOn)
	first := <-slow
	if first.ID > quick.ID || first.Seq < quick.Seq {
		t.Errorf("slow: got note %d with number %d; quick: note %d with number %d", first.ID, first.Seq, quick.ID, quick.Seq)
	}
	pages, err := p.ByShops(t.Context(), []int64{teahouse}, 10, "")
	if err != nil || !slices.Equal(idsOfPage(pages[teahouse]), []int64{first.ID, quick.ID}) {
		t.Errorf("got list %v, %v", idsOfPage(pages[teahouse]), err)
	}
}

// A process dies while its transaction holds a number. The next transaction takes it.
func TestKilledTransactionReleasesItsNumber(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	ann := p.user(t)
	p.publish(t, ann, "First")
	tx, err := p.db.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	note := tx.Note.Create().SetAuthorID(ann).SetShopID(teahouse).SetTitle("Lost").SetContent("Tea.").SetCreatedAt(1).SaveX(t.Context())
	held, _, err := p.number(t.Context(), tx, noteevent.KindADDED, note)
	if err != nil || held != 2 {
		t.Fatal(held, err)
	}
	var pid int
	err = sqldb.Each(t.Context(), tx, "SELECT pg_backend_pid()", nil, func(rows *sql.Rows) error { return rows.Scan(&pid) })
	if err != nil {
		t.Fatal(err)
	}
	published := make(chan *Note, 1)
	go func() {
		n, err := other.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Second", Content: "Tea."})
		if err != nil {
			t.Error(err)
		}
		published <- n
	}()
	select {
	case n := <-published:
		t.Fatalf("got number %d while 2 is locked", n.Seq)
	case <-time.After(50 * time.Millisecond): // it waits
	}
	if _, err := other.db.ExecContext(t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
		t.Fatal(err)
	}
	if n := <-published; n == nil || n.Seq != 2 {
		t.Errorf("next note: got %+v, want number 2", n)
	}
	_ = tx.Rollback() // its connection is closed
	numbers, _ := other.feed(t)
	dense(t, numbers)
	if len(numbers) != 2 {
		t.Errorf("got numbers %v, want two", numbers)
	}
}

// LockHead blocks publishing until the commit of its transaction.
func TestLockHeadBlocksPublishing(t *testing.T) {
	on := storetest.Real(t)
	p := open(t, on)
	ann := p.user(t)
	p.publish(t, ann, "First")
	tx, err := p.db.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if head, err := p.LockHead(t.Context(), tx); err != nil || head != 1 {
		t.Fatalf("got head %d, %v", head, err)
	}
	published := make(chan struct{})
	go func() {
		defer close(published)
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Second", Content: "Tea."}); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-published:
		t.Error("a note was published while the head was locked")
	case <-time.After(50 * time.Millisecond):
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	<-published
}

// Committed events match the log, and contain the number of earlier follow transactions.
func TestEventsMatchTheFeedLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ann, bob := p.user(t), p.user(t)
		p.fakes.celebrity = bob
		follow := func() {
			err := ent.WithTx(t.Context(), p.db, func(tx *ent.Tx) error {
				_, err := p.LockHead(t.Context(), tx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		first := p.publish(t, ann, "First")
		follow()
		follow()
		second := p.publish(t, bob, "Second")
		if err := p.Delete(t.Context(), Editor{UserID: ann}, first.ID); err != nil {
			t.Fatal(err)
		}
		var calls []*batch.Call[pendingNote, *Note]
		for i := range 3 {
			calls = append(calls, &batch.Call[pendingNote, *Note]{In: pendingNote{ann, Draft{ShopID: teahouse, Title: fmt.Sprint(i), Content: "Tea."}, "[]"}})
		}
		follow()
		after, err := p.publishAll(t.Context(), calls)
		if err != nil {
			t.Fatal(err)
		}
		after()
		want := [][]Event{
			{{Seq: 1, NoteID: first.ID, AuthorID: ann, Note: first}},
			{{Seq: 2, NoteID: second.ID, AuthorID: bob, Note: second, Celebrity: true, Follows: 2}},
			{{Seq: 3, NoteID: first.ID, AuthorID: ann, Follows: 2}},
			nil,
		}
		for i, one := range calls {
			want[3] = append(want[3], Event{Seq: int64(4 + i), NoteID: one.Out.ID, AuthorID: ann, Note: one.Out, Follows: 3})
		}
		if d := cmp.Diff(want, p.fakes.events); d != "" {
			t.Errorf("events (-want +got)\n%s", d)
		}
		found, err := p.ByIDsVerified(t.Context(), []int64{second.ID, calls[2].Out.ID})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]*Note{p.fakes.events[1][0].Note, p.fakes.events[3][2].Note}, []*Note{found[second.ID], found[calls[2].Out.ID]}); d != "" {
			t.Errorf("notes (-events +read)\n%s", d)
		}
	})
}
