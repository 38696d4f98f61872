package comment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestCommentIsVisibleInEveryProcess(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		note := s.note(t, shop)
		for _, p := range []*process{s, other} { // cache the empty list
			if got := p.onNote(note).walk(t, 5, nil); len(got) != 0 {
				t.Fatal(got)
			}
		}
		root := s.add(t, note, nil)
		want := &Comment{ID: root.ID, NoteID: note, AuthorID: ann, Content: "Yes.", Version: 1, CreatedAt: noon}
		if d := cmp.Diff(want, root); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want, other.read(t, root.ID)); d != "" {
			t.Errorf("read (-want +got):\n%s", d)
		}
		if got := other.replies(root.ID).walk(t, 5, nil); len(got) != 0 {
			t.Fatal(got)
		}
		first, err := other.Add(t.Context(), bob, Draft{note, &root.ID, "No."})
		must(t, err)
		second := s.add(t, note, &first.ID) // a reply to a reply

		want = &Comment{ID: second.ID, NoteID: note, AuthorID: ann, RootID: &root.ID, ParentID: &first.ID, Content: "Yes.", Version: 1, CreatedAt: noon}
		if d := cmp.Diff(want, second); d != "" {
			t.Errorf("a reply to a reply (-want +got):\n%s", d)
		}
		for _, p := range []*process{s, other} {
			if got := p.read(t, root.ID); got.ReplyCount != 2 || got.Version != 3 {
				t.Errorf("root: got %d replies in version %d, want 2 in version 3", got.ReplyCount, got.Version)
			}
			if d := cmp.Diff(want, p.read(t, second.ID)); d != "" {
				t.Errorf("read (-want +got):\n%s", d)
			}
			for name, l := range map[string]struct {
				list
				want []int64
			}{
				"note": {p.onNote(note), []int64{root.ID}}, "root": {p.replies(root.ID), []int64{first.ID, second.ID}},
				"reply": {p.replies(first.ID), []int64{}}, "nothing": {p.replies(1 << 40), []int64{}}, "no note": {p.onNote(1 << 40), []int64{}},
			} {
				if d := cmp.Diff(l.want, l.walk(t, 5, nil)); d != "" {
					t.Errorf("list of %s (-want +got):\n%s", name, d)
				}
			}
			if p.read(t, 1<<40) != nil {
				t.Error("got a comment with an unused id")
			}
		}
		if got := s.counts(t, note, shop); got != [2]int{3, 3} {
			t.Errorf("counts of note and shop: got %v, want 3 each", got)
		}
		if notes, shops := s.fixture.noteUpdates.Load(), s.fixture.shopUpdates.Load(); notes != 3 || shops != 3 {
			t.Errorf("got %d note updates and %d shop updates, want 3 each", notes, shops)
		}
	})
}

