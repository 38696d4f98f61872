package demo

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/save"
	"github.com/tandian-dev/tandian/internal/seeder"
)

var errStore = errors.New("the store is unavailable")

// fakeShops stores the shops of the demo town, with ids from 1001.
type fakeShops struct {
	seeder.Shops
	empty, fails bool
}

func (f *fakeShops) IDsByExternalID(_ context.Context, externalIDs []string) (map[string]int64, error) {
	ids := map[string]int64{}
	for i, d := range Shops() { //nolint:contextcheck // it reads an embedded file
		if !f.empty && slices.Contains(externalIDs, d.ExternalID) {
			ids[d.ExternalID] = int64(1001 + i)
		}
	}
	if f.fails {
		return nil, errStore
	}
	return ids, nil
}

// fakeAccounts numbers users from 101.
type fakeAccounts struct {
	seeder.Accounts
	users []account.Draft
	fails bool
}

func (f *fakeAccounts) BulkInsert(_ context.Context, drafts []account.Draft, _ func(int)) ([]int64, error) {
	ids := make([]int64, len(drafts))
	for i := range drafts {
		ids[i] = int64(101 + len(f.users) + i)
	}
	f.users = append(f.users, drafts...)
	if f.fails {
		return nil, errStore
	}
	return ids, nil
}

// fakeNotes numbers notes from 2001.
type fakeNotes struct {
	notes []note.Seed
	fails bool
}

func (f *fakeNotes) BulkInsert(_ context.Context, notes []note.Seed, _ func(int)) ([]int64, int, error) {
	ids := make([]int64, len(notes))
	for i := range notes {
		ids[i] = int64(2001 + len(f.notes) + i)
	}
	f.notes = append(f.notes, notes...)
	if f.fails {
		return nil, 0, errStore
	}
	return ids, len(notes), nil
}

type fakeLikes struct {
	likes []like.Draft
	fails bool
}

func (f *fakeLikes) BulkInsert(_ context.Context, drafts []like.Draft) (int, error) {
	f.likes = append(f.likes, drafts...)
	if f.fails {
		return 0, errStore
	}
	return len(drafts), nil
}

type fakeFollows struct {
	follows []follow.Draft
	fails   bool
}

func (f *fakeFollows) BulkInsert(_ context.Context, drafts []follow.Draft) (int, error) {
	f.follows = append(f.follows, drafts...)
	if f.fails {
		return 0, errStore
	}
	return len(drafts), nil
}

// fakeComments numbers comments from 3001.
type fakeComments struct {
	comments []comment.Seed
	fails    bool
}

func (f *fakeComments) BulkInsert(_ context.Context, drafts []comment.Seed) ([]int64, error) {
	ids := make([]int64, len(drafts))
	for i := range drafts {
		ids[i] = int64(3001 + len(f.comments) + i)
	}
	f.comments = append(f.comments, drafts...)
	if f.fails {
		return nil, errStore
	}
	return ids, nil
}

type fakeRatings struct {
	ratings []rating.Seed
	fails   bool
}

func (f *fakeRatings) BulkInsert(_ context.Context, seeds []rating.Seed) (int, error) {
	f.ratings = append(f.ratings, seeds...)
	if f.fails {
		return 0, errStore
	}
	return len(seeds), nil
}

type fakeSaves struct {
	saves []save.Seed
	fails bool
}

func (f *fakeSaves) BulkInsert(_ context.Context, seeds []save.Seed) (int, error) {
	f.saves = append(f.saves, seeds...)
	if f.fails {
		return 0, errStore
	}
	return len(seeds), nil
}

// fakeServices stores the activity of the demo town.
type fakeServices struct {
	shops    fakeShops
	accounts fakeAccounts
	notes    fakeNotes
	likes    fakeLikes
	follows  fakeFollows
	comments fakeComments
	ratings  fakeRatings

	shopSaves, noteSaves fakeSaves
}

func (f *fakeServices) services() seeder.Services {
	return seeder.Services{
		Shops: &f.shops, Accounts: &f.accounts, Notes: &f.notes, Likes: &f.likes, Follows: &f.follows, Comments: &f.comments,
		Ratings: &f.ratings, ShopSaves: &f.shopSaves, NoteSaves: &f.noteSaves,
	}
}

func TestLoadActivity(t *testing.T) {
	const customer = 7
	now := time.Date(2026, 11, 22, 11, 59, 58, 7, time.UTC)
	var f fakeServices
	done, err := LoadActivity(t.Context(), f.services(), customer, now)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Activity{People: 80, Notes: 25, Likes: 80, Follows: 40, Comments: 30, Ratings: 887, Saves: 285}); done != want {
		t.Errorf("got %+v, want %+v", done, want)
	}
	slug := regexp.MustCompile(`^demo:([a-z]+(-[a-z]+)*|guest-\d+)$`)
	people, ids := map[int64]bool{}, map[string]bool{}
	for i, p := range f.accounts.users {
		if !slug.MatchString(p.ExternalID) || ids[p.ExternalID] || p.Role != account.Customer || !clean(p.Nickname, account.MaxNickname) || text.Len(p.Bio) > account.MaxBio {
			t.Errorf("invalid user %+v", p)
		}
		ids[p.ExternalID], people[int64(101+i)] = true, true
	}
	checkDemoNotes(t, f.notes.notes, people, now)
	checkDemoFollows(t, f.follows.follows, people, customer)
	liked := map[like.Draft]bool{}
	for _, l := range f.likes.likes {
		n := f.notes.notes[l.Target-2001]
		if !people[l.User] || liked[l] || l.User == n.AuthorID {
			t.Errorf("user %d likes %s, seen before: %v", l.User, n.ExternalID, liked[l])
		}
		liked[l] = true
	}
	checkDemoComments(t, f.comments.comments, f.notes.notes, people, now)
	checkDemoRatings(t, f.ratings.ratings, people, now)
	checkDemoSaves(t, f.shopSaves.saves, people, customer, now)
	checkDemoSaves(t, f.noteSaves.saves, people, customer, now)
}

