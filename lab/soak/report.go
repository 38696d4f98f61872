package soak

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// nearFault reports whether a work at a time may be affected by a fault.
func (c *course) nearFault(at time.Duration) bool {
	return slices.ContainsFunc(c.harms, func(h harm) bool { return at >= h.from-requestPatience && at < h.till+aftermath })
}

// report writes the results. It returns [ErrMissed] if a goal was not met.
func (c *course) report(out io.Writer) error {
	c.works(out)
	c.printFaults(out)
	c.examples(out)
	met := true
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "what\tmeasured\tgoal\tmet")
	for _, g := range c.goals() {
		verdict := ""
		if g.goal != "" {
			if verdict = "yes"; !g.met {
				verdict, met = "NO", false
			}
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", g.what, g.measured, g.goal, verdict)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if !met {
		return ErrMissed
	}
	return nil
}

// works prints a line for each work, and one for all.
func (c *course) works(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "work, ms\tnumber\ta second\tp50\tp90\tp99\tp99.9\tlongest\tfailed\t")
	line := func(name string, samples []sample) {
		if len(samples) == 0 {
			return
		}
		took, failed := split(samples)
		slices.Sort(took)
		n := 0
		for _, of := range failed {
			n += of
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t\n", name, len(samples), float64(len(samples))/c.o.Dur.Seconds(),
			millis(percentile(took, 50)), millis(percentile(took, 90)), millis(percentile(took, 99)), millis(percentile(took, 99.9)), millis(percentile(took, 100)), n)
	}
	var names []string
	by := map[string][]sample{}
	for _, w := range append(works(), buying(), paying()) {
		names = append(names, w.name)
	}
	var calm []sample
	for _, s := range c.samples {
		by[s.work.name] = append(by[s.work.name], s)
		if !c.nearFault(s.at) {
			calm = append(calm, s)
		}
	}
	for _, name := range names {
		line(name, by[name])
	}
	line("all", c.samples)
	if len(c.harms) > 0 {
		line("all, without faults", calm)
	}
	_ = table.Flush()
}

// printFaults prints the effect of each fault on users.
func (c *course) printFaults(out io.Writer) {
	for _, h := range c.harms {
		within := c.between(h.from-requestPatience, h.till+aftermath)
		_, failed := split(within)
		_, _ = fmt.Fprintf(out, "\nThe %s Redis stopped %.1f s after the start and was down for %.1f s.\n", h.name, h.from.Seconds(), (h.till - h.from).Seconds())
		_, _ = fmt.Fprintf(out, "  failed of %d works around it: %s\n", len(within), formatCounts(failed))
		normal := c.slowest(c.between(h.from-40*time.Second, h.from-requestPatience))
		_, _ = fmt.Fprintln(out, "  second  works  p50 ms  p99 ms  longest  failed")
		for from := h.from - 2*time.Second; from < h.till+8*time.Second; from += time.Second {
			one := c.between(from, from+time.Second)
			took, failed := split(one)
			slices.Sort(took)
			_, _ = fmt.Fprintf(out, "  %+6.0f  %5d  %6.1f  %6.1f  %7.1f  %s\n", (from - h.from).Seconds(), len(one),
				millis(percentile(took, 50)), millis(percentile(took, 99)), millis(percentile(took, 100)), formatCounts(failed))
		}
		last, slow := c.normalAfter(h, normal)
		_, _ = fmt.Fprintf(out, "  the last failed work began %+.1f s after the stop; p99 before the fault %.1f ms, and at most twice that in each second from %+.0f s on\n",
			last.Seconds(), millis(normal), slow.Seconds())
	}
}

// examples prints the first failure of each code of each work, with its message.
func (c *course) examples(out io.Writer) {
	type kind struct{ work, code string }
	seen := map[kind]bool{}
	for _, s := range c.samples {
		if k := (kind{s.work.name, s.failed}); s.failed != "" && s.text != "" && !seen[k] {
			if len(seen) == 0 {
				_, _ = fmt.Fprintln(out, "\nThe first failure of each kind:")
			}
			seen[k] = true
			_, _ = fmt.Fprintf(out, "  %7.1f s  %s: %.160s\n", s.at.Seconds(), s.work.name, s.text)
		}
	}
}

// between returns the samples that began in a time.
func (c *course) between(from, till time.Duration) []sample {
	var some []sample
	for _, s := range c.samples {
		if s.at >= from && s.at < till {
			some = append(some, s)
		}
	}
	return some
}

// slowest returns the median of the 99th percentiles per second of some samples.
func (c *course) slowest(samples []sample) time.Duration {
	seconds := map[int][]time.Duration{}
	for _, s := range samples {
		if s.failed == "" {
			n := int(s.at / time.Second)
			seconds[n] = append(seconds[n], s.took)
		}
	}
	var all []time.Duration
	for _, took := range seconds {
		slices.Sort(took)
		all = append(all, percentile(took, 99))
	}
	slices.Sort(all)
	return percentile(all, 50)
}