func TestCommentRequiresNoteAndParent(t *testing.T) {
	each(t, func(t *testing.T, s, _ *process) {
		shop := s.shop(t)
		note, elsewhere, deleted := s.note(t, shop), s.note(t, shop), s.note(t, shop)
		here, foreign, left := s.add(t, note, nil), s.add(t, elsewhere, nil), s.add(t, deleted, nil)
		s.delete(t, deleted)
		s.outbox.Wait()
		before := storetest.Snapshot(t, s.p.SQL.DB, nil)
		for _, tt := range []struct {
			name   string
			note   int64
			parent *int64
			want   string
		}{
			{"no such note", 1 << 40, nil, "NOT_FOUND input.noteId"},
			{"a deleted note", deleted, nil, "NOT_FOUND input.noteId"},
			{"a parent on a deleted note", deleted, &left.ID, "NOT_FOUND input.noteId"},
			{"no such parent", note, new(int64(1 << 40)), "NOT_FOUND input.parentId"},
			{"a parent on another note", note, &foreign.ID, "NOT_FOUND input.parentId"},
			{"a parent, and no such note", 1 << 40, &here.ID, "NOT_FOUND input.parentId"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				_, err := s.Add(t.Context(), ann, Draft{tt.note, tt.parent, "Yes."})
				if d := cmp.Diff([]string{tt.want}, reasons(err)); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
		s.outbox.Wait()
		if d := cmp.Diff(before, storetest.Snapshot(t, s.p.SQL.DB, nil)); d != "" {
			t.Errorf("a rejected comment changed data (-before +after):\n%s", d)
		}
	})
}

func TestRejectedCommentFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop, elsewhere := s.shop(t), s.shop(t)
		note, second, deleted := s.note(t, shop), s.note(t, elsewhere), s.note(t, shop)
		root, foreign := s.add(t, note, nil), s.add(t, second, nil)
		s.delete(t, deleted)
		var calls []*batch.Call[draft, *Comment]
		for _, d := range []Draft{
			{note, nil, "1"}, {1 << 40, nil, "no such note"}, {note, &root.ID, "2"}, {note, &foreign.ID, "no such parent"}, {deleted, nil, "deleted"}, {second, nil, "3"},
		} {
			calls = append(calls, &batch.Call[draft, *Comment]{In: draft{d, ann, noon}})
		}
		after, err := s.addAll(t.Context(), calls)
		must(t, err)
		after()
		var ids []int64
		for i, want := range [][]string{nil, {"NOT_FOUND input.noteId"}, nil, {"NOT_FOUND input.parentId"}, {"NOT_FOUND input.noteId"}, nil} {
			c := calls[i]
			if want != nil {
				if d := cmp.Diff(want, reasons(c.Err)); d != "" || c.Out != nil {
					t.Errorf("%s: stored as %v (-want +got):\n%s", c.In.Content, c.Out, d)
				}
				continue
			}
			must(t, c.Err)
			ids = append(ids, c.Out.ID)
			if d := cmp.Diff(c.Out, other.read(t, c.Out.ID)); d != "" {
				t.Errorf("%s (-returned +read):\n%s", c.In.Content, d)
			}
		}
		if !slices.IsSorted(ids) || ids[0] != foreign.ID+1 || ids[2] != foreign.ID+3 {
			t.Errorf("got ids %v after %d", ids, foreign.ID)
		}
		if got := [3][2]int{s.counts(t, note, shop), s.counts(t, second, elsewhere), {other.read(t, root.ID).ReplyCount}}; got != [3][2]int{{3, 3}, {2, 2}, {1}} {
			t.Errorf("got counts %v of notes, shops and root", got)
		}
		for name, l := range map[string]struct {
			list
			want []int64
		}{
			"of the note": {other.onNote(note), []int64{ids[0], root.ID}}, "of the other note": {other.onNote(second), []int64{ids[2], foreign.ID}}, "of replies": {other.replies(root.ID), []int64{ids[1]}},
		} {
			if d := cmp.Diff(l.want, l.walk(t, 5, nil)); d != "" {
				t.Errorf("list %s (-want +got):\n%s", name, d)
			}
		}
	})
}

