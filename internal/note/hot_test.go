package note

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestTenTimesAsManyLikesOutweighAWeek(t *testing.T) {
	const week, day = 7 * 24 * int64(time.Hour/time.Millisecond), 24 * int64(time.Hour/time.Millisecond)
	tests := []struct {
		name       string
		a, b       int   // likes
		older      int64 // age difference of a
		aIsHotter  bool
		difference string
	}{
		{name: "one like beats none of the same age", a: 1, b: 0, aIsHotter: true},
		{name: "99 likes beat 9 after six days", a: 99, b: 9, older: 6 * day, aIsHotter: true},
		{name: "99 likes lose to 9 after eight days", a: 99, b: 9, older: 8 * day},
		{name: "999 likes beat none after three weeks", a: 999, b: 0, older: 3*week - 1, aIsHotter: true},
		{name: "999 likes lose to none later", a: 999, b: 0, older: 3*week + 1},
		{name: "a negative count is zero", a: -1, b: 0, older: 1},
	}
	for _, tt := range tests {
		if a, b := hotRank(0, tt.a), hotRank(tt.older, tt.b); (a > b) != tt.aIsHotter {
			t.Errorf("%s: got ranks %d and %d", tt.name, a, b)
		}
	}
	for n := range 2000 { // incremental ranks equal direct ones
		rank := hotRank(1_700_000_000_000, n)
		if again := rank + bonus(n+1) - bonus(n); again != hotRank(1_700_000_000_000, n+1) {
			t.Fatalf("%d likes: got rank %d", n, again)
		}
	}
}

// seedNotes publishes n seed notes and returns their ids.
func (p *process) seedNotes(t *testing.T, n int, at func(i int) time.Time) []int64 {
	t.Helper()
	ann := p.user(t)
	notes := make([]Seed, n)
	for i := range notes {
		notes[i] = Seed{ExternalID: fmt.Sprint(i), AuthorID: ann, ShopID: teahouse, Title: "Tea", Content: "Good.", At: at(i)}
	}
	ids, added, err := p.BulkInsert(t.Context(), notes, func(int) {})
	if err != nil || added != n {
		t.Fatal(added, err)
	}
	return ids
}

func TestHotPagesAreStableWhileLikesChange(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 1))
		p, other := open(t, on), open(t, on)
		ids := p.seedNotes(t, 40, func(i int) time.Time { return time.UnixMilli(int64(i) * 1000) })
		want := reversed(ids) // by age
		readers := []*process{p, other}
		got := walk(t, 7, func(first int, after page.Cursor) (*Page, error) {
			return readers[rnd.IntN(2)].Hot(t.Context(), first, after)
		}, func() {
			for range 5 {
				p.like(t, ids[rnd.IntN(len(ids))], 1+rnd.IntN(50))
			}
			p.ahead.Add(3000) // starts another ranking
			other.ahead.Add(3000)
			fresh, err := p.Hot(t.Context(), 40, "")
			if err != nil || slices.Equal(idsOfPage(fresh), want) {
				t.Fatalf("invalid test: no rank changed: %v", err)
			}
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages repeat or lose notes: %s", diff)
		}
	})
}

func TestHotNotesContinueBelowTheRanking(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ids := p.seedNotes(t, maxHot+70, func(i int) time.Time { return time.UnixMilli(int64(i) * 1000) })
		read := func(first int, after page.Cursor) (*Page, error) { return p.Hot(t.Context(), first, after) }
		moved := false
		got := walk(t, 90, read, func() {
			if !moved { // moves below the ranking, but must not repeat
				moved = true
				p.like(t, ids[len(ids)-100], 0)
				p.db.NoteCount.UpdateOneID(ids[len(ids)-100]).SetHot(500).ExecX(t.Context())
			}
		})
		if diff := cmp.Diff(reversed(ids), got); diff != "" {
			t.Error(diff)
		}
		// After the ranking expires, pages use the current ranks.
		first, err := read(10, "")
		if err != nil {
			t.Fatal(err)
		}
		p.ahead.Add(2 * rankingMaxAge.Milliseconds())
		next, err := read(10, *first.Info.EndCursor)
		if err != nil || len(next.Edges) != 10 || !next.Info.HasNextPage {
			t.Fatalf("got %d notes, %v", len(next.Edges), err)
		}
		if got, want := next.Edges[0].Node.ID, ids[len(ids)-11]; got != want {
			t.Errorf("second page: got first note %d, want %d", got, want)
		}
		for _, bad := range []page.Cursor{"x", page.Encode(listCursor, 5), page.Encode(hotCursor, 1, 2)} {
			if got := refused(errOf(read(10, bad))); !cmp.Equal(got, []string{"BAD_USER_INPUT"}) {
				t.Errorf("cursor %s: got %v", bad, got)
			}
		}
		for _, first := range []int{0, 101} {
			if got := refused(errOf(read(first, ""))); !cmp.Equal(got, []string{"BAD_USER_INPUT"}) {
				t.Errorf("first %d: got %v", first, got)
			}
		}
	})
}

func errOf(_ *Page, err error) error { return err }

