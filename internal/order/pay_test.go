package order

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/webhook"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

var errProviderDown = errors.New("provider is unreachable")

// outcomes plans the calls for each charge: one outcome after the other, then the last one.
func outcomes(list ...FakeOutcome) func(Charge) FakeOutcome {
	var n atomic.Int64
	return func(Charge) FakeOutcome { return list[min(int(n.Add(1)), len(list))-1] }
}

func TestPaymentsFollowTheProvider(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		for _, tt := range []struct {
			name   string
			plan   []FakeOutcome
			after  func(t *testing.T, p process, w *fixture) // runs after Pay
			status Status                                    // returned by Pay
			code   apierror.Code
			want   Status // final status
			state  payment.State
			taken  int
		}{
			{
				name: "confirmed immediately", plan: []FakeOutcome{{}},
				status: Paid, want: Paid, state: "CONFIRMED", taken: 1000,
			},
			{
				name: "refused", plan: []FakeOutcome{{State: Refused}},
				status: Unpaid, code: NotPayable, want: Unpaid, state: "REFUSED",
			},
			{
				name: "confirmed late", plan: []FakeOutcome{{State: Pending}}, after: deliver,
				status: Unpaid, want: Paid, state: "CONFIRMED", taken: 1000,
			},
			{
				name: "confirmed late and twice", plan: []FakeOutcome{{State: Pending, Twice: true}},
				after:  func(t *testing.T, p process, w *fixture) { deliver(t, p, w); deliver(t, p, w) },
				status: Unpaid, want: Paid, state: "CONFIRMED", taken: 1000,
			},
			{
				name: "refused late", plan: []FakeOutcome{{State: Pending, Later: Refused}}, after: deliver,
				status: Unpaid, want: Unpaid, state: "REFUSED",
			},
			{
				name: "unavailable at first", plan: []FakeOutcome{{ErrBefore: errProviderDown}, {ErrBefore: errProviderDown}, {}}, after: relay,
				status: Unpaid, want: Paid, state: "CONFIRMED", taken: 1000,
			},
			{
				name: "answer lost", plan: []FakeOutcome{{ErrAfter: errProviderDown}, {}}, after: relay,
				status: Unpaid, want: Paid, state: "CONFIRMED", taken: 1000,
			},
			{
				name: "slow", plan: []FakeOutcome{{Delay: time.Minute}, {}}, after: relay,
				status: Unpaid, want: Paid, state: "CONFIRMED", taken: 1000,
			},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w := newFixture(on)
				w.provider.Plan = outcomes(tt.plan...)
				p := w.process(t, func(c *Config) {
					if tt.status == Unpaid {
						c.payWait = 50 * time.Millisecond
					} else {
						c.payWait = 20 * time.Second
					}
				})
				if n := p.db.User.Query().CountX(t.Context()); n == 0 {
					p.seed(t)
				}
				o := p.insertOrder(t, w, Unpaid)
				got, err := p.Pay(t.Context(), ann, o.ID, Wechat)
				if codes(err) != string(tt.code) || got == nil || got.Status != tt.status {
					t.Fatalf("got %+v, %v", got, err)
				}
				if tt.after != nil {
					tt.after(t, p, w)
				}
				waitFor(t, func() bool { return p.pendingJobs(t) == 0 })
				got, err = p.ByID(t.Context(), Viewer{UserID: ann}, o.ID)
				if err != nil || got.Status != tt.want {
					t.Fatalf("got %+v, %v", got, err)
				}
				if paid := got.PayMethod != nil && *got.PayMethod == Wechat && got.PaidAt != nil; paid != (tt.want == Paid) {
					t.Errorf("got %+v", got)
				}
				want := []*ent.Payment{{OrderID: o.ID, Attempt: 1, State: tt.state, Amount: 1000, Currency: "CNY", Method: "WECHAT"}}
				if diff := cmp.Diff(want, p.payments(t, o.ID), onlyPayment); diff != "" {
					t.Error(diff)
				}
				if taken := w.provider.Taken(o.ID); taken != tt.taken {
					t.Errorf("the provider has taken %d, want %d", taken, tt.taken)
				}
			})
		}
	})
}

func relay(t *testing.T, p process, _ *fixture) { storetest.Relay(t, p.box) }

