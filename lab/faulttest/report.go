package faulttest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Report is the result of a run. Its fields are complete when the run is over.
type Report struct {
	Seed     uint64
	Embedded bool
	Duration time.Duration
	// Requests counts requests by operation and answer.
	Requests map[string]int
	// Counts holds the counters of the checks: see [Verdict].
	Counts map[string]int
	// Acts counts recovery actions of the servers.
	Acts []Act
	// Orders counts the outcomes of order requests.
	Orders Orders
	// Lost counts orders that were reported as stored and got lost with the primary of an
	// asynchronous standby. Repaired counts repairs by the servers.
	Lost     int
	Repaired float64
	// Notes describes rare events that are allowed.
	Notes []string
	// Breaches lists the broken guarantees.
	Breaches []Breach

	mu     sync.Mutex // guards Breaches and events during the run
	events []faultEvent
}

// faultEvent is the start or the end of a fault.
type faultEvent struct {
	at   time.Duration // since the history began
	what string
}

func newReport(cfg Config) *Report {
	return &Report{Seed: cfg.Seed, Embedded: cfg.Embedded, Duration: cfg.Duration, Requests: map[string]int{}, Counts: map[string]int{}}
}

// Broken reports whether a guarantee was broken.
func (r *Report) Broken() bool { return len(r.Breaches) > 0 }

// broken returns the broken invariants.
func (r *Report) broken() []string {
	var all []string
	for _, b := range r.Breaches {
		all = append(all, b.Invariant)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *Report) addEvent(at time.Duration, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, faultEvent{at, what})
}

func (r *Report) breach(invariant, format string, args ...any) {
	r.add(Breach{invariant, fmt.Sprintf(format, args...)})
}

func (r *Report) add(all ...Breach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Breaches = append(r.Breaches, all...)
}

// take adds the result of the checks.
func (r *Report) take(v Verdict, events []Event) {
	r.add(v.Breaches...)
	r.Notes = append(r.Notes, v.Notes...)
	r.Lost = v.Counts[countLost]
	for _, e := range events {
		r.Requests[string(e.Op)+" "+label(e)]++
	}
	maps.Copy(r.Counts, v.Counts)
	for name := range r.Requests { // the checks count them too
		delete(r.Counts, name)
	}
}

// checkServed reports a breach of live if clients were not served or a check had no input: such
// a run proves nothing.
func (r *Report) checkServed() {
	needed := map[string]int{
		"UNPAID answers": r.Requests["order UNPAID"], "OUT_OF_STOCK answers": r.Requests["order OUT_OF_STOCK"],
		countCalm: r.Counts[countCalm], countSearched: r.Counts[countSearched],
	}
	if !r.Embedded {
		needed[countDBChecks], needed[countRedisChecks] = r.Counts[countDBChecks], r.Counts[countRedisChecks]
	}
	for _, what := range slices.Sorted(maps.Keys(needed)) {
		if needed[what] == 0 {
			r.breach("live", "the run proves nothing: no %s", what)
		}
	}
}

// timeline lists the fault events, one per line, with their times in the history.
func (r *Report) timeline() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, h := range r.events {
		fmt.Fprintf(&b, "%8.3fs  %s\n", h.at.Seconds(), h.what)
	}
	return b.String()
}

// faults counts the played faults by name.
func (r *Report) faults() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]int{}
	for _, h := range r.events {
		if name, ok := strings.CutSuffix(h.what, begins); ok {
			all[name]++
		}
	}
	return all
}

// losses returns the times of faults that lose data in Redis.
func (r *Report) losses() (times []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, h := range r.events {
		name, ok := strings.CutSuffix(h.what, begins)
		if f, _ := FaultNamed(name); !ok || !f.LosesData {
			continue
		}
		end := slices.IndexFunc(r.events[i:], func(later faultEvent) bool { return later.what == name+isOver })
		one := Span{h.at, h.at}
		if end >= 0 {
			one.To = r.events[i+end].at
		}
		times = append(times, one)
	}
	return times
}

// Counters that a valid run needs.
const (
	countCalm        = "purchases in calm periods"
	countSearched    = "vouchers whose admissions were searched"
	countLost        = "orders lost within the lag of a standby"
	countDBChecks    = "database checks during the run"
	countRedisChecks = "Redis sale checks during the run"
)

// Suffixes of a fault's name in the notes of Play.
const (
	begins = " begins"
	isOver = " is over"
)

// invariants lists all invariants with their meaning.
var invariants = []struct{ letter, meaning string }{
	{"C", "sold + left = initial, in both stores"},
	{"U", "one live order of a user and voucher"},
	{"D", "an order reported UNPAID is stored and never lost"},
	{"Q", "a number reported QUEUED ends as one row"},
	{"R", "a unit is released once"},
	{"H", "refusals are true, and no user is signed out"},
	{"ids", "a number belongs to one order"},
	{"linear", "one order of events explains the answers about a voucher"},
	{"live", "without faults, answers come in time"},
	{"log", "no server panics or exits unexpectedly"},
	{"agree", "both stores agree in the end"},
	{"sometimes", "every recovery action happened"},
}

// write prints the report.
func (r *Report) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title  string
		counts map[string]int
	}{{"requests", r.Requests}, {"faults", r.faults()}, {"checked", r.Counts}} {
		fmt.Fprintf(w, "\n%s\t\n", part.title)
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(w, "  %s\t%d\n", name, part.counts[name])
		}
	}
	fmt.Fprintln(w, "\nrecovery actions\t")
	for _, a := range r.Acts {
		fmt.Fprintf(w, "  %s\t%.0f\n", a.Name, a.Times)
	}
	found := map[string]int{}
	for _, b := range r.Breaches {
		found[b.Invariant]++
	}
	fmt.Fprintln(w, "\ninvariant\t\tbroken")
	for _, i := range invariants {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", i.letter, i.meaning, max(found[i.letter], r.Counts["broken "+i.letter]))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	for _, n := range r.Notes {
		_, _ = fmt.Fprintf(out, "note: %s\n", n)
	}
	if len(r.Notes) > 0 {
		_, _ = fmt.Fprint(out, r.timeline())
	}
	for _, b := range r.Breaches {
		_, _ = fmt.Fprintf(out, "BROKEN %v\n", b)
	}
	if !r.Broken() {
		_, _ = fmt.Fprintln(out, "nothing was broken")
	}
	return nil
}
