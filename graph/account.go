package graph

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func field[T any](o graphql.Omittable[*T]) optional.Field[T] {
	return optional.Field[T]{Given: o.IsSet(), Value: o.Value()}
}

// ofViewer reads a private value of the viewer once and sets it in to at each position
// where users contains the viewer. Other positions stay nil.
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

// shownRole returns the role of a user as the viewer sees it. Merchants are public, as
// their shops are. Administrators stay hidden from other users.
func shownRole(u *account.User, viewer int64) *account.Role {
	if u.ID == viewer || u.Role == account.Merchant {
		return &u.Role
	}
	return nil
}

func profileChanges(in model.UpdateProfileInput) account.Changes {
	return account.Changes{
		Nickname: field(in.Nickname), AvatarURL: field(in.AvatarURL), City: field(in.City), Bio: field(in.Bio),
		Gender: field(in.Gender), Birthday: field(in.Birthday),
	}
}

const deviceCookie = "tandian_device" // holds the device token

// originOf returns the client of a request. Operations on a WebSocket have no headers,
// and so no device token.
func originOf(ctx context.Context) account.Origin {
	from := account.Origin{Network: callerOf(ctx).address, Remembers: gqlserver.TakesCookies(ctx)}
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

// setDeviceCookie sets the device cookie after a login. Browsers send it only to the API
// of this origin, and not for requests from other sites.
func setDeviceCookie(ctx context.Context, token string) {
	if token != "" {
		gqlserver.SetCookie(ctx, http.Cookie{
			Name: deviceCookie, Value: token, Path: "/graphql", MaxAge: int(account.DeviceLife.Seconds()), SameSite: http.SameSiteStrictMode,
		})
	}
}
