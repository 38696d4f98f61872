package graph

import (
	"context"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

func userID(u *account.User) int64 { return u.ID }

// people reads lists of users and then all users on them in one batch. It omits deleted users.
func (r *Resolver) people(ctx context.Context, of []*account.User, read func(context.Context, []int64) (map[int64]*follow.Page, error)) ([]*account.Page, error) {
	lists, err := readBy(ctx, of, userID, read)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, list := range lists {
		for _, e := range list.Edges {
			ids = append(ids, e.User)
		}
	}
	found, err := r.services.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	return convert(lists, func(list *follow.Page) *account.Page {
		p := &account.Page{Edges: make([]*account.Edge, 0, len(list.Edges)), Info: list.Info}
		for _, e := range list.Edges {
			if u := found[e.User]; u != nil {
				p.Edges = append(p.Edges, &account.Edge{Cursor: e.Cursor, Node: u})
			}
		}
		return p
	}), nil
}

// common returns the users that both the viewer and each of the given users follow.
func (r *Resolver) common(ctx context.Context, users []int64, first int, after page.Cursor) (map[int64]*follow.Page, error) {
	me := viewer(ctx).ID
	found := make(map[int64]*follow.Page, len(users))
	for _, id := range users {
		p, err := r.services.Follows.Common(ctx, me, id, first, after)
		if err != nil {
			return nil, err
		}
		found[id] = p
	}
	return found, nil
}
