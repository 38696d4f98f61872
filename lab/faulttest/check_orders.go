package faulttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// claim is a user's right to one unit of a voucher.
type claim struct{ user, voucher int64 }

// checkOnce checks that a user has at most one live order of a voucher (U), in the database
// and in the answers.
func (c *checker) checkOnce() {
	live := map[claim][]int64{}
	for n, r := range c.state.orders {
		if r.live() {
			live[claim{r.user, r.voucher}] = append(live[claim{r.user, r.voucher}], n)
		}
	}
	for buyer, orders := range live {
		if len(orders) > 1 {
			c.breach("U", "user %d has %d live orders of voucher %d: %v", buyer.user, len(orders), buyer.voucher, slices.Sorted(slices.Values(orders)))
		}
	}
	c.count("live orders", len(live))
	for buyer, list := range c.holders() {
		slices.SortFunc(list, func(a, b *orderTrace) int { return int(a.from - b.from) })
		for i, later := range list[1:] {
			if earlier := list[i]; later.from < earlier.until {
				c.breach("U", "user %d got orders %d and %d of voucher %d, both live at %s", buyer.user, earlier.number, later.number, buyer.voucher, later.from)
			}
		}
	}
}

// holders returns the orders that were reported live, by claim.
func (c *checker) holders() map[claim][]*orderTrace {
	all := map[claim][]*orderTrace{}
	for _, t := range c.orders {
		if e := t.events[0]; t.alive {
			all[claim{e.user, e.voucher}] = append(all[claim{e.user, e.voucher}], t)
		}
	}
	return all
}

// checkKeys checks that one idempotency key makes one order (U). An order that failed and
// that Redis lost may be followed by another.
func (c *checker) checkKeys() {
	type keyedClaim struct {
		claim
		key string
	}
	made := map[keyedClaim]map[int64]bool{}
	for _, e := range c.events {
		// ALREADY_ORDERED shows the order of another request.
		if e.Op != OpOrder || e.Key == "" || e.order == 0 || e.Code == "ALREADY_ORDERED" || c.state.orders[e.order].status == "FAILED" {
			continue
		}
		w := keyedClaim{claim{e.user, e.voucher}, e.Key}
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

// checkReported checks that an order reported as UNPAID or later has a row of that user and
// voucher, and keeps that status or a later one (D).
func (c *checker) checkReported() {
	for _, t := range c.orders {
		for _, e := range t.events {
			if !stored[e.Status] {
				continue
			}
			c.count("answers with a stored order", 1)
			if why := c.contradicts(e); why != "" {
				c.breach("D", "%s reported to user %d that order %d of voucher %d is %s, and %s", e.Op, e.user, e.order, e.voucher, e.Status, why)
				break // once per order
			}
		}
	}
	for _, e := range c.events {
		t := c.orders[e.order]
		absent := e.Code == codeAbsent || ((e.Op == OpPay || e.Op == OpCancel) && e.Code == "NOT_FOUND")
		if !absent || t == nil {
			continue
		}
		c.count("orders not found for a moment", 1)
		if t.wasStoredBefore(e.Start) {
			c.breach("D", "%s at %s did not find order %d, which was reported as stored", e.Op, e.Start, e.order)
		}
	}
}

// contradicts describes how the database contradicts an answer. It returns "" if it does not.
func (c *checker) contradicts(e resolvedEvent) string {
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

// after lists the statuses that an order may have after it was reported with a status.
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

func (t *orderTrace) wasStoredBefore(at time.Duration) bool {
	return slices.ContainsFunc(t.events, func(e resolvedEvent) bool { return stored[e.Status] && e.End < at })
}

// checkProgress checks that the reported status of an order does not go back (D). Caches may
// be stale for a moment, and longer during faults.
func (c *checker) checkProgress() {
	for _, t := range c.orders {
		byEnd := slices.SortedFunc(slices.Values(t.events), func(a, b resolvedEvent) int { return int(a.End - b.End) })
		for _, e := range t.events {
			for _, earlier := range byEnd {
				if earlier.End >= e.Start {
					break
				}
				if earlier.Status == e.Status || slices.Contains(after[earlier.Status], e.Status) {
					continue
				}
				c.count("stale answers", 1)
				if e.Calm >= calmEnough && e.Start-earlier.End > staleWithin {
					c.breach("D", "order %d was %s at %s, and %s again at %s", e.order, earlier.Status, earlier.End, e.Status, e.Start)
				}
				break
			}
		}
	}
}

// checkQueued checks that each number reported QUEUED ends as a row, that its client gets the
// outcome, and that a FAILED order stays FAILED (Q).
func (c *checker) checkQueued() {
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
			c.count("numbers reported QUEUED", 1)
		}
		if failed {
			c.count("numbers reported FAILED", 1)
		}
		switch {
		case !queued && !failed: // D covers it
		case !ok && failed:
			c.breach("Q", "order %d of user %d and voucher %d was reported FAILED and has no row", t.number, e.user, e.voucher)
		case !ok && c.rules.lostTwice(e, c.makers(e)):
			c.count("numbers lost with a server and Redis", 1)
			c.verdict.Notes = append(c.verdict.Notes, fmt.Sprintf("order %d of server %d was reported QUEUED at %s, and was lost with a server and Redis", t.number, e.Server, e.End))
		case !ok:
			c.breach("Q", "order %d of user %d and voucher %d was reported %s and has no row", t.number, e.user, e.voucher, e.Status)
		case r.user != e.user || r.voucher != e.voucher:
			c.breach("Q", "order %d was reported %s to user %d of voucher %d, and belongs to user %d and voucher %d", t.number, e.Status, e.user, e.voucher, r.user, r.voucher)
		case failed && r.status != "FAILED":
			c.breach("Q", "order %d was reported FAILED and is %s", t.number, r.status)
		case !ended:
			c.breach("live", "order %d was reported QUEUED, is %s, and no client received that status", t.number, r.status)
		}
	}
}

const (
	// lostTogether is how long a number may be in one place only. Redis holds unstored
	// entries until another server takes them over. A server holds a number that Redis lost
	// until it presumes the order lost, about six seconds later. Both take longer while the
	// database is unavailable, up to its longest fault.
	lostTogether = 15 * time.Second
	// lostBefore is the maximum age of a write that Redis loses.
	lostBefore = 2500 * time.Millisecond
)

// lostTwice reports whether a number may be lost together with one of the servers that may
// have made it, and with Redis. Both must fail after the request, soon after the answer and
// soon after each other.
func (r Rules) lostTwice(queued resolvedEvent, makers map[int]time.Duration) bool {
	for maker, requested := range makers {
		if maker >= len(r.Killed) {
			continue
		}
		for _, killed := range r.Killed[maker] {
			for _, forgot := range r.Losses {
				if lostWith(killed.since(requested), forgot.since(queued.End-lostBefore), queued.End) {
					return true
				}
			}
		}
	}
	return false
}

// lostWith reports whether a number reported at a time may be lost in both spans.
func lostWith(killed, forgot Span, queued time.Duration) bool {
	if killed.To < killed.From || forgot.To < forgot.From { // it ended before
		return false
	}
	later := max(killed.From, forgot.From)
	apart := later - min(killed.To, forgot.To)
	return later-queued <= lostTogether && apart <= lostTogether
}

// Span is the time of a fault, since the history began. The event happened at some moment of
// it.
type Span struct{ From, To time.Duration }

// since returns the part of the span after a time. The result ends before it begins if that
// part is empty.
func (s Span) since(at time.Duration) Span { return Span{max(s.From, at), s.To} }

// makers returns the servers that may have made a reported number, each with the time of the
// first request: the servers that the user asked for the voucher. The reporting server may
// have found the number in Redis.
func (c *checker) makers(queued resolvedEvent) map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, e := range c.events {
		if e.Op == OpOrder && e.user == queued.user && e.voucher == queued.voucher && e.Start <= queued.End {
			if _, known := all[e.Server]; !known {
				all[e.Server] = e.Start
			}
		}
	}
	return all
}

