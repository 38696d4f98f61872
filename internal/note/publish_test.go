package note

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestWhatANoteMayBe(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ann := p.user(t)
		tests := []struct {
			name   string
			change func(*Draft)
			want   []string // refusals
			title  string   // as stored; "" is not looked at
		}{
			{name: "a plain one"},
			{name: "a title is one line, composed and trimmed", change: func(d *Draft) { d.Title = " Cafe\u0301\n  to go " }, title: "Café to go"},
			{name: "HTML and mentions are text", change: func(d *Draft) { d.Title = "<b>@ann</b> &amp;" }, title: "<b>@ann</b> &amp;"},
			{name: "100 Chinese characters are not too many", change: func(d *Draft) { d.Title = strings.Repeat("茶", MaxTitle) }},
			{name: "101 are", change: func(d *Draft) { d.Title = strings.Repeat("茶", MaxTitle+1) }, want: []string{"INVALID_INPUT title"}},
			{name: "nothing to see", change: func(d *Draft) { d.Title, d.Content = " \u3164", "\n\n" }, want: []string{"INVALID_INPUT title", "INVALID_INPUT content"}},
			{name: "2000 emoji are not too many", change: func(d *Draft) { d.Content = strings.Repeat("🍵", MaxContent) }},
			{name: "2001 are", change: func(d *Draft) { d.Content = strings.Repeat("🍵", MaxContent+1) }, want: []string{"INVALID_INPUT content"}},
			{name: "composed it fits", change: func(d *Draft) { d.Title = strings.Repeat("e\u0301", MaxTitle) }, title: strings.Repeat("é", MaxTitle)},
			{name: "NUL", change: func(d *Draft) { d.Content = "a\x00b" }, want: []string{"INVALID_INPUT content"}},
			{name: "an escape", change: func(d *Draft) { d.Title = "\x1b[31mred" }, want: []string{"INVALID_INPUT title"}},
			{name: "tabs and line ends are no such thing", change: func(d *Draft) { d.Content = "a\tb\r\nc" }},
			{name: "no such shop", change: func(d *Draft) { d.ShopID = 99 }, want: []string{"NOT_FOUND shopId"}},
			{name: "nine pictures", change: func(d *Draft) { d.Images = paths(9) }},
			{name: "ten", change: func(d *Draft) { d.Images = paths(10) }, want: []string{"IMAGE_REJECTED images"}},
			{name: "a picture elsewhere", change: func(d *Draft) { d.Images = []string{"https://example.com/a.webp"} }, want: []string{"IMAGE_REJECTED images"}},
			{name: "all at once", change: func(d *Draft) { *d = Draft{Images: []string{""}} }, want: []string{"INVALID_INPUT title", "INVALID_INPUT content", "IMAGE_REJECTED images", "NOT_FOUND shopId"}},
		}
		for _, tt := range tests {
			d := Draft{ShopID: teahouse, Title: "Tea", Content: "Good."}
			if tt.change != nil {
				tt.change(&d)
			}
			n, err := p.Publish(t.Context(), ann, d)
			if diff := cmp.Diff(tt.want, refused(err)); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
			if n == nil {
				continue
			}
			stored, err := p.ByID(t.Context(), n.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(n, stored); diff != "" {
				t.Errorf("%s: published and stored differ: %s", tt.name, diff)
			}
			if tt.title != "" && n.Title != tt.title {
				t.Errorf("%s: the title is %q", tt.name, n.Title)
			}
		}
	})
}

func paths(n int) (list []string) {
	for i := range n {
		list = append(list, "/media/"+string(rune('a'+i))+".webp")
	}
	return list
}

// A note goes to the feed in its own transaction: without the one there is not the other.
func TestWhatIsPublishedGoesToTheFeed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ann, bob := p.user(t), p.user(t)
		first, second := p.publish(t, ann, "One"), p.publish(t, bob, "Two")
		want := map[int64]int64{first.ID: ann, second.ID: bob}
		if diff := cmp.Diff(want, p.others.delivered); diff != "" || p.others.told != 2 {
			t.Errorf("told of %d commits, (-want +got):\n%s", p.others.told, diff)
		}
		if err := p.Delete(t.Context(), Editor{UserID: ann}, first.ID); err != nil {
			t.Fatal(err)
		}
		p.others.refuses = errFails
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Three", Content: "Good."}); !errors.Is(err, errFails) {
			t.Errorf("published although the feed did not take it: %v", err)
		}
		if p.others.told != 2 {
			t.Errorf("the feed was told of %d commits, want 2", p.others.told)
		}
		if n := p.db.Note.Query().CountX(t.Context()); n != 2 {
			t.Errorf("%d notes are stored, want 2", n)
		}
	})
}

