// Package paging counts the gaps and repeats that readers see when they page through a
// changing feed, for each way to page through a sorted set.
package paging

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"text/tabwriter"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

const (
	notes   = 200 // in a feed at the start of a session
	perPage = 10
	changes = 3 // between two pages
	// A reader gives up after four times the initial number of pages. With the inserts
	// between them, the feed never has more than one and a half times as many.
	maxPages  = 4 * notes / perPage
	batchSize = 100 // sessions that share their round trips
)

// Options configures [Run].
type Options struct {
	Sessions int    // per way and load, at least 1
	Seed     uint64 // of all random choices
}

// Result is the result of the sessions of one way under one load.
type Result struct {
	Load, Way string
	Faulty    int // sessions with a repeat or a gap
	Repeats   int // notes that were shown again
	Gaps      int // notes that existed from the first page to the last and were never shown
	Endless   int // sessions that did not reach the end
}

// Run measures all ways under all loads on its own Redis, and writes a table to out.
func Run(ctx context.Context, o Options, out, progress io.Writer) error {
	server, err := subprocess.StartRedis(ctx)
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	defer server.Stop()
	rdb, err := subprocess.OpenPatient(server.URL)
	if err != nil {
		return fmt.Errorf("open Redis: %w", err)
	}
	defer func() { _ = rdb.Close() }()
	results, err := results(ctx, rdb, o, progress)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%d sessions each, %d notes, %d a page, %d changes between two pages; --seed %d\n\n", o.Sessions, notes, perPage, changes, o.Seed)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "load\tway\tfaulty sessions\trepeats\tgaps\tendless sessions")
	for _, r := range results {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\n", r.Load, r.Way, r.Faulty, r.Repeats, r.Gaps, r.Endless)
	}
	return table.Flush()
}

// results runs the sessions of each way under each load. All ways see the same notes and the
// same changes while they read.
func results(ctx context.Context, rdb redis.UniversalClient, o Options, progress io.Writer) ([]Result, error) {
	var list []Result
	for _, l := range loads() {
		for _, w := range ways() {
			_, _ = fmt.Fprintf(progress, "scroll: %s, %s\n", l.name, w.name)
			r := Result{Load: l.name, Way: w.name}
			for first := 0; first < o.Sessions; first += batchSize {
				var some []*session
				for i := first; i < min(first+batchSize, o.Sessions); i++ {
					random := rand.New(rand.NewPCG(o.Seed, uint64(i))) //nolint:gosec // repeatable by its seed
					some = append(some, newSession("scroll:"+strconv.Itoa(i), l, w, random))
				}
				if err := scroll(ctx, rdb, some); err != nil {
					return nil, fmt.Errorf("scroll by %s under %s: %w", w.name, l.name, err)
				}
				for _, s := range some {
					r.add(s)
				}
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// scroll runs sessions to their ends, page by page in shared round trips, and removes their
// feeds.
func scroll(ctx context.Context, rdb redis.UniversalClient, some []*session) error {
	for reading := some; len(reading) > 0; {
		pages := make([]*redis.ZSliceCmd, len(reading))
		_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, s := range reading {
				s.change(ctx, pipe)
				pages[i] = s.way.page(ctx, pipe, s.key, s.at)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("change feeds and read next pages: %w", err)
		}
		var next []*session
		for i, s := range reading {
			if s.show(pages[i].Val()) {
				next = append(next, s)
			}
		}
		reading = next
	}
	keys := make([]string, len(some))
	for i, s := range some {
		keys[i] = s.key
	}
	if err := rdb.Unlink(ctx, keys...).Err(); err != nil {
		return fmt.Errorf("remove feeds: %w", err)
	}
	return nil
}

// add adds a finished session.
func (r *Result) add(s *session) {
	repeats, gaps := 0, 0
	for _, times := range s.shown {
		repeats += times - 1
	}
	for _, n := range s.notes {
		if n.seq <= notes && s.shown[n.member()] == 0 {
			gaps++
		}
	}
	r.Repeats += repeats
	r.Gaps += gaps
	if repeats+gaps > 0 {
		r.Faulty++
	}
	if s.endless {
		r.Endless++
	}
}
