package faulttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Verdict is what the checks found.
type Verdict struct {
	Breaches []Breach
	// Counts are what was looked at, so that one can see that a check had something to
	// find, and what is no breach but worth knowing.
	Counts map[string]int
	// Notes tell of what is allowed and should be rare.
	Notes []string
}

// A Breach is one thing that must not be.
type Breach struct {
	// Invariant is C, U, D, Q, R or H, as internal/flashsale/DESIGN.md has them; "live":
	// without a fault there was no definite answer in time; "ids": a number was given out
	// twice; "log": a server panicked; "linear": no order of events explains the answers;
	// "mended": in the end both stores differ.
	Invariant string
	Text      string
}

func (b Breach) String() string { return b.Invariant + ": " + b.Text }

// Rules are what a run may expect.
type Rules struct {
	// Forgets: a fault of the run makes Redis lose data, so that orders that were told
	// QUEUED may fail for a reason of ours. Without it none may.
	Forgets bool
	// AnswerWithin is how soon every wish has a definite answer once no fault has been under
	// way for a while; default 5 s.
	AnswerWithin time.Duration
	// Seed is of the choice of what is searched first, if there is no time for all.
	Seed uint64
	// Took is how long the run was: the longer, the longer it may be searched.
	Took time.Duration
	// Killed says when each server ended, and Forgot when Redis lost data. What a server has told QUEUED it watches, and Redis has it: a number
	// that both lost has no row, as nobody knows it any more.
	Killed [][]Span
	Forgot []Span
	// Lags are promotions of standbys that were behind.
	Lags []Lag
}

const (
	settlePatience = 60 * time.Second
	settlePause    = 250 * time.Millisecond
	calmEnough     = 5 * time.Second // without a fault, after which answers are to be definite
	answerWithin   = 5 * time.Second
	fewUnanswered  = 3               // requests of a kind in calm, and a hundredth of them, may stay without an answer
	staleWithin    = 5 * time.Second // that an older state may be shown while there are faults
	breachesEach   = 20              // of an invariant that are told
)

