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

// demoLogin is a demo login as the sign-in page and the playground get it.
type demoLogin struct {
	Role     string `json:"role"`
	Phone    string `json:"phone"`
	Password string `json:"password"`
	Nickname string `json:"nickname"`
}

// serveLogins serves the demo logins, the customer's first, for buttons on the sign-in page.
// They are for users of this machine, whose terminal shows them too. Other clients get an
// empty list; see [fromThisMachine]. If the server listens on another address than loopback,
// every client does: a proxy on this machine could forward requests of remote clients.
func (a *App) serveLogins(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Logins []demoLogin `json:"logins"`
	}{[]demoLogin{}}
	if a.demoPassword != "" && a.addr.Load().IP.IsLoopback() && fromThisMachine(r) {
		for _, l := range slices.Backward(demoLogins()) {
			answer.Logins = append(answer.Logins, demoLogin{string(l.Role), l.Phone.E164(), a.demoPassword, l.Nickname})
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_ = json.NewEncoder(w).Encode(answer) // the client may have disconnected
}

// fromThisMachine reports whether a client on this machine sent the request, and no page of
// another site. The connection must be local and not forwarded by a proxy. The host must be
// a name of this machine, against DNS rebinding. Sec-Fetch-Site must not name another site.
//
// A minimal proxy adds no header and names this machine as the host. Two signs reveal it:
// HTTP/1.0, which older nginx versions use and browsers do not, and a Referer or Origin of
// another host.
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

// forwarded reports whether a request has headers that proxies add.
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

// fromAnotherPage reports whether Referer or Origin names another host than the request.
func fromAnotherPage(r *http.Request) bool {
	for _, page := range slices.Concat(r.Header.Values("Referer"), r.Header.Values("Origin")) {
		if u, err := url.Parse(page); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	return false
}
