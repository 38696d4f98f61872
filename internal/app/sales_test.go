package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const (
	orderVoucher = `mutation O($v: ID!, $k: String) { orderVoucher(voucherId: $v, idempotencyKey: $k) { order { id number status failure { code } } userErrors { code field } } }`
	makeFlash    = `mutation F($input: CreateFlashVoucherInput!) { createFlashVoucher(input: $input) { voucher { id ... on FlashVoucher { sale { voucherId stock initialStock phase } } } userErrors { code field } } }`
	changeFlash  = `mutation U($input: UpdateFlashVoucherInput!) { updateFlashVoucher(input: $input) { voucher { id status ... on FlashVoucher { sale { stock initialStock phase } } } userErrors { code field } } }`
	makeVoucher  = `mutation V($input: CreateVoucherInput!) { createVoucher(input: $input) { voucher { id onePerUser status } userErrors { code field } } }`
	stockQuery   = `query S($v: ID!) { voucher(id: $v) { id status ... on FlashVoucher { sale { stock initialStock phase } } } }`
)

// placed is the answer to orderVoucher.
type placed struct {
	OrderVoucher struct {
		Order      *shownOrder
		UserErrors []apptest.UserError
	}
}

type shownOrder struct {
	ID, Number, Status string
	Failure            *apptest.UserError
}

// code returns the code of the first user error, or "".
func (p placed) code() string {
	if len(p.OrderVoucher.UserErrors) == 0 {
		return ""
	}
	return p.OrderVoucher.UserErrors[0].Code
}

// market is a shop with customers and merchants.
type market struct {
	admin, owner person
	customers    []person
	shop         string // its id
}

// openMarket seeds a market with customers. Call it before servers start.
func openMarket(t *testing.T, stack *apptest.Stack, customers int) market {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", strconv.Itoa(customers+2), "--shops", "1", "--tokens", path)
	people := tokens(t, path)
	return market{people[0], people[1], people[2:], scalar.ID{Type: "Shop", N: 1}.String()}
}

// flash creates a flash voucher with sale times relative to now, and returns its id.
func (m market) flash(t *testing.T, s *apptest.Server, stock int, begins, ends time.Duration) string {
	t.Helper()
	var made struct {
		CreateFlashVoucher struct {
			Voucher    struct{ ID string }
			UserErrors []apptest.UserError
		}
	}
	now := time.Now()
	s.As(m.owner.token).Must(t, makeFlash, map[string]any{"input": map[string]any{
		"shopId": m.shop, "title": "Noon", "payValue": 100, "faceValue": 500, "stock": stock,
		"beginsAt": now.Add(begins).Format(time.RFC3339Nano), "endsAt": now.Add(ends).Format(time.RFC3339Nano),
	}}, &made)
	if made.CreateFlashVoucher.Voucher.ID == "" {
		t.Fatalf("no voucher: %+v", made.CreateFlashVoucher.UserErrors)
	}
	return made.CreateFlashVoucher.Voucher.ID
}

// ordinary creates an ordinary voucher and returns its id.
func (m market) ordinary(t *testing.T, s *apptest.Server, onePerUser bool) string {
	t.Helper()
	var made struct {
		CreateVoucher struct{ Voucher struct{ ID string } }
	}
	s.As(m.owner.token).Must(t, makeVoucher, map[string]any{"input": map[string]any{
		"shopId": m.shop, "title": "Lunch", "payValue": 2500, "faceValue": 3000, "onePerUser": onePerUser,
	}}, &made)
	return made.CreateVoucher.Voucher.ID
}

// number returns the number of an id.
func number(t *testing.T, id string) int64 {
	t.Helper()
	parsed, err := scalar.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.N
}

// sold returns the state of a voucher in the database: live orders, users with orders, and
// stock.
func sold(t *testing.T, stack *apptest.Stack, voucher string) (orders, users, stock int) {
	t.Helper()
	row := stack.SQL(t).QueryRowContext(t.Context(), `SELECT count(*), count(DISTINCT user_id), (SELECT stock FROM flash_sales WHERE id = $1)
		FROM orders WHERE voucher_id = $1 AND status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED'`, number(t, voucher))
	if err := row.Scan(&orders, &users, &stock); err != nil {
		t.Fatal(err)
	}
	return orders, users, stock
}

// racer is a minimal client, so that the test measures the server.
type racer struct {
	client *http.Client
	url    string
	token  string
}

