package note

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestNoteContentIsValidated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ann := p.user(t)
		tests := []struct {
			name   string
			change func(*Draft)
			want   []string // refusals
			title  string   // as stored; "" is not checked
		}{
			{name: "plain"},
			{name: "a title is one line, composed and trimmed", change: func(d *Draft) { d.Title = " Cafe\u0301\n  to go " }, title: "Café to go"},
			{name: "HTML and mentions are text", change: func(d *Draft) { d.Title = "<b>@ann</b> &amp;" }, title: "<b>@ann</b> &amp;"},
			{name: "100 Chinese characters", change: func(d *Draft) { d.Title = strings.Repeat("茶", MaxTitle) }},
			{name: "101 Chinese characters", change: func(d *Draft) { d.Title = strings.Repeat("茶", MaxTitle+1) }, want: []string{"INVALID_INPUT title"}},
			{name: "invisible characters", change: func(d *Draft) { d.Title, d.Content = " \u3164", "\n\n" }, want: []string{"INVALID_INPUT title", "INVALID_INPUT content"}},
			{name: "2000 emoji", change: func(d *Draft) { d.Content = strings.Repeat("🍵", MaxContent) }},
			{name: "2001 emoji", change: func(d *Draft) { d.Content = strings.Repeat("🍵", MaxContent+1) }, want: []string{"INVALID_INPUT content"}},
			{name: "fits after composition", change: func(d *Draft) { d.Title = strings.Repeat("e\u0301", MaxTitle) }, title: strings.Repeat("é", MaxTitle)},
			{name: "NUL", change: func(d *Draft) { d.Content = "a\x00b" }, want: []string{"INVALID_INPUT content"}},
			{name: "an escape", change: func(d *Draft) { d.Title = "\x1b[31mred" }, want: []string{"INVALID_INPUT title"}},
			{name: "tabs and line ends are allowed", change: func(d *Draft) { d.Content = "a\tb\r\nc" }},
			{name: "no such shop", change: func(d *Draft) { d.ShopID = 99 }, want: []string{"NOT_FOUND shopId"}},
			{name: "nine images", change: func(d *Draft) { d.Images = paths(9) }},
			{name: "ten images", change: func(d *Draft) { d.Images = paths(10) }, want: []string{"IMAGE_REJECTED images"}},
			{name: "an external image", change: func(d *Draft) { d.Images = []string{"https://example.com/a.webp"} }, want: []string{"IMAGE_REJECTED images"}},
			{name: "all errors at once", change: func(d *Draft) { *d = Draft{Images: []string{""}} }, want: []string{"INVALID_INPUT title", "INVALID_INPUT content", "IMAGE_REJECTED images", "NOT_FOUND shopId"}},
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
				t.Errorf("%s (-published +stored): %s", tt.name, diff)
			}
			if tt.title != "" && n.Title != tt.title {
				t.Errorf("%s: got title %q", tt.name, n.Title)
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

// The fan-out is part of the transaction of the note.
func TestPublishedNoteReachesTheFeed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ann, bob := p.user(t), p.user(t)
		first, second := p.publish(t, ann, "One"), p.publish(t, bob, "Two")
		want := map[int64]int64{first.ID: ann, second.ID: bob}
		if diff := cmp.Diff(want, p.fakes.delivered); diff != "" || p.fakes.commits != 2 {
			t.Errorf("%d commits (-want +got):\n%s", p.fakes.commits, diff)
		}
		if err := p.Delete(t.Context(), Editor{UserID: ann}, first.ID); err != nil {
			t.Fatal(err)
		}
		p.fakes.feedErr = errFails
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Three", Content: "Good."}); !errors.Is(err, errFails) {
			t.Errorf("got %v, want the error of the feed", err)
		}
		if p.fakes.commits != 2 {
			t.Errorf("got %d commits, want 2", p.fakes.commits)
		}
		if n := p.db.Note.Query().CountX(t.Context()); n != 2 {
			t.Errorf("got %d notes, want 2", n)
		}
	})
}

