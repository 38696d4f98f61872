package faulttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// claim is a user's right to one piece of a voucher.
type claim struct{ user, voucher int64 }

// checkOnce: a user has one live order of a voucher at most (U), in the database and
// by what was told.
func (c *court) checkOnce() {
	live := map[claim][]int64{}
	for n, r := range c.state.orders {
		if r.live() {
			live[claim{r.user, r.voucher}] = append(live[claim{r.user, r.voucher}], n)
		}
	}
	for who, orders := range live {
		if len(orders) > 1 {
			c.breach("U", "user %d has %d live orders of voucher %d: %v", who.user, len(orders), who.voucher, slices.Sorted(slices.Values(orders)))
		}
	}
	c.count("live orders", len(live))
	for who, list := range c.holds() {
		slices.SortFunc(list, func(a, b *told) int { return int(a.from - b.from) })
		for i, later := range list[1:] {
			if earlier := list[i]; later.from < earlier.until {
				c.breach("U", "user %d was told orders %d and %d of voucher %d, both live at %s", who.user, earlier.number, later.number, who.voucher, later.from)
			}
		}
	}
}

// holds are the orders that were told with their piece, by who holds them.
func (c *court) holds() map[claim][]*told {
	all := map[claim][]*told{}
	for _, t := range c.orders {
		if e := t.events[0]; t.alive {
			all[claim{e.user, e.voucher}] = append(all[claim{e.user, e.voucher}], t)
		}
	}
	return all
}

// checkKeys: what a client wants once becomes one order (U). One that failed, and that
// Redis forgot, may be followed by another.
func (c *court) checkKeys() {
	type wish struct {
		claim
		key string
	}
	made := map[wish]map[int64]bool{}
	for _, e := range c.events {
		// ALREADY_ORDERED shows an order that something else made.
		if e.Op != OpOrder || e.Key == "" || e.order == 0 || e.Code == "ALREADY_ORDERED" || c.state.orders[e.order].status == "FAILED" {
			continue
		}
		w := wish{claim{e.user, e.voucher}, e.Key}
		if made[w] == nil {
			made[w] = map[int64]bool{}
		}
		made[w][e.order] = true
	}
	c.count("keys", len(made))
	for w, orders := range made {
		if len(orders) > 1 {
			c.breach("U", "user %d got %d orders of voucher %d by one key: %v", w.user, len(orders), w.voucher, slices.Sorted(maps.Keys(orders)))
		}
	}
}

// checkTold: an order that was told UNPAID or later is a row, that user's and of that
// voucher, and stays what was told (D).
func (c *court) checkTold() {
	for _, t := range c.orders {
		for _, e := range t.events {
			if !stored[e.Status] {
				continue
			}
			c.count("answers with a stored order", 1)
			if why := c.contradicts(e); why != "" {
				c.breach("D", "%s told user %d that order %d of voucher %d is %s, and %s", e.Op, e.user, e.order, e.voucher, e.Status, why)
				break // once for each order
			}
		}
	}
	for _, e := range c.events {
		t := c.orders[e.order]
		absent := e.Code == codeAbsent || ((e.Op == OpPay || e.Op == OpCancel) && e.Code == "NOT_FOUND")
		if !absent || t == nil {
			continue
		}
		c.count("orders that could not be found for a moment", 1)
		if t.wasStoredBefore(e.Start) {
			c.breach("D", "%s at %s did not find order %d, which had been told as stored", e.Op, e.Start, e.order)
		}
	}
}

// contradicts says how the database contradicts an answer, "" if it does not.
func (c *court) contradicts(e seen) string {
	r, ok := c.state.orders[e.order]
	switch {
	case !ok:
		return "it has no row"
	case r.user != e.user:
		return "it is another user's"
	case r.voucher != e.voucher:
		return "it is of another voucher"
	case !slices.Contains(after[e.Status], r.status):
		return "it ended as " + strings.TrimSpace(r.status+" "+r.failure)
	}
	return ""
}

// after are what an order may be once it was told to be something.
var after = map[string][]string{
	"UNPAID":    {"UNPAID", "PAID", "USED", "REFUNDING", "REFUNDED", "CANCELLED"},
	"PAID":      {"PAID", "USED", "REFUNDING", "REFUNDED"},
	"USED":      {"USED"},
	"REFUNDING": {"REFUNDING", "REFUNDED"},
	"REFUNDED":  {"REFUNDED"},
	"CANCELLED": {"CANCELLED"},
	"FAILED":    {"FAILED"},
	"QUEUED":    {"UNPAID", "PAID", "USED", "REFUNDING", "REFUNDED", "CANCELLED", "FAILED"},
}

func (t *told) wasStoredBefore(at time.Duration) bool {
	return slices.ContainsFunc(t.events, func(e seen) bool { return stored[e.Status] && e.End < at })
}

// checkProgress: an order does not go back in what is told of it (D). Caches may be
// behind for a moment, and while there are faults for longer.
func (c *court) checkProgress() {
	for _, t := range c.orders {
		byEnd := slices.SortedFunc(slices.Values(t.events), func(a, b seen) int { return int(a.End - b.End) })
		for _, e := range t.events {
			for _, earlier := range byEnd {
				if earlier.End >= e.Start {
					break
				}
				if earlier.Status == e.Status || slices.Contains(after[earlier.Status], e.Status) {
					continue
				}
				c.count("answers that were behind", 1)
				if e.Calm >= calmEnough && e.Start-earlier.End > staleWithin {
					c.breach("D", "order %d was told %s at %s, and %s again at %s", e.order, earlier.Status, earlier.End, e.Status, e.Start)
				}
				break
			}
		}
	}
}