// order orders a voucher and returns the answer.
func (r racer) order(ctx context.Context, voucher string) (o *shownOrder, code string, err error) {
	body, err := json.Marshal(map[string]any{"query": orderVoucher, "variables": map[string]any{"v": voucher}})
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := r.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	var a struct {
		Data   placed
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return nil, "", fmt.Errorf("answer %d: %w", res.StatusCode, err)
	}
	if len(a.Errors) > 0 {
		return nil, a.Errors[0].Extensions.Code, nil
	}
	return a.Data.OrderVoucher.Order, a.Data.code(), nil
}

// Every user orders twice at once, on two servers if possible.
func TestThousandItemsSellToThousandOfFiveThousand(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		items, users := 1000, 5000
		if stack.Name == "embedded" { // a single server
			items, users = 200, 1000
		}
		m := openMarket(t, stack, users)
		a := stack.Start(t)
		b := a
		if stack.Name == "real" {
			b = stack.Start(t)
		}
		v := m.flash(t, a, items, -time.Hour, time.Hour)
		type outcome struct {
			order *shownOrder
			code  string
			err   error
		}
		got := make([][2]outcome, users)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}, Timeout: time.Minute}
		defer client.CloseIdleConnections()
		slots := make(chan struct{}, 64)
		var all sync.WaitGroup
		for i, p := range m.customers {
			slots <- struct{}{}
			all.Go(func() {
				var both sync.WaitGroup
				for j, s := range []*apptest.Server{a, b} {
					both.Go(func() {
						var o outcome
						o.order, o.code, o.err = racer{client, s.URL, p.token}.order(t.Context(), v)
						got[i][j] = o
					})
				}
				both.Wait()
				<-slots
			})
		}
		all.Wait()

		buyerOf := map[string]int{} // order → user
		codes := map[string]int{}
		for i, two := range got {
			for j, o := range two {
				switch {
				case o.err != nil:
					t.Fatalf("user %d: %v", i, o.err)
				case o.order != nil:
					if other, twice := buyerOf[o.order.ID]; twice && other != i {
						t.Errorf("users %d and %d got the same order", other, i)
					}
					buyerOf[o.order.ID] = i
				}
				codes[o.code]++
				if o.code == "OUT_OF_STOCK" && two[1-j].order != nil {
					t.Errorf("user %d got %q and has an order: %+v", i, o.code, two[1-j].order)
				}
			}
			if x, y := two[0].order, two[1].order; x != nil && y != nil && x.ID != y.ID {
				t.Errorf("user %d got two orders: %+v, %+v", i, x, y)
			}
		}
		if want := map[string]int{"": items, "ALREADY_ORDERED": items, "OUT_OF_STOCK": 2 * (users - items)}; gocmp.Diff(want, codes) != "" {
			t.Errorf("answers (-want +got)\n%s", gocmp.Diff(want, codes))
		}
		if len(buyerOf) != items {
			t.Errorf("got %d orders, want %d", len(buyerOf), items)
		}
		shows(t, "orders, users and stock in the database", fmt.Sprint(items, items, 0), func() string {
			return fmt.Sprint(sold(t, stack, v))
		})
		var shown struct {
			Voucher struct {
				Sale struct {
					Stock, InitialStock int
					Phase               string
				}
			}
		}
		b.Must(t, stockQuery, map[string]any{"v": v}, &shown)
		if s := shown.Voucher.Sale; s.Stock != 0 || s.InitialStock != items || s.Phase != "SOLD_OUT" {
			t.Errorf("got sale %+v", s)
		}
		for id, i := range buyerOf {
			if i%20 == 0 { // a sample, on the other server
				var one struct{ Order *shownOrder }
				b.As(m.customers[i].token).Must(t, `query O($id: ID!) { order(id: $id) { id number status } }`, map[string]any{"id": id}, &one)
				if one.Order == nil || one.Order.Status != "UNPAID" {
					t.Errorf("order %s: got %+v, want UNPAID", id, one.Order)
				}
			}
		}
	})
}

