package graph

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/door"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

// field is what an argument that may be left out says of a field.
func field[T any](o graphql.Omittable[*T]) optional.Field[T] {
	return optional.Field[T]{Given: o.IsSet(), Value: o.Value()}
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

// shownRole returns the role of a user as a viewer sees it. Merchants are public, because
// their shops are. A list of administrators is of use only to attackers.
func shownRole(u *account.User, viewer int64) *account.Role {
	if u.ID == viewer || u.Role == account.Merchant {
		return &u.Role
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

// deviceCookie names the cookie by which a device is known that has signed in before.
const deviceCookie = "tandian_device"

// originOf returns the client of a request, with its device token. The operations of a socket
// have no headers: no device is known there.
func originOf(ctx context.Context) account.Origin {
	from := account.Origin{Network: callerOf(ctx).address, Remembers: door.TakesCookies(ctx)}
	if !graphql.HasOperationContext(ctx) {
		return from
	}
	request := http.Request{Header: graphql.GetOperationContext(ctx).Headers}
	from.UserAgent = request.UserAgent()
	if cookie, err := request.Cookie(deviceCookie); err == nil {
		from.Device = cookie.Value
	}
	return from
}

// keepDevice sets the cookie of a device after a login. Browsers send it to the API of
// this origin alone, and never for pages of other sites.
func keepDevice(ctx context.Context, token string) {
	if token != "" {
		door.SetCookie(ctx, http.Cookie{
			Name: deviceCookie, Value: token, Path: "/graphql", MaxAge: int(account.DeviceLife.Seconds()), SameSite: http.SameSiteStrictMode,
		})
	}
}
