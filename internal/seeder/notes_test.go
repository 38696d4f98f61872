package seeder

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
)

func TestNotesAreDeterministic(t *testing.T) {
	long := slices.Collect(GenerateNotes(3000, 500, 200, 42))
	if d := cmp.Diff(long, slices.Collect(GenerateNotes(3000, 500, 200, 42))); d != "" {
		t.Errorf("the same seed differs:\n%s", d)
	}
	if d := cmp.Diff(long[:1000], slices.Collect(GenerateNotes(1000, 500, 200, 42))); d != "" {
		t.Errorf("a smaller number yields no prefix:\n%s", d)
	}
	same := 0
	for i, n := range slices.Collect(GenerateNotes(3000, 500, 200, 43)) {
		if n.Content == long[i].Content {
			same++
		}
	}
	if same > 150 { // short notes can be equal
		t.Errorf("%d notes of another seed are equal", same)
	}
}

// More users add likes to existing notes and remove none.
func TestMoreUsersOnlyAddLikes(t *testing.T) {
	few, many := slices.Collect(GenerateNotes(2000, 50, 10, 42)), slices.Collect(GenerateNotes(2000, 5000, 10, 42))
	added := 0
	for i := range few {
		kept := slices.DeleteFunc(slices.Clone(many[i].Likers), func(u int) bool { return u >= 50 })
		if !slices.Equal(kept, few[i].Likers) {
			t.Errorf("note %d: %v of 50 users, %v of 5000", i, few[i].Likers, many[i].Likers)
		}
		added += len(many[i].Likers) - len(kept)
	}
	if added < 1000 {
		t.Errorf("got %d likes by other users, want at least 1000", added)
	}
}

func TestNoteDistribution(t *testing.T) {
	const n, users, shops = 20_000, 5000, 1000
	by, about, titles, contents := map[int]int{}, map[int]int{}, map[string]int{}, map[string]int{}
	var lengths, likes []int
	chinese := 0
	for w := range GenerateNotes(n, users, shops, 7) {
		if w.Title != text.Line(w.Title) || w.Content != text.Paragraphs(w.Content) || text.Blank(w.Title) || text.Blank(w.Content) ||
			text.Len(w.Title) > note.MaxTitle || text.Len(w.Content) > note.MaxContent || strings.ContainsAny(w.Title+w.Content, "{}%<") {
			t.Errorf("%s exceeds a bound: %q %q", w.ExternalID, w.Title, w.Content)
		}
		if strings.ContainsFunc(w.Title, isHan) != strings.ContainsFunc(w.Content, isHan) {
			t.Errorf("%s is in two languages: %q %q", w.ExternalID, w.Title, w.Content)
		}
		if w.Author < 0 || w.Author >= users || w.Shop < 0 || w.Shop >= shops || w.Moment < 0 || w.Moment >= 1 {
			t.Fatalf("%s: author %d, shop %d, moment %v", w.ExternalID, w.Author, w.Shop, w.Moment)
		}
		unique := slices.Compact(slices.Sorted(slices.Values(w.Likers)))
		if len(unique) != len(w.Likers) || len(unique) > 0 && (unique[0] < 0 || unique[len(unique)-1] >= users) {
			t.Errorf("%s is liked by %v", w.ExternalID, w.Likers)
		}
		if strings.ContainsFunc(w.Title, isHan) {
			chinese++
		}
		by[w.Author]++
		about[w.Shop]++
		titles[w.Title]++
		contents[w.Content]++
		lengths, likes = append(lengths, text.Len(w.Content)), append(likes, len(w.Likers))
	}
	if chinese < n*6/10 || chinese > n*73/100 {
		t.Errorf("%d of %d notes are in Chinese", chinese, n)
	}
	if len(titles) < 100 || len(contents) < n*9/10 {
		t.Errorf("%d different titles, %d contents", len(titles), len(contents))
	}
	slices.Sort(lengths)
	if lengths[n/2] > 100 || lengths[n-n/20] < 150 {
		t.Errorf("half have up to %d characters, one in twenty more than %d", lengths[n/2], lengths[n-n/20])
	}
	// A few users write many notes; some shops have more notes than others.
	wantHead(t, "notes of authors", slices.Collect(maps.Values(by)), n, 0.02, 0.3)
	wantHead(t, "notes about shops", slices.Collect(maps.Values(about)), n, 0.1, 0.25)
	// Likes: a power law with a mean of about 4.
	sum := 0
	for _, k := range likes {
		sum += k
	}
	if mean := float64(sum) / n; mean < 3.5 || mean > 4.5 {
		t.Errorf("got %.2f likes per note, want 3.5 to 4.5", mean)
	}
	slices.Sort(likes)
	if likes[n/2] > 3 || likes[n-n/1000] < 80 || likes[n-1] < 200 {
		t.Errorf("half have up to %d likes, one in a thousand has %d, one has %d", likes[n/2], likes[n-n/1000], likes[n-1])
	}
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// wantHead fails the test unless the largest share of counts has at least least of their
// sum, and at most 0.8 of it.
func wantHead(t *testing.T, what string, counts []int, sum int, share, least float64) {
	t.Helper()
	slices.Sort(counts)
	slices.Reverse(counts)
	head := 0
	for _, n := range counts[:max(1, int(share*float64(len(counts))))] {
		head += n
	}
	if got := float64(head) / float64(sum); got < least || got > 0.8 {
		t.Errorf("%s: the first %.0f %% have %.2f of them, want %.2f", what, 100*share, got, least)
	}
}

// fakeNotes records notes, with ids from 2001, and their likes.
type fakeNotes struct {
	calls  [][]note.Seed
	likes  [][]like.Draft
	failAt int // the call that fails, from 1
	stored int // notes that are not new
}

func (f *fakeNotes) BulkInsert(_ context.Context, notes []note.Seed, progress func(int)) ([]int64, int, error) {
	before := len(slices.Concat(f.calls...))
	if f.calls = append(f.calls, slices.Clone(notes)); len(f.calls) == f.failAt {
		return nil, 0, errStore
	}
	ids := make([]int64, len(notes))
	for i := range notes {
		ids[i] = int64(2001 + before + i)
	}
	progress(len(notes))
	return ids, len(notes) - f.stored, nil
}

// fakeLikes records likes in a fakeNotes.
type fakeLikes struct {
	*fakeNotes
	failAt int
}

func (f fakeLikes) BulkInsert(_ context.Context, drafts []like.Draft) (int, error) {
	if f.likes = append(f.likes, slices.Clone(drafts)); len(f.likes) == f.failAt {
		return 0, errStore
	}
	return len(drafts), nil
}

func TestSeedStoresNotesAndLikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_001
		plan := Plan{Users: 400, Shops: 10_003, Notes: n, Seed: 3}
		notes := &fakeNotes{stored: 1}
		services := Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Notes: notes, Likes: fakeLikes{fakeNotes: notes}}
		var out strings.Builder
		if err := Seed(t.Context(), services, plan, &out); err != nil {
			t.Fatal(err)
		}
		if len(notes.calls) != 2 || len(notes.calls[0]) != 10_000 {
			t.Fatalf("got %d transactions", len(notes.calls))
		}
		var want []like.Draft
		before := time.Now().Add(-activitySpan)
		stored := slices.Concat(notes.calls...)
		for i, w := range slices.Collect(GenerateNotes(n, 400, 10_003, 3)) {
			got := stored[i]
			if got.ExternalID != w.ExternalID || got.AuthorID != int64(101+w.Author) || got.ShopID != int64(1001+w.Shop) ||
				got.Title != w.Title || got.Content != w.Content || got.Images != nil {
				t.Fatalf("note %d is %+v, want %+v", i, got, w)
			}
			if got.At.Before(before) {
				t.Fatalf("note %d is older than the one before it, or than 60 days", i)
			}
			before = got.At
			for _, user := range w.Likers {
				want = append(want, like.Draft{Target: int64(2001 + i), User: int64(101 + user)})
			}
		}
		if stored[0].At.Sub(time.Now().Add(-activitySpan)) > time.Hour || time.Since(stored[n-1].At) > time.Hour || stored[n-1].At.After(time.Now()) {
			t.Errorf("notes from %v to %v; it is %v", stored[0].At, stored[n-1].At, time.Now())
		}
		if d := cmp.Diff(want, slices.Concat(notes.likes...)); d != "" {
			t.Errorf("likes (-want +got)\n%s", d)
		}
		if largest := slices.MaxFunc(notes.likes, func(a, b []like.Draft) int { return len(a) - len(b) }); len(largest) > 10_000 {
			t.Errorf("%d likes in one transaction", len(largest))
		}
		if lines := out.String(); !strings.Contains(lines, "notes: 10001 of 10001 in ") || !strings.Contains(lines, "\n9999 notes added, 2 unchanged, ") {
			t.Errorf("output %q", lines)
		}
	})
}