func TestRefusedPaymentsCanBeRetried(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = outcomes(FakeOutcome{State: Refused}, FakeOutcome{})
		p := w.process(t)
		p.seed(t)
		o := p.insertOrder(t, w, Unpaid)
		if _, err := p.Pay(t.Context(), ann, o.ID, Wechat); codes(err) != string(NotPayable) {
			t.Fatal(err)
		}
		if got, err := p.Pay(t.Context(), ann, o.ID, Alipay); err != nil || got.Status != Paid || *got.PayMethod != Alipay {
			t.Fatalf("got %+v, %v", got, err)
		}
		want := []*ent.Payment{
			{OrderID: o.ID, Attempt: 1, State: "REFUSED", Amount: 1000, Currency: "CNY", Method: "WECHAT"},
			{OrderID: o.ID, Attempt: 2, State: "CONFIRMED", Amount: 1000, Currency: "CNY", Method: "ALIPAY"},
		}
		if diff := cmp.Diff(want, p.payments(t, o.ID), onlyPayment); diff != "" {
			t.Error(diff)
		}
		// The provider then confirms the first one: that money is refunded.
		if err := p.Confirm(t.Context(), o.ID, 1, Confirmed); err != nil {
			t.Fatal(err)
		}
		want[0].State = "REFUNDED"
		if diff := cmp.Diff(want, p.payments(t, o.ID), onlyPayment); diff != "" {
			t.Error(diff)
		}
		if got, err := p.Refund(t.Context(), ann, o.ID); err != nil || got.Status != Refunded {
			t.Errorf("got %+v, %v", got, err)
		}
		if taken := w.provider.Taken(o.ID); taken != 0 {
			t.Errorf("the provider keeps %d, want 0", taken)
		}
	})
}

func TestASecondPayJoinsTheOpenAttempt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		charges := make(chan struct{}, 100)
		w.provider.Plan = func(Charge) FakeOutcome {
			charges <- struct{}{}
			return FakeOutcome{State: Pending}
		}
		patient := func(c *Config) { c.payWait = 20 * time.Second }
		both := []process{w.process(t, patient), w.process(t, patient)}
		both[0].seed(t)
		o := both[0].insertOrder(t, w, Unpaid)
		results := make([]*Order, 8)
		var g sync.WaitGroup
		for i := range results {
			g.Go(func() {
				var err error // late callers find the order paid
				if results[i], err = both[i%2].Pay(t.Context(), ann, o.ID, Alipay); codes(err) != "" && codes(err) != string(NotPayable) {
					t.Error(err)
				}
			})
		}
		<-charges
		hasty := w.process(t, func(c *Config) { c.payWait = time.Millisecond })
		if got, err := hasty.Pay(t.Context(), ann, o.ID, Alipay); err != nil || got.Status != Unpaid {
			t.Errorf("while it is open: got %+v, %v", got, err)
		}
		waitFor(t, func() bool {
			deliver(t, both[1], w)
			return both[0].db.Payment.Query().Where(payment.StateEQ(payment.StateCONFIRMED)).CountX(t.Context()) == 1
		})
		g.Wait()
		for i, got := range results {
			if got == nil || got.Status != Paid {
				t.Errorf("call %d: got %+v, want %s", i, got, Paid)
			}
		}
		if len(charges) != 0 || len(both[0].payments(t, o.ID)) != 1 {
			t.Errorf("got %d more charges and %d attempts, want 0 and 1", len(charges), len(both[0].payments(t, o.ID)))
		}
	})
}

func TestMoneyForEndedOrdersIsRefunded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = outcomes(FakeOutcome{State: Pending, Twice: true}, FakeOutcome{ErrBefore: errProviderDown}, FakeOutcome{ErrAfter: errProviderDown}, FakeOutcome{})
		p := w.process(t, func(c *Config) { c.payWait = 50 * time.Millisecond })
		p.seed(t)
		o := p.insertOrder(t, w, Unpaid)
		if got, err := p.Pay(t.Context(), ann, o.ID, Wechat); err != nil || got.Status != Unpaid {
			t.Fatalf("got %+v, %v", got, err)
		}
		w.advance(15*time.Minute + attemptGrace + time.Second)
		p.expireAll(t.Context())
		if got, err := p.Pay(t.Context(), ann, o.ID, Wechat); codes(err) != string(NotPayable) || got.Status != Cancelled {
			t.Fatalf("got %+v, %v", got, err)
		}
		deliver(t, p, w)
		deliver(t, p, w)
		if state := p.payments(t, o.ID)[0].State; state != payment.StateREFUNDING {
			t.Errorf("got payment %s, want REFUNDING", state)
		}
		storetest.Relay(t, p.box)
		waitFor(t, func() bool { return p.payments(t, o.ID)[0].State == payment.StateREFUNDED })
		if taken := w.provider.Taken(o.ID); taken != 0 {
			t.Errorf("the provider keeps %d, want 0", taken)
		}
		if got, err := p.ByID(t.Context(), Viewer{UserID: ann}, o.ID); err != nil || got.Status != Cancelled {
			t.Errorf("got %+v, %v", got, err)
		}
		if p.stock(t) != 1 {
			t.Errorf("got %d released items, want 1", p.stock(t))
		}
	})
}

