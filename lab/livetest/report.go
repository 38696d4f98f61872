package livetest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// A Report is what a run did and found.
type Report struct {
	Seed uint64
	Verdict

	Sockets, Streams, Reconnects int
	Events                       int            // numbers of the log
	HintsTold, HintsLost         int            // messages of Redis to servers
	Happened                     map[string]int // what else was counted, by name
	Faults                       map[string]int

	// Flaws are what no server may do, besides what clients are told: the first of Flawed.
	Flaws  []string
	Flawed int

	Wholes []Whole // of each restart of Redis
	Slow   int     // of them those that took too long

	// While nothing was broken, how long it took until a client was told of a note: since it was
	// sent to be published, and since that was answered, 0 if the client heard of it before.
	// The commit lies between. Both are sorted.
	SinceSent, SinceAnswered []time.Duration
}

// A Whole is what became of a note for everybody that was published when Redis had come
// back: how long after that moment it was sent and answered, half the clients were told, and
// all were.
type Whole struct{ Sent, Answered, Half, All time.Duration }

// Broken says that something must not be as it was found.
func (r *Report) Broken() bool { return r.Verdict.Broken() || r.Flawed > 0 || r.Slow > 0 }

func (r *Report) flaw(format string, args ...any) {
	r.Flawed++
	r.Flaws = append(r.Flaws, fmt.Sprintf(format, args...))
}

// measure notes how soon clients that stay were told of notes, in quiet moments, by
// connections of before.
func (r *Report) measure(record *Record, notes map[int64]published, troubles [][2]time.Duration, stays func(client int) bool) {
	for i, c := range record.Clients {
		if !stays(i) {
			continue
		}
		for _, t := range c.Told {
			note, ok := notes[t.Note]
			if t.Kind != Added || !ok || c.Conns[t.Conn].Begin > note.sent-time.Second {
				continue
			}
			if !slices.ContainsFunc(troubles, func(s [2]time.Duration) bool { return note.sent < s[1] && t.At > s[0] }) {
				r.SinceSent = append(r.SinceSent, t.At-note.sent)
				r.SinceAnswered = append(r.SinceAnswered, max(0, t.At-note.answered))
			}
		}
	}
	slices.Sort(r.SinceSent)
	slices.Sort(r.SinceAnswered)
}

// percentile is that of sorted times, 0 of none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p/100*float64(len(sorted))))]
}

// write prints it.
func (r *Report) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(w, "  %s\t%v\n", name, value) }
	fmt.Fprintln(w, "\nclients\t")
	row("connections by WebSocket", r.Sockets)
	row("connections by event stream", r.Streams)
	row("reconnects", r.Reconnects)
	for _, name := range slices.Sorted(maps.Keys(r.Happened)) {
		row(name, r.Happened[name])
	}
	fmt.Fprintln(w, "\nfaults\t")
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		row(name, r.Faults[name])
	}
	row("hints of Redis told", r.HintsTold)
	row("hints of Redis lost", r.HintsLost)
	fmt.Fprintln(w, "\nlooked at\t")
	row("numbers of the log", r.Events)
	row("messages about notes", r.Told)
	row("due", r.Due)
	row("not told, as they might", r.Free)
	row("FeedResync", r.Resyncs)
	row("of a client less than 1000 behind", r.Hasty)
	row("skipped by that", r.Skipped)
	fmt.Fprintln(w, "\ntimes\t")
	row("told since a note was sent, quiet, p50", percentile(r.SinceSent, 50).Round(time.Microsecond))
	row("told since a note was sent, quiet, p99", percentile(r.SinceSent, 99).Round(time.Microsecond))
	row("told since it was answered, quiet, p50", percentile(r.SinceAnswered, 50).Round(time.Microsecond))
	row("told since it was answered, quiet, p99", percentile(r.SinceAnswered, 99).Round(time.Microsecond))
	row("of so many", len(r.SinceSent))
	ofAll := func(what func(w Whole) time.Duration) string {
		var times []time.Duration
		for _, w := range r.Wholes {
			times = append(times, what(w))
		}
		slices.Sort(times)
		return fmt.Sprintf("%v, %v", percentile(times, 50).Round(time.Millisecond), percentile(times, 100).Round(time.Millisecond))
	}
	row("Redis is back: a note is published, p50, longest", ofAll(func(w Whole) time.Duration { return w.Answered }))
	row("half of the clients know it", ofAll(func(w Whole) time.Duration { return w.Half }))
	row("all clients know it", ofAll(func(w Whole) time.Duration { return w.All }))
	row("of so many", len(r.Wholes))
	row("too long", r.Slow)
	fmt.Fprintln(w, "\nfault\t\tfound")
	for _, f := range faults {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", f.Fault, f.Says, r.Counts[f.Fault])
	}
	fmt.Fprintf(w, "  flaws\twhat no server may do\t%d\n", r.Flawed)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	for _, b := range r.Breaches {
		fmt.Fprintf(out, "BROKEN %s: %s\n", b.Fault, b.Text)
	}
	for _, f := range r.Flaws {
		fmt.Fprintf(out, "BROKEN %s\n", f)
	}
	if !r.Broken() {
		fmt.Fprintln(out, "nothing was broken")
	}
	return nil
}