func TestCommentContentIsValidated(t *testing.T) {
	const (
		blank   = "A comment must have 1 to 500 characters."
		control = "Remove control characters from the comment."
	)
	each(t, func(t *testing.T, s, other *process) {
		note := s.note(t, s.shop(t))
		for _, tt := range []struct{ name, in, want, refused string }{
			{"plain", "好吃! Tasty.", "好吃! Tasty.", ""},
			{"lines", " a \r\n\n\n\nb\t c ", "a\n\nb c", ""},
			{"composed", "Cafe\u0301", "Caf\u00e9", ""},
			{"HTML and mentions", `<script>alert("1")</script> &amp; @bob #food`, `<script>alert("1")</script> &amp; @bob #food`, ""},
			{"maximum in Chinese", strings.Repeat("面", MaxContent), strings.Repeat("面", MaxContent), ""},
			{"one character more", strings.Repeat("面", MaxContent+1), "", blank},
			{"maximum in emoji", strings.Repeat("🍜", MaxContent), strings.Repeat("🍜", MaxContent), ""},
			{"one emoji more", strings.Repeat("🍜", MaxContent+1), "", blank},
			{"an emoji of three characters", strings.Repeat("👨\u200d🍳", MaxContent/3+1), "", blank},
			{"fits after composition", strings.Repeat("e\u0301", MaxContent), strings.Repeat("\u00e9", MaxContent), ""},
			{"fits after trimming", strings.Repeat(" ", MaxContent) + "a", "a", ""},
			{"empty", "", "", blank},
			{"spaces", " \u3000\n\t", "", blank},
			{"invisible characters", "\u200d\ufe0f\u200b", "", blank},
			{"marks that reorder", "a\u202eb\u2066c\u2069", "abc", ""},
			{"marks of direction", "\u05d0\u200f!", "\u05d0\u200f!", ""},
			{"NUL", "a\x00b", "", control},
			{"an escape sequence", "\x1b[31mred", "", control},
			{"DEL", "a\x7f", "", control},
			{"an upper control character", "a\u0085b", "", control},
			{"a backspace at the end", "abc\b", "", control},
		} {
			t.Run(tt.name, func(t *testing.T) {
				c, err := s.Add(t.Context(), ann, Draft{NoteID: note, Content: tt.in})
				if tt.refused != "" {
					refused, _ := errors.AsType[apierror.UserErrors](err)
					if d := cmp.Diff(apierror.Refuse(apierror.InvalidInput, tt.refused, "input", "content"), refused); d != "" {
						t.Errorf("%v (-want +got):\n%s", err, d)
					}
					return
				}
				must(t, err)
				if got := other.read(t, c.ID).Content; got != tt.want || c.Content != tt.want {
					t.Errorf("stored %q, read %q; want %q", c.Content, got, tt.want)
				}
			})
		}
	})
}

// Many authors comment in two processes, on one note and below one of its comments.
func TestCommentCountsAreExactUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		note, second := s.note(t, shop), s.note(t, shop)
		root := s.add(t, note, nil)
		const writers = 50
		var g sync.WaitGroup
		failed := make(chan error, writers)
		for i := range writers {
			g.Go(func() {
				p, d := s, Draft{NoteID: note, Content: fmt.Sprint("Number ", i)}
				if i%2 == 1 {
					p = other
				}
				switch i % 5 {
				case 0, 1, 2:
					d.ParentID = &root.ID
				case 3:
					d.NoteID = second
				}
				if _, err := p.Add(t.Context(), int64(i), d); err != nil {
					failed <- err
				}
			})
		}
		g.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		if got := s.counts(t, note, shop); got != [2]int{41, 51} {
			t.Errorf("counts of note and shop: got %v, want 41 and 51", got)
		}
		if got := s.counts(t, second, shop); got != [2]int{10, 51} {
			t.Errorf("counts of second note and shop: got %v, want 10 and 51", got)
		}
		for _, p := range []*process{s, other} {
			if got := p.read(t, root.ID); got.ReplyCount != 30 || got.Version < 2 || got.Version > 31 { // one version per transaction
				t.Errorf("root: got %d replies in version %d, want 30 in version 2 to 31", got.ReplyCount, got.Version)
			}
			for _, c := range []struct {
				list
				want int
			}{{p.onNote(note), 11}, {p.onNote(second), 10}, {p.replies(root.ID), 30}} {
				if got := c.walk(t, 7, nil); len(got) != c.want {
					t.Errorf("got %d comments, want %d", len(got), c.want)
				}
			}
		}
		if o := scan(t, s, true); o.Found != 0 {
			t.Errorf("scan: got %+v, want no findings", o)
		}
	})
}

