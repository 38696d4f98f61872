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

// A Report is what a run did and found. Its fields are complete when the run is over.
type Report struct {
	Seed     uint64
	Embedded bool
	Duration time.Duration
	// Requests counts them by operation and answer.
	Requests map[string]int
	// Counts are those of the checks: see [Verdict].
	Counts map[string]int
	// Acts are what servers did of themselves.
	Acts []Act
	// Orders are what became of what customers wanted.
	Orders Orders
	// Lost counts orders that were told as stored, as they were told, and are not: a standby
	// that was behind took over. Mended counts what the servers set right by themselves.
	Lost   int
	Mended float64
	// Notes tell of what is allowed and should be rare.
	Notes []string
	// Breaches are all that was found broken.
	Breaches []Breach

	mu     sync.Mutex // guards what is added to while it runs
	events []happening
}

// A happening is a begin or an end of a fault.
type happening struct {
	at   time.Duration // since the history began
	what string
}

func newReport(cfg Config) *Report {
	return &Report{Seed: cfg.Seed, Embedded: cfg.Embedded, Duration: cfg.Duration, Requests: map[string]int{}, Counts: map[string]int{}}
}

// Broken says that something must not be as it was found.
func (r *Report) Broken() bool { return len(r.Breaches) > 0 }

// broken are the invariants that were broken.
func (r *Report) broken() []string {
	var all []string
	for _, b := range r.Breaches {
		all = append(all, b.Invariant)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *Report) happened(at time.Duration, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, happening{at, what})
}

func (r *Report) breach(invariant, format string, args ...any) {
	r.add(Breach{invariant, fmt.Sprintf(format, args...)})
}

func (r *Report) add(all ...Breach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Breaches = append(r.Breaches, all...)
}

// take adds what the checks found.
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

// checkServed: a run proves nothing whose clients were not served, and whose checks had
// nothing to look at (live).
func (r *Report) checkServed() {
	needed := map[string]int{
		"orders told UNPAID": r.Requests["order UNPAID"], "orders told OUT_OF_STOCK": r.Requests["order OUT_OF_STOCK"],
		countCalm: r.Counts[countCalm], countSearched: r.Counts[countSearched],
	}
	if !r.Embedded {
		needed[countLooksDB], needed[countLooksRedis] = r.Counts[countLooksDB], r.Counts[countLooksRedis]
	}
	for _, what := range slices.Sorted(maps.Keys(needed)) {
		if needed[what] == 0 {
			r.breach("live", "the run proves nothing: there were no %s", what)
		}
	}
}

// happenings are the faults, one a line, with their times in the history.
func (r *Report) happenings() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, h := range r.events {
		fmt.Fprintf(&b, "%8.3fs  %s\n", h.at.Seconds(), h.what)
	}
	return b.String()
}

// faults counts those that were played.
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

// forgot is when Redis lost data: at some moment of a fault that has it forget.
func (r *Report) forgot() (times []Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, h := range r.events {
		name, ok := strings.CutSuffix(h.what, begins)
		if f, _ := FaultNamed(name); !ok || !f.Forgets {
			continue
		}
		end := slices.IndexFunc(r.events[i:], func(later happening) bool { return later.what == name+isOver })
		one := Span{h.at, h.at}
		if end >= 0 {
			one.To = r.events[i+end].at
		}
		times = append(times, one)
	}
	return times
}

// Counts without which a run proves nothing.
const (
	countCalm       = "wishes in calm"
	countSearched   = "vouchers whose admissions were searched"
	countLost       = "orders that were told within the lag of a standby, and are lost"
	countLooksDB    = "looks at the database during the run"
	countLooksRedis = "sales looked at in Redis during the run"
)

// These stand behind the name of a fault in what Play notes.
const (
	begins = " begins"
	isOver = " is over"
)

// invariants are all that can be broken, with what they say.
var invariants = []struct{ letter, says string }{
	{"C", "sold + left = initial, in both stores"},
	{"U", "one live order of a user and voucher"},
	{"D", "what was told UNPAID is stored, and stays"},
	{"Q", "what was told QUEUED ends as one row"},
	{"R", "a piece comes back once"},
	{"H", "refusals are true, and nobody is signed out"},
	{"ids", "a number is given out once"},
	{"linear", "the answers about a voucher have an order"},
	{"live", "without faults there is an answer in time"},
	{"log", "no server panics or ends by itself"},
	{"mended", "in the end both stores say the same"},
	{"sometimes", "every act of repair was needed"},
}

// write prints it.
func (r *Report) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title  string
		counts map[string]int
	}{{"requests", r.Requests}, {"faults", r.faults()}, {"looked at", r.Counts}} {
		fmt.Fprintf(w, "\n%s\t\n", part.title)
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(w, "  %s\t%d\n", name, part.counts[name])
		}
	}
	fmt.Fprintln(w, "\nit happened that\t")
	for _, a := range r.Acts {
		fmt.Fprintf(w, "  %s\t%.0f\n", a.Name, a.Times)
	}
	found := map[string]int{}
	for _, b := range r.Breaches {
		found[b.Invariant]++
	}
	fmt.Fprintln(w, "\ninvariant\t\tbroken")
	for _, i := range invariants {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", i.letter, i.says, max(found[i.letter], r.Counts["broken "+i.letter]))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	for _, n := range r.Notes {
		_, _ = fmt.Fprintf(out, "note: %s\n", n)
	}
	if len(r.Notes) > 0 {
		_, _ = fmt.Fprint(out, r.happenings())
	}
	for _, b := range r.Breaches {
		_, _ = fmt.Fprintf(out, "BROKEN %v\n", b)
	}
	if !r.Broken() {
		_, _ = fmt.Fprintln(out, "nothing was broken")
	}
	return nil
}