// normalAfter returns when the last failed work after a fault began, and from when on the p99 of
// each second was at most twice the normal one. Both count from the start of the fault.
func (c *course) normalAfter(h harm, normal time.Duration) (failed, slow time.Duration) {
	for _, s := range c.between(h.from-requestPatience, h.from+time.Minute) {
		if s.failed != "" {
			failed = max(failed, s.at-h.from)
		}
	}
	for from := h.from; from < h.till+aftermath; from += time.Second {
		took, _ := split(c.between(from, from+time.Second))
		slices.Sort(took)
		if percentile(took, 99) > 2*normal {
			slow = from + time.Second - h.from
		}
	}
	return failed, slow
}

// warmTimes returns the times with warm caches. It excludes the first minute, and the minute after
// the cache Redis came back empty.
func (c *course) warmTimes() (times [][2]time.Duration) {
	cold := min(warmUp, c.o.Dur/4)
	from := cold
	for _, h := range c.harms {
		if h.name == "cache" {
			times = append(times, [2]time.Duration{from, h.from})
			from = min(h.till+cold, c.o.Dur)
		}
	}
	return append(times, [2]time.Duration{from, c.o.Dur})
}

type goal struct {
	what, measured, goal string
	met                  bool
}

func (c *course) goals() []goal {
	var goals []goal
	calm, bad := 0, map[string]int{}
	var sent []time.Duration
	for _, s := range c.samples {
		if s.failed != dropped {
			sent = append(sent, s.sent)
		}
		if c.nearFault(s.at) {
			continue
		}
		calm++
		if s.failed != "" {
			bad[s.failed]++
		}
	}
	n := 0
	for _, of := range bad {
		n += of
	}
	goals = append(goals, goal{"works that failed, without faults", fmt.Sprintf("%s of %d", formatCounts(bad), calm), "≤ 1 of 10 000", float64(n) <= errorGoal*float64(calm)})
	warm := c.warmTimes()
	by := hitRatio(c.series, warm...)
	goals = append(goals, goal{
		"hits of caches ÷ reads, all policies, without the first minute of a cold cache", fmt.Sprintf("%.2f %% of %.0f", 100*by[""].ratio(), by[""].all),
		fmt.Sprintf("≥ %.0f %%", 100*ratioGoal), by[""].all > 0 && by[""].ratio() >= ratioGoal,
	})
	if len(warm) > 1 {
		whole := hitRatio(c.series, [2]time.Duration{warm[0][0], c.o.Dur})[""]
		goals = append(goals, goal{what: "  the same with the minute after the cache Redis came back empty", measured: fmt.Sprintf("%.2f %% of %.0f", 100*whole.ratio(), whole.all)})
	}
	for _, line := range worst(by, 6) {
		goals = append(goals, goal{what: "  policies with most misses", measured: line})
	}
	for i, g := range gauges() {
		for j, of := range c.series {
			l := levelling(of, i, c.o.Dur, g.slack)
			goals = append(goals, goal{
				fmt.Sprintf("%s of server %d, medians of the middle and the last fifth", g.name, j+1), fmt.Sprintf("%.0f and %.0f %s, at most %.0f", l.middle, l.last, g.unit, l.most),
				fmt.Sprintf("≤ 1.1 × and %.0f", g.slack), l.off,
			})
		}
	}
	goals = append(goals, goal{"reads of /metrics without an answer", fmt.Sprint(c.missed), "0", c.missed == 0})
	for i, t := range c.tallies {
		measured := fmt.Sprintf("%d units, %d ordered, %d paid; %d reported, %d of them FAILED", t.initial, t.live, t.paid, t.reported, t.failed)
		measured = strings.Join(append([]string{measured}, t.wrong...), "; ")
		goals = append(goals, goal{fmt.Sprintf("sale %d adds up in the rows, in Redis and with the buyers' answers", i+1), measured, "yes", len(t.wrong) == 0})
	}
	goals = append(goals, c.liveGoal(), goal{
		what: "delay of the client's own starts, p99 and longest", measured: func() string {
			slices.Sort(sent)
			return fmt.Sprintf("%.1f and %.1f ms", millis(percentile(sent, 99)), millis(percentile(sent, 100)))
		}(),
	})
	return goals
}

// liveGoal returns the row of live feeds.
func (c *course) liveGoal() goal {
	slices.Sort(c.live.delays)
	return goal{
		what: "notes received by live feeds; delay since the publish request, p50 and p99; sockets that ended",
		measured: fmt.Sprintf("%d; %.1f and %.1f ms; %s", c.live.reported, millis(percentile(c.live.delays, 50)),
			millis(percentile(c.live.delays, 99)), formatCounts(c.live.ended)),
	}
}
