package graph

import (
	"context"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/shop"
)

func shopQuery(filter *model.ShopFilter, near *model.NearInput, orderBy *shop.Order, first int, after *page.Cursor) (shop.Query, error) {
	q := shop.Query{First: first, Order: optional.Value(orderBy), After: optional.Value(after)}
	if near != nil {
		q.Near = &geo.Circle{Center: geo.Point{Lat: near.Lat, Lng: near.Lng}, Radius: float64(near.Radius)}
	}
	if filter == nil {
		return q, nil
	}
	q.Search = optional.Value(filter.Search)
	q.Filter = shop.Filter{
		OpenNow: filter.OpenNow, MinScore: filter.MinScore, MinPrice: filter.MinPrice, MaxPrice: filter.MaxPrice,
		HasVoucher: filter.HasVoucher, HasFlashSale: filter.HasFlashSale,
	}
	if filter.TypeID != nil {
		var err error
		if q.TypeID, err = filter.TypeID.Of("ShopType"); err != nil {
			return q, err
		}
	}
	return q, nil
}

func shopID(s *shop.Shop) int64 { return s.ID }

func editor(ctx context.Context) shop.Editor {
	v := viewer(ctx)
	return shop.Editor{UserID: v.ID, IsAdmin: v.Require(ctx, account.Admin) == nil}
}

func shopDetails(in model.CreateShopInput) (shop.Details, error) {
	typeID, err := in.TypeID.Of("ShopType")
	return shop.Details{
		Name: in.Name, TypeID: typeID, Images: in.Images, Area: in.Area, Address: in.Address, At: *in.Location,
		AvgPrice: in.AvgPrice, OpenHours: in.OpenHours, Phone: in.Phone, Website: in.Website, TimeZone: in.TimeZone,
	}, err
}

func shopChanges(in model.UpdateShopInput) (id int64, c shop.Changes, err error) {
	if id, err = in.ID.Of("Shop"); err != nil {
		return 0, c, err
	}
	c = shop.Changes{
		Name: field(in.Name), Area: field(in.Area), Address: field(in.Address), At: field(in.Location),
		AvgPrice: field(in.AvgPrice), OpenHours: field(in.OpenHours),
		Phone: field(in.Phone), Website: field(in.Website), TimeZone: field(in.TimeZone),
		TypeID: optional.Field[int64]{Given: in.TypeID.IsSet()}, Images: optional.Field[[]string]{Given: in.Images.IsSet()},
	}
	if list := in.Images.Value(); list != nil {
		c.Images.Value = &list
	}
	if typ := in.TypeID.Value(); typ != nil {
		n, err := typ.Of("ShopType")
		if err != nil {
			return 0, c, err
		}
		c.TypeID.Value = &n
	}
	return id, c, nil
}