func clean(s string, limit int) bool {
	return !text.Blank(s) && s == text.Line(s) && text.Len(s) <= limit
}

func checkDemoNotes(t *testing.T, notes []note.Seed, people map[int64]bool, now time.Time) {
	t.Helper()
	slug := regexp.MustCompile(`^demo:[a-z]+(-[a-z]+)*$`)
	ids, shops, authors, chinese := map[string]bool{}, map[int64]bool{}, map[int64]bool{}, 0
	last := now.AddDate(0, 0, -14)
	for _, n := range notes {
		if !slug.MatchString(n.ExternalID) || ids[n.ExternalID] || !people[n.AuthorID] {
			t.Errorf("%s, by %d", n.ExternalID, n.AuthorID)
		}
		if !clean(n.Title, note.MaxTitle) || n.Content != text.Paragraphs(n.Content) || text.Len(n.Content) < 40 || text.Len(n.Content) > note.MaxContent {
			t.Errorf("%s: %q %q", n.ExternalID, n.Title, n.Content)
		}
		if !n.At.After(last) || !n.At.Before(now) {
			t.Errorf("%s has time %v, the previous note %v", n.ExternalID, n.At, last)
		}
		if strings.ContainsFunc(n.Content, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			chinese++
		}
		last, ids[n.ExternalID], shops[n.ShopID], authors[n.AuthorID] = n.At, true, true, true
	}
	if len(shops) < 20 || len(authors) != 8 || chinese < 8 || chinese > len(notes)-8 {
		t.Errorf("got %d shops, %d authors, %d notes in Chinese", len(shops), len(authors), chinese)
	}
}

func checkDemoFollows(t *testing.T, follows []follow.Draft, people map[int64]bool, customer int64) {
	t.Helper()
	seen, customers := map[follow.Draft]bool{}, 0
	for _, f := range follows {
		if seen[f] || f.Follower == f.Followee || !people[f.Followee] || !people[f.Follower] && f.Follower != customer {
			t.Errorf("%+v, seen before: %v", f, seen[f])
		}
		seen[f] = true
		if f.Follower == customer {
			customers++
		}
	}
	if customers != 4 {
		t.Errorf("the customer follows %d users, want 4", customers)
	}
}

// checkDemoComments checks that lists are in chronological order and that replies follow
// their parents.
func checkDemoComments(t *testing.T, comments []comment.Seed, notes []note.Seed, people map[int64]bool, now time.Time) {
	t.Helper()
	type list struct{ note, root int64 }
	last, roots, depths := map[list]time.Time{}, map[int64]int64{}, map[int]int{}
	for i, c := range comments {
		id, in, depth := int64(3001+i), list{note: c.NoteID}, 0
		after := notes[c.NoteID-2001].At
		if c.ParentID != nil {
			parent := comments[*c.ParentID-3001]
			depth, after = 1, parent.At
			if parent.ParentID != nil {
				depth = 2
			}
			if roots[id] = roots[*c.ParentID]; roots[id] == 0 {
				roots[id] = *c.ParentID
			}
			in.root = roots[id]
			if *c.ParentID >= id || parent.NoteID != c.NoteID || parent.Author == c.Author {
				t.Errorf("%q answers %q", c.Content, parent.Content)
			}
		}
		if !people[c.Author] || !clean(c.Content, comment.MaxContent) || !c.At.After(after) || !c.At.After(last[in]) || !c.At.Before(now) {
			t.Errorf("%q by %d at %v, after %v and %v", c.Content, c.Author, c.At, after, last[in])
		}
		last[in] = c.At
		depths[depth]++
	}
	if depths[1] < 5 || depths[2] < 1 || depths[0] < 20 {
		t.Errorf("got comments by depth: %v", depths)
	}
}

func TestLoadActivityErrors(t *testing.T) {
	tests := []struct {
		name string
		fake fakeServices
		want string
	}{
		{"people", fakeServices{accounts: fakeAccounts{fails: true}}, "load people of the demo town: "},
		{"follows", fakeServices{follows: fakeFollows{fails: true}}, "load follows of the demo town: "},
		{"shops", fakeServices{shops: fakeShops{fails: true}}, "load shops of the demo town: "},
		{"notes", fakeServices{notes: fakeNotes{fails: true}}, "load notes of the demo town: "},
		{"likes", fakeServices{likes: fakeLikes{fails: true}}, "load likes of the demo town: "},
		{"comments", fakeServices{comments: fakeComments{fails: true}}, "load comments of the demo town: "},
		{"ratings", fakeServices{ratings: fakeRatings{fails: true}}, "load ratings of the demo town: "},
		{"saves of shops", fakeServices{shopSaves: fakeSaves{fails: true}}, "load saves of the demo town: "},
		{"saves of notes", fakeServices{noteSaves: fakeSaves{fails: true}}, "load saves of the demo town: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := LoadActivity(t.Context(), tt.fake.services(), 7, time.Now())
			if !errors.Is(err, errStore) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v", err)
			}
		})
	}
	f := fakeServices{shops: fakeShops{empty: true}}
	if _, err := LoadActivity(t.Context(), f.services(), 7, time.Now()); err == nil || !strings.Contains(err.Error(), "shop demo:") {
		t.Errorf("without the shops: %v", err)
	}
}