func TestADeletedNoteIsGoneForEverybody(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, other := open(t, on), open(t, on)
		ann, bob := p.user(t), p.user(t)
		kept, missing := p.publish(t, ann, "Stays"), p.publish(t, ann, "Goes")
		shown := func(s *process) (ids [4][]int64) {
			t.Helper()
			ctx := t.Context()
			found, err := s.ByIDs(ctx, []int64{kept.ID, missing.ID})
			byAuthor, err1 := s.ByAuthors(ctx, []int64{ann}, 10, "")
			atShop, err2 := s.ByShops(ctx, []int64{teahouse}, 10, "")
			hot, err3 := s.Hot(ctx, 10, "")
			if err != nil || err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err, err1, err2, err3)
			}
			for _, n := range []*Note{kept, missing} {
				if found[n.ID] != nil {
					ids[0] = append(ids[0], n.ID)
				}
			}
			ids[1], ids[2], ids[3] = idsOfPage(byAuthor[ann]), idsOfPage(atShop[teahouse]), idsOfPage(hot)
			return ids
		}
		both := []int64{missing.ID, kept.ID}
		for _, s := range []*process{p, other} {
			if diff := cmp.Diff([4][]int64{reversed(both), both, both, both}, shown(s)); diff != "" {
				t.Fatal(diff)
			}
		}
		if got := refused(p.Delete(t.Context(), Editor{UserID: bob}, missing.ID)); !cmp.Equal(got, []string{string(apierror.Forbidden)}) {
			t.Errorf("somebody else: %v", got)
		}
		if err := p.Delete(t.Context(), Editor{UserID: ann}, missing.ID); err != nil {
			t.Fatal(err)
		}
		one := []int64{kept.ID}
		for _, s := range []*process{p, other} {
			if diff := cmp.Diff([4][]int64{one, one, one, one}, shown(s)); diff != "" {
				t.Error(diff)
			}
		}
		if got := refused(other.Delete(t.Context(), Editor{UserID: ann}, missing.ID)); !cmp.Equal(got, []string{"NOT_FOUND id"}) {
			t.Errorf("twice: %v", got)
		}
		if err := other.Delete(t.Context(), Editor{UserID: bob, IsAdmin: true}, kept.ID); err != nil {
			t.Errorf("an administrator: %v", err)
		}
		if row := p.db.Note.GetX(t.Context(), missing.ID); row.Title != "Goes" || row.DeletedAt == nil {
			t.Errorf("the row is %v", row)
		}
		if n := p.db.User.GetX(t.Context(), ann).NoteCount; n != 0 {
			t.Errorf("the author has %d notes", n)
		}
	})
}

func TestNothingIsCountedOfADeletedNote(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		n := p.publish(t, p.user(t), "Tea")
		p.like(t, n.ID, 3)
		comment := func() (shop int64, known bool) {
			t.Helper()
			tx, err := p.db.Tx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			shops, afterCommit, err := p.AddComments(t.Context(), tx, map[int64]int{n.ID: 2})
			if err := errors.Join(err, tx.Commit()); err != nil {
				t.Fatal(err)
			}
			if err := afterCommit(t.Context()); err != nil {
				t.Fatal(err)
			}
			shop, known = shops[n.ID]
			return shop, known
		}
		if shop, known := comment(); shop != teahouse || !known {
			t.Errorf("counted to shop %d: %v", shop, known)
		}
		counts, err := p.Counts(t.Context(), []int64{n.ID})
		if c := counts[n.ID]; err != nil || c.Likes != 3 || c.Comments != 2 {
			t.Errorf("counts are %+v, %v", c, err)
		}
		if err := p.Delete(t.Context(), Editor{IsAdmin: true}, n.ID); err != nil {
			t.Fatal(err)
		}
		if p.others.comments[teahouse] != -2 {
			t.Errorf("the shop has %d comments more", p.others.comments[teahouse])
		}
		if _, known := comment(); known {
			t.Error("a deleted note takes comments")
		}
		tx, err := p.db.Tx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		afterCommit, err := p.addLikes(t.Context(), tx, n.ID, 1)
		if err := errors.Join(err, tx.Rollback()); err != nil || afterCommit != nil {
			t.Errorf("a deleted note takes likes: %v, %v", afterCommit != nil, err)
		}
	})
}