func TestDeletedNoteIsHiddenEverywhere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, other := open(t, on), open(t, on)
		ann, bob := p.user(t), p.user(t)
		remaining, deleted := p.publish(t, ann, "Stays"), p.publish(t, ann, "Goes")
		shown := func(s *process) (ids [4][]int64) {
			t.Helper()
			ctx := t.Context()
			found, err := s.ByIDs(ctx, []int64{remaining.ID, deleted.ID})
			byAuthor, err1 := s.ByAuthors(ctx, []int64{ann}, 10, "")
			atShop, err2 := s.ByShops(ctx, []int64{teahouse}, 10, "")
			hot, err3 := s.Hot(ctx, 10, "")
			if err != nil || err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err, err1, err2, err3)
			}
			for _, n := range []*Note{remaining, deleted} {
				if found[n.ID] != nil {
					ids[0] = append(ids[0], n.ID)
				}
			}
			ids[1], ids[2], ids[3] = idsOfPage(byAuthor[ann]), idsOfPage(atShop[teahouse]), idsOfPage(hot)
			return ids
		}
		both := []int64{deleted.ID, remaining.ID}
		for _, s := range []*process{p, other} {
			if diff := cmp.Diff([4][]int64{reversed(both), both, both, both}, shown(s)); diff != "" {
				t.Fatal(diff)
			}
		}
		if got := refused(p.Delete(t.Context(), Editor{UserID: bob}, deleted.ID)); !cmp.Equal(got, []string{string(apierror.Forbidden)}) {
			t.Errorf("another user: got %v", got)
		}
		if err := p.Delete(t.Context(), Editor{UserID: ann}, deleted.ID); err != nil {
			t.Fatal(err)
		}
		one := []int64{remaining.ID}
		for _, s := range []*process{p, other} {
			if diff := cmp.Diff([4][]int64{one, one, one, one}, shown(s)); diff != "" {
				t.Error(diff)
			}
		}
		if got := refused(other.Delete(t.Context(), Editor{UserID: ann}, deleted.ID)); !cmp.Equal(got, []string{"NOT_FOUND id"}) {
			t.Errorf("second deletion: got %v", got)
		}
		if err := other.Delete(t.Context(), Editor{UserID: bob, IsAdmin: true}, remaining.ID); err != nil {
			t.Errorf("administrator: %v", err)
		}
		if row := p.db.Note.GetX(t.Context(), deleted.ID); row.Title != "Goes" || row.DeletedAt == nil {
			t.Errorf("got row %v", row)
		}
		if n := p.db.User.GetX(t.Context(), ann).NoteCount; n != 0 {
			t.Errorf("got note count %d, want 0", n)
		}
	})
}

func TestDeletedNoteCountsNothing(t *testing.T) {
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
			t.Errorf("got shop %d, %v", shop, known)
		}
		counts, err := p.Counts(t.Context(), []int64{n.ID})
		if c := counts[n.ID]; err != nil || c.Likes != 3 || c.Comments != 2 {
			t.Errorf("got counts %+v, %v", c, err)
		}
		if err := p.Delete(t.Context(), Editor{IsAdmin: true}, n.ID); err != nil {
			t.Fatal(err)
		}
		if p.fakes.comments[teahouse] != -2 {
			t.Errorf("got %d shop comments, want -2", p.fakes.comments[teahouse])
		}
		if _, known := comment(); known {
			t.Error("a deleted note accepts comments")
		}
		tx, err := p.db.Tx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		afterCommit, err := p.addLikes(t.Context(), tx, n.ID, 1)
		if err := errors.Join(err, tx.Rollback()); err != nil || afterCommit != nil {
			t.Errorf("a deleted note accepts likes: %v, %v", afterCommit != nil, err)
		}
	})
}
