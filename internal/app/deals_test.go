package app_test

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// orderTerms holds the terms of an order.
type orderTerms struct {
	Title           string
	SubTitle, Rules *string
	FaceValue       int
}

const termsOf = `query T($id: ID!) { order(id: $id) { status terms { title subTitle rules faceValue } voucher { title rules } } }`

func TestOrdersKeepTermsAfterVoucherEdit(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		owner, ann, ben := s.As(m.owner.token), s.As(m.customers[0].token), s.As(m.customers[1].token)
		for _, tt := range []struct {
			name, voucher, edit string
			want                orderTerms
		}{
			{"ordinary", m.ordinary(t, s, false), "Voucher", orderTerms{Title: "Lunch", FaceValue: 3000}},
			{"flash", m.flash(t, s, 10, -time.Hour, time.Hour), "FlashVoucher", orderTerms{Title: "Noon", FaceValue: 500}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				buy := func(as *apptest.Server) (string, orderTerms) {
					t.Helper()
					var p struct {
						OrderVoucher struct {
							Order struct {
								ID    string
								Terms orderTerms
							}
						}
					}
					as.Must(t, `mutation O($v: ID!) { orderVoucher(voucherId: $v) { order { id terms { title subTitle rules faceValue } } userErrors { code } } }`, map[string]any{"v": tt.voucher}, &p)
					return p.OrderVoucher.Order.ID, p.OrderVoucher.Order.Terms
				}
				check := func(as *apptest.Server, id string, want orderTerms) {
					t.Helper()
					var got struct {
						Order struct {
							Terms   orderTerms
							Voucher struct{ Title, Rules string }
						}
					}
					as.Must(t, termsOf, map[string]any{"id": id}, &got)
					if diff := gocmp.Diff(want, got.Order.Terms); diff != "" {
						t.Errorf("terms (-want +got)\n%s", diff)
					}
					if v := got.Order.Voucher; v.Title != "50% off 1 tea" || v.Rules != "not on weekdays" {
						t.Errorf("got voucher %+v, want the edited one", v)
					}
				}
				before, words := buy(ann)
				if diff := gocmp.Diff(tt.want, words); diff != "" {
					t.Errorf("as ordered (-want +got)\n%s", diff)
				}
				if status, code := step(t, ann, "pay", before); status != "PAID" {
					t.Fatalf("pay: %s %s", status, code)
				}
				owner.Must(t, fmt.Sprintf(`mutation U($input: Update%sInput!) { update%[1]s(input: $input) { voucher { id } userErrors { code } } }`, tt.edit),
					map[string]any{"input": map[string]any{"id": tt.voucher, "title": "50% off 1 tea", "subTitle": "Mondays only", "rules": "not on weekdays"}}, nil)
				check(ann, before, tt.want)
				check(owner, before, tt.want)
				sub, rules := "Mondays only", "not on weekdays"
				edited := orderTerms{Title: "50% off 1 tea", SubTitle: &sub, Rules: &rules, FaceValue: tt.want.FaceValue}
				after, words := buy(ben)
				if diff := gocmp.Diff(edited, words); diff != "" {
					t.Errorf("as ordered after the edit (-want +got)\n%s", diff)
				}
				check(ben, after, edited)
			})
		}
	})
}

// A merchant redeems a paid order without its buyer.
func TestBuyersDisputeRedemptions(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		admin, owner, ann, ben := s.As(m.admin.token), s.As(m.owner.token), s.As(m.customers[0].token), s.As(m.customers[1].token)
		var p placed
		ann.Must(t, orderVoucher, map[string]any{"v": m.ordinary(t, s, false)}, &p)
		id := p.OrderVoucher.Order.ID
		step(t, ann, "pay", id)
		if status, code := step(t, owner, "redeem", id); status != "USED" {
			t.Fatalf("redeem: %s %s", status, code)
		}
		if _, code := step(t, ann, "refund", id); code != "ORDER_NOT_REFUNDABLE" {
			t.Errorf("the buyer refunds: got %q", code)
		}
		does := func(as *apptest.Server, field string) (status, code string) {
			t.Helper()
			var a map[string]struct {
				Order      *shownOrder
				UserErrors []apptest.UserError
			}
			answer := as.Do(t, fmt.Sprintf(`mutation M($id: ID!) { %s(orderId: $id) { order { id status } userErrors { code } } }`, field), map[string]any{"id": id}, &a)
			switch {
			case len(answer.Errors) > 0:
				return "", answer.Errors[0].Extensions.Code
			case len(a[field].UserErrors) > 0:
				return "", a[field].UserErrors[0].Code
			}
			return a[field].Order.Status, ""
		}
		for _, tt := range []struct {
			name         string
			as           *apptest.Server
			field        string
			status, code string
		}{
			{"refund before the dispute", admin, "refundDisputedOrder", "", "ORDER_NOT_REFUNDABLE"},
			{"another user", ben, "disputeRedemption", "", "NOT_FOUND"},
			{"the merchant", owner, "disputeRedemption", "", "NOT_FOUND"},
			{"signed out", s, "disputeRedemption", "", "UNAUTHENTICATED"},
			{"the buyer", ann, "disputeRedemption", "USED", ""},
			{"the buyer again", ann, "disputeRedemption", "USED", ""},
			{"the buyer refunds", ann, "refundDisputedOrder", "", "FORBIDDEN"},
			{"the merchant refunds", owner, "refundDisputedOrder", "", "FORBIDDEN"},
		} {
			if status, code := does(tt.as, tt.field); status != tt.status || code != tt.code {
				t.Errorf("%s: %q %q, want %q %q", tt.name, status, code, tt.status, tt.code)
			}
		}
		type shown struct {
			ID                   string
			RedeemedBy           struct{ ID string }
			RedemptionDisputedAt *time.Time
		}
		for name, as := range map[string]*apptest.Server{"buyer": ann, "merchant": owner, "administrator": admin} {
			var got struct{ Order shown }
			as.Must(t, `query O($id: ID!) { order(id: $id) { id redeemedBy { id } redemptionDisputedAt } }`, map[string]any{"id": id}, &got)
			if got.Order.RedeemedBy.ID != m.owner.id || got.Order.RedemptionDisputedAt == nil {
				t.Errorf("the %s sees %+v", name, got.Order)
			}
		}
		var list struct {
			DisputedOrders struct{ Edges []struct{ Node shown } }
		}
		const disputed = `{ disputedOrders(status: [USED]) { edges { node { id redeemedBy { id } redemptionDisputedAt } } } }`
		admin.Must(t, disputed, nil, &list)
		if edges := list.DisputedOrders.Edges; len(edges) != 1 || edges[0].Node.ID != id || edges[0].Node.RedeemedBy.ID != m.owner.id {
			t.Errorf("disputed orders: %+v", edges)
		}
		if a := owner.Do(t, disputed, nil, nil); len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "FORBIDDEN" {
			t.Errorf("the merchant lists disputes: %+v", a.Errors)
		}
		if status, code := does(admin, "refundDisputedOrder"); code != "" || status != "REFUNDED" && status != "REFUNDING" {
			t.Errorf("the refund: %q %q", status, code)
		}
		var of struct{ Order shownOrder }
		sees(t, "the order", "REFUNDED", func() string {
			ann.Must(t, `query O($id: ID!) { order(id: $id) { status } }`, map[string]any{"id": id}, &of)
			return of.Order.Status
		})
	})
}