// checkBudget checks that no order fails for an internal reason while Redis loses no data
// (Q).
func (c *checker) checkBudget() {
	for n := range c.orders {
		if r := c.state.orders[n]; r.status == "FAILED" && r.failure == "ORDER_NOT_COMPLETED" {
			c.count("orders not completed", 1)
			if !c.rules.LosesData {
				c.breach("Q", "order %d was not completed, though Redis lost nothing", n)
			}
		}
	}
}

// checkIDs checks that a number belongs to one order.
func (c *checker) checkIDs() {
	for _, t := range c.orders {
		first := t.events[0]
		for _, e := range t.events[1:] {
			if e.user != first.user || e.voucher != first.voucher {
				c.breach("ids", "number %d was reported to user %d for voucher %d, and to user %d for voucher %d", t.number, first.user, first.voucher, e.user, e.voucher)
				break
			}
		}
	}
}

// checkRequested checks that every order was requested (ids).
func (c *checker) checkRequested() {
	requested, offered := map[claim]bool{}, map[int64]bool{}
	for _, e := range c.events {
		switch {
		case e.Op == OpOpen:
			offered[e.voucher] = true
		case e.Op == OpOrder && mayTake(e.Event):
			requested[claim{e.user, e.voucher}] = true
		}
	}
	for n, r := range c.state.orders {
		if offered[r.voucher] && r.status != "FAILED" && !requested[claim{r.user, r.voucher}] {
			c.breach("ids", "order %d of user %d and voucher %d is %s, and was not requested", n, r.user, r.voucher, r.status)
		}
	}
}
