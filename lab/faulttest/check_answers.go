package faulttest

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// checkHolders: who holds an order is never told that all are sold (H).
func (c *court) checkHolders() {
	holds := c.holds()
	for _, e := range c.events {
		if e.Op != OpOrder || e.Code != "OUT_OF_STOCK" {
			continue
		}
		c.count("told OUT_OF_STOCK", 1)
		for _, t := range holds[claim{e.user, e.voucher}] {
			if t.from < e.Start && e.End < t.until {
				c.breach("H", "user %d was told OUT_OF_STOCK of voucher %d at %s, and held order %d since %s", e.user, e.voucher, e.Start, t.number, t.from)
			}
		}
	}
}

// checkSoldOut: nobody is told that all are sold while some are certainly left (H).
// A piece may be taken by whoever asked for one before the end of the request and was
// not refused: also by those who do not know, whose orders failed later, or who
// cancelled, since their pieces come back some time later.
func (c *court) checkSoldOut() {
	sales := c.offers()
	for _, e := range c.events {
		s := sales[e.voucher]
		if e.Op != OpOrder || e.Code != "OUT_OF_STOCK" || s == nil {
			continue
		}
		if taken, least := s.takenBy(e.End), s.leastUntil(e.End); taken < least {
			c.breach("H", "user %d was told OUT_OF_STOCK of voucher %d at %s, when at most %d of at least %d pieces could be taken", e.user, e.voucher, e.End, taken, least)
		}
	}
}

// offer is what is certain of a sale, by what was told.
type offer struct {
	opened int
	takers []time.Duration // begins of each user's first request that may have taken a piece
	downs  []seen          // edits that may have taken pieces out
}

func (o *offer) takenBy(at time.Duration) int {
	return sort.Search(len(o.takers), func(i int) bool { return o.takers[i] > at })
}

func (o *offer) leastUntil(at time.Duration) int {
	least := o.opened
	for _, e := range o.downs {
		if e.Start < at {
			least += e.Delta
		}
	}
	return least
}

// offers are the sales that were told to their merchant.
func (c *court) offers() map[int64]*offer {
	all := map[int64]*offer{}
	for _, e := range c.events {
		if e.Op == OpOpen && e.Code == "" {
			all[e.voucher] = &offer{opened: e.Stock}
		}
	}
	known := map[claim]bool{}
	for _, e := range c.events {
		o := all[e.voucher]
		switch who := (claim{e.user, e.voucher}); {
		case o == nil:
		case e.Op == OpEdit && e.Delta < 0 && (e.Code == "" || !e.Definite()):
			o.downs = append(o.downs, e)
		case e.Op == OpOrder && mayTake(e.Event) && !known[who]:
			known[who] = true
			o.takers = append(o.takers, e.Start)
		}
	}
	return all
}

// mayTake reports whether a request for a piece may have taken one, for a moment at
// least.
func mayTake(e Event) bool { return e.Order != "" || !e.Definite() }

// refusals are the reasons that each operation may be given: the vouchers exist, are
// on sale and in their window.
var refusals = map[Op][]string{
	OpOpen:   {"RATE_LIMITED"},
	OpEdit:   {"RATE_LIMITED", "VOUCHER_IN_USE", "INVALID_INPUT"},
	OpOrder:  {"RATE_LIMITED", "OUT_OF_STOCK", "ALREADY_ORDERED", "ORDER_NOT_COMPLETED"},
	OpPay:    {"RATE_LIMITED", "ORDER_NOT_PAYABLE", "NOT_FOUND"}, // D has what is not found
	OpCancel: {"RATE_LIMITED", "ORDER_NOT_CANCELLABLE", "NOT_FOUND"},
	OpRead:   {"RATE_LIMITED", codeAbsent},
	OpMe:     {"RATE_LIMITED"},
}

// checkRefusals: no refusal says what is not so (H).
func (c *court) checkRefusals() {
	for _, e := range c.events {
		c.count(string(e.Op)+" "+label(e.Event), 1)
		if e.Code == "" || !e.Definite() || slices.Contains(refusals[e.Op], e.Code) || signedOut(e.Code) {
			continue
		}
		c.breach("H", "%s of user %d, voucher %d, order %d at %s was refused as %s", e.Op, e.user, e.voucher, e.order, e.Start, e.Code)
	}
}

// label is an answer in a word, for counting.
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
	return code == "UNAUTHENTICATED" || code == codeSignedOut || code == codeStranger
}

// checkSignedIn: nobody is signed out (H).
func (c *court) checkSignedIn() {
	for _, e := range c.events {
		if signedOut(e.Code) {
			c.breach("H", "user %d was %s at %s when asking for %s %s", e.user, e.Code, e.Start, e.Op, e.Note)
		}
	}
}

// checkLive: once no fault has been under way for a while, who asks for a piece gets a
// definite answer in time, and so does nearly everybody who asks for something else,
// once. No answer is then that something unforeseen happened.
func (c *court) checkLive() {
	wishes := map[int64][]seen{}
	asked, unanswered := map[Op]int{}, map[Op][]seen{}
	for _, e := range c.events {
		if e.Wish != 0 {
			wishes[e.Wish] = append(wishes[e.Wish], e)
		}
		if e.Calm < calmEnough {
			continue
		}
		c.count("requests in calm", 1)
		if e.Code == "INTERNAL" || e.Code == codeNameless {
			c.breach("live", "%s of user %d, voucher %d, order %d at %s was answered with %s %s", e.Op, e.user, e.voucher, e.order, e.Start, e.Code, e.Note)
		}
		if !e.Definite() {
			c.count("requests in calm without a definite answer", 1)
		}
		if e.Wish != 0 {
			continue
		}
		if asked[e.Op]++; !e.Definite() {
			unanswered[e.Op] = append(unanswered[e.Op], e)
		}
	}
	c.checkWishes(wishes)
	for op, all := range unanswered {
		if n, of := len(all), asked[op]; n > fewUnanswered && n*100 > of {
			c.breach("live", "%d of %d times %s got no definite answer, such as user %d at %s: %s %s", n, of, op, all[0].user, all[0].Start, all[0].Code, all[0].Note)
		}
	}
}

// checkWishes judges those whose tries all began, and ended, while no fault was under
// way. Clients give none up, so the last try of each has its answer.
func (c *court) checkWishes(wishes map[int64][]seen) {
	within := cmp.Or(c.rules.AnswerWithin, answerWithin)
	for _, tries := range wishes {
		if slices.ContainsFunc(tries, func(e seen) bool { return e.Calm < calmEnough }) {
			continue
		}
		c.count(countCalm, 1)
		first, last := tries[0], tries[len(tries)-1]
		switch took := last.End - first.Start; {
		case !last.Definite():
			c.breach("live", "user %d asked %d times for voucher %d from %s to %s, and got no definite answer: %s %s", first.user, len(tries), first.voucher, first.Start, last.End, last.Code, last.Note)
		case took > within:
			c.breach("live", "user %d got an answer for voucher %d only after %s, at %s", first.user, first.voucher, took, last.End)
		}
	}
}