func TestSaleRejectionsAreUserErrors(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 7)
		s := stack.Start(t)
		off := m.ordinary(t, s, false)
		s.As(m.owner.token).Must(t, `mutation U($id: ID!) { updateVoucher(input: {id: $id, status: OFF_SALE}) { voucher { status } userErrors { code } } }`, map[string]any{"id": off}, nil)
		offFlash := m.flash(t, s, 5, -time.Hour, time.Hour)
		s.As(m.owner.token).Must(t, changeFlash, map[string]any{"input": map[string]any{"id": offFlash, "status": "OFF_SALE"}}, nil)
		gone := m.flash(t, s, 1, -time.Hour, time.Hour)
		s.As(m.customers[0].token).Must(t, orderVoucher, map[string]any{"v": gone}, nil)
		for i, tt := range []struct{ name, voucher, want string }{
			{"a sale that opens later", m.flash(t, s, 5, time.Hour, 2*time.Hour), "SALE_NOT_STARTED"},
			{"the last item", m.flash(t, s, 1, -time.Hour, time.Hour), ""},
			{"sold out", gone, "OUT_OF_STOCK"},
			{"off sale", off, "VOUCHER_OFF_SALE"},
			{"a flash voucher off sale", offFlash, "VOUCHER_OFF_SALE"},
			{"a missing voucher", scalar.ID{Type: "FlashVoucher", N: 1 << 40}.String(), "NOT_FOUND"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var p placed
				s.As(m.customers[1+i].token).Must(t, orderVoucher, map[string]any{"v": tt.voucher}, &p)
				if p.code() != tt.want || (p.OrderVoucher.Order != nil) != (tt.want == "") {
					t.Errorf("%+v, want %q", p.OrderVoucher, tt.want)
				}
			})
		}
		for _, tt := range []struct {
			name  string
			as    *apptest.Server
			query string
			vars  map[string]any
			want  string
		}{
			{"anonymous", s, orderVoucher, map[string]any{"v": gone}, "UNAUTHENTICATED"},
			{"an id of a shop", s.As(m.customers[0].token), orderVoucher, map[string]any{"v": m.shop}, "BAD_USER_INPUT"},
			{"a customer creates a voucher", s.As(m.customers[0].token), makeVoucher, map[string]any{"input": map[string]any{"shopId": m.shop, "title": "x", "payValue": 1, "faceValue": 1}}, "FORBIDDEN"},
			{"a customer, orders of a shop", s.As(m.customers[0].token), `query S($id: ID!) { shop(id: $id) { orders { edges { node { id } } } } }`, map[string]any{"id": m.shop}, "FORBIDDEN"},
			{"a customer, sales of a shop", s.As(m.customers[0].token), `query S($id: ID!) { shop(id: $id) { salesByDay(from: "2026-01-01", to: "2026-01-02") { paid } } }`, map[string]any{"id": m.shop}, "FORBIDDEN"},
			{"a merchant, sales of the site", s.As(m.owner.token), `{ salesByDay(from: "2026-01-01", to: "2026-01-02") { paid } }`, nil, "FORBIDDEN"},
			{"a year and two days", s.As(m.admin.token), `{ salesByDay(from: "2026-01-01", to: "2027-01-02") { paid } }`, nil, "BAD_USER_INPUT"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				a := tt.as.Do(t, tt.query, tt.vars, nil)
				if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != tt.want {
					t.Errorf("%+v, want %s", a.Errors, tt.want)
				}
			})
		}
	})
}

// shows is like sees, for values that are counted in the background every few seconds.
func shows(t *testing.T, what, want string, shown func() string) {
	t.Helper()
	await(t, 30*time.Second, 100*time.Millisecond, what, want, shown)
}

// step runs a mutation of an order, and returns its status and error code.
func step(t *testing.T, s *apptest.Server, verb, id string) (status, code string) {
	t.Helper()
	args := "orderId: $id"
	if verb == "pay" {
		args += ", method: ALIPAY"
	}
	var a map[string]struct {
		Order      *shownOrder
		UserErrors []apptest.UserError
	}
	s.Must(t, fmt.Sprintf(`mutation M($id: ID!) { %sOrder(%s) { order { id status } userErrors { code } } }`, verb, args), map[string]any{"id": id}, &a)
	for _, p := range a {
		if p.Order != nil {
			status = p.Order.Status
		}
		if len(p.UserErrors) > 0 {
			code = p.UserErrors[0].Code
		}
	}
	return status, code
}