func TestNoteErrorsNameChunk(t *testing.T) {
	tests := []struct {
		name       string
		sink       fakeShops
		notes      fakeNotes
		likesFail  int
		want       string
		wantCalled int
	}{
		{"ids of shops fail", fakeShops{idsFail: true}, fakeNotes{}, 0, "seed shops 0 to 9 of 9", 0},
		{"notes fail", fakeShops{}, fakeNotes{failAt: 2}, 0, "seed notes 10000 to 20000 of 20001", 2},
		{"likes fail", fakeShops{}, fakeNotes{}, 2, "seed notes 0 to 10000 of 20001", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			services := Services{Shops: &tt.sink, Accounts: &fakeAccounts{}, Notes: &tt.notes, Likes: fakeLikes{&tt.notes, tt.likesFail}}
			err := Seed(t.Context(), services, Plan{Users: 1000, Shops: 9, Notes: 20_001, Seed: 3}, io.Discard)
			if !errors.Is(err, errStore) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			if len(tt.notes.calls) != tt.wantCalled {
				t.Errorf("got %d calls", len(tt.notes.calls))
			}
		})
	}
}

func TestRankDistribution(t *testing.T) {
	rnd := newShopGenerator(5).rnd
	for _, tt := range []struct {
		n    int
		flat float64
	}{{1, 0.5}, {2, 0.1}, {1000, 1 - 1/1.2}, {1000, 0.6}, {1000, 0.999999}} {
		const draws = 200_000
		counts := make([]float64, tt.n)
		for range draws {
			counts[rank(rnd, tt.n, tt.flat)]++
		}
		// Compare the share of the second half.
		law := func(r int) float64 { return math.Pow(float64(r)+1, tt.flat) - 1 }
		sum := 0.0
		for _, c := range counts[tt.n/2:] {
			sum += c
		}
		if want := draws * (law(tt.n) - law(tt.n/2)) / law(tt.n); math.Abs(sum-want) > 0.02*draws {
			t.Errorf("%+v: %v draws in the second half, want %v", tt, sum, want)
		}
	}
}

func TestStaffHaveLastRanks(t *testing.T) {
	for n := 1; n < 6; n++ {
		seen := map[int]bool{}
		for r := range n {
			user := userOfRank(r, n)
			if user < 0 || user >= n || seen[user] || n > 2 && user < 2 && r < n-2 {
				t.Errorf("of %d, rank %d is user %d, seen before: %v", n, r, user, seen[user])
			}
			seen[user] = true
		}
	}
}
