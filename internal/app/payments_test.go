package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/webhook"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestStartLogsHowPaymentsAreMade(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, secret  string
		fake          bool
		stack         func(testing.TB) *apptest.Stack
		warning, note string
	}{
		{"embedded", "", false, apptest.Embedded, "", "Payments are fake"},
		{"embedded, and a provider", "0123456789abcdef", false, apptest.Embedded, "", ""},
		{"real stores", "", false, apptest.Real, "payments are not set up", ""},
		{"real stores, and the flag", "", true, apptest.Real, "payments are fake", ""},
		{"real stores, and a provider", "0123456789abcdef", false, apptest.Real, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stack := tt.stack(t)
			stack.Config.PaymentWebhookSecret, stack.Config.FakePayments = tt.secret, tt.fake
			s := stack.Start(t)
			warned := warnings(t, s)
			for _, text := range []string{"payments are not set up", "payments are fake"} {
				if got := strings.Contains(warned, text); got != (text == tt.warning) {
					t.Errorf("warning %q: got %v", text, got)
				}
			}
			if got := strings.Contains(s.Out.String(), "Payments are fake"); got != (tt.note != "") {
				t.Errorf("note on the terminal: got %v", got)
			}
		})
	}
}

func TestPaymentsNeedMoneyOrAProvider(t *testing.T) {
	t.Parallel()
	const payBy = `mutation P($id: ID!, $m: PayMethod!) { payOrder(orderId: $id, method: $m) { order { status } userErrors { code } } }`
	type payment struct {
		PayOrder struct {
			Order      shownOrder
			UserErrors []apptest.UserError
		}
	}
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		order := func(s *apptest.Server) (ann *apptest.Server, id string) {
			ann = s.As(m.customers[0].token)
			var p placed
			ann.Must(t, orderVoucher, map[string]any{"v": m.ordinary(t, s, false)}, &p)
			return ann, p.OrderVoucher.Order.ID
		}
		refused := func(ann *apptest.Server, id, method, code string) {
			t.Helper()
			var p payment
			ann.Must(t, payBy, map[string]any{"id": id, "m": method}, &p)
			if p.PayOrder.Order.Status != "UNPAID" || len(p.PayOrder.UserErrors) != 1 || p.PayOrder.UserErrors[0].Code != code {
				t.Errorf("%s: %+v, want %s", method, p, code)
			}
		}
		stack.Config.PaymentWebhookSecret, stack.Config.FakePayments = "0123456789abcdef", false
		ann, id := order(stack.Start(t))
		refused(ann, id, "BALANCE", "INSUFFICIENT_BALANCE")

		stack.Config.PaymentWebhookSecret = ""
		if stack.Name != "real" {
			return
		}
		ann, id = order(stack.Start(t))
		for _, method := range []string{"BALANCE", "ALIPAY", "WECHAT"} {
			if got := ann.Do(t, payBy, map[string]any{"id": id, "m": method}, nil); len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "UNAVAILABLE" {
				t.Errorf("%s without a provider: %+v", method, got)
			}
		}
	})
}

