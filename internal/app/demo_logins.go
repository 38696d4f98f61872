package app

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A shownLogin is a login to try, as the sign-in page and the playground offer it.
type shownLogin struct {
	Role     string `json:"role"`
	Phone    string `json:"phone"`
	Password string `json:"password"`
	Nickname string `json:"nickname"`
}

// serveLogins answers with the logins to try, the customer's first, so that the
// sign-in page can offer them as buttons. They stand on the terminal as well, and
// whoever may read them there is whom they are for: somebody at this machine. So
// anybody else gets an empty list, as everybody does where there are none, on real
// stores, and where others than this machine are listened to: who is meant to come
// from elsewhere may come by anything that runs here. A request counts as one from
// this machine if nothing speaks against it: see [fromThisMachine].
func (a *App) serveLogins(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Logins []shownLogin `json:"logins"`
	}{[]shownLogin{}}
	if a.demoPassword != "" && a.addr.Load().IP.IsLoopback() && fromThisMachine(r) {
		for _, l := range slices.Backward(demoLogins()) {
			answer.Logins = append(answer.Logins, shownLogin{string(l.Role), l.Phone.E164(), a.demoPassword, l.Nickname})
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_ = json.NewEncoder(w).Encode(answer) // who is gone needs no answer
}

// fromThisMachine reports whether a request was sent by somebody at this machine,
// and by a page of ours if by any. The connection must come from it, and not by way
// of a proxy that runs here. The host must be this machine by name, or a page of
// elsewhere whose name was made to lead here (DNS rebinding) would be of the
// server's origin. And the browser must not say that another site's page asks.
//
// A proxy with no settings but where to pass things on adds no header, and names this
// machine as the host. It is told by HTTP/1.0, which nginx speaks unless it is new or
// told otherwise and no browser does, and by the page that the browser is at.
func fromThisMachine(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || !r.ProtoAtLeast(1, 1) || forwarded(r.Header) || fromAnotherPage(r) {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch strings.ToLower(host) {
	case "localhost", "127.0.0.1", "::1", "[::1]":
	default:
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	default:
		return false
	}
}

// forwarded reports whether a proxy handed a request on, by the headers in which
// proxies say so.
func forwarded(h http.Header) bool {
	for name := range h {
		switch {
		case strings.HasPrefix(name, "X-Forwarded-"):
			return true
		case slices.Contains([]string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}, name):
			return true
		}
	}
	return false
}

// fromAnotherPage reports whether a request says that a page of another host than its
// own sends it.
func fromAnotherPage(r *http.Request) bool {
	for _, page := range slices.Concat(r.Header.Values("Referer"), r.Header.Values("Origin")) {
		if at, err := url.Parse(page); err != nil || !strings.EqualFold(at.Host, r.Host) {
			return true
		}
	}
	return false
}
