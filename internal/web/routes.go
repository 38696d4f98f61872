package web

import (
	"net/http"
	"slices"
	"strings"
)

// A route is a path of the app, with the types of objects that its pages show.
type route struct {
	path  string   // in the syntax of the app's router: "/shops/:id"
	types []string // of the object :id; empty for any text
	lists []string // values of :list
}

// routes returns the routes of App.tsx, which a test compares. The first match counts.
func routes() []route {
	vouchers := []string{"OrdinaryVoucher", "FlashVoucher"}
	return []route{
		{path: "/"},
		{path: "/search"},
		{path: "/rankings"},
		{path: "/signin"},
		{path: "/settings"},
		{path: "/shops/:id", types: []string{"Shop"}},
		{path: "/vouchers/:id", types: vouchers},
		{path: "/sales/:id", types: vouchers}, // the app redirects to /vouchers
		{path: "/notes/:id", types: []string{"Note"}},
		{path: "/users/:id", types: []string{"User"}},
		{path: "/users/:id/:list", types: []string{"User"}, lists: []string{"followers", "followees", "common"}},
		{path: "/orders"},
		{path: "/orders/:id", types: []string{"Order"}},
		{path: "/publish"},
		{path: "/feed"},
		{path: "/saved"},
		{path: "/me"},
		{path: "/me/edit"},
		{path: "/merchant"},
		{path: "/merchant/redeem"},
		{path: "/merchant/shops/new"},
		{path: "/merchant/shops/:id", types: []string{"Shop"}},
		{path: "/merchant/shops/:id/edit", types: []string{"Shop"}},
		{path: "/merchant/shops/:id/vouchers/new", types: []string{"Shop"}},
		{path: "/merchant/vouchers/:id", types: vouchers},
		{path: "/admin"},
	}
}

// match returns the id in a path that the route matches, "" for a route without one. Like the
// app's router, it ignores the case of fixed segments and one trailing slash.
func (t route) match(path string) (id string, ok bool) {
	want, got := strings.Split(t.path, "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if path == "/" {
		got = []string{"", ""}
	}
	if len(want) != len(got) {
		return "", false
	}
	for i, segment := range want {
		switch {
		case segment == ":id" && got[i] != "":
			id = got[i]
		case segment == ":list" && slices.Contains(t.lists, got[i]):
		case !strings.EqualFold(segment, got[i]):
			return "", false
		}
	}
	return id, true
}

// Exists reports whether a client can find an object of one of these types, by the id in a path,
// which may be any text. It reports true if this is unknown at the moment. It is called once per
// request, so it may count against a rate limit of the client.
type Exists func(r *http.Request, types []string, id string) bool

// page returns the status of the app's page for a request, 404 for its page about missing pages.
// ok is false if the path has no page at all.
func (s *Site) page(r *http.Request) (status int, ok bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if slices.Contains(s.reserved, first) {
		return 0, false
	}
	for _, t := range s.routes {
		id, ok := t.match(r.URL.Path)
		switch {
		case !ok:
			continue
		case len(t.types) > 0 && s.exists != nil && !s.exists(r, t.types, id):
			return http.StatusNotFound, true
		}
		return http.StatusOK, true
	}
	return http.StatusNotFound, !isFile(r.URL.Path)
}

// isFile reports whether a path that matches no route names a file: a segment begins with a dot,
// or the last one has an extension.
func isFile(path string) bool {
	return strings.Contains(path, "/.") || strings.Contains(path[strings.LastIndexByte(path, '/')+1:], ".")
}
