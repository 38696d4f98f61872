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

// fixture is a small run: the final contents of the stores, and the answers to clients.
// Voucher 1 has 5 units; user 1 has order 101, user 2 has paid order 102.
type fixture struct {
	state  state
	events []Event
	rules  Rules
}

func newFixture() *fixture {
	s := &fixture{state: state{
		sales:  map[int64]sale{1: {stock: 3, initial: 5, partition: 1, buckets: 1}},
		orders: map[int64]row{101: {1, 1, "UNPAID", ""}, 102: {2, 1, "PAID", ""}},
		redis: &redisState{sales: map[int64]redisSale{
			1: {whole: true, initial: 5, stock: 3, buyers: map[int64]int64{1: 101, 2: 102}},
		}},
	}}
	s.add(
		event(OpOpen, 1, 0, 0, 1).with(func(e *Event) { e.Stock = 5 }),
		event(OpOrder, 10, 1, 101, 1).status("UNPAID"),
		event(OpOrder, 20, 2, 102, 1).status("UNPAID"),
		event(OpPay, 30, 2, 102, 1).status("PAID"),
	)
	return s
}

// eventBuilder builds an event that begins at a millisecond and takes five.
type eventBuilder struct{ Event }

func event(op Op, at int, user, order, voucher int64) eventBuilder {
	e := eventBuilder{Event{Op: op, Start: time.Duration(at) * time.Millisecond, End: time.Duration(at+5) * time.Millisecond, User: globalID("User", user)}}
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

func (e eventBuilder) with(change func(*Event)) eventBuilder {
	change(&e.Event)
	return e
}

func (e eventBuilder) status(s string) eventBuilder { return e.with(func(e *Event) { e.Status = s }) }
func (e eventBuilder) code(c string) eventBuilder   { return e.with(func(e *Event) { e.Code = c }) }
func (e eventBuilder) key(k string) eventBuilder    { return e.with(func(e *Event) { e.Key = k }) }
func (e eventBuilder) calm() eventBuilder           { return e.with(func(e *Event) { e.Calm = time.Minute }) }

func (e eventBuilder) purchase(n int64) eventBuilder {
	return e.with(func(e *Event) { e.Purchase = n })
}

// lasting sets the end, in milliseconds.
func (e eventBuilder) lasting(until int) eventBuilder {
	return e.with(func(e *Event) { e.End = time.Duration(until) * time.Millisecond })
}

func (s *fixture) add(events ...eventBuilder) {
	for _, e := range events {
		s.events = append(s.events, e.Event)
	}
}

// store puts an order into both stores, with its unit if it is live.
func (s *fixture) store(number, user int64, status string) {
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

func (s *fixture) changeSale(change func(*sale)) {
	at := s.state.sales[1]
	change(&at)
	s.state.sales[1] = at
}

func (s *fixture) changeRedis(change func(*redisSale)) {
	k := s.state.redis.sales[1]
	change(&k)
	s.state.redis.sales[1] = k
}

// broken returns the invariants that the fixture breaks, in order.
func (s *fixture) broken() (letters string, all []Breach) {
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

func TestCheckFindsEachBreach(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*fixture)
		want string
	}{
		{"valid run", func(*fixture) {}, ""},

		// C
		{"one unit too many left", func(s *fixture) {
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeRedis(func(k *redisSale) { k.stock = 3 })
		}, "C"},
		{"unit missing", func(s *fixture) { s.changeSale(func(a *sale) { a.stock-- }) }, "C"},
		{"oversold", func(s *fixture) {
			for n := int64(3); n <= 6; n++ {
				s.store(100+n, n, "UNPAID")
				s.add(event(OpOrder, 40+10*int(n), n, 100+n, 1).status("UNPAID"))
			}
		}, "C linear"},
		{"wrong initial stock", func(s *fixture) {
			s.changeSale(func(a *sale) { a.initial, a.stock = 6, 4 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 6, 4 })
		}, "C"},
		{"confirmed edit stored", func(s *fixture) {
			s.add(event(OpEdit, 40, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 2, 7 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 7, 5 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 7, 5 })
		}, ""},
		{"confirmed edit lost", func(s *fixture) {
			s.add(event(OpEdit, 40, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 2, 7 }))
		}, "C"},
		{"confirmed edit applied twice", func(s *fixture) {
			s.add(event(OpEdit, 40, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 2, 7 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 9, 7 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 9, 7 })
		}, "C"},
		{"unknown edit stored", func(s *fixture) {
			s.add(event(OpEdit, 40, 0, 0, 1).code(Unknown).with(func(e *Event) { e.Delta = -2 }), event(OpEdit, 50, 0, 0, 1).code(Unknown).with(func(e *Event) { e.Delta = 4 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 3, 1 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 3, 1 })
		}, ""},
		{"refused edit stored", func(s *fixture) {
			s.add(event(OpEdit, 40, 0, 0, 1).code("VOUCHER_IN_USE").with(func(e *Event) { e.Delta = -2 }))
			s.changeSale(func(a *sale) { a.initial, a.stock = 3, 1 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 3, 1 })
		}, "C"},
		{"Redis has an extra unit", func(s *fixture) { s.changeRedis(func(k *redisSale) { k.stock++ }) }, "C"},
		{"Redis lost a buyer and the unit", func(s *fixture) { s.changeRedis(func(k *redisSale) { delete(k.buyers, 1); k.stock++ }) }, "C"},
		{"Redis has a buyer without order", func(s *fixture) { s.changeRedis(func(k *redisSale) { k.buyers[3] = 103; k.stock-- }) }, "C"},
		{"Redis has a wrong order number", func(s *fixture) { s.changeRedis(func(k *redisSale) { k.buyers[1] = 99 }) }, "C"},
		{"Redis has a wrong initial stock", func(s *fixture) { s.changeRedis(func(k *redisSale) { k.initial, k.stock = 6, 4 }) }, "C"},
		{"Redis lost a sale", func(s *fixture) { delete(s.state.redis.sales, 1) }, "C"},
		{"Redis lost a stock", func(s *fixture) { s.changeRedis(func(k *redisSale) { k.whole = false }) }, "C"},
		{"swept sale not in Redis", func(s *fixture) {
			s.changeSale(func(a *sale) { a.swept = true })
			delete(s.state.redis.sales, 1)
		}, ""},
		{"embedded Redis", func(s *fixture) { s.state.redis = nil }, ""},

		// U
		{"two live orders of a user", func(s *fixture) {
			s.store(103, 1, "UNPAID")
			s.changeRedis(func(k *redisSale) { k.stock++ })
			s.add(event(OpOrder, 50, 1, 103, 1).status("UNPAID"))
		}, "U linear"},
		{"two orders reported live, one cancelled later", func(s *fixture) {
			s.store(103, 1, "CANCELLED")
			s.add(event(OpOrder, 50, 1, 103, 1).status("UNPAID"), event(OpCancel, 60, 1, 103, 1).status("CANCELLED"))
		}, "U linear"},
		{"second order after a cancellation", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.store(104, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpOrder, 70, 3, 104, 1).status("UNPAID"))
		}, ""},
		{"second order before the cancellation's answer", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.store(104, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED").lasting(90), event(OpOrder, 70, 3, 104, 1).status("UNPAID"))
		}, ""},
		{"second order after an unknown cancellation", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.store(104, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).code(Unknown), event(OpOrder, 70, 3, 104, 1).status("UNPAID"))
		}, ""},
		{"two orders for one key", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.store(104, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID").key("k"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpOrder, 70, 3, 104, 1).status("UNPAID").key("k"))
		}, "U"},
		{"one order for one key, twice", func(s *fixture) {
			s.store(103, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID").key("k"), event(OpOrder, 70, 3, 103, 1).status("UNPAID").key("k"))
		}, ""},
		{"second order for a key whose first failed", func(s *fixture) {
			s.rules.LosesData = true
			s.state.orders[103] = row{3, 1, "FAILED", "ORDER_NOT_COMPLETED"}
			s.store(104, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED").key("k"), event(OpOrder, 70, 3, 104, 1).status("UNPAID").key("k"), event(OpRead, 80, 3, 103, 1).status("FAILED"))
		}, ""},

		// D
		{"UNPAID order missing", func(s *fixture) {
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"))
		}, "D"},
		{"UNPAID order failed", func(s *fixture) {
			s.state.orders[103] = row{3, 1, "FAILED", "OUT_OF_STOCK"}
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"))
		}, "D"},
		{"PAID order is unpaid", func(s *fixture) {
			s.add(event(OpPay, 50, 1, 101, 1).status("PAID"))
		}, "D"},
		{"CANCELLED order is live", func(s *fixture) {
			s.add(event(OpCancel, 50, 1, 101, 1).status("CANCELLED"))
		}, "D"},
		{"order of another user", func(s *fixture) {
			s.state.orders[101] = row{3, 1, "UNPAID", ""}
			s.changeRedis(func(k *redisSale) { delete(k.buyers, 1); k.buyers[3] = 101 })
		}, "D ids"},
		{"order of another voucher", func(s *fixture) {
			s.state.sales[2] = sale{stock: 4, initial: 5, swept: true}
			s.state.orders[101] = row{1, 2, "UNPAID", ""}
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeRedis(func(k *redisSale) { delete(k.buyers, 1); k.stock++ })
		}, "D"},
		{"stored order not found by read", func(s *fixture) {
			s.add(event(OpRead, 50, 1, 101, 1).code(codeAbsent))
		}, "D"},
		{"stored order not found by pay", func(s *fixture) {
			s.add(event(OpPay, 50, 1, 101, 1).code("NOT_FOUND"))
		}, "D"},
		{"queued order not found for a moment", func(s *fixture) {
			s.store(103, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).code(codeAbsent), event(OpRead, 70, 3, 103, 1).status("UNPAID"))
		}, ""},
		{"status goes back in a calm period", func(s *fixture) {
			s.add(event(OpRead, 9000, 2, 102, 1).status("UNPAID").calm())
		}, "D"},
		{"stale status for a moment", func(s *fixture) {
			s.add(event(OpRead, 60, 2, 102, 1).status("UNPAID").calm())
		}, ""},
		{"stale status during a fault", func(s *fixture) {
			s.add(event(OpRead, 9000, 2, 102, 1).status("UNPAID"))
		}, ""},
		{"confirmed voucher missing", func(s *fixture) {
			s.add(event(OpOpen, 50, 0, 0, 2).with(func(e *Event) { e.Stock = 7 }))
		}, "D"},

		// Q
		{"QUEUED order without row", func(s *fixture) {
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"))
		}, "Q"},
		{"QUEUED order failed after data loss", func(s *fixture) {
			s.rules.LosesData = true
			s.state.orders[103] = row{3, 1, "FAILED", "ORDER_NOT_COMPLETED"}
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, ""},
		{"QUEUED order failed without data loss", func(s *fixture) {
			s.state.orders[103] = row{3, 1, "FAILED", "ORDER_NOT_COMPLETED"}
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, "Q"},
		{"QUEUED order failed as sold out", func(s *fixture) {
			s.state.orders[103] = row{3, 1, "FAILED", "OUT_OF_STOCK"}
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, ""},
		{"FAILED order is live", func(s *fixture) {
			s.store(103, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("FAILED"))
		}, "Q"},
		{"FAILED order without row", func(s *fixture) {
			s.add(event(OpOrder, 50, 3, 103, 1).status("FAILED").code("ORDER_NOT_COMPLETED"))
		}, "Q"},
		{"QUEUED order lost with server and Redis", func(s *fixture) {
			s.loseBoth()
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"))
		}, ""},
		{"FAILED order lost with server and Redis", func(s *fixture) {
			s.loseBoth()
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("FAILED"))
		}, "Q"},
		{"unreported end of a queued order", func(s *fixture) {
			s.store(103, 3, "UNPAID")
			s.add(event(OpOrder, 50, 3, 103, 1).status("QUEUED"), event(OpRead, 60, 3, 103, 1).status("QUEUED"))
		}, "live"},
		{"order waits for its commit", func(s *fixture) { s.state.redis.queued = 1 }, "Q"},
		{"waiting job", func(s *fixture) { s.state.waiting = 1 }, "Q"},
		{"parked job", func(s *fixture) { s.state.parked = 1 }, "Q"},

		// R
		{"unit not released", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.changeSale(func(a *sale) { a.stock-- })
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"))
		}, "C R"},
		{"unit released twice", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.changeSale(func(a *sale) { a.stock++ })
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"))
		}, "C R"},
		{"order cancelled twice", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"))
		}, "R"},
		{"second cancellation refused", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED").code("ORDER_NOT_CANCELLABLE"))
		}, ""},
		{"order paid and cancelled", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpPay, 60, 3, 103, 1).status("PAID"))
		}, "D R"},
		{"payment concurrent with cancellation", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpPay, 60, 3, 103, 1).status("UNPAID"), event(OpCancel, 70, 3, 103, 1).status("CANCELLED"))
		}, ""},

		// H
		{"holder gets OUT_OF_STOCK", func(s *fixture) {
			s.soldOut()
			s.add(event(OpOrder, 90, 1, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"cancelling holder gets OUT_OF_STOCK", func(s *fixture) {
			s.soldOut()
			s.state.orders[101] = row{1, 1, "CANCELLED", ""}
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeRedis(func(k *redisSale) { delete(k.buyers, 1); k.stock++ })
			s.add(event(OpCancel, 85, 1, 101, 1).status("CANCELLED").lasting(100), event(OpOrder, 90, 1, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"sold out", func(s *fixture) {
			s.soldOut()
			s.add(event(OpOrder, 90, 7, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"false OUT_OF_STOCK", func(s *fixture) {
			s.add(event(OpOrder, 90, 7, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"OUT_OF_STOCK too early", func(s *fixture) {
			s.soldOut()
			s.add(event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"OUT_OF_STOCK after unknown requests", func(s *fixture) {
			for user := int64(3); user <= 5; user++ {
				s.add(event(OpOrder, 50, user, 0, 1).code(Unknown))
			}
			s.add(event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"three unknown requests of one user", func(s *fixture) {
			for range 3 {
				s.add(event(OpOrder, 50, 3, 0, 1).code(Unknown))
			}
			s.add(event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, "H"},
		{"sold out after a stock decrease", func(s *fixture) {
			s.changeSale(func(a *sale) { a.initial, a.stock = 2, 0 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 2, 0 })
			s.add(event(OpEdit, 50, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = -3, 2 }).lasting(80), event(OpOrder, 60, 7, 0, 1).code("OUT_OF_STOCK"))
		}, ""},
		{"existing voucher not found", func(s *fixture) { s.add(event(OpOrder, 60, 7, 0, 1).code("NOT_FOUND")) }, "H"},
		{"running sale reported as ended", func(s *fixture) { s.add(event(OpOrder, 60, 7, 0, 1).code("SALE_ENDED")) }, "H"},
		{"UNAUTHENTICATED user", func(s *fixture) { s.add(event(OpMe, 60, 7, 0, 0).code("UNAUTHENTICATED")) }, "H"},
		{"signed-out user", func(s *fixture) { s.add(event(OpMe, 60, 7, 0, 0).code(codeSignedOut)) }, "H"},
		{"wrong user", func(s *fixture) { s.add(event(OpMe, 60, 7, 0, 0).code(codeWrongUser)) }, "H"},
		{"user unavailable", func(s *fixture) { s.add(event(OpMe, 60, 7, 0, 0).code("UNAVAILABLE")) }, ""},
		{"rate limited", func(s *fixture) { s.add(event(OpOrder, 60, 7, 0, 1).code("RATE_LIMITED")) }, ""},

		// live
		{"no answer in a calm period", func(s *fixture) {
			for try := range maxTries {
				s.add(event(OpOrder, 60+10*try, 7, 0, 1).code("UNAVAILABLE").calm().purchase(1))
			}
		}, "live"},
		{"no answer during a fault", func(s *fixture) {
			for try := range maxTries {
				s.add(event(OpOrder, 60+10*try, 7, 0, 1).code("UNAVAILABLE").purchase(1))
			}
		}, ""},
		{"late answer in a calm period", func(s *fixture) {
			s.store(107, 7, "UNPAID")
			s.add(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().purchase(1).lasting(2560), event(OpOrder, 2600, 7, 107, 1).status("UNPAID").calm().purchase(1).lasting(5600))
		}, "live"},
		{"second try answered in a calm period", func(s *fixture) {
			s.store(107, 7, "UNPAID")
			s.add(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().purchase(1).lasting(2560), event(OpOrder, 2600, 7, 107, 1).status("UNPAID").calm().purchase(1))
		}, ""},
		{"purchase without end in a calm period", func(s *fixture) {
			s.add(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().purchase(1))
		}, "live"},
		{"second try fails in a calm period", func(s *fixture) {
			s.add(event(OpOrder, 60, 7, 0, 1).code(Unknown).calm().purchase(1).lasting(2560), event(OpOrder, 2600, 7, 0, 1).code("TIMEOUT").calm().purchase(1).lasting(2700))
		}, "live"},
		{"purchase began before the calm period", func(s *fixture) {
			s.add(event(OpOrder, 60, 7, 0, 1).code(Unknown).purchase(1), event(OpOrder, 70, 7, 0, 1).code(Unknown).calm().purchase(1))
		}, ""},
		{"three unanswered requests", func(s *fixture) { s.queryMe(3, 10, "UNAVAILABLE") }, ""},
		{"four of few unanswered", func(s *fixture) { s.queryMe(4, 100, Unknown) }, "live"},
		{"one in a hundred unanswered", func(s *fixture) { s.queryMe(4, 400, "TIMEOUT") }, ""},
		{"INTERNAL in a calm period", func(s *fixture) { s.queryMe(1, 400, "INTERNAL") }, "live"},
		{"error without code in a calm period", func(s *fixture) { s.queryMe(1, 400, codeMissing) }, "live"},
		{"INTERNAL during a fault", func(s *fixture) { s.add(event(OpMe, 60, 7, 0, 0).code("INTERNAL")) }, ""},

		// ids
		{"number of two users", func(s *fixture) {
			s.add(event(OpOrder, 60, 7, 101, 1).status("QUEUED"))
		}, "ids"},
		{"order without request", func(s *fixture) { s.store(108, 8, "UNPAID") }, "ids"},
		{"order after an unknown request", func(s *fixture) {
			s.store(108, 8, "UNPAID")
			s.add(event(OpOrder, 60, 8, 0, 1).code(Unknown))
		}, ""},
		{"invalid order id", func(s *fixture) {
			s.add(event(OpOrder, 60, 8, 0, 1).status("QUEUED").with(func(e *Event) { e.Order = globalID("Shop", 3) }))
		}, "ids"},

		// linear
		{"oversold for a while", func(s *fixture) {
			s.soldOut()
			s.store(107, 7, "CANCELLED")
			s.add(event(OpOrder, 90, 7, 107, 1).status("UNPAID"), event(OpCancel, 100, 7, 107, 1).status("CANCELLED"))
		}, "linear"},
		{"order after a cancellation", func(s *fixture) {
			s.store(107, 7, "CANCELLED")
			s.add(event(OpOrder, 40, 7, 107, 1).status("UNPAID"), event(OpCancel, 46, 7, 107, 1).status("CANCELLED").lasting(200))
			s.soldOut()
		}, ""},
		{"order after a stock increase", func(s *fixture) {
			s.soldOut()
			s.add(event(OpEdit, 85, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 1, 6 }).lasting(200), event(OpOrder, 90, 7, 107, 1).status("UNPAID"))
			s.store(107, 7, "UNPAID")
			s.changeSale(func(a *sale) { a.initial, a.stock = 6, 0 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 6, 0 })
		}, ""},
		{"order before a stock increase", func(s *fixture) {
			s.soldOut()
			s.add(event(OpOrder, 90, 7, 107, 1).status("UNPAID"), event(OpEdit, 100, 0, 0, 1).with(func(e *Event) { e.Delta, e.Stock = 1, 6 }))
			s.store(107, 7, "UNPAID")
			s.changeSale(func(a *sale) { a.initial, a.stock = 6, 0 })
			s.changeRedis(func(k *redisSale) { k.initial, k.stock = 6, 0 })
		}, "linear"},
		{"holder gets a cancelled order", func(s *fixture) {
			s.store(103, 3, "CANCELLED")
			s.add(event(OpOrder, 50, 3, 103, 1).status("UNPAID"), event(OpCancel, 60, 3, 103, 1).status("CANCELLED"), event(OpOrder, 70, 3, 103, 1).status("UNPAID").code("ALREADY_ORDERED"))
		}, "linear"},
		{"history too long", func(s *fixture) {
			for i := range maxAdmissions {
				s.add(event(OpEdit, 40+10*i, 0, 0, 1).with(func(e *Event) { e.Stock = 5 }))
			}
		}, "linear"},
		{"unknown order may be late", func(s *fixture) {
			s.soldOut()
			s.state.orders[105] = row{5, 1, "CANCELLED", ""}
			s.changeSale(func(a *sale) { a.stock++ })
			s.changeRedis(func(k *redisSale) { delete(k.buyers, 5); k.stock++ })
			s.store(107, 7, "UNPAID")
			s.add(event(OpCancel, 85, 5, 105, 1).status("CANCELLED"), event(OpOrder, 40, 7, 0, 1).code(Unknown))
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFixture()
			tt.edit(s)
			if got, all := s.broken(); got != tt.want {
				t.Errorf("got breaches of %q, want %q: %v", got, tt.want, all)
			}
		})
	}
}

// loseBoth makes the server and Redis lose data soon after the last event.
func (s *fixture) loseBoth() {
	soon := []Span{{time.Second, time.Second}}
	s.rules = Rules{LosesData: true, Killed: [][]Span{soon}, Losses: soon}
}

// queryMe adds queries of the signed-in user in a calm period; some of them fail with a code.
func (s *fixture) queryMe(some, of int, code string) {
	for i := range of {
		e := event(OpMe, 60+10*i, 7, 0, 0).calm()
		if i < some {
			e = e.code(code)
		}
		s.add(e)
	}
}

// soldOut sells the last units, to users 3, 4 and 5, at 60, 70 and 80 ms.
func (s *fixture) soldOut() {
	for user := int64(3); user <= 5; user++ {
		s.store(100+user, user, "UNPAID")
		s.add(event(OpOrder, 30+10*int(user), user, 100+user, 1).status("UNPAID"))
	}
}

func TestBreachesAreAbridged(t *testing.T) {
	s := newFixture()
	for range 3 * breachesEach {
		s.add(event(OpMe, 60, 7, 0, 0).code(codeSignedOut))
	}
	_, all := s.broken()
	if len(all) != breachesEach+1 || !strings.Contains(all[breachesEach].Text, "40 more") {
		t.Errorf("got %d lines, the last is %v, want %d with a final count", len(all), all[len(all)-1], breachesEach+1)
	}
}

func TestCheckLogsFindsAlarms(t *testing.T) {
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
		{"healthy log", sound, 0},
		{"panic", write("panic", "{\"msg\":\"ready\"}\npanic: runtime error\ngoroutine 1\n"), 1},
		{"race in the last line", write("race", "x\nWARNING: DATA RACE"), 1},
		{"runtime error", write("fatal", "fatal error: all goroutines are asleep\n"), 1},
		{"missing log", filepath.Join(dir, "none"), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CheckLogs([]string{sound, tt.path}); len(got) != tt.want {
				t.Errorf("got %v, want %d breaches", got, tt.want)
			}
		})
	}
}

func TestCountersAreSummedOverRestarts(t *testing.T) {
	system := &fakeServer{}
	at := system.serve(t)
	w := NewSampler(at)
	for _, n := range []string{"3", "5", "2", "2"} { // the process restarted after the second
		at.page.Store("# HELP x\ntandian_sale_incarnations_total " + n + "\ntandian_sale_queue_events_total{event=\"direct\"} 0\nother 9\n")
		w.observe(t.Context(), 0)
	}
	var seen []string
	for _, a := range w.Acts([]Event{{Op: OpOrder, Code: "OUT_OF_STOCK"}}) {
		if a.Times > 0 {
			seen = append(seen, a.Name)
		}
		if a.Name == "an incarnation was certified" && a.Times != 7 {
			t.Errorf("got %v certifications, want 3 + 2 + 2", a.Times)
		}
	}
	if want := []string{"an incarnation was certified", "a customer got OUT_OF_STOCK"}; !slices.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
	if never := Never(w.Acts(nil)); len(never) != len(acts) {
		t.Errorf("got %v, want all %d actions", never, len(acts))
	}
}
