package faulttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Verdict is the result of the checks.
type Verdict struct {
	Breaches []Breach
	// Counts holds the counters of the checks: they show that each check had input, and how
	// often allowed rare events happened.
	Counts map[string]int
	// Notes describes rare events that are allowed.
	Notes []string
}

// Breach is one broken guarantee.
type Breach struct {
	// Invariant is C, U, D, Q, R or H of internal/flashsale/DESIGN.md, or one of these.
	// "live": no definite answer in time without a fault. "ids": a number was used twice.
	// "log": a server panicked. "linear": no order of events explains the answers. "agree":
	// both stores differ in the end.
	Invariant string
	Text      string
}

func (b Breach) String() string { return b.Invariant + ": " + b.Text }

// Rules describes the allowed losses and times of a run.
type Rules struct {
	// LosesData allows orders reported QUEUED to fail for an internal reason, because a fault
	// of the run makes Redis lose data.
	LosesData bool
	// AnswerWithin is the longest time for a definite answer to a purchase in a calm period;
	// default 5 s.
	AnswerWithin time.Duration
	// Seed chooses the vouchers that are searched first if time is short.
	Seed uint64
	// Took is the length of the run. A longer run may be searched longer.
	Took time.Duration
	// Killed lists when each server ended, and Losses when Redis lost data. A server watches
	// the numbers that it reported QUEUED, and Redis stores them. A number that both lost may
	// have no row.
	Killed [][]Span
	Losses []Span
	// Lags lists promotions of standbys that were behind.
	Lags []Lag
}

const (
	settleTimeout = 60 * time.Second
	settlePause   = 250 * time.Millisecond
	calmEnough    = 5 * time.Second // fault-free time after which answers must be definite
	answerWithin  = 5 * time.Second
	fewUnanswered = 3               // requests of a kind in calm periods, and one in a hundred, may stay unanswered
	staleWithin   = 5 * time.Second // longest time that a stale status may be shown during faults
	breachesEach  = 20              // reported breaches per invariant
)

// Settle waits until the stores of a healed system have no unfinished work, twice in a row:
// no order waits for its commit, the outbox is empty, and Redis agrees with the database. It
// stops after a minute; then [Check] reports the rest as breaches. An error means that a
// store could not be read.
func Settle(ctx context.Context, system System) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout+readTimeout)
	defer cancel()
	end := time.Now().Add(settleTimeout)
	for quiet := 0; quiet < 2 && time.Now().Before(end); {
		s, err := readState(ctx, system)
		if err != nil {
			return fmt.Errorf("wait for stores: %w", err)
		}
		if quiet++; !settled(s) {
			quiet = 0
		}
		if err := clock.Sleep(ctx, settlePause); err != nil {
			return fmt.Errorf("wait for stores: %w", err)
		}
	}
	return nil
}

// settled reports whether the stores have no unfinished work.
func settled(s state) bool {
	c := checker{state: s, verdict: Verdict{Counts: map[string]int{}}}
	c.checkEnds()
	c.checkConservation()
	c.checkRedis()
	return len(c.verdict.Breaches) == 0
}

// Check judges a run by the answers that clients got and by the final contents of both
// stores. Call it after [Settle], with the events of a drained workload.
func Check(ctx context.Context, system System, events []Event, rules Rules) (Verdict, error) {
	s, err := readState(ctx, system)
	if err != nil {
		return Verdict{}, fmt.Errorf("check a run: %w", err)
	}
	lost := 0
	for _, lag := range rules.Lags {
		lost += lostIn(s, events, lag)
		events = lag.forgive(events, s.hasSale)
	}
	c := newChecker(s, events, rules)
	c.count(countLost, lost)
	if len(rules.Lags) > 0 && lost == 0 {
		c.breach("live", "the run proves nothing: the standby lacked no reported order")
	}
	c.judge()
	c.checkAdmissions()
	c.abridge()
	return c.verdict, nil
}

// lostIn counts the orders reported within a lag that the database contradicts.
func lostIn(s state, events []Event, lag Lag) int {
	c := checker{state: s, verdict: Verdict{Counts: map[string]int{}}}
	lost := map[int64]bool{}
	for _, e := range events {
		if is := c.resolve(e); lag.covers(e) && stored[e.Status] && c.contradicts(is) != "" {
			lost[is.order] = true
		}
	}
	return len(lost)
}

// hasSale reports whether the database has a sale of a voucher.
func (s state) hasSale(voucher string) bool {
	n, err := number("FlashVoucher", voucher)
	_, ok := s.sales[n]
	return err == nil && ok
}

// judge runs all checks except [checker.checkAdmissions].
func (c *checker) judge() {
	c.checkConservation()
	c.checkStock()
	c.checkRedis()
	c.checkEnds()
	c.checkOnce()
	c.checkKeys()
	c.checkReported()
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
	c.checkRequested()
}

// checker checks one run.
type checker struct {
	state   state
	rules   Rules
	events  []resolvedEvent       // by start
	orders  map[int64]*orderTrace // reported orders by number
	verdict Verdict
}

// resolvedEvent is an event with the numbers of its ids; 0 means no id.
type resolvedEvent struct {
	Event
	user, voucher, order int64
}

