package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

type namedShops struct {
	Edges []struct {
		Node struct{ ID string }
	}
}

func (n namedShops) ids() []string {
	var ids []string
	for _, e := range n.Edges {
		ids = append(ids, e.Node.ID)
	}
	return ids
}

const rankedShops = `query R($kind: ShopRankingKind!, $type: ID) { shopRanking(kind: $kind, typeId: $type) { edges { node { id } } } }`

// ranked returns a ranking.
func ranked(t *testing.T, s *apptest.Server, kind string, typeID any) []string {
	t.Helper()
	var got struct{ ShopRanking namedShops }
	s.Must(t, rankedShops, map[string]any{"kind": kind, "type": typeID}, &got)
	return got.ShopRanking.ids()
}

// becomes waits until a ranking has these shops, on all servers. It ignores the shop of the market.
func (m market) becomes(t *testing.T, kind string, want []string, servers ...*apptest.Server) {
	t.Helper()
	for _, s := range servers {
		var got []string
		testkit.Eventually(t, 20*time.Second, func() bool {
			before := got
			got = slices.DeleteFunc(ranked(t, s, kind, nil), func(id string) bool { return id == m.shop })
			if !slices.Equal(got, before) {
				t.Logf("%s: got %v, waiting for %v", kind, got, want)
			}
			return slices.Equal(got, want)
		})
	}
}

func TestRankingsFollowActivity(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		a := stack.Start(t)
		b := a
		if stack.Name == "real" {
			b = stack.Start(t)
		}
		ann, bob, cat := a.As(m.customers[0].token), b.As(m.customers[1].token), a.As(m.customers[2].token)
		one, two, three := m.newShop(t, a), m.newShop(t, a), m.newShop(t, a)
		for _, by := range []*apptest.Server{ann, bob, cat} {
			rate(t, by, one, 4, nil)
		}
		rate(t, ann, two, 5, nil)
		m.becomes(t, "TOP_RATED", []string{two, one}, a, b)
		m.becomes(t, "TRENDING", []string{one, two}, a, b)
		rate(t, bob, two, 1, nil)
		m.becomes(t, "TOP_RATED", []string{one, two}, a, b)
		for _, by := range []*apptest.Server{ann, bob, cat} {
			by.Must(t, saveShop, map[string]any{"id": three}, nil)
		}
		bob.Must(t, `mutation($s: ID!) { publishNote(input: {shopId: $s, title: "T", content: "C"}) { note { id } } }`, map[string]any{"s": three}, nil)
		m.becomes(t, "TRENDING", []string{three, one, two}, a, b)
		for _, by := range []*apptest.Server{ann, bob, cat} {
			by.Must(t, unsaveShop, map[string]any{"id": three}, nil)
		}
		m.becomes(t, "TRENDING", []string{one, two, three}, a, b)
		if got := ranked(t, a, "TRENDING", "U2hvcFR5cGU6Mg"); len(got) != 0 {
			t.Errorf("got %v in another type, want none", got)
		}
		v := m.ordinary(t, a, false)
		var placed struct {
			OrderVoucher struct{ Order struct{ ID string } }
		}
		ann.Must(t, `mutation($v: ID!) { orderVoucher(voucherId: $v) { order { id } } }`, map[string]any{"v": v}, &placed)
		ann.Must(t, `mutation($o: ID!) { payOrder(orderId: $o, method: ALIPAY) { order { id } } }`, map[string]any{"o": placed.OrderVoucher.Order.ID}, nil)
		for _, s := range []*apptest.Server{a, b} {
			testkit.Eventually(t, 20*time.Second, func() bool { return slices.Equal(ranked(t, s, "BEST_SELLING", nil), []string{m.shop}) })
		}
	})
}

const filteredShops = `query F($f: ShopFilter!) { shops(filter: $f, orderBy: NEWEST) { edges { node { id } } } }`

func TestVouchersAndHoursFilterShops(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		a := stack.Start(t)
		owner := a.As(m.owner.token)
		list := func(filter map[string]any) []string {
			t.Helper()
			var got struct{ Shops namedShops }
			a.Must(t, filteredShops, map[string]any{"f": filter}, &got)
			return got.Shops.ids()
		}
		check := func(name string, filter map[string]any, want ...string) {
			t.Helper()
			if d := cmp.Diff(want, list(filter)); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
		var made shopAnswer
		owner.Must(t, createShop, map[string]any{"input": shopInput(map[string]any{
			"openHours": "24/7", "phone": "+84 24 1", "website": "https://example.com/", "timeZone": "Asia/Ho_Chi_Minh", "avgPrice": 900,
		})}, &made)
		always, _ := made.CreateShop.Shop["id"].(string)
		owner.Must(t, createShop, map[string]any{"input": shopInput(map[string]any{"openHours": "Mo-Fr 00:00-00:01"})}, &made)
		never, _ := made.CreateShop.Shop["id"].(string) // except in one minute of a day
		check("open", map[string]any{"openNow": true, "search": "A new shop"}, always)
		check("closed", map[string]any{"openNow": false, "search": "A new shop"}, never)
		check("cheap", map[string]any{"maxPrice": 900, "minPrice": 900}, always)
		check("without a flash sale", map[string]any{"hasFlashSale": false}, never, always, m.shop)
		check("with a voucher", map[string]any{"hasVoucher": true})
		v := m.ordinary(t, a, false)
		check("with a voucher, after one is on sale", map[string]any{"hasVoucher": true}, m.shop)
		check("with a flash sale", map[string]any{"hasFlashSale": true})
		flash := m.flash(t, a, 5, time.Hour, 2*time.Hour)
		check("with a flash sale, before it begins", map[string]any{"hasFlashSale": true}, m.shop)
		owner.Must(t, `mutation($v: ID!) { updateVoucher(input: {id: $v, status: OFF_SALE}) { voucher { id } } }`, map[string]any{"v": v}, nil)
		check("with a voucher: the flash sale", map[string]any{"hasVoucher": true}, m.shop)
		owner.Must(t, `mutation($v: ID!) { updateFlashVoucher(input: {id: $v, status: OFF_SALE}) { voucher { id } } }`, map[string]any{"v": flash}, nil)
		check("with a voucher, after all are off sale", map[string]any{"hasVoucher": true})
		check("with a flash sale, after it is off sale", map[string]any{"hasFlashSale": true})

		var got struct{ Shop map[string]any }
		a.Must(t, `query($id: ID!) { shop(id: $id) { isOpen timeZone phone website score hours { text nextChange week { weekday ranges { opens closes } } } } }`, map[string]any{"id": always}, &got)
		var week []any
		for day := range 7 {
			week = append(week, map[string]any{"weekday": float64(day + 1), "ranges": []any{map[string]any{"opens": "00:00", "closes": "24:00"}}})
		}
		want := map[string]any{
			"isOpen": true, "timeZone": "Asia/Ho_Chi_Minh", "phone": "+84 24 1", "website": "https://example.com/", "score": nil,
			"hours": map[string]any{"text": "24/7", "nextChange": nil, "week": week},
		}
		if d := cmp.Diff(want, got.Shop); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
