package livetest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is the result of a run.
type Report struct {
	Seed uint64
	Verdict

	Sockets, Streams, Reconnects int
	Events                       int            // entries of the log
	HintsDelivered, HintsLost    int            // messages from Redis to servers
	Happened                     map[string]int // other counters by name
	Faults                       map[string]int // played faults by name

	// Flaws describes errors that no server may make, apart from wrong feed messages. Flawed is
	// their number; not all of them are described.
	Flaws  []string
	Flawed int

	Recoveries []Recovery // one per restart of Redis
	Slow       int        // recoveries that took too long

	// SinceSent and SinceAnswered are the sorted delivery times of notes in quiet periods,
	// since the publish request and since its answer; 0 if the delivery came first. The commit
	// is between request and answer.
	SinceSent, SinceAnswered []time.Duration
}

// Recovery describes the first note for all clients after a restart of Redis. Its times are when
// the note was sent and answered, and when half and all of the clients received it.
type Recovery struct{ Sent, Answered, Half, All time.Duration }

// Broken reports whether a guarantee was broken.
func (r *Report) Broken() bool { return r.Verdict.Broken() || r.Flawed > 0 || r.Slow > 0 }

func (r *Report) flaw(format string, args ...any) {
	r.Flawed++
	r.Flaws = append(r.Flaws, fmt.Sprintf(format, args...))
}

// measure records the delivery times of notes to clients that stay connected, in quiet
// periods, on connections that are at least a second old.
func (r *Report) measure(record *Record, notes map[int64]published, troubles [][2]time.Duration, stays func(client int) bool) {
	for i, c := range record.Clients {
		if !stays(i) {
			continue
		}
		for _, t := range c.Received {
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

// percentile returns a percentile of sorted times, 0 of none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p/100*float64(len(sorted))))]
}

// write prints the report.
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
	row("Redis hints delivered", r.HintsDelivered)
	row("Redis hints lost", r.HintsLost)
	fmt.Fprintln(w, "\nchecked\t")
	row("entries of the log", r.Events)
	row("messages about notes", r.Received)
	row("due", r.Due)
	row("optional, not delivered", r.Free)
	row("FeedResync", r.Resyncs)
	row("for a client less than 1000 behind", r.Premature)
	row("skipped by FeedResync", r.Skipped)
	fmt.Fprintln(w, "\ntimes\t")
	row("delivered after a note was sent, quiet, p50", percentile(r.SinceSent, 50).Round(time.Microsecond))
	row("delivered after a note was sent, quiet, p99", percentile(r.SinceSent, 99).Round(time.Microsecond))
	row("delivered after the answer, quiet, p50", percentile(r.SinceAnswered, 50).Round(time.Microsecond))
	row("delivered after the answer, quiet, p99", percentile(r.SinceAnswered, 99).Round(time.Microsecond))
	row("samples", len(r.SinceSent))
	ofAll := func(what func(w Recovery) time.Duration) string {
		var times []time.Duration
		for _, w := range r.Recoveries {
			times = append(times, what(w))
		}
		slices.Sort(times)
		return fmt.Sprintf("%v, %v", percentile(times, 50).Round(time.Millisecond), percentile(times, 100).Round(time.Millisecond))
	}
	row("Redis is back: note published, p50, max", ofAll(func(w Recovery) time.Duration { return w.Answered }))
	row("half of the clients received it", ofAll(func(w Recovery) time.Duration { return w.Half }))
	row("all clients received it", ofAll(func(w Recovery) time.Duration { return w.All }))
	row("samples", len(r.Recoveries))
	row("too slow", r.Slow)
	fmt.Fprintln(w, "\nfault\t\tfound")
	for _, f := range faults {
		fmt.Fprintf(w, "  %s\t%s\t%d\n", f.Fault, f.Meaning, r.Counts[f.Fault])
	}
	fmt.Fprintf(w, "  flaws\terrors that no server may make\t%d\n", r.Flawed)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
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