func TestOrderLifecycle(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 4)
		s := stack.Start(t)
		owner, ann, ben := s.As(m.owner.token), s.As(m.customers[0].token), s.As(m.customers[1].token)
		v := m.flash(t, s, 10, -time.Hour, time.Hour)
		buy := func(as *apptest.Server) string {
			t.Helper()
			var p placed
			as.Must(t, orderVoucher, map[string]any{"v": v}, &p)
			if p.OrderVoucher.Order == nil || p.code() != "" {
				t.Fatalf("no order: %+v", p.OrderVoucher)
			}
			sees(t, "the order", "UNPAID", func() string { // the answer may precede the commit
				var shown struct{ Order shownOrder }
				as.Must(t, `query O($id: ID!) { order(id: $id) { id status } }`, map[string]any{"id": p.OrderVoucher.Order.ID}, &shown)
				return shown.Order.Status
			})
			return p.OrderVoucher.Order.ID
		}
		stock := func(want string) {
			t.Helper()
			sees(t, "stock", want, func() string {
				var shown struct {
					Voucher struct{ Sale struct{ Stock int } }
				}
				s.Must(t, stockQuery, map[string]any{"v": v}, &shown)
				return strconv.Itoa(shown.Voucher.Sale.Stock)
			})
		}
		does := func(as *apptest.Server, verb, id, status, code string) {
			t.Helper()
			if gotStatus, gotCode := step(t, as, verb, id); gotStatus != status || gotCode != code {
				t.Errorf("%s: %q %q, want %q %q", verb, gotStatus, gotCode, status, code)
			}
		}
		first := buy(ann)
		stock("9")
		does(ben, "pay", first, "", "NOT_FOUND")
		does(ann, "refund", first, "UNPAID", "ORDER_NOT_REFUNDABLE")
		does(owner, "redeem", first, "UNPAID", "ORDER_NOT_REDEEMABLE")
		does(ann, "cancel", first, "CANCELLED", "")
		stock("10")
		does(ann, "cancel", first, "CANCELLED", "ORDER_NOT_CANCELLABLE")
		does(ann, "pay", first, "CANCELLED", "ORDER_NOT_PAYABLE")

		second := buy(ann)
		if second == first {
			t.Error("got the cancelled order again")
		}
		does(ann, "pay", second, "PAID", "")
		does(ann, "cancel", second, "PAID", "ORDER_NOT_CANCELLABLE")
		does(owner, "redeem", second, "USED", "")
		does(owner, "redeem", second, "USED", "ORDER_NOT_REDEEMABLE")
		does(ann, "refund", second, "USED", "ORDER_NOT_REFUNDABLE")
		stock("9")

		third := buy(ben)
		does(ben, "pay", third, "PAID", "")
		if status, code := step(t, ben, "refund", third); code != "" || status != "REFUNDING" && status != "REFUNDED" {
			t.Errorf("refund: %q %q", status, code)
		}
		stock("9")
		var list struct {
			Me struct {
				Orders struct{ Edges []struct{ Node shownOrder } }
			}
		}
		sees(t, "ben's orders", "REFUNDED", func() string {
			ben.Must(t, `{ me { orders { edges { node { id status } } } } }`, nil, &list)
			var all []string
			for _, e := range list.Me.Orders.Edges {
				all = append(all, e.Node.Status)
			}
			return strings.Join(all, " ")
		})
		var seen struct {
			Shop struct {
				Sold       int
				Orders     struct{ Edges []struct{ Node shownOrder } }
				SalesByDay []struct{ Orders, Paid, Amount int }
			}
		}
		today := time.Now().Format(time.DateOnly)
		shows(t, "sales of the shop", "1 sold, 3 orders, [{3 2 200}]", func() string {
			owner.Must(t, `query S($id: ID!, $d: Date!) { shop(id: $id) { sold orders(first: 10) { edges { node { id status } } } salesByDay(from: $d, to: $d) { orders paid amount } } }`,
				map[string]any{"id": m.shop, "d": today}, &seen)
			return fmt.Sprintf("%d sold, %d orders, %v", seen.Shop.Sold, len(seen.Shop.Orders.Edges), seen.Shop.SalesByDay)
		})
		shows(t, "the points for 100 minor units", "1, level 0", func() string {
			var of struct{ Me struct{ Points, Level int } }
			ann.Must(t, `{ me { points level } }`, nil, &of)
			return fmt.Sprintf("%d, level %d", of.Me.Points, of.Me.Level)
		})
	})
}

