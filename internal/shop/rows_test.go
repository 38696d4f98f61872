package shop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/ent/shoptype"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
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
				SetImages(mediapath.Column([]string{"/media/a.png", "/media/a \"b\" 火.png"}, map[string]mediapath.Size{"/media/a.png": {Width: 640, Height: 480}})).SaveX(ctx),
			create("an image without a size").SetArea("Old Town").SetAvgPrice(5000).SetScore(5).SetImages(mediapath.Column([]string{"/media/b.png"}, nil)).SaveX(ctx),
		}
		want, ids := map[int64]Shop{}, make([]int64, len(rows))
		for i, r := range rows {
			shop, err := fromRow(s.db.Shop.GetX(ctx, r.ID))
			if err != nil {
				t.Fatal(err)
			}
			want[r.ID], ids[i] = *shop, r.ID
			got, err := s.loadShops(ctx, []int64{r.ID, 1 << 40})
			if d := cmp.Diff(map[int64]Shop{r.ID: want[r.ID]}, got); d != "" || err != nil {
				t.Errorf("%s and a missing one: %v (-want +got)\n%s", r.Name, err, d)
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

func TestEachColumnIsReadIntoItsField(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, ctx := process(), t.Context()
		owner := s.db.User.Create().SetID(2).SetNickname("merchant").SaveX(ctx)
		kind := s.db.ShopType.Create().SetID(300)
		storetest.FillRow(t, kind.Mutation(), ent.ShopType{}, shoptype.Columns)
		column := mediapath.Column([]string{"/media/a.png"}, nil)
		shop := s.db.Shop.Create().SetID(4).SetTypeID(kind.SaveX(ctx).ID).SetOwnerID(owner.ID).SetImages(column)
		storetest.FillRow(t, shop.Mutation(), ent.Shop{}, entshop.Columns)
		shop.ExecX(ctx)

		types, err := s.loadTypes(ctx, []int64{300})
		if err != nil {
			t.Fatal(err)
		}
		storetest.CheckRow(t, s.db.ShopType.GetX(ctx, 300), types[300], nil, "Key")
		shops, err := s.loadShops(ctx, []int64{4})
		if err != nil {
			t.Fatal(err)
		}
		row := s.db.Shop.GetX(ctx, 4)
		storetest.CheckRow(t, row, shops[4], map[string]any{
			"Images": []mediapath.Image{{URL: "/media/a.png", ThumbnailURL: "/media/a.png"}}, "Score": row.RatingScore,
			"Stars": shops[4].Ratings.Stars, "Count": row.ServiceCount, "Sum": row.ServiceSum,
		}, "RatingScore", "Stars1", "Stars2", "Stars3", "Stars4", "Stars5", "TasteCount", "TasteSum", "EnvironmentCount", "EnvironmentSum",
			"ServiceCount", "ServiceSum", "OpenMask", "Trend", "ExternalID", "Geo", "Search", "CreatedAt", "UpdatedAt")
		want := Ratings{
			Stars: [5]int{row.Stars1, row.Stars2, row.Stars3, row.Stars4, row.Stars5}, Taste: Sum{row.TasteCount, row.TasteSum},
			Environment: Sum{row.EnvironmentCount, row.EnvironmentSum}, Service: Sum{row.ServiceCount, row.ServiceSum},
		}
		if got := shops[4].Ratings; got != want {
			t.Errorf("got ratings %+v, want %+v", got, want)
		}
	})
}

func TestCorruptImagesNameTheirShop(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, ctx := process(), t.Context()
		ann := user(t, s)
		shop := create(t, s, ann, noodles(typeIDs(t, s)["cafe"]))
		s.db.Shop.UpdateOneID(shop.ID).SetImages(`{"url": 7}`).ExecX(ctx)
		name := Changes{Name: optional.Set("Tea")}
		for _, call := range []struct {
			name string
			do   func() error
		}{
			{"load", func() error { _, err := s.loadShops(ctx, []int64{shop.ID}); return err }},
			{"list", func() error { _, err := s.listRows(ctx, Query{Order: ByNewest, First: 1, OwnerID: ann}); return err }},
			{"update", func() error { _, err := s.Update(ctx, Editor{UserID: ann}, shop.ID, name); return err }},
			{"drop an image", func() error { return s.DropImage(ctx, shop.ID, "/media/a.webp") }},
		} {
			if err := call.do(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("shop %d: ", shop.ID)) {
				t.Errorf("%s: %v", call.name, err)
			}
		}
		if got := row(t, s, shop.ID); got.Name == "Tea" || got.Version != shop.Version {
			t.Errorf("got changed row %+v", got)
		}
	})
}