// orderTrace is everything that clients learned about an order.
type orderTrace struct {
	number int64
	events []resolvedEvent // answers that showed it, by start
	// The order was certainly live between from and until. from is the end of the first
	// answer that shows it live. alive is false if no answer does.
	from, until time.Duration
	alive       bool

	requested, confirmed       time.Duration // it was stored between its request and this answer; [forever] without an answer
	endRequested, endConfirmed time.Duration // the same for its end
}

func newChecker(s state, events []Event, rules Rules) *checker {
	c := &checker{state: s, rules: rules, orders: map[int64]*orderTrace{}, verdict: Verdict{Counts: map[string]int{}}}
	for _, e := range events {
		c.events = append(c.events, c.resolve(e))
	}
	slices.SortStableFunc(c.events, func(a, b resolvedEvent) int { return int(a.Start - b.Start) })
	for _, e := range c.events {
		if e.Status == "" || e.order == 0 {
			continue
		}
		t := c.orders[e.order]
		if t == nil {
			t = &orderTrace{number: e.order}
			c.orders[e.order] = t
		}
		t.events = append(t.events, e)
	}
	c.deriveLifetimes()
	c.verdict.Counts["events"] = len(events)
	c.verdict.Counts["orders in the database"] = len(s.orders)
	c.verdict.Counts["orders reported"] = len(c.orders)
	c.verdict.Counts["sales"] = len(s.sales)
	return c
}

// resolve reads the ids of an event. An invalid id is a breach, because the server returned
// it.
func (c *checker) resolve(e Event) resolvedEvent {
	out := resolvedEvent{Event: e}
	for _, id := range []struct {
		typ, text string
		to        *int64
	}{{"User", e.User, &out.user}, {"FlashVoucher", e.Voucher, &out.voucher}, {"Order", e.Order, &out.order}} {
		if id.text == "" {
			continue
		}
		n, err := number(id.typ, id.text)
		if err != nil {
			c.breach("ids", "%s returned an invalid id: %v", e.Op, err)
		}
		*id.to = n
	}
	return out
}

// deriveLifetimes derives when each order was stored, when it ended and when it was certainly
// live. It uses the answers and the final row.
func (c *checker) deriveLifetimes() {
	cancels := map[int64]time.Duration{} // start of the first that may have succeeded
	unknown := map[claim]time.Duration{} // start of the first request without a definite answer
	for _, e := range c.events {
		if _, known := cancels[e.order]; !known && e.Op == OpCancel && (e.Code == "" || !e.Definite()) {
			cancels[e.order] = e.Start
		}
		buyer := claim{e.user, e.voucher}
		if _, known := unknown[buyer]; !known && e.Op == OpOrder && !e.Definite() {
			unknown[buyer] = e.Start
		}
	}
	for _, t := range c.orders {
		t.read()
		if begin, ok := unknown[claim{t.events[0].user, t.events[0].voucher}]; ok {
			t.requested = min(t.requested, begin)
		}
		t.endRequested, t.until = t.requested, t.from // cancelled by timeout: the time is unknown
		if begin, ok := cancels[t.number]; ok {
			t.endRequested, t.until = begin, max(t.from, begin)
		}
		if r, ok := c.state.orders[t.number]; ok && r.live() {
			t.until = forever
		}
	}
}

// read derives times from the answers about an order.
func (t *orderTrace) read() {
	t.requested, t.confirmed, t.endConfirmed = t.events[0].Start, forever, forever
	for _, e := range t.events {
		if active[e.Status] && (!t.alive || e.End < t.from) {
			t.from, t.alive = e.End, true
		}
		if stored[e.Status] {
			t.confirmed = min(t.confirmed, e.End)
		}
		if ended[e.Status] {
			t.endConfirmed = min(t.endConfirmed, e.End)
		}
	}
}

const forever = time.Duration(1<<63 - 1)

// active lists the statuses of an order that holds a unit.
var active = map[string]bool{"UNPAID": true, "PAID": true, "USED": true, "REFUNDING": true}

// stored lists the statuses that clients see only after a commit.
var stored = map[string]bool{"UNPAID": true, "PAID": true, "USED": true, "REFUNDING": true, "CANCELLED": true, "REFUNDED": true}

func (c *checker) breach(invariant, format string, args ...any) {
	c.verdict.Breaches = append(c.verdict.Breaches, Breach{invariant, fmt.Sprintf(format, args...)})
}

func (c *checker) count(what string, n int) { c.verdict.Counts[what] += n }

// abridge limits the breaches of each invariant and adds the number of omitted ones.
func (c *checker) abridge() {
	var shown []Breach
	n := map[string]int{}
	for _, b := range c.verdict.Breaches {
		if n[b.Invariant]++; n[b.Invariant] <= breachesEach {
			shown = append(shown, b)
		}
	}
	for invariant, all := range n {
		c.count("broken "+invariant, all)
		if all > breachesEach {
			shown = append(shown, Breach{invariant, fmt.Sprintf("and %d more", all-breachesEach)})
		}
	}
	slices.SortStableFunc(shown, func(a, b Breach) int { return strings.Compare(a.Invariant, b.Invariant) })
	c.verdict.Breaches = shown
}
