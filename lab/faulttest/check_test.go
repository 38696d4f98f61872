package faulttest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A story is a small run: what the stores hold in the end, and what clients were told.
// Voucher 1 has 5 pieces; user 1 has order 101, user 2 has paid order 102.
type story struct {
	state  state
	events []Event
	rules  Rules
}

func newStory() *story {
	s := &story{state: state{
		sales:  map[int64]sale{1: {stock: 3, initial: 5, partition: 1, buckets: 1}},
		orders: map[int64]row{101: {1, 1, "UNPAID", ""}, 102: {2, 1, "PAID", ""}},
		redis: &redisState{sales: map[int64]redisSale{
			1: {whole: true, initial: 5, stock: 3, buyers: map[int64]int64{1: 101, 2: 102}},
		}},
	}}
	s.tells(
		event(OpOpen, 1, 0, 0, 1).with(func(e *Event) { e.Stock = 5 }),
		event(OpOrder, 10, 1, 101, 1).status("UNPAID"),
		event(OpOrder, 20, 2, 102, 1).status("UNPAID"),
		event(OpPay, 30, 2, 102, 1).status("PAID"),
	)
	return s
}

// An eventOf is an event that begins at a millisecond and takes five.
type eventOf struct{ Event }

func event(op Op, at int, user, order, voucher int64) eventOf {
	e := eventOf{Event{Op: op, Start: time.Duration(at) * time.Millisecond, End: time.Duration(at+5) * time.Millisecond, User: globalID("User", user)}}
	if user == 0 {
		e.User = globalID("User", 9)
	}
	if order != 0 {
		e.Order = globalID("Order", order)
	}
	if voucher != 0 {
		e.Voucher = globalID("FlashVoucher", voucher)
	}
	return e
}

func (e eventOf) with(change func(*Event)) eventOf {
	change(&e.Event)
	return e
}

func (e eventOf) status(s string) eventOf { return e.with(func(e *Event) { e.Status = s }) }
func (e eventOf) code(c string) eventOf   { return e.with(func(e *Event) { e.Code = c }) }
func (e eventOf) key(k string) eventOf    { return e.with(func(e *Event) { e.Key = k }) }
func (e eventOf) calm() eventOf           { return e.with(func(e *Event) { e.Calm = time.Minute }) }
func (e eventOf) wish(n int64) eventOf    { return e.with(func(e *Event) { e.Purchase = n }) }

// lasting has it end at a millisecond.
func (e eventOf) lasting(until int) eventOf {
	return e.with(func(e *Event) { e.End = time.Duration(until) * time.Millisecond })
}

func (s *story) tells(events ...eventOf) {
	for _, e := range events {
		s.events = append(s.events, e.Event)
	}
}

// has puts an order into both stores, with its piece if it is live.
func (s *story) has(number, user int64, status string) {
	s.state.orders[number] = row{user, 1, status, ""}
	if ended[status] {
		return
	}
	at := s.state.sales[1]
	at.stock--
	s.state.sales[1] = at
	k := s.state.redis.sales[1]
	k.stock--
	k.buyers[user] = number
	s.state.redis.sales[1] = k
}

func (s *story) changeSale(change func(*sale)) {
	at := s.state.sales[1]
	change(&at)
	s.state.sales[1] = at
}

func (s *story) changeKept(change func(*redisSale)) {
	k := s.state.redis.sales[1]
	change(&k)
	s.state.redis.sales[1] = k
}

// broken are the invariants that a story breaks, in order.
func (s *story) broken() (letters string, all []Breach) {
	c := newChecker(s.state, s.events, s.rules)
	c.judge()
	c.checkAdmissions()
	c.abridge()
	set := map[string]bool{}
	for _, b := range c.verdict.Breaches {
		set[b.Invariant] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), " "), c.verdict.Breaches
}

