package faulttest

import (
	"maps"
	"slices"
)

// checkConservation checks that sold and remaining units add up in the database (C). If
// orders ended, a difference means a unit that was released twice or never (R).
func (c *checker) checkConservation() {
	live, ended := map[int64]int{}, map[int64]int{}
	for _, r := range c.state.orders {
		switch {
		case r.live():
			live[r.voucher]++
		case r.status != "FAILED":
			ended[r.voucher]++
		}
	}
	for _, v := range c.vouchers() {
		s := c.state.sales[v]
		if live[v] > s.initial {
			c.breach("C", "sale %d is oversold: %d live orders of %d units", v, live[v], s.initial)
		}
		if live[v]+s.stock == s.initial {
			continue
		}
		c.breach("C", "sale %d: %d sold + %d left, of %d", v, live[v], s.stock, s.initial)
		if ended[v] > 0 {
			c.breach("R", "sale %d: stock should be %d after %d orders ended, and is %d", v, s.initial-live[v], ended[v], s.stock)
		}
	}
	c.count("orders that ended and released a unit", sum(ended))
}

// vouchers returns the vouchers of all sales, in order.
func (c *checker) vouchers() []int64 { return slices.Sorted(maps.Keys(c.state.sales)) }

func sum(of map[int64]int) (n int) {
	for _, one := range of {
		n += one
	}
	return n
}

// checkStock checks that a sale has the reported number of units (C): its initial stock, each
// confirmed edit, and any of the edits with an unknown result.
func (c *checker) checkStock() {
	opened, edited := map[int64]int{}, map[int64]int{}
	open := map[int64][]int{}
	for _, e := range c.events {
		switch {
		case e.Op == OpOpen && e.Code == "":
			opened[e.voucher] = e.Stock
		case e.Op != OpEdit:
		case e.Code == "":
			edited[e.voucher] += e.Delta
			c.count("edits confirmed", 1)
		case !e.Definite():
			open[e.voucher] = append(open[e.voucher], e.Delta)
			c.count("edits with unknown result", 1)
		}
	}
	for v, stock := range opened {
		s, ok := c.state.sales[v]
		if !ok {
			c.breach("D", "sale %d was confirmed and is not in the database", v)
			continue
		}
		if rest := s.initial - stock - edited[v]; !sumsTo(open[v], rest) {
			c.breach("C", "sale %d began with %d units, was edited by %d, with %v unknown, and has %d", v, stock, edited[v], open[v], s.initial)
		}
	}
}

// sumsTo reports whether a subset of the numbers adds up to want.
func sumsTo(of []int, want int) bool {
	sums := map[int]bool{0: true}
	for _, n := range of {
		for _, s := range slices.Collect(maps.Keys(sums)) {
			sums[s+n] = true
		}
	}
	return sums[want]
}

// checkRedis checks that Redis agrees with the database (C): all units, and the live orders
// by user. If a user has two, which U finds, the later one counts.
func (c *checker) checkRedis() {
	if c.state.redis == nil {
		return
	}
	live := map[int64]map[int64]int64{}
	for _, n := range slices.Sorted(maps.Keys(c.state.orders)) {
		r := c.state.orders[n]
		if !r.live() {
			continue
		}
		if live[r.voucher] == nil {
			live[r.voucher] = map[int64]int64{}
		}
		live[r.voucher][r.user] = n
	}
	for _, v := range c.vouchers() {
		s := c.state.sales[v]
		if s.swept {
			continue
		}
		k, there := c.state.redis.sales[v]
		switch {
		case !there || !k.whole:
			c.breach("C", "sale %d is incomplete in Redis", v)
			continue
		case k.stock+len(k.buyers) != k.initial:
			c.breach("C", "sale %d in Redis: %d buyers + %d left, of %d", v, len(k.buyers), k.stock, k.initial)
		case k.initial != s.initial:
			c.breach("C", "sale %d has %d units in Redis and %d in the database", v, k.initial, s.initial)
		}
		if !maps.Equal(k.buyers, live[v]) {
			c.breach("C", "sale %d: buyers in Redis are %v, live orders are %v", v, difference(k.buyers, live[v]), difference(live[v], k.buyers))
		}
		c.count("buyers in Redis", len(k.buyers))
	}
}

// difference returns the entries of a that b lacks.
func difference(a, b map[int64]int64) map[int64]int64 {
	only := map[int64]int64{}
	for k, v := range a {
		if b[k] != v {
			only[k] = v
		}
	}
	return only
}

// checkEnds checks that nothing waits forever (Q).
func (c *checker) checkEnds() {
	if r := c.state.redis; r != nil && r.queued > 0 {
		c.breach("Q", "%d orders still wait for their commit", r.queued)
	}
	if n := c.state.waiting; n > 0 {
		c.breach("Q", "%d outbox jobs still wait", n)
	}
	if n := c.state.parked; n > 0 {
		c.breach("Q", "%d outbox jobs are parked", n)
	}
}

// checkReturned checks that a unit is released once (R): an order is either paid or
// cancelled, and cancelled once.
func (c *checker) checkReturned() {
	paid, cancelled := map[int64]int{}, map[int64]int{}
	for _, e := range c.events {
		switch {
		case e.Code != "":
		case e.Op == OpPay && e.Status == "PAID":
			paid[e.order]++
		case e.Op == OpCancel:
			cancelled[e.order]++
		}
	}
	c.count("orders reported PAID", len(paid))
	c.count("orders reported CANCELLED", len(cancelled))
	for n, times := range cancelled {
		if times > 1 {
			c.breach("R", "order %d was cancelled %d times with success", n, times)
		}
		if paid[n] > 0 {
			c.breach("R", "order %d was both paid and cancelled", n)
		}
	}
}