func TestDeletedNoteHidesItsComments(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		note, passed := s.note(t, shop), s.note(t, shop)
		root, stays := s.add(t, note, nil), s.add(t, passed, nil)
		reply := s.add(t, note, &root.ID)
		for _, p := range []*process{s, other} { // cached
			if p.read(t, root.ID) == nil || p.read(t, reply.ID) == nil || len(p.onNote(note).walk(t, 5, nil)) != 1 || len(p.replies(root.ID).walk(t, 5, nil)) != 1 {
				t.Fatal("comments are missing before the deletion")
			}
		}
		s.delete(t, note)
		for _, p := range []*process{s, other} {
			found, err := p.ByIDs(t.Context(), []int64{root.ID, reply.ID, stays.ID})
			must(t, err)
			if len(found) != 1 || found[stays.ID] == nil {
				t.Errorf("got %v, want only comment %d", found, stays.ID)
			}
			if got := p.read(t, root.ID); got != nil {
				t.Errorf("got deleted comment %+v", got)
			}
			if got := p.onNote(note).page(t, 5, ""); len(got.Edges) != 0 || got.Info.HasNextPage || got.Info.EndCursor != nil {
				t.Errorf("on the note: %+v", got)
			}
			if got := p.replies(root.ID).page(t, 5, ""); len(got.Edges) != 0 || got.Info.HasNextPage || got.Info.EndCursor != nil {
				t.Errorf("below the comment: %+v", got)
			}
		}
		if total, ok := s.like(t, root.ID, 1); ok || total != 0 {
			t.Errorf("got %d likes, found %t, want neither", total, ok)
		}
		if row := s.db.Comment.GetX(t.Context(), root.ID); row.LikeCount != 0 {
			t.Errorf("row: got %d likes, want 0", row.LikeCount)
		}
	})
}

// addLikes adds to the likes of a comment. It returns the new number, and whether the comment
// exists.
func (p *process) addLikes(ctx context.Context, tx *ent.Tx, id int64, n int) (total int, ok bool, afterCommit func(context.Context) error, err error) {
	likes, add, err := p.LockLikes(ctx, tx, []int64{id})
	if _, ok = likes[id]; err != nil || !ok {
		return 0, false, nil, err
	}
	put, err := add(ctx, map[int64]int{id: n})
	return likes[id] + n, true, func(ctx context.Context) error {
		pipeline := p.p.Hub.Pipeline()
		put(pipeline)
		return pipeline.Exec(ctx)
	}, err
}

// like calls addLikes in its own transaction, and updates the cache.
func (p *process) like(t *testing.T, id int64, n int) (total int, ok bool) {
	t.Helper()
	var afterCommit func(context.Context) error
	must(t, ent.WithTx(t.Context(), p.db, func(tx *ent.Tx) (err error) {
		total, ok, afterCommit, err = p.addLikes(t.Context(), tx, id, n)
		return err
	}))
	if ok {
		must(t, afterCommit(t.Context()))
	}
	return total, ok
}

func TestCommentLikesAreCounted(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		note := s.note(t, s.shop(t))
		c := s.add(t, note, nil)
		other.read(t, c.ID) // cached
		for i, n := range []int{1, 3, -2} {
			want := []int{1, 4, 2}[i]
			if total, ok := s.like(t, c.ID, n); total != want || !ok {
				t.Errorf("got %d likes, found %t; want %d", total, ok, want)
			}
			if got := other.read(t, c.ID); got.LikeCount != want || got.Version != int64(i+2) {
				t.Errorf("got %d likes in version %d, want %d", got.LikeCount, got.Version, want)
			}
		}
		if total, ok := s.like(t, 1<<40, 1); total != 0 || ok {
			t.Errorf("missing comment: got %d likes, found %t", total, ok)
		}
		// Another program changes the row, then invalidates it.
		s.db.Comment.UpdateOneID(c.ID).SetLikeCount(9).ExecX(t.Context())
		if got := other.read(t, c.ID); got.LikeCount != 2 {
			t.Fatalf("invalid test: the cache has %d likes", got.LikeCount)
		}
		must(t, s.InvalidateLikes(t.Context(), c.ID))
		if got := other.read(t, c.ID); got.LikeCount != 9 {
			t.Errorf("got %d likes, want 9", got.LikeCount)
		}
	})
}

// The deletion waits for the like; the like of another comment does not.
func TestCommentLikeBlocksNoteDeletion(t *testing.T) {
	s := (&fixture{on: storetest.Real(t)}).process(t)
	note := s.note(t, s.shop(t))
	c, second := s.add(t, note, nil), s.add(t, note, nil)
	free := func() bool {
		t.Helper()
		tx, err := s.p.SQL.BeginTx(t.Context(), nil)
		must(t, err)
		defer func() { _ = tx.Rollback() }()
		rows, err := tx.QueryContext(t.Context(), "SELECT id FROM notes WHERE id = $1 FOR UPDATE SKIP LOCKED", note)
		must(t, err)
		defer func() { _ = rows.Close() }()
		existing := rows.Next()
		must(t, rows.Err())
		return existing
	}
	if !free() {
		t.Fatal("invalid test: the note is locked")
	}
	must(t, ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) error {
		_, _, _, err := s.addLikes(t.Context(), tx, c.ID, 1)
		if err == nil && free() {
			t.Error("the note is not locked during a like of its comment")
		}
		if total, ok := s.like(t, second.ID, 1); total != 1 || !ok {
			t.Errorf("another comment: got %d likes, found %t", total, ok)
		}
		return err
	}))
}

