package comment

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Pages are in the cached part of the list, across its end, and after it.
func TestCommentPagesAreStableDuringInserts(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		note := s.note(t, shop)
		s.bulkInsert(t, s.note(t, shop), nil, 3) // other ids in between
		stored := s.bulkInsert(t, note, nil, 2*headSize+7)
		root := stored[4]
		answers := s.bulkInsert(t, note, &root, 2*headSize+7)
		for _, size := range []int{7, headSize - 1, headSize, headSize + 1, page.Max} {
			var later []int64
			got := other.onNote(note).walk(t, size, func() { later = append(later, s.add(t, note, nil).ID) })
			if d := cmp.Diff(newestFirst(stored), got); d != "" {
				t.Errorf("comments in pages of %d (-want +got):\n%s", size, d)
			}
			stored = append(stored, later...)

			added := 0
			got = other.replies(root).walk(t, size, func() {
				if added++; added < 4 { // the walk ends only if replies end
					answers = append(answers, s.add(t, note, &root).ID)
				}
			})
			if d := cmp.Diff(answers, got); d != "" {
				t.Errorf("replies in pages of %d (-want +got):\n%s", size, d)
			}
		}
	})
}

// A reader at the end of the list: no id is committed after a higher one.
func TestReaderAtTheEndMissesNoReply(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		note := s.note(t, s.shop(t))
		root := s.add(t, note, nil).ID
		const writers, each = 8, 12
		var g sync.WaitGroup
		for i := range writers {
			g.Go(func() {
				for range each {
					p := s
					if i%2 == 1 {
						p = other
					}
					if _, err := p.Add(t.Context(), bob, Draft{note, &root, "Yes."}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { g.Wait(); close(done) }()
		seen, after := []int64{}, page.Cursor("")
		for over := false; ; {
			p := other.replies(root).page(t, 9, after)
			seen = append(seen, idsOf(p)...)
			if p.Info.EndCursor != nil {
				after = *p.Info.EndCursor
			}
			if over && !p.Info.HasNextPage {
				break
			}
			select {
			case <-done:
				over = true
			default:
			}
		}
		stored := s.db.Comment.Query().Where(entcomment.RootID(root)).Order(entcomment.ByID()).IDsX(t.Context())
		if d := cmp.Diff(stored, seen); d != "" || len(stored) != writers*each {
			t.Errorf("%d replies (-stored +seen):\n%s", len(stored), d)
		}
	})
}

func TestCommentsOfManyNotesAreBatched(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		var notes, roots []int64
		want, answers := map[int64][]int64{}, map[int64][]int64{}
		for n := range 20 {
			note := s.note(t, shop)
			notes = append(notes, note)
			on := []int64{}
			if n > 0 {
				on = s.bulkInsert(t, note, nil, n)
				root := on[0]
				roots = append(roots, root)
				answers[root] = s.bulkInsert(t, note, &root, n)
				if len(answers[root]) > 5 {
					answers[root] = answers[root][:5]
				}
			}
			on = newestFirst(on)
			want[note] = on[:min(5, len(on))]
		}
		read := func(l list, owners []int64, want map[int64][]int64, statements, trips int, state string) {
			t.Helper()
			var found map[int64]*Page
			gotStatements, gotTrips := other.cost(t, func() {
				var err error
				found, err = l.read(t.Context(), owners, 5, "")
				must(t, err)
			})
			if gotStatements != statements || trips != 0 && gotTrips != trips {
				t.Errorf("%s: got %d statements and %d round trips, want %d and %d", state, gotStatements, gotTrips, statements, trips)
			}
			got := map[int64][]int64{}
			for owner, p := range found {
				got[owner] = idsOf(p)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", state, d)
			}
		}
		// The read of the notes is one statement.
		on := list{read: other.ByNotes}
		read(on, notes, want, 1+2, 0, "comments, cold")
		read(on, notes, want, 1, 2, "comments, warm")
		below := list{read: other.Replies}
		must(t, s.Invalidate(t.Context(), roots...))
		read(below, roots, answers, 1+3, 0, "replies, cold")
		read(below, roots, answers, 1, 3, "replies, warm")
		// Comments without replies need no list.
		var alone []int64
		none := map[int64][]int64{}
		for _, note := range notes[2:] {
			alone = append(alone, want[note][0])
			none[want[note][0]] = []int64{}
		}
		read(below, alone, none, 1, 1, "no replies")
	})
}

func TestIDWithoutRowIsOmitted(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		note := s.note(t, s.shop(t))
		ids := newestFirst(s.bulkInsert(t, note, nil, 9))
		other.onNote(note).walk(t, 3, nil) // cached
		s.db.Comment.Delete().Where(entcomment.IDIn(ids[1], ids[3], ids[4], ids[5], ids[8])).ExecX(t.Context())
		must(t, s.comments.Invalidate(t.Context(), ids...))
		var got []int64
		for after, more := page.Cursor(""), true; more; {
			p := other.onNote(note).page(t, 3, after)
			got = append(got, idsOf(p)...)
			if more = p.Info.HasNextPage; more {
				after = *p.Info.EndCursor
			}
		}
		if d := cmp.Diff([]int64{ids[0], ids[2], ids[6], ids[7]}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestCursorOfAnotherListIsRejected(t *testing.T) {
	s := (&fixture{on: storetest.Real(t)}).process(t)
	note := s.note(t, s.shop(t))
	root := s.bulkInsert(t, note, nil, 2)[1]
	s.bulkInsert(t, note, &root, 2)
	on, below := *s.onNote(note).page(t, 1, "").Info.EndCursor, *s.replies(root).page(t, 1, "").Info.EndCursor
	for _, tt := range []struct {
		name  string
		l     list
		first int
		after page.Cursor
		ok    bool
	}{
		{"its own", s.onNote(note), 1, on, true},
		{"its own, of replies", s.replies(root), 1, below, true},
		{"of replies", s.onNote(note), 1, below, false},
		{"of comments", s.replies(root), 1, on, false},
		{"no cursor", s.onNote(note), 1, "x", false},
		{"invalid position", s.replies(root), 1, page.Encode(repliesOrder, int64(-1<<63)), false},
		{"another", s.onNote(note), 1, page.Encode(onNotesOrder, 0), false},
		{"highest position", s.replies(root), 1, page.Encode(repliesOrder, int64(1<<63-1)), true},
		{"above all", s.onNote(note), 1, page.Encode(onNotesOrder, int64(1<<63-1)), true},
		{"a text", s.onNote(note), 1, page.Encode(onNotesOrder, "1"), false},
		{"an empty page", s.onNote(note), 0, "", false},
		{"a page too large", s.replies(root), page.Max + 1, "", false},
		{"the largest page", s.replies(root), page.Max, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := tt.l.read(t.Context(), []int64{tt.l.owner, tt.l.owner}, tt.first, tt.after)
			if (err == nil) != tt.ok || err != nil && apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("got %v, %v, want success %v", found, err, tt.ok)
			}
		})
	}
	if !slices.Equal(idsOf(s.replies(root).page(t, 5, page.Encode(repliesOrder, int64(1<<63-1)))), nil) {
		t.Error("got replies after the last one")
	}
}
