package app_test

import (
	"net/http"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// link requests a page from a client address without an Accept header.
func link(t *testing.T, s *apptest.Server, path, addr string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", addr)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if kind := res.Header.Get("Content-Type"); kind != "text/html; charset=utf-8" {
		t.Errorf("%s: %d, %s; want the app's page", path, res.StatusCode, kind)
	}
	return res.StatusCode
}

func TestLinkStatusShowsWhetherObjectExists(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Config.TrustedProxies = []string{"127.0.0.1"}
	staff := startStaff(t, stack)
	s := staff.anonymous
	m := market{shop: someShop(t, s)}
	note, gone := m.note(t, staff.customer, "Here"), m.note(t, staff.customer, "Gone")
	var me struct{ Me struct{ ID string } }
	staff.customer.Must(t, `{ me { id } }`, nil, &me)
	if got := link(t, s, "/notes/"+gone, "203.0.113.1"); got != http.StatusOK {
		t.Errorf("a note before its deletion: got %d", got)
	}
	staff.customer.Must(t, deleteNote, map[string]any{"id": gone}, nil)
	tests := []struct {
		path string
		want int
	}{
		{"/shops/" + m.shop, 200},
		{"/merchant/shops/" + m.shop + "/edit", 200},
		{"/notes/" + note, 200},
		{"/users/" + me.Me.ID, 200},
		{"/users/" + me.Me.ID + "/followees", 200},
		{"/orders/" + absent("Order"), 200}, // must not reveal whether it exists
		{"/shops/" + absent("Shop"), 404},
		{"/shops/" + me.Me.ID, 404},
		{"/shops/" + m.shop + "=", 404},
		{"/shops/1", 404},
		{"/notes/" + gone, 404},
		{"/notes/" + absent("Comment"), 404},
		{"/users/" + absent("User") + "/followers", 404},
		{"/vouchers/" + absent("OrdinaryVoucher"), 404},
		{"/sales/" + absent("FlashVoucher"), 404},
		{"/vouchers/" + m.shop, 404},
		{"/orders/" + m.shop, 404},
	}
	for _, tt := range tests {
		if got := link(t, s, tt.path, "203.0.113.1"); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.path, got, tt.want)
		}
	}
}

// Beyond the limit, the status is 200 without a lookup.
func TestBrokenLinkLookupsAreLimited(t *testing.T) {
	t.Parallel()
	const limit = 4
	stack := apptest.Embedded(t)
	stack.Config.AbsentReads, stack.Config.TrustedProxies = limit, []string{"127.0.0.1"}
	s := startStaff(t, stack).anonymous
	awaitIdle(t, s)
	shopOf := func(n int64) string { return "/shops/" + scalar.ID{Type: "Shop", N: 987_000_000 + n}.String() }
	for n := range int64(limit) {
		if got := link(t, s, shopOf(n), "203.0.113.1"); got != http.StatusNotFound {
			t.Fatalf("link %d: got %d, want 404", n, got)
		}
	}
	next := int64(1000)
	readsNothing(t, s, func() {
		for range 10 {
			if got := link(t, s, shopOf(next), "203.0.113.1"); got != http.StatusOK {
				t.Errorf("link %d beyond the limit: got %d, want 200", next, got)
			}
			next++
		}
	})
	if got := link(t, s, shopOf(200), "203.0.113.99"); got != http.StatusNotFound {
		t.Errorf("another client: got %d, want 404", got)
	}
}