func TestOutboxInvalidatesCommentsAfterWriterCrash(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		note := s.note(t, s.shop(t))
		root := s.add(t, note, nil)
		shown := func() [3]int {
			return [3]int{len(other.onNote(note).walk(t, 5, nil)), len(other.replies(root.ID).walk(t, 5, nil)), other.read(t, root.ID).ReplyCount}
		}
		s.add(t, note, &root.ID)
		before := shown() // cached
		next := root.ID + 2
		if other.read(t, next) != nil {
			t.Fatal("got a comment before the write")
		}
		var w written
		must(t, ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) error {
			return s.store(t.Context(), tx, []draft{
				{Draft{note, nil, "On the note."}, bob, noon}, {Draft{note, &root.ID, "Below the root."}, bob, noon},
			}, nil, &w)
		}))
		if got := shown(); got != before || before != [3]int{1, 1, 1} {
			t.Fatalf("invalid test: the caches changed from %v to %v", before, got)
		}
		if got := other.read(t, next); got == nil || w.rows[0].ID != next {
			t.Error("cannot read a committed row")
		}
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 10*time.Second, func() bool { return shown() == [3]int{2, 2, 2} })
		testkit.Eventually(t, 10*time.Second, func() bool { return s.fixture.noteInvalidations.Load() > 0 }) // counts of the note
	})
}

func TestInvalidateShowsExternalChanges(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		note := s.note(t, s.shop(t))
		root := s.add(t, note, nil)
		reply := s.add(t, note, &root.ID)
		row := func(root *int64) int64 {
			return s.db.Comment.Create().SetNoteID(note).SetAuthorID(bob).SetNillableRootID(root).SetNillableParentID(root).SetContent("x").SetCreatedAt(1).SaveX(t.Context()).ID
		}
		shown := func() [][]int64 {
			return [][]int64{other.onNote(note).walk(t, 5, nil), other.replies(root.ID).walk(t, 5, nil)}
		}
		before := shown() // cached
		on, below := row(nil), row(&root.ID)
		s.db.Comment.UpdateOneID(root.ID).AddReplyCount(1).AddVersion(1).ExecX(t.Context())
		if d := cmp.Diff(before, shown()); d != "" {
			t.Fatalf("invalid test: the lists are not cached:\n%s", d)
		}
		ids := []int64{on, root.ID}
		must(t, s.Invalidate(t.Context(), ids...))
		must(t, s.Invalidate(t.Context(), below))
		if d := cmp.Diff([]int64{on, root.ID}, ids); d != "" {
			t.Errorf("argument changed (-want +got):\n%s", d)
		}
		if d := cmp.Diff([][]int64{{on, root.ID}, {reply.ID, below}}, shown()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if got := other.read(t, root.ID).ReplyCount; got != 2 {
			t.Errorf("root: got %d replies, want 2", got)
		}
		s.db.Comment.Delete().Where(entcomment.IDIn(on, below)).ExecX(t.Context())
		must(t, s.Invalidate(t.Context(), on, below))
		if d := cmp.Diff([][]int64{{root.ID}, {reply.ID}}, shown()); d != "" {
			t.Errorf("after the deletion (-want +got):\n%s", d)
		}
	})
}

