package faulttest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	maxAdmissions    = 2000             // of one voucher; longer histories are not searched
	maxVoucherSearch = 10 * time.Second // search time per voucher
	maxSearch        = 90 * time.Second // total search time, in random order; three quarters of the run if that is more
	maxUnsearched    = 10               // one voucher in this many may stay unsearched
)

// checkAdmissions searches, for each voucher, an order of all admissions and releases that
// explains the answers. Each operation happens between its request and its answer. Stock is
// never exceeded, no user holds two orders, and a user who gets an order holds it. If there is
// no such order, a unit was sold twice at some time, even if the final state is right.
//
// A unit counts from the commit of its order, because QUEUED promises a decision. Failed
// orders hold none, and unreported operations may happen at any time after their request.
// OUT_OF_STOCK is no operation here: it may be true in Redis or in the database, which can
// differ for a moment. [checker.checkSoldOut] limits both.
func (c *checker) checkAdmissions() {
	end := time.Now().Add(max(maxSearch, c.rules.Took*3/4))
	histories := c.admissions()
	vouchers := slices.Sorted(maps.Keys(histories))
	r := rand.New(rand.NewPCG(c.rules.Seed, 3)) //nolint:gosec // repeatable
	r.Shuffle(len(vouchers), func(i, j int) { vouchers[i], vouchers[j] = vouchers[j], vouchers[i] })
	unsearched := 0
	for _, v := range vouchers {
		h := histories[v]
		if len(h.ops) > maxAdmissions || time.Now().After(end) {
			unsearched++
			continue
		}
		switch porcupine.CheckOperationsTimeout(h.model(), h.ops, maxVoucherSearch) {
		case porcupine.Ok:
			c.count(countSearched, 1)
			c.count("admissions and releases searched", len(h.ops))
		case porcupine.Unknown:
			unsearched++
		case porcupine.Illegal:
			c.count(countSearched, 1)
			c.breach("linear", "voucher %d with %d units: no order of its %d admissions and releases explains the answers", v, h.opened, len(h.ops))
		}
	}
	c.count("vouchers not searched", unsearched)
	if unsearched*maxUnsearched > len(vouchers) {
		c.breach("linear", "the admissions of %d of %d vouchers could not be searched", unsearched, len(vouchers))
	}
}

// opKind is the kind of an operation in the model.
type opKind int

const (
	take opKind = iota // an order gets its unit
	drop               // the order ends and releases the unit
	hold               // the server reports to its user that the order is live
	edit               // the merchant changes the stock
)

// move is the input of an operation.
type move struct {
	act   opKind
	order int // index among the voucher's orders
	user  int // index among its users
	delta int // of an edit
}

// units is the state of the model, compared by value.
type units struct {
	held  string // one byte per user: 1 + index of the order among the user's, 0 means none
	taken int
	all   int
}

// admissionHistory is the history of one voucher.
type admissionHistory struct {
	voucher int64
	opened  int
	users   map[int64]int
	orders  map[int64]int
	nth     []byte         // by order: its index among its user's orders, from 1
	perUser map[int64]byte // number of orders
	ops     []porcupine.Operation
}

// admissions returns the operations on each voucher that was confirmed to its merchant.
func (c *checker) admissions() map[int64]*admissionHistory {
	all := map[int64]*admissionHistory{}
	requested := map[claim]time.Duration{} // start of the first request that may have made an order
	for _, e := range c.events {
		if e.Op == OpOpen && e.Code == "" {
			all[e.voucher] = &admissionHistory{voucher: e.voucher, opened: e.Stock, users: map[int64]int{}, orders: map[int64]int{}, perUser: map[int64]byte{}}
		}
		buyer := claim{e.user, e.voucher}
		if _, known := requested[buyer]; !known && e.Op == OpOrder && mayTake(e.Event) {
			requested[buyer] = e.Start
		}
	}
	for _, n := range slices.Sorted(maps.Keys(c.state.orders)) {
		r := c.state.orders[n]
		if h := all[r.voucher]; h != nil && r.status != "FAILED" {
			if begin, ok := requested[claim{r.user, r.voucher}]; ok { // D covers the other case
				h.add(n, r, begin, c.orders[n])
			}
		}
	}
	for _, e := range c.events {
		h := all[e.voucher]
		if h == nil {
			continue
		}
		switch i, known := h.orders[e.order]; {
		case e.Op == OpEdit && e.Code == "":
			h.op(move{act: edit, delta: e.Delta}, e.Start, e.End)
		case e.Op == OpEdit && !e.Definite() && e.Delta > 0: // a decrease only forbids
			h.op(move{act: edit, delta: e.Delta}, e.Start, forever)
		case e.Op == OpOrder && e.Code == "ALREADY_ORDERED" && active[e.Status] && known:
			h.op(move{act: hold, order: i, user: h.users[e.user]}, e.Start, e.End)
		}
	}
	for _, h := range all {
		slices.SortStableFunc(h.ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return all
}

// add adds the admission of an order, and its release if it ended.
func (h *admissionHistory) add(n int64, r row, begin time.Duration, t *orderTrace) {
	user, seen := h.users[r.user]
	if !seen {
		user = len(h.users)
		h.users[r.user] = user
	}
	i := len(h.orders)
	h.orders[n] = i
	h.perUser[r.user]++
	h.nth = append(h.nth, h.perUser[r.user])
	known, released := forever, forever
	var ending time.Duration
	if t != nil {
		begin, known = t.requested, t.confirmed
		ending, released = t.endRequested, t.endConfirmed
	}
	h.op(move{act: take, order: i, user: user}, begin, known)
	if !r.live() {
		h.op(move{act: drop, order: i, user: user}, max(begin, ending), released)
	}
}

func (h *admissionHistory) op(m move, from, to time.Duration) {
	h.ops = append(h.ops, porcupine.Operation{Input: m, Call: int64(from), Return: int64(to)})
}

func (h *admissionHistory) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return units{held: string(make([]byte, len(h.users))), all: h.opened} },
		Step: func(state, input, _ any) (bool, any) {
			s, _ := state.(units)
			m, _ := input.(move)
			return h.step(s, m)
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprint(input) },
	}
}

// step reports whether a move is allowed, and returns the next state.
func (h *admissionHistory) step(s units, m move) (bool, units) {
	if m.act == edit {
		s.all += m.delta
		return s.taken <= s.all, s
	}
	has := s.held[m.user] == h.nth[m.order]
	switch m.act {
	case take:
		if s.held[m.user] != 0 || s.taken == s.all {
			return false, s
		}
		s.taken++
		s.held = with(s.held, m.user, h.nth[m.order])
	case drop:
		if !has {
			return false, s
		}
		s.taken--
		s.held = with(s.held, m.user, 0)
	default: // hold
		return has, s
	}
	return true, s
}

func with(held string, user int, is byte) string {
	next := []byte(held)
	next[user] = is
	return string(next)
}
