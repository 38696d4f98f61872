package graph

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/patch"
)

// field is what an argument that may be left out says of a field.
func field[T any](o graphql.Omittable[*T]) patch.Field[T] {
	return patch.Field[T]{Given: o.IsSet(), Value: o.Value()}
}

// profileChanges puts the arguments of updateProfile together as the room wants
// them.
func profileChanges(in model.UpdateProfileInput) account.Changes {
	return account.Changes{
		Nickname: field(in.Nickname), AvatarURL: field(in.AvatarURL), City: field(in.City), Bio: field(in.Bio),
		Gender: field(in.Gender), Birthday: field(in.Birthday),
	}
}