// checkQueued: each number that was told QUEUED ends as a row, which its client was
// told, and one that was told FAILED stays FAILED (Q).
func (c *court) checkQueued() {
	for _, t := range c.orders {
		var queued, failed, ended bool
		for _, e := range t.events {
			queued = queued || e.Status == "QUEUED"
			failed = failed || e.Status == "FAILED"
			ended = ended || e.Status != "QUEUED"
		}
		e := t.events[0]
		r, ok := c.state.orders[t.number]
		if queued {
			c.count("numbers told QUEUED", 1)
		}
		if failed {
			c.count("numbers told FAILED", 1)
		}
		switch {
		case !queued && !failed: // D has it
		case !ok && failed:
			c.breach("Q", "order %d of user %d and voucher %d was told FAILED and has no row", t.number, e.user, e.voucher)
		case !ok && c.rules.lostTwice(e, c.makers(e)):
			c.count("numbers that were lost with a server and with Redis", 1)
			c.verdict.Notes = append(c.verdict.Notes, fmt.Sprintf("order %d of server %d was told QUEUED at %s, and was lost with a server and with Redis", t.number, e.Server, e.End))
		case !ok:
			c.breach("Q", "order %d of user %d and voucher %d was told %s and has no row", t.number, e.user, e.voucher, e.Status)
		case r.user != e.user || r.voucher != e.voucher:
			c.breach("Q", "order %d was told %s to user %d of voucher %d, and is that of user %d, voucher %d", t.number, e.Status, e.user, e.voucher, r.user, r.voucher)
		case failed && r.status != "FAILED":
			c.breach("Q", "order %d was told FAILED and is %s", t.number, r.status)
		case !ended:
			c.breach("live", "order %d was told QUEUED, is %s, and nobody was told", t.number, r.status)
		}
	}
}

const (
	// lostTogether is for how long a number may be known in one place only: Redis keeps
	// what nobody has stored until others take it over, a server what Redis has not until
	// it presumes it lost, some six seconds later. Both take longer while the database is
	// away, as long as the longest fault of it.
	lostTogether = 15 * time.Second
	// lostBefore is how old a write may be that Redis loses.
	lostBefore = 2500 * time.Millisecond
)

// lostTwice reports whether a number may be lost with the server that made it, one of
// those, and with Redis: both were harmed after it was asked for, soon after it was told
// and soon after each other.
func (r Rules) lostTwice(told seen, makers map[int]time.Duration) bool {
	for maker, asked := range makers {
		if maker >= len(r.Killed) {
			continue
		}
		for _, killed := range r.Killed[maker] {
			for _, forgot := range r.Forgot {
				if lostWith(killed.since(asked), forgot.since(told.End-lostBefore), told.End) {
					return true
				}
			}
		}
	}
	return false
}

// lostWith reports whether what was told at a time may be lost in both spans.
func lostWith(killed, forgot Span, told time.Duration) bool {
	if killed.To < killed.From || forgot.To < forgot.From { // it was over before
		return false
	}
	later := max(killed.From, forgot.From)
	apart := later - min(killed.To, forgot.To)
	return later-told <= lostTogether && apart <= lostTogether
}

// A Span is from when to when something was under way, since the history began: it
// happened at a moment of it.
type Span struct{ From, To time.Duration }

// since is the part of the span from a time on; it ends before it begins if there is none.
func (s Span) since(at time.Duration) Span { return Span{max(s.From, at), s.To} }

// makers are the servers that may have made a number that was told, and since when: those
// that its user had asked for a piece of the voucher. The one that told it may have found
// it in Redis.
func (c *court) makers(told seen) map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, e := range c.events {
		if e.Op == OpOrder && e.user == told.user && e.voucher == told.voucher && e.Start <= told.End {
			if _, known := all[e.Server]; !known {
				all[e.Server] = e.Start
			}
		}
	}
	return all
}

// checkBudget: while Redis forgets nothing, no order fails for a reason of ours (Q).
func (c *court) checkBudget() {
	for n := range c.orders {
		if r := c.state.orders[n]; r.status == "FAILED" && r.failure == "ORDER_NOT_COMPLETED" {
			c.count("orders that were not completed", 1)
			if !c.rules.Forgets {
				c.breach("Q", "order %d was not completed, though Redis lost nothing", n)
			}
		}
	}
}

// checkIDs: a number is one order's.
func (c *court) checkIDs() {
	for _, t := range c.orders {
		first := t.events[0]
		for _, e := range t.events[1:] {
			if e.user != first.user || e.voucher != first.voucher {
				c.breach("ids", "number %d was told to user %d for voucher %d, and to user %d for voucher %d", t.number, first.user, first.voucher, e.user, e.voucher)
				break
			}
		}
	}
}

// checkWanted: there is no order that nobody asked for (ids).
func (c *court) checkWanted() {
	asked, offered := map[claim]bool{}, map[int64]bool{}
	for _, e := range c.events {
		switch {
		case e.Op == OpOpen:
			offered[e.voucher] = true
		case e.Op == OpOrder && mayTake(e.Event):
			asked[claim{e.user, e.voucher}] = true
		}
	}
	for n, r := range c.state.orders {
		if offered[r.voucher] && r.status != "FAILED" && !asked[claim{r.user, r.voucher}] {
			c.breach("ids", "order %d of user %d and voucher %d is %s, and nobody asked for it", n, r.user, r.voucher, r.status)
		}
	}
}