func TestBulkInsertCountsAndListsComments(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		one, two := s.shop(t), s.shop(t)
		a, b, c := s.note(t, one), s.note(t, one), s.note(t, two)
		at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		ids, err := s.BulkInsert(t.Context(), []Seed{
			{Draft{b, nil, "1"}, ann, at(1)}, {Draft{a, nil, "2"}, bob, at(2)}, {Draft{c, nil, "3"}, ann, at(3)}, {Draft{a, nil, "4"}, bob, at(4)},
		})
		must(t, err)
		replies, err := s.BulkInsert(t.Context(), []Seed{
			{Draft{a, &ids[3], "5"}, ann, at(5)}, {Draft{b, &ids[0], "6"}, ann, at(6)}, {Draft{a, &ids[3], "7"}, bob, at(7)},
		})
		must(t, err)
		if !slices.IsSorted(append(slices.Clone(ids), replies...)) {
			t.Errorf("got ids %v, then %v, want ascending", ids, replies)
		}
		want := &Comment{ID: replies[2], NoteID: a, AuthorID: bob, RootID: &ids[3], ParentID: &ids[3], Content: "7", Version: 1, CreatedAt: at(7)}
		if d := cmp.Diff(want, other.read(t, replies[2])); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for _, l := range []struct {
			list
			want []int64
		}{
			{other.onNote(a), []int64{ids[3], ids[1]}}, {other.onNote(b), ids[:1]}, {other.replies(ids[3]), []int64{replies[0], replies[2]}}, {other.replies(ids[0]), replies[1:2]},
		} {
			if d := cmp.Diff(l.want, l.walk(t, 5, nil)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}
		for note, want := range map[int64][2]int{a: {4, 6}, b: {2, 6}} {
			if got := s.counts(t, note, one); got != want {
				t.Errorf("counts of note %d and shop: got %v, want %v", note, got, want)
			}
		}
		if got := s.counts(t, c, two); got != [2]int{1, 1} {
			t.Errorf("counts of third note and shop: got %v, want 1 each", got)
		}
		if got := other.read(t, ids[3]).ReplyCount; got != 2 {
			t.Errorf("got %d replies, want 2", got)
		}
		s.outbox.Wait()
		before := storetest.Snapshot(t, s.p.SQL.DB, nil)
		if _, err := s.BulkInsert(t.Context(), []Seed{{Draft{a, nil, "8"}, ann, noon}, {Draft{a, nil, " "}, ann, noon}}); err == nil {
			t.Error("got no error for a blank comment")
		}
		if none, err := s.BulkInsert(t.Context(), nil); none != nil || err != nil {
			t.Error(none, err)
		}
		if d := cmp.Diff(before, storetest.Snapshot(t, s.p.SQL.DB, nil)); d != "" {
			t.Errorf("a failed call changed data (-before +after):\n%s", d)
		}
	})
}

func TestClearingContinuesByID(t *testing.T) {
	each(t, func(t *testing.T, s, _ *process) {
		shop := s.shop(t)
		note, other := s.note(t, shop), s.note(t, shop)
		store := func(note int64, root *int64, n int) []int64 {
			writes := make([]*ent.CommentCreate, n)
			for i := range writes {
				writes[i] = s.db.Comment.Create().SetNoteID(note).SetNillableRootID(root).SetAuthorID(bob).SetContent("Good.").SetCreatedAt(1)
			}
			var ids []int64
			for _, row := range s.db.Comment.CreateBulk(writes...).SaveX(t.Context()) {
				ids = append(ids, row.ID)
			}
			return ids
		}
		roots := store(note, nil, clearBatch+2)
		replies := store(note, &roots[0], clearBatch+2)
		passed := store(other, nil, 1)
		texts := func() []int64 {
			return s.db.Comment.Query().Where(entcomment.ContentNEQ("")).Order(entcomment.ByID()).IDsX(t.Context())
		}

		// The first batch after the second comment ends clearBatch comments later.
		last, more, err := s.clearSome(t.Context(), entcomment.And(entcomment.NoteID(note), entcomment.RootIDIsNil()), roots[1])
		if err != nil || !more || last != roots[clearBatch+1] {
			t.Errorf("got end %d, more %v, %v; want %d", last, more, err, roots[clearBatch+1])
		}
		if d := cmp.Diff(append(append(roots[:2:2], replies...), passed...), texts()); d != "" {
			t.Errorf("remaining texts (-want +got):\n%s", d)
		}
		if err := s.ClearTexts(t.Context(), []int64{note}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(passed, texts()); d != "" {
			t.Errorf("remaining texts (-want +got):\n%s", d)
		}
	})
}
