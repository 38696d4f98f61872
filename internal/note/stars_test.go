package note

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// ratings implements Ratings on the rows. It refuses the ratings of one user.
type ratings struct {
	refused int64 // user

	mu    sync.Mutex
	calls [][]Stars
	done  []bool // outcomes
}

func (r *ratings) RateInTx(ctx context.Context, tx *ent.Tx, stars []Stars) ([]error, func(context.Context, bool), error) {
	refused := make([]error, len(stars))
	for i, n := range stars {
		if n.UserID == r.refused {
			refused[i] = apierror.Refuse("OWN_SHOP", "You can't rate your own shop.", "input", "shopId")
			continue
		}
		err := tx.Rating.Create().SetShopID(n.ShopID).SetUserID(n.UserID).SetStars(n.Stars).SetCreatedAt(1).SetUpdatedAt(1).Exec(ctx)
		if err != nil {
			return nil, nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, stars)
	return refused, func(_ context.Context, committed bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done = append(r.done, committed)
	}, nil
}

// stored returns the numbers of notes and ratings.
func (p *process) stored(t *testing.T) (notes, ratings int) {
	t.Helper()
	return p.db.Note.Query().CountX(t.Context()), p.db.Rating.Query().CountX(t.Context())
}

func withStars(stars int) Draft {
	return Draft{ShopID: teahouse, Title: "Tea", Content: "Good.", Stars: &stars}
}

func TestNoteWithStarsIsStoredWithItsRatingOrNotAtAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ann, owner, eve := p.user(t), p.user(t), p.user(t)
		r := &ratings{refused: owner}
		p.ratings, p.fakes.failsFor = r, eve
		for _, tt := range []struct {
			name   string
			author int64
			draft  Draft
			want   []string // refusals
			stored bool
			calls  [][]Stars
			done   []bool
		}{
			{"without stars", ann, Draft{ShopID: teahouse, Title: "Tea", Content: "Good."}, nil, true, nil, nil},
			{"with stars", ann, withStars(4), nil, true, [][]Stars{{{teahouse, ann, 4}}}, []bool{true}},
			{"no star", ann, withStars(0), []string{"INVALID_INPUT stars"}, false, nil, nil},
			{"six stars", ann, withStars(6), []string{"INVALID_INPUT stars"}, false, nil, nil},
			{"a refused rating", owner, withStars(5), []string{"OWN_SHOP shopId"}, false, [][]Stars{{{teahouse, owner, 5}}}, []bool{true}},
			{"the owner, without stars", owner, Draft{ShopID: teahouse, Title: "Tea", Content: "Good."}, nil, true, nil, nil},
			{"a failed note", eve, withStars(5), []string{"INTERNAL"}, false, [][]Stars{{{teahouse, eve, 5}}}, []bool{false}},
		} {
			notes, rated := p.stored(t)
			r.calls, r.done = nil, nil
			p.fakes.calls.Store(0)
			n, err := p.Publish(t.Context(), tt.author, tt.draft)
			if d := cmp.Diff(tt.want, refused(err)); d != "" {
				t.Errorf("%s: (-want +got):\n%s", tt.name, d)
			}
			if (n != nil) != tt.stored {
				t.Errorf("%s: got note %v", tt.name, n)
			}
			if d := cmp.Diff(tt.calls, r.calls); d != "" {
				t.Errorf("%s: ratings (-want +got):\n%s", tt.name, d)
			}
			if d := cmp.Diff(tt.done, r.done); d != "" {
				t.Errorf("%s: outcomes (-want +got):\n%s", tt.name, d)
			}
			if n := p.fakes.calls.Load(); n > 0 && !tt.stored && tt.author != eve {
				t.Errorf("%s: got %d changes of authors, want none", tt.name, n)
			}
			if tt.stored {
				notes++
				rated += len(tt.calls)
			}
			if n, r := p.stored(t); n != notes || r != rated {
				t.Errorf("%s: got %d notes and %d ratings, want %d and %d", tt.name, n, r, notes, rated)
			}
		}
	})
}

func TestRefusedRatingFailsOnlyItsNote(t *testing.T) {
	p := open(t, storetest.Real(t))
	owner := p.user(t)
	r := &ratings{refused: owner}
	p.ratings = r
	waiting, release := p.blockPublishing(t)
	var all sync.WaitGroup
	all.Go(func() { p.publish(t, owner, "First") })
	testkit.Eventually(t, 20*time.Second, func() bool { _, running := p.publishing.Waiting(); return running == 1 && waiting() == 0 })
	drafts := []struct {
		author int64
		stars  bool
	}{{p.user(t), true}, {owner, true}, {owner, false}, {p.user(t), true}, {p.user(t), false}}
	errs, notes := make([]error, len(drafts)), make([]*Note, len(drafts))
	for i, d := range drafts {
		draft := Draft{ShopID: teahouse, Title: fmt.Sprint(i), Content: "Tea."}
		if d.stars {
			draft = withStars(1 + i)
			draft.Title = fmt.Sprint(i)
		}
		all.Go(func() { notes[i], errs[i] = p.Publish(t.Context(), d.author, draft) })
		testkit.Eventually(t, 20*time.Second, func() bool { return waiting() == i+1 })
	}
	p.fakes.calls.Store(0)
	release()
	all.Wait()
	for i, n := range notes {
		if want := []string{"OWN_SHOP shopId"}; i == 1 {
			if d := cmp.Diff(want, refused(errs[i])); d != "" || n != nil {
				t.Errorf("note %d: got %v (-want +got):\n%s", i, n, d)
			}
			continue
		}
		if errs[i] != nil || n.Title != fmt.Sprint(i) || n.AuthorID != drafts[i].author {
			t.Errorf("note %d: got %+v, %v", i, n, errs[i])
		}
	}
	if n, rated := p.stored(t); n != 5 || rated != 2 {
		t.Errorf("got %d notes and %d ratings, want 5 and 2", n, rated)
	}
	want := [][]Stars{{{teahouse, drafts[0].author, 1}, {teahouse, owner, 2}, {teahouse, drafts[3].author, 4}}}
	if d := cmp.Diff(want, r.calls); d != "" || !slices.Equal(r.done, []bool{true}) {
		t.Errorf("ratings, done %v (-want +got):\n%s", r.done, d)
	}
	numbers, _ := p.feed(t)
	dense(t, numbers)
}