func TestARefundWaitsForItsProvider(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = outcomes(FakeOutcome{}, FakeOutcome{ErrBefore: errProviderDown}, FakeOutcome{ErrAfter: errProviderDown}, FakeOutcome{})
		p := w.process(t)
		p.seed(t)
		o := p.insertOrder(t, w, Unpaid)
		if _, err := p.Pay(t.Context(), ann, o.ID, Wechat); err != nil {
			t.Fatal(err)
		}
		got, err := p.Refund(t.Context(), ann, o.ID)
		if err != nil || got.Status != Refunding || p.stock(t) != 0 {
			t.Fatalf("got %+v, %v, stock %d", got, err, p.stock(t))
		}
		if again, err := p.Refund(t.Context(), ann, o.ID); codes(err) != string(NotRefundable) || again.Status != Refunding {
			t.Errorf("got %+v, %v", again, err)
		}
		// Two processes retry it concurrently.
		other := w.process(t)
		storetest.Relay(t, p.box)
		storetest.Relay(t, other.box)
		waitFor(t, func() bool { return Status(p.db.Order.GetX(t.Context(), o.ID).Status) == Refunded })
		waitFor(t, func() bool { return p.pendingJobs(t) == 0 })
		if taken := w.provider.Taken(o.ID); taken != 0 || p.stock(t) != 1 {
			t.Errorf("the provider keeps %d and the stock is %d, want 0 and 1", taken, p.stock(t))
		}
	})
}

