package door

import (
	"context"
	"net/http"
)

// TakesCookies reports whether the answer of the operation that ctx belongs to can set
// cookies: by HTTP, and not on a socket.
func TakesCookies(ctx context.Context) bool {
	return requestOf(ctx).answer != nil
}

// SetCookie adds a cookie to the answer of the operation that ctx belongs to, if that
// [TakesCookies]. The cookie is HttpOnly, and Secure where the client came by HTTPS. Only
// a mutation may call it: its fields run one after the other.
func SetCookie(ctx context.Context, cookie http.Cookie) {
	r := requestOf(ctx)
	if r.answer == nil {
		return
	}
	cookie.HttpOnly = true
	cookie.Secure = r.caller.server.cfg.TrustedProxies.HTTPS(r.http)
	http.SetCookie(r.answer, &cookie)
}
