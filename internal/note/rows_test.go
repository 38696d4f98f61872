package note

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/notecount"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestLookupsReadWhatEntReads(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, ctx := open(t, on), t.Context()
		create := func(title string) *ent.NoteCreate {
			return s.db.Note.Create().SetAuthorID(1).SetShopID(teahouse).SetTitle(title).SetContent("Good \"tea\"\n\\ 火锅").SetCreatedAt(1_700_000_000_123)
		}
		rows := []*ent.Note{
			create("all is null").SaveX(ctx),
			create("all is set").SetExternalID("x:1").SetSeq(1 << 60).
				SetImages(mediapath.Column([]string{"/media/a.png", "/media/a \"b\" 火.png"}, map[string]mediapath.Size{"/media/a.png": {Width: 640, Height: 480}})).SaveX(ctx),
		}
		deleted := create("deleted").SetSeq(2).SetDeletedAt(1_700_000_000_456).SaveX(ctx)
		want, ids := map[int64]Note{}, []int64{deleted.ID}
		for _, r := range rows {
			note, err := fromRow(s.db.Note.GetX(ctx, r.ID))
			if err != nil {
				t.Fatal(err)
			}
			want[r.ID], ids = *note, append(ids, r.ID)
			got, err := s.load(ctx, []int64{r.ID})
			if d := cmp.Diff(map[int64]Note{r.ID: want[r.ID]}, got); d != "" || err != nil {
				t.Errorf("%s alone: %v (-want +got)\n%s", r.Title, err, d)
			}
		}
		got, err := s.load(ctx, ids)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("all: %v (-want +got)\n%s", err, d)
		}
		if got, err := s.load(ctx, ids[:1]); len(got) > 0 || err != nil {
			t.Errorf("deleted note: got %v, %v", got, err)
		}

		plain := s.db.NoteCount.Create().SetID(rows[0].ID).SetHot(0).SaveX(ctx)
		full := s.db.NoteCount.Create().SetID(rows[1].ID).SetHot(1 << 50).SetLikes(7).SetComments(1 << 30).SetVersion(1 << 60).SetDeleted(true).SaveX(ctx)
		wantCounts := map[int64]Counts{plain.ID: {Version: plain.Version}, full.ID: {Likes: 7, Comments: 1 << 30, Hot: 1 << 50, Version: 1 << 60}}
		counts, err := s.loadCounts(ctx, ids)
		if d := cmp.Diff(wantCounts, counts); d != "" || err != nil {
			t.Errorf("counts: %v (-want +got)\n%s", err, d)
		}
	})
}

func TestEachColumnIsReadIntoItsField(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, ctx := open(t, on), t.Context()
		create := s.db.Note.Create().SetID(5).SetImages(mediapath.Column([]string{"/media/a.png"}, nil))
		storetest.FillRow(t, create.Mutation(), ent.Note{}, entnote.Columns)
		create.ExecX(ctx)
		row := s.db.Note.GetX(ctx, 5)
		s.db.Note.UpdateOneID(5).ClearDeletedAt().ExecX(ctx) // deleted notes are not loaded
		notes, err := s.load(ctx, []int64{5})
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckRow(t, row, notes[5], map[string]any{
			"Images": []mediapath.Image{{URL: "/media/a.png", ThumbnailURL: "/media/a.png"}}, "CreatedAt": time.UnixMilli(row.CreatedAt).UTC(),
		}, "ExternalID", "DeletedAt", "ClearedAt")

		counts := s.db.NoteCount.Create().SetID(5)
		storetest.FillRow(t, counts.Mutation(), ent.NoteCount{}, notecount.Columns)
		counts.ExecX(ctx)
		stored := s.db.NoteCount.GetX(ctx, 5)
		loaded, err := s.loadCounts(ctx, []int64{5})
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckRow(t, stored, loaded[5], nil, "ID", "Deleted")
		s.db.NoteCount.UpdateOneID(5).SetDeleted(false).ExecX(ctx)
		if err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
			locked, err := s.lockCounts(ctx, tx, []int64{5})
			if d := cmp.Diff(&countRow{ID: 5, Counts: loaded[5], shop: row.ShopID}, locked[5], cmp.AllowUnexported(countRow{})); d != "" {
				t.Errorf("locked (-want +got)\n%s", d)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCorruptImagesNameTheirNote(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, ctx := open(t, on), t.Context()
		n := s.db.Note.Create().SetAuthorID(1).SetShopID(teahouse).SetTitle("T").SetContent("C").SetImages(`{"url": 7}`).SetCreatedAt(1).SaveX(ctx)
		deleted := s.db.Note.Create().SetAuthorID(1).SetShopID(teahouse).SetTitle("T").SetContent("C").SetImages(`[1]`).SetCreatedAt(1).SetDeletedAt(2).SaveX(ctx)
		for _, call := range []struct {
			name string
			id   int64
			do   func() error
		}{
			{"load", n.ID, func() error { _, err := s.load(ctx, []int64{n.ID}); return err }},
			{"read a deleted one", deleted.ID, func() error { _, err := s.ByIDsOrSnapshot(ctx, []int64{deleted.ID}); return err }},
			{"drop an image", n.ID, func() error { return s.DropImage(ctx, n.ID, "/media/a.webp") }},
		} {
			if err := call.do(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("note %d: ", call.id)) {
				t.Errorf("%s: %v", call.name, err)
			}
		}
	})
}