func TestExpiredOrdersOpenNoAttempt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		o := p.insertOrder(t, w, Unpaid)
		w.advance(15*time.Minute + time.Second)
		got, err := p.Pay(t.Context(), ann, o.ID, Wechat)
		if codes(err) != string(NotPayable) || got.Status != Unpaid || len(p.payments(t, o.ID)) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestWebhookAcceptsOnlyValidNotices(t *testing.T) {
	const secret = "0123456789abcdef"
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = func(Charge) FakeOutcome { return FakeOutcome{State: Pending} }
		p := w.process(t, func(c *Config) { c.payWait = time.Millisecond })
		p.seed(t)
		attempt := func() *Order {
			o := p.insertOrder(t, w, Unpaid)
			if _, err := p.Pay(t.Context(), ann, o.ID, Wechat); err != nil {
				t.Fatal(err)
			}
			return o
		}
		notice := func(order int64, attempt int, state string) string {
			body, err := json.Marshal(map[string]any{"orderNumber": decimal(order), "attempt": attempt, "state": state, "amount": 1000, "currency": "CNY"})
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		one, two, three, four := attempt(), attempt(), attempt(), attempt()
		p.fund(t, 1000)
		fromBalance := p.insertOrder(t, w, Unpaid)
		if _, err := p.Pay(t.Context(), ann, fromBalance.ID, Balance); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name           string
			method, secret string
			sign           string // secret of the signature
			body           string
			status         int
			order          *Order
			want           Status
		}{
			{"no configured secret", "POST", "", secret, notice(one.ID, 1, "CONFIRMED"), 404, one, Unpaid},
			{"another secret", "POST", secret, "another secret..", notice(one.ID, 1, "CONFIRMED"), 401, one, Unpaid},
			{"no signature", "POST", secret, "", notice(one.ID, 1, "CONFIRMED"), 401, one, Unpaid},
			{"another method", "GET", secret, secret, notice(one.ID, 1, "CONFIRMED"), 405, one, Unpaid},
			{"not JSON", "POST", secret, secret, "CONFIRMED", 400, one, Unpaid},
			{"another state", "POST", secret, secret, notice(one.ID, 1, "PENDING"), 400, one, Unpaid},
			{"unknown attempt", "POST", secret, secret, notice(one.ID, 2, "CONFIRMED"), 404, one, Unpaid},
			{"unknown order", "POST", secret, secret, notice(999, 1, "CONFIRMED"), 404, one, Unpaid},
			{"not a number", "POST", secret, secret, `{"orderNumber": "x", "attempt": 1, "state": "CONFIRMED", "amount": 1000, "currency": "CNY"}`, 404, one, Unpaid},
			{"no amount", "POST", secret, secret, strings.Replace(notice(one.ID, 1, "CONFIRMED"), `"amount":1000,`, "", 1), 400, one, Unpaid},
			{"no currency", "POST", secret, secret, strings.Replace(notice(one.ID, 1, "CONFIRMED"), `"CNY"`, `""`, 1), 400, one, Unpaid},
			{"less money", "POST", secret, secret, strings.Replace(notice(one.ID, 1, "CONFIRMED"), `1000`, "999", 1), 409, one, Unpaid},
			{"more money", "POST", secret, secret, strings.Replace(notice(one.ID, 1, "CONFIRMED"), `1000`, "1001", 1), 409, one, Unpaid},
			{"another currency", "POST", secret, secret, strings.Replace(notice(one.ID, 1, "CONFIRMED"), `CNY`, "JPY", 1), 409, one, Unpaid},
			{"a payment from the balance", "POST", secret, secret, notice(fromBalance.ID, 1, "REFUNDED"), 404, fromBalance, Paid},
			{"the largest body", "POST", secret, secret, padded(notice(three.ID, 1, "CONFIRMED"), maxNotice), 204, three, Paid},
			{"a larger body", "POST", secret, secret, padded(notice(one.ID, 1, "CONFIRMED"), maxNotice+1), 413, one, Unpaid},
			{"signed byte order mark", "POST", secret, secret, "\ufeff" + notice(four.ID, 1, "CONFIRMED"), 204, four, Paid},
			{"confirmed", "POST", secret, secret, notice(one.ID, 1, "CONFIRMED"), 204, one, Paid},
			{"confirmed again", "POST", secret, secret, notice(one.ID, 1, "CONFIRMED"), 204, one, Paid},
			{"refused after it was confirmed", "POST", secret, secret, notice(one.ID, 1, "REFUSED"), 204, one, Paid},
			{"refused", "POST", secret, secret, notice(two.ID, 1, "REFUSED"), 204, two, Unpaid},
			{"confirmed after it was refused", "POST", secret, secret, notice(two.ID, 1, "CONFIRMED"), 204, two, Paid},
			{"unexpected refund", "POST", secret, secret, notice(two.ID, 1, "REFUNDED"), 204, two, Paid},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := httptest.NewRequestWithContext(t.Context(), tt.method, "/webhooks/payment", strings.NewReader(tt.body))
				if tt.sign != "" {
					r.Header.Set(webhook.Header, webhook.Sign([]byte(tt.sign), []byte(tt.body)))
				}
				answer := httptest.NewRecorder()
				p.Webhook(tt.secret).ServeHTTP(answer, r)
				got := Status(p.db.Order.GetX(t.Context(), tt.order.ID).Status)
				if answer.Code != tt.status || got != tt.want {
					t.Errorf("got status %d and order %s, want %d and %s", answer.Code, got, tt.status, tt.want)
				}
			})
		}
	})
}

func padded(body string, size int) string { return body + strings.Repeat(" ", size-len(body)) }

// Two processes receive one notice many times.
func TestConcurrentNoticesPayOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = func(Charge) FakeOutcome { return FakeOutcome{State: Pending} }
		quick := func(c *Config) { c.payWait = time.Millisecond }
		both := []process{w.process(t, quick), w.process(t, quick)}
		both[0].seed(t)
		const secret = "0123456789abcdef"
		o := both[0].insertOrder(t, w, Unpaid)
		if _, err := both[0].Pay(t.Context(), ann, o.ID, Wechat); err != nil {
			t.Fatal(err)
		}
		body := fmt.Appendf(nil, `{"orderNumber": "%d", "attempt": 1, "state": "CONFIRMED", "amount": 1000, "currency": "CNY"}`, o.ID)
		var g sync.WaitGroup
		for i := range 20 {
			g.Go(func() {
				r := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, "/", bytes.NewReader(body))
				r.Header.Set(webhook.Header, webhook.Sign([]byte(secret), body))
				answer := httptest.NewRecorder()
				both[i%2].Webhook(secret).ServeHTTP(answer, r)
				if answer.Code != http.StatusNoContent {
					t.Errorf("got status %d, want %d", answer.Code, http.StatusNoContent)
				}
			})
		}
		g.Wait()
		if row := both[0].db.Order.GetX(t.Context(), o.ID); Status(row.Status) != Paid || row.Version != o.Version+1 {
			t.Errorf("got %v", row)
		}
	})
}

