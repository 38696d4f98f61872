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

func TestTheStartSaysThatPaymentsAreMadeUp(t *testing.T) {
	for _, tt := range []struct {
		name, secret string
		stack        func(testing.TB) *apptest.Stack
		want         bool
	}{
		{"embedded", "", apptest.Embedded, false},
		{"real stores", "", apptest.Real, true},
		{"real stores, and a provider", "0123456789abcdef", apptest.Real, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stack := tt.stack(t)
			stack.Config.PaymentWebhookSecret = tt.secret
			s := stack.Start(t)
			if warned := strings.Contains(warnings(t, s), "payments are made up"); warned != tt.want {
				t.Errorf("it warns: %v, want %v", warned, tt.want)
			}
		})
	}
}

func TestARealProviderDecidesByWebhook(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	stack := apptest.Embedded(t)
	m := opened(t, stack, 1)
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
	if _, _, status := pay("BALANCE"); status != "PAID" {
		t.Errorf("from the balance: %s", status)
	}
	for _, method := range []string{"ALIPAY", "WECHAT"} {
		id, number, status := pay(method)
		if status != "UNPAID" {
			t.Errorf("%s, before its word: %s", method, status)
		}
		says := func(state, want string) {
			t.Helper()
			if code := notice(t, s, secret, number, state); code != http.StatusNoContent {
				t.Errorf("%s %s: %d", method, state, code)
			}
			var of struct{ Order shownOrder }
			ann.Must(t, `query O($id: ID!) { order(id: $id) { status } }`, map[string]any{"id": id}, &of)
			if of.Order.Status != want {
				t.Errorf("%s %s: %s, want %s", method, state, of.Order.Status, want)
			}
		}
		if code := notice(t, s, "another secret of ours", number, "CONFIRMED"); code != http.StatusUnauthorized {
			t.Errorf("%s, forged: %d", method, code)
		}
		says("CONFIRMED", "PAID")
		if status, code := step(t, ann, "refund", id); status != "REFUNDING" || code != "" {
			t.Errorf("%s, refund: %s %s", method, status, code)
		}
		says("REFUNDED", "REFUNDED")
	}
}

// notice is the provider's word about the first attempt to pay an order.
func notice(t *testing.T, s *apptest.Server, secret, number, state string) (status int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"orderNumber": number, "attempt": 1, "state": state})
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