// Settle waits until what is under way in the stores of a healed place is done: no
// order waits for its commit, no job in the outbox, and Redis has what the database
// has, twice in a row. It gives up after a minute: what did not settle [Check] calls a
// breach. An error means that a store could not be read.
func Settle(ctx context.Context, place Place) error {
	ctx, cancel := context.WithTimeout(ctx, settlePatience+readPatience)
	defer cancel()
	end := time.Now().Add(settlePatience)
	for quiet := 0; quiet < 2 && time.Now().Before(end); {
		s, err := readState(ctx, place)
		if err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		if quiet++; !settled(s) {
			quiet = 0
		}
		if err := clock.Sleep(ctx, settlePause); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
	return nil
}

// settled reports whether nothing is under way.
func settled(s state) bool {
	c := court{state: s, verdict: Verdict{Counts: map[string]int{}}}
	c.checkEnds()
	c.checkConservation()
	c.checkRedis()
	return len(c.verdict.Breaches) == 0
}

// Check judges a run by what clients saw and by what both stores hold in the end. Call
// it after [Settle], with the events of a workload that was drained.
func Check(ctx context.Context, place Place, events []Event, rules Rules) (Verdict, error) {
	s, err := readState(ctx, place)
	if err != nil {
		return Verdict{}, fmt.Errorf("check a run: %w", err)
	}
	lost := 0
	for _, lag := range rules.Lags {
		lost += lostIn(s, events, lag)
		events = lag.forgive(events, s.sells)
	}
	c := newCourt(s, events, rules)
	c.count(countLost, lost)
	if len(rules.Lags) > 0 && lost == 0 {
		c.breach("live", "the run proves nothing: the standby lacked nothing that anybody had been told")
	}
	c.judge()
	c.checkAdmissions()
	c.abridge()
	return c.verdict, nil
}

// lostIn counts the orders that clients were told of within a lag, and that the database
// contradicts.
func lostIn(s state, events []Event, lag Lag) int {
	c := court{state: s, verdict: Verdict{Counts: map[string]int{}}}
	lost := map[int64]bool{}
	for _, e := range events {
		if is := c.see(e); lag.covers(e) && stored[e.Status] && c.contradicts(is) != "" {
			lost[is.order] = true
		}
	}
	return len(lost)
}

// sells reports whether the database has a sale of a voucher.
func (s state) sells(voucher string) bool {
	n, err := number("FlashVoucher", voucher)
	_, ok := s.sales[n]
	return err == nil && ok
}

// judge does all checks but the search of [court.checkAdmissions].
func (c *court) judge() {
	c.checkConservation()
	c.checkStock()
	c.checkRedis()
	c.checkEnds()
	c.checkOnce()
	c.checkKeys()
	c.checkTold()
	c.checkProgress()
	c.checkQueued()
	c.checkBudget()
	c.checkReturned()
	c.checkHolders()
	c.checkSoldOut()
	c.checkRefusals()
	c.checkSignedIn()
	c.checkLive()
	c.checkIDs()
	c.checkWanted()
}

// A court has one run before it.
type court struct {
	state   state
	rules   Rules
	events  []seen          // by their begin
	orders  map[int64]*told // each order of which clients heard
	verdict Verdict
}

// seen is an event with the numbers in its ids; 0 is of no id.
type seen struct {
	Event
	user, voucher, order int64
}

// told is what all clients heard of an order.
type told struct {
	number int64
	events []seen // whose answers showed it, by their begin
	// from is when the first answer had come that shows it with its piece; alive until
	// then certainly goes on to until. Both 0 if no answer did.
	from, until time.Duration
	alive       bool

	asked, known time.Duration // between these it was stored: asked for, told; [forever] if it was not told
	ending, gone time.Duration // the same of its end, if it ended
}

func newCourt(s state, events []Event, rules Rules) *court {
	c := &court{state: s, rules: rules, orders: map[int64]*told{}, verdict: Verdict{Counts: map[string]int{}}}
	for _, e := range events {
		c.events = append(c.events, c.see(e))
	}
	slices.SortStableFunc(c.events, func(a, b seen) int { return int(a.Start - b.Start) })
	for _, e := range c.events {
		if e.Status == "" || e.order == 0 {
			continue
		}
		t := c.orders[e.order]
		if t == nil {
			t = &told{number: e.order}
			c.orders[e.order] = t
		}
		t.events = append(t.events, e)
	}
	c.lives()
	c.verdict.Counts["events"] = len(events)
	c.verdict.Counts["orders in the database"] = len(s.orders)
	c.verdict.Counts["orders told"] = len(c.orders)
	c.verdict.Counts["sales"] = len(s.sales)
	return c
}

// see reads the ids of an event. One that is no id is a breach: a client got it from
// the server.
func (c *court) see(e Event) seen {
	out := seen{Event: e}
	for _, id := range []struct {
		typ, text string
		to        *int64
	}{{"User", e.User, &out.user}, {"FlashVoucher", e.Voucher, &out.voucher}, {"Order", e.Order, &out.order}} {
		if id.text == "" {
			continue
		}
		n, err := number(id.typ, id.text)
		if err != nil {
			c.breach("ids", "%s answered with what is no id: %v", e.Op, err)
		}
		*id.to = n
	}
	return out
}

// lives finds when each order was stored and ended, and from when to when it was
// certainly alive, by what was told and what it is in the end.
func (c *court) lives() {
	cancels := map[int64]time.Duration{} // begin of the first that may have succeeded
	unknown := map[claim]time.Duration{} // begin of the first request that nobody knows the end of
	for _, e := range c.events {
		if _, known := cancels[e.order]; !known && e.Op == OpCancel && (e.Code == "" || !e.Definite()) {
			cancels[e.order] = e.Start
		}
		who := claim{e.user, e.voucher}
		if _, known := unknown[who]; !known && e.Op == OpOrder && !e.Definite() {
			unknown[who] = e.Start
		}
	}
	for _, t := range c.orders {
		t.read()
		if begin, ok := unknown[claim{t.events[0].user, t.events[0].voucher}]; ok {
			t.asked = min(t.asked, begin)
		}
		t.ending, t.until = t.asked, t.from // cancelled by time: nobody knows when
		if begin, ok := cancels[t.number]; ok {
			t.ending, t.until = begin, max(t.from, begin)
		}
		if r, ok := c.state.orders[t.number]; ok && r.live() {
			t.until = forever
		}
	}
}

// read notes what the answers about an order say.
func (t *told) read() {
	t.asked, t.known, t.gone = t.events[0].Start, forever, forever
	for _, e := range t.events {
		if stands[e.Status] && (!t.alive || e.End < t.from) {
			t.from, t.alive = e.End, true
		}
		if stored[e.Status] {
			t.known = min(t.known, e.End)
		}
		if over[e.Status] {
			t.gone = min(t.gone, e.End)
		}
	}
}

const forever = time.Duration(1<<63 - 1)

// stands are the statuses of an order that has its piece.
var stands = map[string]bool{"UNPAID": true, "PAID": true, "USED": true, "REFUNDING": true}

// stored are the statuses of which a client hears only after a commit.
var stored = map[string]bool{"UNPAID": true, "PAID": true, "USED": true, "REFUNDING": true, "CANCELLED": true, "REFUNDED": true}

func (c *court) breach(invariant, format string, args ...any) {
	c.verdict.Breaches = append(c.verdict.Breaches, Breach{invariant, fmt.Sprintf(format, args...)})
}

func (c *court) count(what string, n int) { c.verdict.Counts[what] += n }

// abridge keeps the first breaches of each invariant, and says how many more there
// were.
func (c *court) abridge() {
	var kept []Breach
	n := map[string]int{}
	for _, b := range c.verdict.Breaches {
		if n[b.Invariant]++; n[b.Invariant] <= breachesEach {
			kept = append(kept, b)
		}
	}
	for invariant, all := range n {
		c.count("broken "+invariant, all)
		if all > breachesEach {
			kept = append(kept, Breach{invariant, fmt.Sprintf("and %d more", all-breachesEach)})
		}
	}
	slices.SortStableFunc(kept, func(a, b Breach) int { return strings.Compare(a.Invariant, b.Invariant) })
	c.verdict.Breaches = kept
}