// Such orders would raise the points of the merchant and the sales of the shop.
func TestMerchantsCannotBuyFromTheirShop(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		ordinary, flash := m.ordinary(t, s, false), m.flash(t, s, 10, -time.Hour, time.Hour)
		for _, v := range []string{ordinary, flash} {
			var p placed
			s.As(m.owner.token).Must(t, orderVoucher, map[string]any{"v": v}, &p)
			if p.code() != "OWN_SHOP" || p.OrderVoucher.Order != nil {
				t.Errorf("the owner orders: %+v, want OWN_SHOP", p.OrderVoucher)
			}
			s.As(m.admin.token).Must(t, orderVoucher, map[string]any{"v": v}, &p)
			if p.code() != "" {
				t.Errorf("an administrator orders: %q", p.code())
			}
		}
		sees(t, "orders and items left", "1 9", func() string {
			orders, _, stock := sold(t, stack, flash)
			return fmt.Sprint(orders, stock)
		})
	})
}

// An id of the other type names no voucher, as in node.
func TestVouchersAreOrderedByTheirOwnID(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		ann := s.As(m.customers[0].token)
		for _, tt := range []struct{ id, other string }{
			{m.ordinary(t, s, false), "FlashVoucher"},
			{m.flash(t, s, 10, -time.Hour, time.Hour), "OrdinaryVoucher"},
		} {
			wrong := scalar.ID{Type: tt.other, N: number(t, tt.id)}.String()
			var p placed
			ann.Must(t, orderVoucher, map[string]any{"v": wrong}, &p)
			if p.code() != "NOT_FOUND" || p.OrderVoucher.Order != nil {
				t.Errorf("as %s: %+v, want NOT_FOUND", tt.other, p.OrderVoucher)
			}
			ann.Must(t, orderVoucher, map[string]any{"v": tt.id}, &p)
			if p.code() != "" {
				t.Errorf("by its own id: %q", p.code())
			}
		}
	})
}

// A queued order has the terms that its row will have.
func TestQueuedOrdersShowCurrentText(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	m := openMarket(t, stack, 1)
	s := stack.Start(t)
	ann := s.As(m.customers[0].token)
	v := m.flash(t, s, 10, -time.Hour, time.Hour)
	s.As(m.owner.token).Must(t, changeFlash, map[string]any{"input": map[string]any{"id": v, "title": "Late noon"}}, nil)
	tx, err := stack.SQL(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	// No order of the sale is stored while its row is locked.
	if _, err := tx.ExecContext(t.Context(), "SELECT id FROM flash_sales WHERE id = $1 FOR UPDATE", number(t, v)); err != nil {
		t.Fatal(err)
	}
	type shown struct {
		ID, Status string
		Terms      orderTerms
	}
	var p struct{ OrderVoucher struct{ Order shown } }
	ann.Must(t, `mutation O($v: ID!) { orderVoucher(voucherId: $v) { order { id status terms { title subTitle rules faceValue } } userErrors { code } } }`, map[string]any{"v": v}, &p)
	if o := p.OrderVoucher.Order; o.Status != "QUEUED" || o.Terms.Title != "Late noon" {
		t.Errorf("got %+v, want QUEUED and the edited title", o)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	sees(t, "the stored order", "UNPAID Late noon", func() string {
		var got struct{ Order shown }
		ann.Must(t, termsOf, map[string]any{"id": p.OrderVoucher.Order.ID}, &got)
		return got.Order.Status + " " + got.Order.Terms.Title
	})
}
