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
	maxAdmissions   = 2000             // of one voucher; beyond, it is not searched
	admissionsOfOne = 10 * time.Second // for the search of one voucher
	admissionsOfAll = 90 * time.Second // for all of them, in any order, or three quarters of a run that took longer
	maxUnsearched   = 10               // one in so many may stay unsearched
)

// checkAdmissions looks, for each voucher, for an order in which its pieces can have
// been taken and given back, each within the time in which clients saw it happen, so
// that there is never one too many, no user has two, and who is told of an order holds
// it. If there is none, pieces were sold twice for a while, whatever the end looks like.
//
// A piece counts from the commit of its order: the promise of QUEUED is a decision. So
// orders that failed hold none, and what nobody was told may happen at any time after it
// was asked for. That all are sold is no operation here: it is true of Redis or of the
// database, which may be apart for a moment, and [court.checkSoldOut] bounds both.
func (c *court) checkAdmissions() {
	end := time.Now().Add(max(admissionsOfAll, c.rules.Took*3/4))
	histories := c.admissions()
	vouchers := slices.Sorted(maps.Keys(histories))
	r := rand.New(rand.NewPCG(c.rules.Seed, 3)) //nolint:gosec // to be repeated
	r.Shuffle(len(vouchers), func(i, j int) { vouchers[i], vouchers[j] = vouchers[j], vouchers[i] })
	unsearched := 0
	for _, v := range vouchers {
		h := histories[v]
		if len(h.ops) > maxAdmissions || time.Now().After(end) {
			unsearched++
			continue
		}
		switch porcupine.CheckOperationsTimeout(h.model(), h.ops, admissionsOfOne) {
		case porcupine.Ok:
			c.count(countSearched, 1)
			c.count("admissions and returns searched", len(h.ops))
		case porcupine.Unknown:
			unsearched++
		case porcupine.Illegal:
			c.count(countSearched, 1)
			c.breach("linear", "no order of its %d admissions and returns explains what was told of voucher %d with %d pieces", len(h.ops), v, h.opened)
		}
	}
	c.count("vouchers too long to be searched", unsearched)
	if unsearched*maxUnsearched > len(vouchers) {
		c.breach("linear", "the admissions of %d of %d vouchers could not be searched", unsearched, len(vouchers))
	}
}

// An act is what an operation of the model does.
type act int

const (
	take act = iota // an order gets its piece
	drop            // it ends, and the piece is free
	hold            // its user is told that it is live
	edit            // the merchant changes the stock
)

// move is the input of an operation.
type move struct {
	act   act
	order int // index among the voucher's orders
	user  int // index among its users
	delta int // of an edit
}

// pieces is the state of the model. It is compared as a value.
type pieces struct {
	held  string // one byte for each user: 1 + index of the order within the user's, 0 is none
	taken int
	all   int
}

// admissionHistory is one voucher's.
type admissionHistory struct {
	voucher int64
	opened  int
	users   map[int64]int
	orders  map[int64]int
	nth     []byte // of each order, which of its user's it is, from 1
	of      map[int64]byte
	ops     []porcupine.Operation
}

// admissions are the operations on each voucher that was told to its merchant.
func (c *court) admissions() map[int64]*admissionHistory {
	all := map[int64]*admissionHistory{}
	asked := map[claim]time.Duration{} // begin of the first request that may have made an order
	for _, e := range c.events {
		if e.Op == OpOpen && e.Code == "" {
			all[e.voucher] = &admissionHistory{voucher: e.voucher, opened: e.Stock, users: map[int64]int{}, orders: map[int64]int{}, of: map[int64]byte{}}
		}
		who := claim{e.user, e.voucher}
		if _, known := asked[who]; !known && e.Op == OpOrder && mayTake(e.Event) {
			asked[who] = e.Start
		}
	}
	for _, n := range slices.Sorted(maps.Keys(c.state.orders)) {
		r := c.state.orders[n]
		if h := all[r.voucher]; h != nil && r.status != "FAILED" {
			if begin, ok := asked[claim{r.user, r.voucher}]; ok { // else D has it
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
		case e.Op == OpEdit && !e.Definite() && e.Delta > 0: // fewer, perhaps: that only forbids
			h.op(move{act: edit, delta: e.Delta}, e.Start, forever)
		case e.Op == OpOrder && e.Code == "ALREADY_ORDERED" && stands[e.Status] && known:
			h.op(move{act: hold, order: i, user: h.users[e.user]}, e.Start, e.End)
		}
	}
	for _, h := range all {
		slices.SortStableFunc(h.ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return all
}

// add notes that an order got its piece, and that it gave it back if it did.
func (h *admissionHistory) add(n int64, r row, begin time.Duration, t *told) {
	user, seen := h.users[r.user]
	if !seen {
		user = len(h.users)
		h.users[r.user] = user
	}
	i := len(h.orders)
	h.orders[n] = i
	h.of[r.user]++
	h.nth = append(h.nth, h.of[r.user])
	known, gone := forever, forever
	var ending time.Duration
	if t != nil {
		begin, known = t.asked, t.known
		ending, gone = t.ending, t.gone
	}
	h.op(move{act: take, order: i, user: user}, begin, known)
	if !r.live() {
		h.op(move{act: drop, order: i, user: user}, max(begin, ending), gone)
	}
}

func (h *admissionHistory) op(m move, from, to time.Duration) {
	h.ops = append(h.ops, porcupine.Operation{Input: m, Call: int64(from), Return: int64(to)})
}

func (h *admissionHistory) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return pieces{held: string(make([]byte, len(h.users))), all: h.opened} },
		Step: func(state, input, _ any) (bool, any) {
			s, _ := state.(pieces)
			m, _ := input.(move)
			return h.step(s, m)
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprint(input) },
	}
}

// step says whether a move is allowed, and what is then.
func (h *admissionHistory) step(s pieces, m move) (bool, pieces) {
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
