package comment

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// scan runs the comment scan.
func scan(t *testing.T, s *process, dry bool) reconcile.Outcome {
	t.Helper()
	scans := reconcile.New(prometheus.NewRegistry(), nil)
	scans.Add(s.Scans()...)
	found, err := scans.ByName("comments")
	must(t, err)
	o, err := scans.RunOnce(t.Context(), found[0], reconcile.Options{DryRun: dry})
	must(t, err)
	return o
}

func TestScanRepairsCommentCounts(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		note, deleted := s.note(t, shop), s.note(t, shop)
		root := s.bulkInsert(t, note, nil, 2)[0]
		reply := s.bulkInsert(t, note, &root, 3)[0]
		s.bulkInsert(t, deleted, nil, 4)
		s.delete(t, deleted) // its count stays
		ctx := t.Context()
		for _, tt := range []struct {
			name  string
			harm  func() error
			found int
		}{
			{"consistent", func() error { return nil }, 0},
			{"a note has too many", func() error { return s.db.NoteCount.UpdateOneID(note).AddComments(2).Exec(ctx) }, 1},
			{"a note has too few", func() error { return s.db.NoteCount.UpdateOneID(note).SetComments(0).Exec(ctx) }, 1},
			{"a shop has too many", func() error { return s.db.Shop.UpdateOneID(shop).AddCommentCount(1).Exec(ctx) }, 1},
			{"a shop has too few", func() error { return s.db.Shop.UpdateOneID(shop).AddCommentCount(-3).Exec(ctx) }, 1},
			{"a comment has too many replies", func() error { return s.db.Comment.UpdateOneID(root).AddReplyCount(1).Exec(ctx) }, 1},
			{"a comment has too few", func() error { return s.db.Comment.UpdateOneID(root).SetReplyCount(1).Exec(ctx) }, 1},
			{"a reply has some", func() error { return s.db.Comment.UpdateOneID(reply).SetReplyCount(1).Exec(ctx) }, 1},
			{"a deleted note has any count", func() error { return s.db.NoteCount.UpdateOneID(deleted).SetComments(99).Exec(ctx) }, 0},
			{"an uncounted row", func() error {
				return s.db.Comment.Create().SetNoteID(note).SetAuthorID(bob).SetRootID(root).SetContent("x").SetCreatedAt(1).Exec(ctx)
			}, 3},
		} {
			t.Run(tt.name, func(t *testing.T) {
				must(t, tt.harm())
				s.outbox.Wait()
				before := storetest.Snapshot(t, s.p.SQL.DB, s.p.Redis)
				if dry := scan(t, s, true); dry.Found != tt.found || dry.Repaired != 0 || dry.Compared == 0 {
					t.Errorf("dry run: got %+v, want %d findings", dry, tt.found)
				}
				if d := cmp.Diff(before, storetest.Snapshot(t, s.p.SQL.DB, s.p.Redis)); d != "" {
					t.Errorf("the dry run changed data (-before +after):\n%s", d)
				}
				if run := scan(t, s, false); run.Found != tt.found || run.Repaired != tt.found {
					t.Errorf("run: got %+v, want %d findings, all repaired", run, tt.found)
				}
				if again := scan(t, s, false); again.Found != 0 {
					t.Errorf("second run: got %+v, want no findings", again)
				}
				if d := cmp.Diff(s.db.Comment.GetX(t.Context(), root).ReplyCount, other.read(t, root).ReplyCount); d != "" {
					t.Errorf("reply count in another process (-stored +read):\n%s", d)
				}
			})
		}
	})
}

func TestScanComparesEveryPage(t *testing.T) {
	s := (&fixture{on: storetest.Real(t)}).process(t)
	ids := s.bulkInsert(t, s.note(t, s.shop(t)), nil, 2*scanPage+3)
	for _, id := range []int64{ids[0], ids[scanPage-1], ids[scanPage], ids[len(ids)-1]} {
		s.db.Comment.UpdateOneID(id).SetReplyCount(1).ExecX(t.Context())
	}
	if o := scan(t, s, false); o.Compared != len(ids)+2 || o.Found != 4 || o.Repaired != 4 {
		t.Errorf("got %+v, want %d compared and 4 repaired", o, len(ids)+2)
	}
}

// Repairs run during inserts, neither twice nor too early.
func TestScanToleratesConcurrentComments(t *testing.T) {
	each(t, func(t *testing.T, s, other *process) {
		shop := s.shop(t)
		note := s.note(t, shop)
		root := s.add(t, note, nil).ID
		must(t, ent.WithTx(t.Context(), s.db, func(tx *ent.Tx) error {
			return tx.NoteCount.UpdateOneID(note).AddComments(5).Exec(t.Context())
		}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				if _, err := other.Add(t.Context(), bob, Draft{note, &root, "Yes."}); err != nil {
					t.Error(err)
				}
			}
		}()
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			scan(t, s, false)
		}
		if got := s.counts(t, note, shop); got != [2]int{21, 21} {
			t.Errorf("counts of note and shop: got %v, want 21", got)
		}
		if got := s.db.Comment.GetX(t.Context(), root).ReplyCount; got != 20 {
			t.Errorf("got %d replies, want 20", got)
		}
	})
}

func TestConcurrentScansRepairOnce(t *testing.T) {
	s := (&fixture{on: storetest.Real(t)}).process(t)
	shop := s.shop(t)
	note := s.note(t, shop)
	root := s.bulkInsert(t, note, nil, 40)[0]
	s.db.NoteCount.UpdateOneID(note).AddComments(-3).ExecX(t.Context())
	s.db.Shop.UpdateOneID(shop).AddCommentCount(-3).ExecX(t.Context())
	s.db.Comment.UpdateOneID(root).AddReplyCount(3).ExecX(t.Context())
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			for _, err := range []error{
				s.notesCounter().repair(t.Context(), note), s.shopsCounter().repair(t.Context(), shop), s.repliesCounter().repair(t.Context(), root),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	if got := s.counts(t, note, shop); got != [2]int{40, 40} {
		t.Errorf("counts of note and shop: got %v, want 40", got)
	}
	if got := s.db.Comment.GetX(t.Context(), root).ReplyCount; got != 0 {
		t.Errorf("got %d replies, want none", got)
	}
}