// The provider only sends notices; the balance needs no provider.
func TestCallbackProvidersDecideByNotice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t, func(c *Config) {
			c.payWait, c.Provider = 50*time.Millisecond, Callback{}
		})
		p.seed(t)
		p.fund(t, 1000)
		ctx := t.Context()
		notice := func(o *Order, attempt int, state PaymentState, want Status) {
			t.Helper()
			if err := p.Confirm(ctx, o.ID, attempt, state); err != nil {
				t.Error(err)
			}
			if got := p.db.Order.GetX(ctx, o.ID); Status(got.Status) != want {
				t.Errorf("after %s: got %s, want %s", state, got.Status, want)
			}
		}
		o := p.insertOrder(t, w, Unpaid)
		if got, err := p.Pay(ctx, ann, o.ID, Alipay); err != nil || got.Status != Unpaid {
			t.Fatalf("got %+v, %v", got, err)
		}
		notice(o, 1, Returned, Unpaid)
		notice(o, 1, Confirmed, Paid)
		notice(o, 1, Returned, Paid)
		if err := p.Confirm(ctx, o.ID, 2, Returned); !errors.Is(err, apierror.ErrNotFound) {
			t.Errorf("unknown attempt: got %v, want not found", err)
		}
		if got, err := p.Refund(ctx, ann, o.ID); err != nil || got.Status != Refunding || p.stock(t) != 0 {
			t.Fatalf("got %+v, %v, stock %d", got, err, p.stock(t))
		}
		if p.pendingJobs(t) != 0 {
			t.Error("the outbox has jobs for a provider that only sends notices")
		}
		if err := p.Confirm(ctx, o.ID, 2, Returned); !errors.Is(err, apierror.ErrNotFound) {
			t.Errorf("unknown attempt: got %v, want not found", err)
		}
		for range 2 {
			notice(o, 1, Returned, Refunded)
		}
		if p.stock(t) != 1 {
			t.Errorf("got %d released items, want 1", p.stock(t))
		}
		// Late money waits for its refund, and the order does not change.
		late := p.insertOrder(t, w, Unpaid)
		if _, err := p.Pay(ctx, ann, late.ID, Alipay); err != nil {
			t.Fatal(err)
		}
		w.advance(15*time.Minute + attemptGrace + time.Second)
		p.expireAll(ctx)
		notice(late, 1, Confirmed, Cancelled)
		if state := p.payments(t, late.ID)[0].State; state != payment.StateREFUNDING {
			t.Errorf("got payment %s, want REFUNDING", state)
		}
		notice(late, 1, Returned, Cancelled)
		if state := p.payments(t, late.ID)[0].State; state != payment.StateREFUNDED {
			t.Errorf("got payment %s, want REFUNDED", state)
		}
		local := p.insertOrder(t, w, Unpaid)
		if got, err := p.Pay(ctx, ann, local.ID, Balance); err != nil || got.Status != Paid || p.balance(t) != 0 {
			t.Errorf("got %+v, %v, balance %d", got, err, p.balance(t))
		}
		if got, err := p.Refund(ctx, ann, local.ID); err != nil || got.Status != Refunded || p.balance(t) != 1000 {
			t.Errorf("got %+v, %v, balance %d", got, err, p.balance(t))
		}
	})
}

func TestPayingFromTheBalanceReducesIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = func(Charge) FakeOutcome { t.Error("the provider was called"); return FakeOutcome{} }
		p := w.process(t)
		p.seed(t)
		p.fund(t, 1999)
		ctx := t.Context()
		one, two := p.insertOrder(t, w, Unpaid), p.insertOrder(t, w, Unpaid)
		got, err := p.Pay(ctx, ann, one.ID, Balance)
		if err != nil || got.Status != Paid || *got.PayMethod != Balance || got.PaidAt == nil || p.balance(t) != 999 {
			t.Fatalf("got %+v, %v, balance %d", got, err, p.balance(t))
		}
		want := []*ent.Payment{{OrderID: one.ID, Attempt: 1, State: "CONFIRMED", Amount: 1000, Currency: "CNY", Method: "BALANCE"}}
		if diff := cmp.Diff(want, p.payments(t, one.ID), onlyPayment); diff != "" {
			t.Error(diff)
		}
		if got, err := p.Pay(ctx, ann, one.ID, Balance); codes(err) != string(NotPayable) || got.Status != Paid || p.balance(t) != 999 {
			t.Errorf("second payment: got %+v, %v, balance %d", got, err, p.balance(t))
		}
		got, err = p.Pay(ctx, ann, two.ID, Balance)
		if codes(err) != string(InsufficientBalance) || got.Status != Unpaid || p.balance(t) != 999 || len(p.payments(t, two.ID)) != 0 {
			t.Errorf("low balance: got %+v, %v, balance %d", got, err, p.balance(t))
		}
		for range 2 { // the second refund changes nothing
			got, err := p.Refund(ctx, ann, one.ID)
			if got == nil || got.Status != Refunded || p.balance(t) != 1999 {
				t.Errorf("refund: got %+v, %v, balance %d", got, err, p.balance(t))
			}
		}
	})
}

// Two processes pay one order with twenty requests.
func TestConcurrentBalancePaymentsTakeOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		both := []process{w.process(t), w.process(t)}
		both[0].seed(t)
		both[0].fund(t, 100_000)
		o := both[0].insertOrder(t, w, Unpaid)
		var paid atomic.Int64
		var g sync.WaitGroup
		for i := range 20 {
			g.Go(func() {
				switch _, err := both[i%2].Pay(t.Context(), ann, o.ID, Balance); codes(err) {
				case "":
					paid.Add(1)
				case string(NotPayable):
				default:
					t.Error(err)
				}
			})
		}
		g.Wait()
		if paid.Load() != 1 || both[0].balance(t) != 99_000 {
			t.Errorf("got %d payments and balance %d, want 1 and 99000", paid.Load(), both[0].balance(t))
		}
	})
}

// An open attempt must block neither another payment method nor the cancellation.
func TestOpenAttemptsCanBeAbandoned(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		for _, tt := range []struct {
			name    string
			leave   func(ctx context.Context, p process, o *Order) (*Order, error)
			status  Status
			balance int64
			second  payment.State
			taken   int // finally, by the provider
		}{
			{"cancel", func(ctx context.Context, p process, o *Order) (*Order, error) { return p.Cancel(ctx, ann, o.ID) }, Cancelled, 1000, "", 0},
			{"balance", func(ctx context.Context, p process, o *Order) (*Order, error) { return p.Pay(ctx, ann, o.ID, Balance) }, Paid, 0, "CONFIRMED", 0},
			{"another method", func(ctx context.Context, p process, o *Order) (*Order, error) { return p.Pay(ctx, ann, o.ID, Wechat) }, Unpaid, 1000, "OPEN", 1000},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w := newFixture(on)
				w.provider.Plan = func(Charge) FakeOutcome { return FakeOutcome{State: Pending} }
				p := w.process(t, func(c *Config) { c.payWait = 20 * time.Millisecond })
				ctx := t.Context()
				if p.db.User.Query().CountX(ctx) == 0 {
					p.seed(t)
					p.fund(t, 1000)
				}
				p.db.Balance.UpdateOneID(ann).SetAmount(1000).ExecX(ctx)
				o := p.insertOrder(t, w, Unpaid)
				if got, err := p.Pay(ctx, ann, o.ID, Alipay); err != nil || got.Status != Unpaid {
					t.Fatalf("got %+v, %v", got, err)
				}
				if got, err := tt.leave(ctx, p, o); err != nil || got.Status != tt.status || p.balance(t) != tt.balance {
					t.Fatalf("got %+v, %v, balance %d", got, err, p.balance(t))
				}
				if first := p.payments(t, o.ID)[0]; first.State != payment.StateABANDONED {
					t.Fatalf("got first attempt %s, want ABANDONED", first.State)
				}
				// Its money arrives late. The notice of the other attempt does not arrive.
				err := w.provider.Deliver(ctx, func(ctx context.Context, c Charge, state PaymentState) error {
					if c.Attempt != 1 {
						return nil
					}
					return p.Confirm(ctx, c.Order, c.Attempt, state)
				})
				if err != nil {
					t.Fatal(err)
				}
				waitFor(t, func() bool { return p.payments(t, o.ID)[0].State == payment.StateREFUNDED })
				if got := p.db.Order.GetX(ctx, o.ID); Status(got.Status) != tt.status {
					t.Errorf("got order %s, want %s", got.Status, tt.status)
				}
				if got := w.provider.Taken(o.ID); got != tt.taken {
					t.Errorf("the provider has taken %d, want %d", got, tt.taken)
				}
				if payments := p.payments(t, o.ID); tt.second != "" && (len(payments) != 2 || payments[1].State != tt.second) {
					t.Errorf("got payments %v, want a second one %s", payments, tt.second)
				}
			})
		}
	})
}