func TestEachBrokenPromiseIsFound(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*story)
		want string
	}{
		{"nothing is wrong", func(*story) {}, ""},

		// C
		{"a piece too many is left", func(s *story) {
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeKept(func(k *redisSale) { k.stock = 3 })
		}, "C"},
		{"a piece is missing", func(s *story) { s.changeSale(func(a *sale) { a.stock-- }) }, "C"},
		{"more are sold than there are", func(s *story) {
			for n := int64(3); n <= 6; n++ {
				s.has(100+n, n, "UNPAID")
				s.tells(event(OpOrder, 40+10*int(n), n, 100+n, 1).status("UNPAID"))
			}
		}, "C linear"},
		{"the merchant's pieces are not there", func(s *story) {
			s.changeSale(func(a *sale) { a.initial, a.stock = 6, 4 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 6, 4 })
		}, "C"},
		{"an edit that was told is there", func(s *story) {
			s.tells(event(OpEdit, 40, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 2, 7 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 7, 5 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 7, 5 })
		}, ""},
		{"an edit that was told is lost", func(s *story) {
			s.tells(event(OpEdit, 40, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 2, 7 }))
		}, "C"},
		{"an edit that was told happened twice", func(s *story) {
			s.tells(event(OpEdit, 40, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 2, 7 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 9, 7 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 9, 7 })
		}, "C"},
		{"an edit of unknown end may be there", func(s *story) {
			s.tells(event(OpEdit, 40, 0, 0, 1).code(Unknown).with(func(e *Event) { e.Delta = -2 }), event(OpEdit, 50, 0, 0, 1).code(Unknown).with(func(e *Event) { e.Delta = 4 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 3, 1 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 3, 1 })
		}, ""},
		{"an edit that was refused is there", func(s *story) {
			s.tells(event(OpEdit, 40, 0, 0, 1).code("VOUCHER_IN_USE").with(func(e *Event) { e.Delta = -2 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 3, 1 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 3, 1 })
		}, "C"},
		{"Redis has a piece more", func(s *story) { s.changeKept(func(k *redisSale) { k.stock++ }) }, "C"},
		{"Redis has forgotten a buyer and his piece", func(s *story) { s.changeKept(func(k *redisSale) { delete(k.buyers, 1); k.stock++ }) }, "C"},
		{"Redis has a buyer without an order", func(s *story) { s.changeKept(func(k *redisSale) { k.buyers[3] = 103; k.stock-- }) }, "C"},
		{"Redis has the wrong order of a buyer", func(s *story) { s.changeKept(func(k *redisSale) { k.buyers[1] = 99 }) }, "C"},
		{"Redis has another number of pieces", func(s *story) { s.changeKept(func(k *redisSale) { k.initial, k.stock = 6, 4 }) }, "C"},
		{"Redis has lost a sale", func(s *story) { delete(s.state.redis.sales, 1) }, "C"},
		{"Redis has lost the stock of a sale", func(s *story) { s.changeKept(func(k *redisSale) { k.whole = false }) }, "C"},
		{"a sale that was swept need not be in Redis", func(s *story) {
			s.changeSale(func(a *sale) { a.swept = true })
			delete(s.state.redis.sales, 1)
		}, ""},
		{"Redis ended with its process", func(s *story) { s.state.redis = nil }, ""},

		// U
		{"two live orders of one user", func(s *story) {
			s.has(103, 1, "UNPAID")
			s.changeKept(func(k *redisSale) { k.stock++ })
			s.tells(event(OpOrder, 50, 1, 103, 1).status("UNPAID"))
		}, "U linear"},
		{"two orders that were told live at once, one of which is gone", func(s *story) {
			s.has(103, 1, "CANCELLED")
			s.tells(event(OpOrder, 50, 1, 103, 1).status("UNPAID"), event(OpCancel, 60, 1, 103, 1).status("CANCELLED"))
		}, "U linear"},
		{"an order again after the first was cancelled", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.has(104, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpOrder, 70, 3, 104, 1).status("UNPAID"))
		}, ""},
		{"an order again before the cancellation of the first was answered", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.has(104, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED").lasting(90), event(OpOrder, 70, 3, 104, 1).status("UNPAID"))
		}, ""},
		{"an order again after a cancellation that nobody knows of", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.has(104, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).code(Unknown), event(OpOrder, 70, 3, 104, 1).status("UNPAID"))
		}, ""},
		{"two orders by one key", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.has(104, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID").key("k"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpOrder, 70, 3, 104, 1).status("UNPAID").key("k"))
		}, "U"},
		{"one order by one key, twice", func(s *story) {
			s.has(103, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID").key("k"), event(OpOrder, 70, 3, 103, 1).status("UNPAID").key("k"))
		}, ""},
		{"another order by a key whose first one failed", func(s *story) {
			s.rules.LosesData = true
			s.state.orders[103] = row{3, 1, "FAILED", "ORDER_NOT_COMPLETED"}
			s.has(104, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED").key("k"), event(OpOrder, 70, 3, 104, 1).status("UNPAID").key("k"), event(OpRead, 80, 3, 103, 1).status("FAILED"))
		}, ""},

		// D
		{"an order that was told UNPAID is gone", func(s *story) {
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"))
		}, "D"},
		{"an order that was told UNPAID failed", func(s *story) {
			s.state.orders[103] = row{3, 1, "FAILED", "OUT_OF_STOCK"}
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"))
		}, "D"},
		{"an order that was told PAID is unpaid", func(s *story) {
			s.tells(event(OpPay, 50, 1, 101, 1).status("PAID"))
		}, "D"},
		{"an order that was told cancelled lives", func(s *story) {
			s.tells(event(OpCancel, 50, 1, 101, 1).status("CANCELLED"))
		}, "D"},
		{"an order is another user's", func(s *story) {
			s.state.orders[101] = row{3, 1, "UNPAID", ""}
			s.changeKept(func(k *redisSale) { delete(k.buyers, 1); k.buyers[3] = 101 })
		}, "D ids"},
		{"an order is of another voucher", func(s *story) {
			s.state.sales[2] = sale{stock: 4, initial: 5, swept: true}
			s.state.orders[101] = row{1, 2, "UNPAID", ""}
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeKept(func(k *redisSale) { delete(k.buyers, 1); k.stock++ })
		}, "D"},
		{"an order that is stored is not found", func(s *story) {
			s.tells(event(OpRead, 50, 1, 101, 1).code(codeAbsent))
		}, "D"},
		{"an order that is stored cannot be paid for want of it", func(s *story) {
			s.tells(event(OpPay, 50, 1, 101, 1).code("NOT_FOUND"))
		}, "D"},
		{"an order that is queued is not found for a moment", func(s *story) {
			s.has(103, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).code(codeAbsent), event(OpRead, 70, 3, 103, 1).status("UNPAID"))
		}, ""},
		{"an order goes back in a calm", func(s *story) {
			s.tells(event(OpRead, 9000, 2, 102, 1).status("UNPAID").calm())
		}, "D"},
		{"an order is shown as it was a moment ago", func(s *story) {
			s.tells(event(OpRead, 60, 2, 102, 1).status("UNPAID").calm())
		}, ""},
		{"an order is shown as it was, during a fault", func(s *story) {
			s.tells(event(OpRead, 9000, 2, 102, 1).status("UNPAID"))
		}, ""},
		{"a voucher that was told to its merchant is gone", func(s *story) {
			s.tells(event(OpOpen, 50, 0, 0, 2).with(func(e *Event) { e.Stock = 7 }))
		}, "D"},

		// Q
		{"an order that was told QUEUED has no row", func(s *story) {
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"))
		}, "Q"},
		{"an order that was told QUEUED failed, since Redis forgot it", func(s *story) {
			s.rules.LosesData = true
			s.state.orders[103] = row{3, 1, "FAILED", "ORDER_NOT_COMPLETED"}
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, ""},
		{"an order that was told QUEUED failed, though Redis forgot nothing", func(s *story) {
			s.state.orders[103] = row{3, 1, "FAILED", "ORDER_NOT_COMPLETED"}
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, "Q"},
		{"an order that was told QUEUED failed, since all were sold", func(s *story) {
			s.state.orders[103] = row{3, 1, "FAILED", "OUT_OF_STOCK"}
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, ""},
		{"an order that was told FAILED lives", func(s *story) {
			s.has(103, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("FAILED"))
		}, "Q"},
		{"an order that was told FAILED has no row", func(s *story) {
			s.tells(event(OpOrder, 50, 3, 103, 1).status("FAILED").code("ORDER_NOT_COMPLETED"))
		}, "Q"},
		{"an order that was told QUEUED was lost with its server and Redis", func(s *story) {
			s.isLost()
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"))
		}, ""},
		{"an order that was told FAILED was lost with its server and Redis", func(s *story) {
			s.isLost()
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, "Q"},
		{"nobody was told the end of a queued order", func(s *story) {
			s.has(103, 3, "UNPAID")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("QUEUED"))
		}, "live"},
		{"an order still waits for its commit", func(s *story) { s.state.redis.queued = 1 }, "Q"},
		{"a job still waits", func(s *story) { s.state.waiting = 1 }, "Q"},
		{"a job was given up", func(s *story) { s.state.parked = 1 }, "Q"},

		// R
		{"a piece did not come back", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.changeSale(func(a *sale) { a.stock-- })
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"))
		}, "C R"},
		{"a piece came back twice", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.changeSale(func(a *sale) { a.stock++ })
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"))
		}, "C R"},
		{"an order was cancelled twice", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"))
		}, "R"},
		{"an order was cancelled once, and once refused", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED").code("ORDER_NOT_CANCELLABLE"))
		}, ""},
		{"an order was paid and cancelled", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpPay, 60, 3, 103, 1).status("PAID"))
		}, "D R"},
		{"a payment is under way when the order is cancelled", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpPay, 60, 3, 103, 1).status("UNPAID"), event(OpCancel, 70, 3, 103, 1).status("CANCELLED"))
		}, ""},

		// H
		{"a holder is told that all are sold", func(s *story) {
			s.soldOut()
			s.tells(event(OpOrder, 90, 1, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"a holder who cancels meanwhile is told that all are sold", func(s *story) {
			s.soldOut()
			s.state.orders[101] = row{1, 1, "CANCELLED", ""}
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeKept(func(k *redisSale) { delete(k.buyers, 1); k.stock++ })
			s.tells(event(OpCancel, 85, 1, 101, 1).status("CANCELLED").lasting(100), event(OpOrder, 90, 1, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"all are sold", func(s *story) {
			s.soldOut()
			s.tells(event(OpOrder, 90, 7, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"all are said to be sold and some are left", func(s *story) {
			s.tells(event(OpOrder, 90, 7, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"all are said to be sold before they are", func(s *story) {
			s.soldOut()
			s.tells(event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"all may be sold to those who do not know", func(s *story) {
			for user := int64(3); user <= 5; user++ {
				s.tells(event(OpOrder, 50, user, 0, 1).code(Unknown))
			}
			s.tells(event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"one who does not know asks three times", func(s *story) {
			for range 3 {
				s.tells(event(OpOrder, 50, 3, 0, 1).code(Unknown))
			}
			s.tells(event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"all are sold, since the merchant took some out", func(s *story) {
			s.changeSale(func(a *sale) { a.initial, a.stock = 2, 0 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 2, 0 })
			s.tells(event(OpEdit, 50, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = -3, 2 }).lasting(80), event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"a voucher that exists is not found", func(s *story) { s.tells(event(OpOrder, 60, 7, 0, 1).code("NOT_FOUND")) }, "H"},
		{"a sale that runs is said to be over", func(s *story) { s.tells(event(OpOrder, 60, 7, 0, 1).code("SALE_ENDED")) }, "H"},
		{"somebody is told to sign in", func(s *story) { s.tells(event(OpMe, 60, 7, 0, 0).code("UNAUTHENTICATED")) }, "H"},
		{"somebody is signed out", func(s *story) { s.tells(event(OpMe, 60, 7, 0, 0).code(codeSignedOut)) }, "H"},
		{"somebody is somebody else", func(s *story) { s.tells(event(OpMe, 60, 7, 0, 0).code(codeWrongUser)) }, "H"},
		{"nobody knows who is signed in", func(s *story) { s.tells(event(OpMe, 60, 7, 0, 0).code("UNAVAILABLE")) }, ""},
		{"too many tries", func(s *story) { s.tells(event(OpOrder, 60, 7, 0, 1).code("RATE_LIMITED")) }, ""},

		// live
		{"no answer in a calm", func(s *story) {
			for try := range maxTries {
				s.tells(event(OpOrder, 60+10*try, 7, 0, 1).code("UNAVAILABLE").calm().wish(1))
			}
		}, "live"},
		{"no answer during a fault", func(s *story) {
			for try := range maxTries {
				s.tells(event(OpOrder, 60+10*try, 7, 0, 1).code("UNAVAILABLE").wish(1))
			}
		}, ""},
		{"a late answer in a calm", func(s *story) {
			s.has(107, 7, "UNPAID")
			s.tells(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().wish(1).lasting(2560), event(OpOrder, 2600, 7, 107, 1).status("UNPAID").calm().wish(1).lasting(5600))
		}, "live"},
		{"an answer at the second try in a calm", func(s *story) {
			s.has(107, 7, "UNPAID")
			s.tells(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().wish(1).lasting(2560), event(OpOrder, 2600, 7, 107, 1).status("UNPAID").calm().wish(1))
		}, ""},
		{"a wish without an end in a calm", func(s *story) {
			s.tells(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().wish(1))
		}, "live"},
		{"a late second try in a calm without an answer", func(s *story) {
			s.tells(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().wish(1).lasting(2560), event(OpOrder, 2600, 7, 0, 1).code("TIMEOUT").calm().wish(1).lasting(2700))
		}, "live"},
		{"a wish that began before the calm", func(s *story) {
			s.tells(event(OpOrder, 60, 7, 0, 1).code(Unknown).wish(1), event(OpOrder, 70, 7, 0, 1).code(Unknown).calm().wish(1))
		}, ""},
		{"three of many get no answer in a calm", func(s *story) { s.asksWhoTheyAre(3, 10, "UNAVAILABLE") }, ""},
		{"four of a few get no answer in a calm", func(s *story) { s.asksWhoTheyAre(4, 100, Unknown) }, "live"},
		{"a hundredth get no answer in a calm", func(s *story) { s.asksWhoTheyAre(4, 400, "TIMEOUT") }, ""},
		{"something unforeseen in a calm", func(s *story) { s.asksWhoTheyAre(1, 400, "INTERNAL") }, "live"},
		{"an error without a code in a calm", func(s *story) { s.asksWhoTheyAre(1, 400, codeMissing) }, "live"},
		{"something unforeseen during a fault", func(s *story) { s.tells(event(OpMe, 60, 7, 0, 0).code("INTERNAL")) }, ""},

		// ids
		{"one number for two users", func(s *story) {
			s.tells(event(OpOrder, 60, 7, 101, 1).status("QUEUED"))
		}, "ids"},
		{"an order that nobody asked for", func(s *story) { s.has(108, 8, "UNPAID") }, "ids"},
		{"an order of somebody who does not know", func(s *story) {
			s.has(108, 8, "UNPAID")
			s.tells(event(OpOrder, 60, 8, 0, 1).code(Unknown))
		}, ""},
		{"a number that is none", func(s *story) {
			s.tells(event(OpOrder, 60, 8, 0, 1).status("QUEUED").with(func(e *Event) { e.Order = globalID("Shop", 3) }))
		}, "ids"},

		// linear
		{"one too many for a while", func(s *story) {
			s.soldOut()
			s.has(107, 7, "CANCELLED")
			s.tells(event(OpOrder, 90, 7, 107, 1).status("UNPAID"), event(OpCancel, 100, 7, 107, 1).status("CANCELLED"))
		}, "linear"},
		{"one more after one was cancelled", func(s *story) {
			s.has(107, 7, "CANCELLED")
			s.tells(event(OpOrder, 40, 7, 107, 1).status("UNPAID"), event(OpCancel, 46, 7, 107, 1).status("CANCELLED").lasting(200))
			s.soldOut()
		}, ""},
		{"one more after the merchant put one in", func(s *story) {
			s.soldOut()
			s.tells(event(OpEdit, 85, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 1, 6 }).lasting(200), event(OpOrder, 90, 7, 107, 1).status("UNPAID"))
			s.has(107, 7, "UNPAID")
			s.changeSale(func(a *sale) { a.initial, a.stock = 6, 0 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 6, 0 })
		}, ""},
		{"one more before the merchant put one in", func(s *story) {
			s.soldOut()
			s.tells(event(OpOrder, 90, 7, 107, 1).status("UNPAID"), event(OpEdit, 100, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 1, 6 }))
			s.has(107, 7, "UNPAID")
			s.changeSale(func(a *sale) { a.initial, a.stock = 6, 0 })
			s.changeKept(func(k *redisSale) { k.initial, k.stock = 6, 0 })
		}, "linear"},
		{"a holder is told of an order that was cancelled", func(s *story) {
			s.has(103, 3, "CANCELLED")
			s.tells(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpOrder, 70, 3, 103, 1).status("UNPAID").code("ALREADY_ORDERED"))
		}, "linear"},
		{"too much to be searched", func(s *story) {
			for i := range maxAdmissions {
				s.tells(event(OpEdit, 40+10*i, 0, 0, 1).with(func(e *Event) { e.Stock = 5 }))
			}
		}, "linear"},
		{"an order whose answer got lost may be late", func(s *story) {
			s.soldOut()
			s.state.orders[105] = row{5, 1, "CANCELLED", ""}
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeKept(func(k *redisSale) { delete(k.buyers, 5); k.stock++ })
			s.has(107, 7, "UNPAID")
			s.tells(event(OpCancel, 85, 5, 105, 1).status("CANCELLED"), event(OpOrder, 40, 7, 0, 1).code(Unknown))
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory()
			tt.edit(s)
			if got, all := s.broken(); got != tt.want {
				t.Errorf("broken are %q, want %q: %v", got, tt.want, all)
			}
		})
	}
}

// isLost has the server and Redis harmed soon after the last that is told.
func (s *story) isLost() {
	soon := []Span{{time.Second, time.Second}}
	s.rules = Rules{LosesData: true, Killed: [][]Span{soon}, Losses: soon}
}

// asksWhoTheyAre has users ask that in a calm, of whom some get an answer that is none.
func (s *story) asksWhoTheyAre(some, of int, code string) {
	for i := range of {
		e := event(OpMe, 60+10*i, 7, 0, 0).calm()
		if i < some {
			e = e.code(code)
		}
		s.tells(e)
	}
}

// soldOut sells the last pieces, to users 3, 4 and 5, at 60, 70 and 80 ms.
func (s *story) soldOut() {
	for user := int64(3); user <= 5; user++ {
		s.has(100+user, user, "UNPAID")
		s.tells(event(OpOrder, 30+10*int(user), user, 100+user, 1).status("UNPAID"))
	}
}

func TestBreachesAreToldInAFewLines(t *testing.T) {
	s := newStory()
	for range 3 * breachesEach {
		s.tells(event(OpMe, 60, 7, 0, 0).code(codeSignedOut))
	}
	_, all := s.broken()
	if len(all) != breachesEach+1 || !strings.Contains(all[breachesEach].Text, "40 more") {
		t.Errorf("%d lines, the last of which is %v", len(all), all[len(all)-1])
	}
}

func TestLogsAreSearched(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sound := write("sound", "{\"msg\":\"ready\"}\n{\"msg\":\"stopped\"}")
	for _, tt := range []struct {
		name, path string
		want       int
	}{
		{"a sound one", sound, 0},
		{"a panic", write("panic", "{\"msg\":\"ready\"}\npanic: runtime error\ngoroutine 1\n"), 1},
		{"a race in the last line", write("race", "x\nWARNING: DATA RACE"), 1},
		{"an error of the runtime", write("fatal", "fatal error: all goroutines are asleep\n"), 1},
		{"none", filepath.Join(dir, "none"), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CheckLogs([]string{sound, tt.path}); len(got) != tt.want {
				t.Errorf("found %v", got)
			}
		})
	}
}

func TestCountersAreSummedOverRestarts(t *testing.T) {
	system := &pages{}
	at := system.serve(t)
	w := NewSampler(at)
	for _, n := range []string{"3", "5", "2", "2"} { // the process was started again after the second
		at.page.Store("# HELP x\ntandian_sale_incarnations_total " + n + "\ntandian_sale_queue_events_total{event=\"direct\"} 0\nother 9\n")
		w.observe(t.Context(), 0)
	}
	var seen []string
	for _, a := range w.Acts([]Event{{Op: OpOrder, Code: "OUT_OF_STOCK"}}) {
		if a.Times > 0 {
			seen = append(seen, a.Name)
		}
		if a.Name == "an incarnation was certified" && a.Times != 7 {
			t.Errorf("certified %v times, want 3 + 2 + 2", a.Times)
		}
	}
	if want := []string{"an incarnation was certified", "somebody was told that all are sold"}; !slices.Equal(seen, want) {
		t.Errorf("seen are %v", seen)
	}
	if never := Never(w.Acts(nil)); len(never) != len(acts) {
		t.Errorf("never seen are %v", never)
	}
}