func TestIdempotencyKeyMakesOneOrder(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 3)
		s := stack.Start(t)
		for i, v := range []string{m.flash(t, s, 5, -time.Hour, time.Hour), m.ordinary(t, s, false), m.ordinary(t, s, true)} {
			name := []string{"flash", "ordinary", "one per user"}[i]
			t.Run(name, func(t *testing.T) {
				ann := s.As(m.customers[i].token)
				var first, again, other placed
				ann.Must(t, orderVoucher, map[string]any{"v": v, "k": "a"}, &first)
				ann.Must(t, orderVoucher, map[string]any{"v": v, "k": "a"}, &again)
				if again.code() != "" || again.OrderVoucher.Order == nil || again.OrderVoucher.Order.ID != first.OrderVoucher.Order.ID {
					t.Errorf("the retry: %+v, want %+v", again.OrderVoucher, first.OrderVoucher.Order)
				}
				ann.Must(t, orderVoucher, map[string]any{"v": v, "k": "b"}, &other)
				if name == "ordinary" {
					if other.code() != "" || other.OrderVoucher.Order.ID == first.OrderVoucher.Order.ID {
						t.Errorf("another key: %+v", other.OrderVoucher)
					}
					return
				}
				if other.code() != "ALREADY_ORDERED" || other.OrderVoucher.Order == nil || other.OrderVoucher.Order.ID != first.OrderVoucher.Order.ID {
					t.Errorf("another key: got %+v, want the existing order", other.OrderVoucher)
				}
			})
		}
	})
}

// Times beyond RFC 3339 could neither be cached nor sent.
func TestSaleTimesAreRepresentable(t *testing.T) {
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 1)
	s := stack.Start(t)
	v := m.flash(t, s, 5, -time.Hour, time.Hour)
	for _, tt := range []struct{ begins, ends string }{
		{"9999-12-31T22:00:00Z", "9999-12-31T23:59:59-23:00"}, // the year 10000
		{"0000-01-01T00:00:00+23:00", "0000-01-01T01:00:00+23:00"},
		{"", "0001-01-02T00:00:00Z"},
		{"2026-01-01 00:00:00", "2026-01-02 00:00:00"},
	} {
		a := s.As(m.owner.token).Do(t, changeFlash, map[string]any{"input": map[string]any{"id": v, "beginsAt": tt.begins, "endsAt": tt.ends}}, nil)
		if c := code(t, a); c != "BAD_USER_INPUT" {
			t.Errorf("from %q to %q: %q, %s", tt.begins, tt.ends, c, a.Data)
		}
	}
	s.Must(t, `query S($v: ID!) { voucher(id: $v) { ... on FlashVoucher { sale { beginsAt endsAt } } } }`, map[string]any{"v": v}, nil)
}

func TestSumsExceed32Bits(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		for _, change := range []string{"UPDATE users SET points = 3000000000, follower_count = 3000000000", "UPDATE shops SET sold = 3000000000"} {
			if _, err := stack.SQL(t).ExecContext(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		s := stack.Start(t)
		v := number(t, m.ordinary(t, s, false))
		now := time.Now()
		for i := range 31 {
			if _, err := stack.SQL(t).ExecContext(t.Context(), `INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, version, tallied, created_at, pay_before, paid_at)
				VALUES ($1, 3, $2, 1, 'PAID', false, false, 100000000, 1, true, $3, $3, $3)`, 1000+i, v, now.UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		want := `{"me":{"points":3000000000,"followerCount":2147483647},"shop":{"sold":3000000000,"salesByDay":[{"orders":31,"paid":31,"amount":3100000000}]},"salesByDay":[{"orders":31,"paid":31,"amount":3100000000}]}`
		day := map[string]any{"d": now.Format(time.DateOnly), "id": m.shop}
		got := s.As(m.admin.token).Do(t, `query S($d: Date!, $id: ID!) { me { points followerCount }
			shop(id: $id) { sold salesByDay(from: $d, to: $d) { orders paid amount } } salesByDay(from: $d, to: $d) { orders paid amount } }`, day, nil)
		if d := gocmp.Diff(want, string(got.Data)); d != "" {
			t.Errorf("by gqlgen (-want +got):\n%s", d)
		}
		want = `{"me":{"points":3000000000,"followerCount":2147483647},"shop":{"sold":3000000000}}`
		got = s.As(m.admin.token).Do(t, `query S($id: ID!) { me { points followerCount } shop(id: $id) { sold } }`, day, nil)
		if d := gocmp.Diff(want, string(got.Data)); d != "" {
			t.Errorf("by a plan (-want +got):\n%s", d)
		}
	})
}
