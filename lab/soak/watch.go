package soak

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Gauges that must level off, of each server. The slack is the allowed growth in addition to a
// tenth: one more batch, or one collection less. Pools of Redis grow at each crowd and shrink after
// half an hour, so one of them may have filled up meanwhile.
type gauge struct {
	name, unit string
	slack      float64
	of         func(m metrics) float64
}

const mebi = 1 << 20

func gauges() []gauge {
	return []gauge{
		{"resident memory", "MiB", 24, func(m metrics) float64 { return m.sum("process_resident_memory_bytes") / mebi }},
		{"heap in use", "MiB", 24, func(m metrics) float64 { return m.sum("go_memstats_heap_inuse_bytes") / mebi }},
		{"goroutines", "", 40, func(m metrics) float64 { return m.sum("go_goroutines") }},
		{"open files", "", 20, func(m metrics) float64 { return m.sum("process_open_fds") }},
		{"database connections", "", 4, func(m metrics) float64 { return m.sum("tandian_go_sql_open_connections") }},
		{"Redis connections", "", 32, func(m metrics) float64 { return m.sum("tandian_redis_pool_connections") }},
	}
}

// metrics is a page of /metrics: series with their labels, and values.
type metrics map[string]float64

// parse reads the text format of Prometheus, samples only.
func parse(text string) metrics {
	m := metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			m[line[:at]] = v
		}
	}
	return m
}

// sum adds all series of a name.
func (m metrics) sum(name string) (total float64) {
	for series, v := range m {
		if series == name || strings.HasPrefix(series, name+"{") {
			total += v
		}
	}
	return total
}

// byLabel returns the series of a name by the value of a label.
func (m metrics) byLabel(name, label string) map[string]float64 {
	out := map[string]float64{}
	for series, v := range m {
		labels, ok := strings.CutPrefix(series, name+"{")
		if !ok {
			continue
		}
		if _, rest, ok := strings.Cut(labels, label+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			out[value] += v
		}
	}
	return out
}

// reads counts cache reads and hits.
type reads struct{ hits, all float64 }

func (r reads) ratio() float64 {
	if r.all == 0 {
		return 1
	}
	return r.hits / r.all
}

// cacheReads returns the reads of each policy, as Query.cacheStats counts them.
func cacheReads(m metrics) map[string]reads {
	out := map[string]reads{}
	add := func(name string, hit bool) {
		for policy, n := range m.byLabel("tandian_cache_"+name+"_total", "policy") {
			r := out[policy]
			r.all += n
			if hit {
				r.hits += n
			}
			out[policy] = r
		}
	}
	add("local_hits", true)
	add("hits", true)
	add("negative_hits", true)
	add("misses", false)
	return out
}

// A moment holds the figures of a server at one time.
type moment struct {
	at     time.Duration // since the begin of the run
	values []float64     // of gauges, in their order
	caches map[string]reads
}

// A watch reads the metrics of all servers once a second.
type watch struct {
	api *client

	mu     sync.Mutex
	series [][]moment // of each server
	missed int        // failed reads
}

func newWatch(api *client) *watch {
	return &watch{api: api, series: make([][]moment, len(api.servers))}
}

// run reads metrics until ctx ends.
func (w *watch) run(ctx context.Context, begin time.Time) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for i, server := range w.api.servers {
			text, err := w.api.get(ctx, server+"/metrics")
			if ctx.Err() != nil {
				return
			}
			w.mu.Lock()
			if err != nil {
				w.missed++
			} else {
				page := parse(text)
				m := moment{at: time.Since(begin), caches: cacheReads(page)}
				for _, g := range gauges() {
					m.values = append(m.values, g.of(page))
				}
				w.series[i] = append(w.series[i], m)
			}
			w.mu.Unlock()
		}
	}
}

// table returns all values that were read: second, server, name and value, separated by tabs. Hits
// and reads count since the server started.
func (c *course) table() []byte {
	out := bytes.NewBufferString("second\tserver\twhat\tvalue\n")
	for i, of := range c.series {
		for _, m := range of {
			line := func(what string, v float64) {
				_, _ = fmt.Fprintf(out, "%.1f\t%d\t%s\t%.0f\n", m.at.Seconds(), i+1, what, v)
			}
			for g, about := range gauges() {
				line(strings.TrimSpace(about.name+" "+about.unit), m.values[g])
			}
			for _, policy := range slices.Sorted(maps.Keys(m.caches)) {
				line("hits "+policy, m.caches[policy].hits)
				line("reads "+policy, m.caches[policy].all)
			}
		}
	}
	return out.Bytes()
}

// hitRatio returns the ratio of all servers in some times, by policy; "" is all policies.
func hitRatio(series [][]moment, times ...[2]time.Duration) map[string]reads {
	out := map[string]reads{}
	for _, of := range series {
		for _, during := range times {
			var first, last *moment
			for i := range of {
				if of[i].at >= during[0] && first == nil {
					first = &of[i]
				}
				if of[i].at <= during[1] {
					last = &of[i]
				}
			}
			if first == nil || last == nil || last.at < first.at {
				continue
			}
			for policy, r := range last.caches {
				hits, all := r.hits-first.caches[policy].hits, r.all-first.caches[policy].all
				for _, name := range []string{policy, ""} {
					sum := out[name]
					sum.hits, sum.all = sum.hits+hits, sum.all+all
					out[name] = sum
				}
			}
		}
	}
	return out
}

// A level shows whether a gauge levels off.
type level struct {
	middle, last, most float64
	off                bool // whether it does
}

// levelling compares the median of the last fifth of a run with that of the middle one: it may be a
// tenth higher, plus some slack. Medians ignore a peak at a fault or a sale. A steady growth from
// zero nearly doubles the value.
func levelling(of []moment, value int, dur time.Duration, slack float64) level {
	part := func(from, to float64) []float64 {
		var values []float64
		for _, m := range of {
			if share := float64(m.at) / float64(dur); share >= from && share < to {
				values = append(values, m.values[value])
			}
		}
		return values
	}
	l := level{middle: median(part(0.4, 0.6)), last: median(part(0.8, 1.0))}
	for _, m := range of {
		l.most = max(l.most, m.values[value])
	}
	l.off = len(part(0.4, 0.6)) > 0 && len(part(0.8, 1.0)) > 0 && l.last <= 1.1*l.middle+slack
	return l
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// worst returns the policies with the most misses.
func worst(by map[string]reads, n int) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(by)), func(name string) bool { return name == "" || by[name].all == 0 })
	slices.SortStableFunc(names, func(a, b string) int {
		return int((by[b].all - by[b].hits) - (by[a].all - by[a].hits))
	})
	out := make([]string, 0, n)
	for _, name := range names[:min(n, len(names))] {
		r := by[name]
		out = append(out, fmt.Sprintf("%s %.1f %% of %.0f", name, 100*r.ratio(), r.all))
	}
	return out
}
