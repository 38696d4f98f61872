package faulttest

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// checkHolders checks that the holder of an order never gets OUT_OF_STOCK (H).
func (c *checker) checkHolders() {
	holds := c.holders()
	for _, e := range c.events {
		if e.Op != OpOrder || e.Code != "OUT_OF_STOCK" {
			continue
		}
		c.count("OUT_OF_STOCK answers", 1)
		for _, t := range holds[claim{e.user, e.voucher}] {
			if t.from < e.Start && e.End < t.until {
				c.breach("H", "user %d got OUT_OF_STOCK for voucher %d at %s, and held order %d since %s", e.user, e.voucher, e.Start, t.number, t.from)
			}
		}
	}
}

// checkSoldOut checks that no user gets OUT_OF_STOCK while units are certainly left (H). A
// unit counts as possibly taken if its request began before the answer and was not refused.
// This includes requests without a result, orders that failed later and cancelled orders,
// because their units are released with a delay.
func (c *checker) checkSoldOut() {
	sales := c.offers()
	for _, e := range c.events {
		s := sales[e.voucher]
		if e.Op != OpOrder || e.Code != "OUT_OF_STOCK" || s == nil {
			continue
		}
		if taken, minUnits := s.takenBy(e.End), s.minUntil(e.End); taken < minUnits {
			c.breach("H", "user %d got OUT_OF_STOCK for voucher %d at %s, when at most %d of at least %d units could be taken", e.user, e.voucher, e.End, taken, minUnits)
		}
	}
}

// offer holds the certain facts about a sale, from the answers.
type offer struct {
	opened int
	takers []time.Duration // starts of each user's first request that may have taken a unit
	downs  []resolvedEvent // edits that may have removed units
}

func (o *offer) takenBy(at time.Duration) int {
	return sort.Search(len(o.takers), func(i int) bool { return o.takers[i] > at })
}

func (o *offer) minUntil(at time.Duration) int {
	minUnits := o.opened
	for _, e := range o.downs {
		if e.Start < at {
			minUnits += e.Delta
		}
	}
	return minUnits
}

// offers returns the sales that were confirmed to their merchant.
func (c *checker) offers() map[int64]*offer {
	all := map[int64]*offer{}
	for _, e := range c.events {
		if e.Op == OpOpen && e.Code == "" {
			all[e.voucher] = &offer{opened: e.Stock}
		}
	}
	known := map[claim]bool{}
	for _, e := range c.events {
		o := all[e.voucher]
		switch buyer := (claim{e.user, e.voucher}); {
		case o == nil:
		case e.Op == OpEdit && e.Delta < 0 && (e.Code == "" || !e.Definite()):
			o.downs = append(o.downs, e)
		case e.Op == OpOrder && mayTake(e.Event) && !known[buyer]:
			known[buyer] = true
			o.takers = append(o.takers, e.Start)
		}
	}
	return all
}

// mayTake reports whether an order request may have taken a unit, at least for a moment.
func mayTake(e Event) bool { return e.Order != "" || !e.Definite() }

// refusals lists the allowed refusals of each operation: the vouchers exist, are on sale and
// in their window.
var refusals = map[Op][]string{
	OpOpen:   {"RATE_LIMITED"},
	OpEdit:   {"RATE_LIMITED", "VOUCHER_IN_USE", "INVALID_INPUT"},
	OpOrder:  {"RATE_LIMITED", "OUT_OF_STOCK", "ALREADY_ORDERED", "ORDER_NOT_COMPLETED"},
	OpPay:    {"RATE_LIMITED", "ORDER_NOT_PAYABLE", "NOT_FOUND"}, // D covers NOT_FOUND
	OpCancel: {"RATE_LIMITED", "ORDER_NOT_CANCELLABLE", "NOT_FOUND"},
	OpRead:   {"RATE_LIMITED", codeAbsent},
	OpMe:     {"RATE_LIMITED"},
}

// checkRefusals checks that no refusal is false (H).
func (c *checker) checkRefusals() {
	for _, e := range c.events {
		c.count(string(e.Op)+" "+label(e.Event), 1)
		if e.Code == "" || !e.Definite() || slices.Contains(refusals[e.Op], e.Code) || signedOut(e.Code) {
			continue
		}
		c.breach("H", "%s of user %d, voucher %d, order %d at %s was refused as %s", e.Op, e.user, e.voucher, e.order, e.Start, e.Code)
	}
}

// label returns the answer as one word, for counters.
func label(e Event) string {
	switch {
	case e.Code != "":
		return e.Code
	case e.Status != "":
		return e.Status
	}
	return "done"
}

func signedOut(code string) bool {
	return code == "UNAUTHENTICATED" || code == codeSignedOut || code == codeWrongUser
}

// checkSignedIn checks that no user is signed out (H).
func (c *checker) checkSignedIn() {
	for _, e := range c.events {
		if signedOut(e.Code) {
			c.breach("H", "user %d was %s at %s during %s %s", e.user, e.Code, e.Start, e.Op, e.Note)
		}
	}
}

// checkLive checks answers in calm periods. Every purchase then gets a definite answer in
// time, and so do nearly all single requests. An internal error is never allowed.
func (c *checker) checkLive() {
	purchases := map[int64][]resolvedEvent{}
	requested, unanswered := map[Op]int{}, map[Op][]resolvedEvent{}
	for _, e := range c.events {
		if e.Purchase != 0 {
			purchases[e.Purchase] = append(purchases[e.Purchase], e)
		}
		if e.Calm < calmEnough {
			continue
		}
		c.count("requests in calm", 1)
		if e.Code == "INTERNAL" || e.Code == codeMissing {
			c.breach("live", "%s of user %d, voucher %d, order %d at %s got %s %s", e.Op, e.user, e.voucher, e.order, e.Start, e.Code, e.Note)
		}
		if !e.Definite() {
			c.count("requests in calm without a definite answer", 1)
		}
		if e.Purchase != 0 {
			continue
		}
		if requested[e.Op]++; !e.Definite() {
			unanswered[e.Op] = append(unanswered[e.Op], e)
		}
	}
	c.checkPurchases(purchases)
	for op, all := range unanswered {
		if n, of := len(all), requested[op]; n > fewUnanswered && n*100 > of {
			c.breach("live", "%d of %d %s requests got no definite answer, such as user %d at %s: %s %s", n, of, op, all[0].user, all[0].Start, all[0].Code, all[0].Note)
		}
	}
}

// checkPurchases checks the purchases whose tries all ran in a calm period. Clients do not
// give up, so the last try of each has its answer.
func (c *checker) checkPurchases(purchases map[int64][]resolvedEvent) {
	within := cmp.Or(c.rules.AnswerWithin, answerWithin)
	for _, tries := range purchases {
		if slices.ContainsFunc(tries, func(e resolvedEvent) bool { return e.Calm < calmEnough }) {
			continue
		}
		c.count(countCalm, 1)
		first, last := tries[0], tries[len(tries)-1]
		switch took := last.End - first.Start; {
		case !last.Definite():
			c.breach("live", "user %d tried %d times to order voucher %d from %s to %s, and got no definite answer: %s %s", first.user, len(tries), first.voucher, first.Start, last.End, last.Code, last.Note)
		case took > within:
			c.breach("live", "user %d got an answer for voucher %d only after %s, at %s", first.user, first.voucher, took, last.End)
		}
	}
}
