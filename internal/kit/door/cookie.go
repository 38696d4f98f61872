package door

import (
	"context"
	"net/http"
)

// TakesCookies reports whether the answer of the operation that ctx belongs to can set
// cookies: by HTTP, and not on a socket.
func TakesCookies(ctx context.Context) bool {
	of, ok := ctx.Value(callerKey{}).(*callerContext)
	return ok && of.answer != nil
}

// SetCookie adds a cookie to the answer of the operation that ctx belongs to, if that
// [TakesCookies]. The cookie is HttpOnly, and Secure where the client came by HTTPS. Only
// a mutation may call it: its fields run one after the other.
func SetCookie(ctx context.Context, cookie http.Cookie) {
	of, ok := ctx.Value(callerKey{}).(*callerContext)
	if !ok || of.answer == nil {
		return
	}
	cookie.HttpOnly = true
	cookie.Secure = of.caller.door.cfg.Proxies.HTTPS(of.request)
	http.SetCookie(of.answer, &cookie)
}
