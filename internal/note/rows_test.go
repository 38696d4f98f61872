package note

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/schema"
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
				SetImages([]schema.Image{{URL: "/media/a.png", Width: 640, Height: 480}, {URL: "/media/a \"b\" 火.png"}}).SaveX(ctx),
		}
		gone := create("deleted").SetSeq(2).SetDeletedAt(1_700_000_000_456).SaveX(ctx)
		want, ids := map[int64]Note{}, []int64{gone.ID}
		for _, r := range rows {
			want[r.ID], ids = *fromRow(s.db.Note.GetX(ctx, r.ID)), append(ids, r.ID)
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
			t.Errorf("one that was deleted: %v, %v", got, err)
		}

		plain := s.db.NoteCount.Create().SetID(rows[0].ID).SetHot(0).SaveX(ctx)
		full := s.db.NoteCount.Create().SetID(rows[1].ID).SetHot(1 << 50).SetLikes(7).SetComments(1 << 30).SetVersion(1 << 60).SetDeleted(true).SaveX(ctx)
		wantCounts := map[int64]Counts{plain.ID: countsOf(plain), full.ID: countsOf(full)}
		counts, err := s.loadCounts(ctx, ids)
		if d := cmp.Diff(wantCounts, counts); d != "" || err != nil {
			t.Errorf("counts: %v (-want +got)\n%s", err, d)
		}
	})
}