func TestAdministratorAdjustsBalances(t *testing.T) {
	t.Parallel()
	const adjust = `mutation A($id: ID!, $n: Long!) { adjustBalance(userId: $id, amount: $n, reason: "paid in cash") { balance user { id balance } userErrors { code } } }`
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		stack.Config.PaymentWebhookSecret = "0123456789abcdef"
		s := stack.Start(t)
		ann, bob, admin := s.As(m.customers[0].token), s.As(m.customers[1].token), s.As(m.admin.token)
		own := func(s *apptest.Server) int {
			var a struct{ Me struct{ Balance int } }
			s.Must(t, `{ me { balance } }`, nil, &a)
			return a.Me.Balance
		}
		var me struct{ Me struct{ ID string } }
		ann.Must(t, `{ me { id } }`, nil, &me)
		var others struct{ User struct{ Balance *int } }
		for name, s := range map[string]*apptest.Server{"another user": bob, "an administrator": admin, "an anonymous caller": s} {
			if s.Must(t, `query U($id: ID!) { user(id: $id) { balance } }`, map[string]any{"id": me.Me.ID}, &others); others.User.Balance != nil {
				t.Errorf("%s sees the balance", name)
			}
		}
		var a struct {
			AdjustBalance struct {
				Balance    *int
				User       *struct{ ID string }
				UserErrors []apptest.UserError
			}
		}
		if got := bob.Do(t, adjust, map[string]any{"id": me.Me.ID, "n": 100}, nil); len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "FORBIDDEN" {
			t.Errorf("a customer adjusts a balance: got %+v", got)
		}
		admin.Must(t, adjust, map[string]any{"id": me.Me.ID, "n": 2600}, &a)
		if got := a.AdjustBalance; got.Balance == nil || *got.Balance != 2600 || got.User.ID != me.Me.ID || own(ann) != 2600 {
			t.Fatalf("got %+v, and the user sees %d, want 2600", got, own(ann))
		}
		var p placed
		ann.Must(t, orderVoucher, map[string]any{"v": m.ordinary(t, s, false)}, &p)
		id := p.OrderVoucher.Order.ID
		var paid struct{ PayOrder struct{ Order shownOrder } }
		ann.Must(t, `mutation P($id: ID!) { payOrder(orderId: $id, method: BALANCE) { order { status } } }`, map[string]any{"id": id}, &paid)
		if paid.PayOrder.Order.Status != "PAID" || own(ann) != 100 {
			t.Errorf("got %+v and a balance of %d, want 100", paid, own(ann))
		}
		if admin.Must(t, adjust, map[string]any{"id": me.Me.ID, "n": -101}, &a); len(a.AdjustBalance.UserErrors) != 1 || a.AdjustBalance.UserErrors[0].Code != "INSUFFICIENT_BALANCE" {
			t.Errorf("below zero: %+v", a)
		}
		if status, code := step(t, ann, "refund", id); status != "REFUNDED" || own(ann) != 2600 {
			t.Errorf("refund: got %s %s and a balance of %d, want 2600", status, code, own(ann))
		}
	})
}

func TestProviderConfirmsPaymentsByWebhook(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	stack := apptest.Embedded(t)
	m := openMarket(t, stack, 1)
	stack.Config.PaymentWebhookSecret = secret
	s := stack.Start(t)
	ann := s.As(m.customers[0].token)
	v := m.ordinary(t, s, false)
	pay := func(method string) (id, number, status string) {
		t.Helper()
		var p placed
		ann.Must(t, orderVoucher, map[string]any{"v": v}, &p)
		var paid struct{ PayOrder struct{ Order shownOrder } }
		ann.Must(t, fmt.Sprintf(`mutation P($id: ID!) { payOrder(orderId: $id, method: %s) { order { id number status } } }`, method), map[string]any{"id": p.OrderVoucher.Order.ID}, &paid)
		o := paid.PayOrder.Order
		return o.ID, o.Number, o.Status
	}
	for _, method := range []string{"ALIPAY", "WECHAT"} {
		id, number, status := pay(method)
		if status != "UNPAID" {
			t.Errorf("%s, before the notice: got %s, want UNPAID", method, status)
		}
		notify := func(state, want string) {
			t.Helper()
			if code := notice(t, s, secret, number, state, 2499); code != http.StatusConflict {
				t.Errorf("%s %s of another amount: %d", method, state, code)
			}
			if code := notice(t, s, secret, number, state, 2500); code != http.StatusNoContent {
				t.Errorf("%s %s: %d", method, state, code)
			}
			var of struct{ Order shownOrder }
			ann.Must(t, `query O($id: ID!) { order(id: $id) { status } }`, map[string]any{"id": id}, &of)
			if of.Order.Status != want {
				t.Errorf("%s %s: %s, want %s", method, state, of.Order.Status, want)
			}
		}
		if code := notice(t, s, "another secret of 16 bytes", number, "CONFIRMED", 2500); code != http.StatusUnauthorized {
			t.Errorf("%s, forged: %d", method, code)
		}
		notify("CONFIRMED", "PAID")
		if status, code := step(t, ann, "refund", id); status != "REFUNDING" || code != "" {
			t.Errorf("%s, refund: %s %s", method, status, code)
		}
		notify("REFUNDED", "REFUNDED")
	}
}

// notice sends the provider's notice about the first payment attempt of an order.
func notice(t *testing.T, s *apptest.Server, secret, number, state string, amount int) (status int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"orderNumber": number, "attempt": 1, "state": state, "amount": amount, "currency": "CNY"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/payment", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(webhook.Header, webhook.Sign([]byte(secret), body))
	res, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
