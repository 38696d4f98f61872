package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/patch"
)

// field is what an argument that may be left out says of a field.
func field[T any](o graphql.Omittable[*T]) patch.Field[T] {
	return patch.Field[T]{Given: o.IsSet(), Value: o.Value()}
}

// ofViewer reads what is the viewer's own, once, and puts it where among the
// users the viewer stands. For the others it stays null.
func ofViewer[V any](ctx context.Context, users []*account.User, to []*V, read func(me int64) (*V, error)) error {
	me := viewer(ctx).ID
	var own *V
	for i, u := range users {
		if u.ID != me {
			continue
		}
		if own == nil {
			var err error
			if own, err = read(me); err != nil {
				return err
			}
		}
		to[i] = own
	}
	return nil
}

// profileChanges puts the arguments of updateProfile together as the room wants
// them.
func profileChanges(in model.UpdateProfileInput) account.Changes {
	return account.Changes{
		Nickname: field(in.Nickname), AvatarURL: field(in.AvatarURL), City: field(in.City), Bio: field(in.Bio),
		Gender: field(in.Gender), Birthday: field(in.Birthday),
	}
}
