package graph

import (
	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/shop"
)

// shopQuery puts the arguments of `shops` together as the room wants them.
func shopQuery(filter *model.ShopFilter, near *model.NearInput, orderBy *shop.Order, first int, after *page.Cursor) (shop.Query, error) {
	q := shop.Query{First: first, Order: value(orderBy), After: value(after)}
	if near != nil {
		q.Near = &geo.Circle{Center: geo.Point{Lat: near.Lat, Lng: near.Lng}, Radius: float64(near.Radius)}
	}
	if filter == nil {
		return q, nil
	}
	q.Search = value(filter.Search)
	if filter.TypeID != nil {
		var err error
		if q.TypeID, err = filter.TypeID.Of("ShopType"); err != nil {
			return q, err
		}
	}
	return q, nil
}

// value is what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
