package shop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/schema"
)

func TestLookupsReadWhatEntReads(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, ctx := process(), t.Context()
		owner := s.db.User.Create().SetNickname("merchant").SaveX(ctx)
		bare := s.db.ShopType.Create().SetKey("bare").SetName("bare").SetSort(0).SaveX(ctx)
		full := s.db.ShopType.Create().SetKey("full").SetName("full").SetIconURL("/media/icon.png").SetSort(99).SaveX(ctx)
		create := func(name string) *ent.ShopCreate {
			return s.db.Shop.Create().SetName(name).SetTypeID(full.ID).SetLat(-33.9).SetLng(151.2).SetGeo(1).SetSearch(name)
		}
		rows := []*ent.Shop{
			create("all is null").SaveX(ctx),
			create("all is set").SetExternalID("x:1").SetOwnerID(owner.ID).SetArea("").SetAddress("1 \"Tea\" Rd\\\n").SetAvgPrice(0).SetSold(7).
				SetCommentCount(1 << 30).SetScore(4.7).SetOpenHours("10–22 火锅").SetVersion(1 << 60).
				SetImages([]schema.Image{{URL: "/media/a.png", Width: 640, Height: 480}, {URL: "/media/a \"b\" 火.png"}}).SaveX(ctx),
			create("a picture without a size").SetArea("Old Town").SetAvgPrice(5000).SetScore(5).SetImages([]schema.Image{{URL: "/media/b.png"}}).SaveX(ctx),
		}
		want, ids := map[int64]Shop{}, make([]int64, len(rows))
		for i, r := range rows {
			want[r.ID], ids[i] = *fromRow(s.db.Shop.GetX(ctx, r.ID)), r.ID
			got, err := s.loadShops(ctx, []int64{r.ID, 1 << 40})
			if d := cmp.Diff(map[int64]Shop{r.ID: want[r.ID]}, got); d != "" || err != nil {
				t.Errorf("%s and one that is not there: %v (-want +got)\n%s", r.Name, err, d)
			}
			got, err = s.loadShops(ctx, []int64{r.ID})
			if d := cmp.Diff(map[int64]Shop{r.ID: want[r.ID]}, got); d != "" || err != nil {
				t.Errorf("%s alone: %v (-want +got)\n%s", r.Name, err, d)
			}
		}
		got, err := s.loadShops(ctx, ids)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("all: %v (-want +got)\n%s", err, d)
		}
		types, err := s.loadTypes(ctx, []int64{bare.ID, full.ID})
		wantTypes := map[int64]Type{
			bare.ID: {ID: bare.ID, Name: bare.Name, Sort: bare.Sort},
			full.ID: {ID: full.ID, Name: full.Name, IconURL: full.IconURL, Sort: full.Sort},
		}
		if d := cmp.Diff(wantTypes, types); d != "" || err != nil {
			t.Errorf("types: %v (-want +got)\n%s", err, d)
		}
	})
}