func TestHotNotesAreCached(t *testing.T) {
	on := storetest.Real(t)
	p := open(t, on)
	ids := p.seedNotes(t, 30, func(i int) time.Time { return time.UnixMilli(int64(i) * 1000) })
	still := p.now() // a single ranking
	p.now = func() time.Time { return still }
	other := open(t, on)
	other.now = p.now
	if _, err := other.Hot(t.Context(), 10, ""); err != nil {
		t.Fatal(err)
	}
	p.db.NoteCount.Update().SetHot(1).ExecX(t.Context()) // without invalidation
	p.wire.Trips.Store(0)
	got, err := p.Hot(t.Context(), 10, "")
	if err != nil || !slices.Equal(idsOfPage(got), reversed(ids)[:10]) {
		t.Errorf("%v, %v", idsOfPage(got), err)
	}
	if n := p.wire.Trips.Load(); n != 2 {
		t.Errorf("got %d round trips, want 2: ranking and rows", n)
	}
}

func TestNoteListsAreCompleteInEveryProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, other := open(t, on), open(t, on)
		ann, bob, unknown := p.user(t), p.user(t), int64(1<<40)
		var anns, bobs []int64
		for i := range headSize + 20 {
			if i%3 == 0 {
				bobs = append(bobs, p.publish(t, bob, "Bob's").ID)
			}
			anns = append(anns, p.publish(t, ann, "Ann's").ID)
		}
		for _, s := range []*process{p, other} {
			got := walk(t, 30, func(first int, after page.Cursor) (*Page, error) {
				pages, err := s.ByAuthors(t.Context(), []int64{ann, bob, unknown}, first, after)
				if err == nil && len(pages[unknown].Edges) > 0 {
					t.Error("got notes of an unknown author")
				}
				return pages[ann], err
			}, func() { anns = append(anns, p.publish(t, ann, "New").ID) }) // above the pages read
			if diff := cmp.Diff(reversed(anns)[len(anns)-len(got):], got); diff != "" || len(got) < headSize+20 {
				t.Errorf("got %d notes: %s", len(got), diff)
			}
		}
		first, err := other.ByAuthors(t.Context(), []int64{bob}, 5, "")
		if err != nil || !slices.Equal(idsOfPage(first[bob]), reversed(bobs)[:5]) {
			t.Errorf("%v, %v", idsOfPage(first[bob]), err)
		}
	})
}

// Pages of several authors need as many round trips and statements as one page.
func TestListsOfManyAuthorsAreBatched(t *testing.T) {
	on := storetest.Real(t)
	p := open(t, on)
	var authors []int64
	for range 8 {
		author := p.user(t)
		authors = append(authors, author)
		p.publish(t, author, "One")
		p.publish(t, author, "Two")
	}
	read := func(s *process, authors []int64) (trips int64) {
		t.Helper()
		s.wire.Trips.Store(0)
		pages, err := s.ByAuthors(t.Context(), authors, 5, "")
		if err != nil || len(pages) != len(authors) {
			t.Fatal(err)
		}
		for _, a := range authors {
			if len(pages[a].Edges) != 2 {
				t.Errorf("got %d notes, want 2", len(pages[a].Edges))
			}
		}
		return s.wire.Trips.Load()
	}
	read(p, authors)
	if n := read(p, authors); n > 2 {
		t.Errorf("got %d round trips, want 2: lists and rows", n)
	}
}

func TestNotesAreReadWithoutRedis(t *testing.T) {
	on := storetest.Real(t)
	p := open(t, on)
	ann := p.user(t)
	n := p.publish(t, ann, "Before")
	p.wire.Down.Store(true)
	m := p.publish(t, ann, "Meanwhile") // the outbox invalidates later
	for name, read := range map[string]func() (*Page, error){
		"hot":      func() (*Page, error) { return p.Hot(t.Context(), 10, "") },
		"author's": func() (*Page, error) { l, err := p.ByAuthors(t.Context(), []int64{ann}, 10, ""); return l[ann], err },
		"teahouse's": func() (*Page, error) {
			l, err := p.ByShops(t.Context(), []int64{teahouse}, 10, "")
			return l[teahouse], err
		},
	} {
		got, err := read()
		if err != nil || !slices.Equal(idsOfPage(got), []int64{m.ID, n.ID}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	counts, err := p.Counts(t.Context(), []int64{n.ID, m.ID})
	if err != nil || len(counts) != 2 {
		t.Errorf("counts %v, %v", counts, err)
	}
}

func TestOutboxInvalidatesNotesAfterWriterCrash(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	ann := p.user(t)
	n := p.publish(t, ann, "Tea")
	shown := func() []int64 {
		t.Helper()
		pages, err := other.ByAuthors(t.Context(), []int64{ann}, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		return idsOfPage(pages[ann])
	}
	if got := shown(); !slices.Equal(got, []int64{n.ID}) {
		t.Fatal(got)
	}
	p.wire.Down.Store(true) // it commits, but cannot invalidate
	if err := p.Delete(context.WithoutCancel(t.Context()), Editor{UserID: ann}, n.ID); err != nil {
		t.Fatal(err)
	}
	storetest.Relay(t, other.box)
	for begin := time.Now(); len(shown()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the list still contains the deleted note")
		}
	}
}
