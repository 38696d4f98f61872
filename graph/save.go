package graph

import (
	"context"

	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/save"
	"github.com/tandian-dev/tandian/internal/shop"
)

func (r *Resolver) savedShops(ctx context.Context, user int64, first int, after page.Cursor) (*shop.Page, error) {
	saved, err := r.services.ShopSaves.List(ctx, user, first, after)
	if err != nil {
		return nil, err
	}
	found, err := r.services.Shops.ByIDs(ctx, convert(saved.Items, savedTarget))
	if err != nil {
		return nil, err
	}
	list := &shop.Page{Info: saved.Info}
	for _, item := range saved.Items {
		if s := found[item.Target]; s != nil {
			list.Edges = append(list.Edges, shop.Edge{Cursor: item.Cursor, Node: s})
		}
	}
	return list, nil
}

func (r *Resolver) savedNotes(ctx context.Context, user int64, first int, after page.Cursor) (*note.Page, error) {
	saved, err := r.services.NoteSaves.List(ctx, user, first, after)
	if err != nil {
		return nil, err
	}
	found, err := r.services.Notes.ByIDs(ctx, convert(saved.Items, savedTarget))
	if err != nil {
		return nil, err
	}
	list := &note.Page{Info: saved.Info}
	for _, item := range saved.Items {
		if n := found[item.Target]; n != nil {
			list.Edges = append(list.Edges, &note.Edge{Cursor: item.Cursor, Node: n})
		}
	}
	return list, nil
}

func savedTarget(i save.Item) int64 { return i.Target }