// A balance that is too low must not change an open attempt.
func TestARefusedBalancePaymentAbandonsNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = func(Charge) FakeOutcome { return FakeOutcome{State: Pending} }
		p := w.process(t, func(c *Config) { c.payWait = 20 * time.Millisecond })
		p.seed(t)
		p.fund(t, 999)
		o := p.insertOrder(t, w, Unpaid)
		if _, err := p.Pay(t.Context(), ann, o.ID, Alipay); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Pay(t.Context(), ann, o.ID, Balance); codes(err) != string(InsufficientBalance) {
			t.Fatal(err)
		}
		if got := p.payments(t, o.ID); len(got) != 1 || got[0].State != payment.StateOPEN {
			t.Errorf("got payments %v, want one open", got)
		}
	})
}

func TestAttemptsOfAnOrderAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		w.provider.Plan = func(Charge) FakeOutcome { return FakeOutcome{State: Refused} }
		p := w.process(t)
		p.seed(t)
		p.fund(t, 1000)
		o := p.insertOrder(t, w, Unpaid)
		for range maxAttempts + 1 {
			if _, err := p.Pay(t.Context(), ann, o.ID, Alipay); codes(err) != string(NotPayable) {
				t.Fatal(err)
			}
		}
		if n := len(p.payments(t, o.ID)); n != maxAttempts {
			t.Errorf("got %d attempts, want %d", n, maxAttempts)
		}
		if got, err := p.Pay(t.Context(), ann, o.ID, Balance); err != nil || got.Status != Paid {
			t.Errorf("payment from the balance: got %+v, %v, want %s", got, err, Paid)
		}
	})
}

// Without a provider, money from a provider cannot be returned. The order must stay PAID and
// not wait forever for a refund.
func TestRefundsNeedTheProvider(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t)
		p.seed(t)
		p.fund(t, 1000)
		o, ofBalance := p.insertOrder(t, w, Unpaid), p.insertOrder(t, w, Unpaid)
		for id, method := range map[int64]PayMethod{o.ID: Alipay, ofBalance.ID: Balance} {
			if _, err := p.Pay(t.Context(), ann, id, method); err != nil {
				t.Fatal(err)
			}
		}
		without := w.process(t, func(c *Config) { c.Provider = nil })
		if _, err := without.Refund(t.Context(), ann, o.ID); apierror.KindOf(err) != apierror.Unavailable {
			t.Errorf("refund without a provider: got %v, want %s", err, apierror.Unavailable)
		}
		if got := p.db.Order.GetX(t.Context(), o.ID); Status(got.Status) != Paid {
			t.Errorf("got order %s, want PAID", got.Status)
		}
		if got, err := without.Refund(t.Context(), ann, ofBalance.ID); err != nil || got.Status != Refunded || p.balance(t) != 1000 {
			t.Errorf("refund to the balance: got %+v, %v, want %s", got, err, Refunded)
		}
	})
}

func TestPayIsUnavailableWithoutAProvider(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := newFixture(on)
		p := w.process(t, func(c *Config) { c.Provider = nil })
		p.seed(t)
		p.fund(t, 1000)
		o := p.insertOrder(t, w, Unpaid)
		for _, method := range []PayMethod{Balance, Alipay, Wechat} {
			if _, err := p.Pay(t.Context(), ann, o.ID, method); apierror.KindOf(err) != apierror.Unavailable {
				t.Errorf("%s: got %v, want %s", method, err, apierror.Unavailable)
			}
		}
		if n := len(p.payments(t, o.ID)); n != 0 {
			t.Errorf("got %d attempts, want none", n)
		}
	})
}
