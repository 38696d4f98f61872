package lockbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// child is a process of this benchmark.
type child = subprocess.Process[question, answer]

// start starts processes that lock names of one prefix.
func (b *lockBench) start(n int, alone bool) (list []*child, stop func(), err error) {
	stop = func() {
		for _, c := range list {
			c.Kill()
		}
	}
	s := setting{URLs: []string{b.RedisURL}, Prefix: b.part(), Alone: alone}
	for range n {
		c, err := subprocess.StartProcess[question, answer](b.Processes(), s)
		if err != nil {
			stop()
			return nil, nil, err
		}
		list = append(list, c)
	}
	return list, stop, nil
}

// call sends a question to a process. It returns an error of the call or of the process.
func call(ctx context.Context, c *child, q question) (answer, error) {
	a, err := c.Call(ctx, q)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", q.Do, err)
	}
	return a, nil
}

// handover repeatedly hands a lock from one process to another that waits for it.
func (b *lockBench) handover(ctx context.Context) ([]harness.Row, error) {
	mine, err := b.handovers(ctx, false, b.Handovers)
	if err != nil {
		return nil, err
	}
	theirs, err := b.handovers(ctx, true, max(b.Handovers/20, 5))
	if err != nil {
		return nil, err
	}
	p99 := mine.Percentile(99)
	return []harness.Row{
		{
			What: fmt.Sprintf("hand-over between two processes, p99 of %d", len(mine)), Measured: spread(mine),
			Goal: "≤ 3 ms", Met: p99 <= 3*time.Millisecond,
		},
		{What: fmt.Sprintf("the same, redsync alone, of %d", len(theirs)), Measured: spread(theirs)},
	}, nil
}

func spread(t harness.Samples) string {
	return fmt.Sprintf("%.2f ms, p50 %.2f ms, max %.1f ms",
		harness.Millis(t.Percentile(99)), harness.Millis(t.Percentile(50)), harness.Millis(t.Percentile(100)))
}

// handovers returns the times from one process's release until another has the lock.
func (b *lockBench) handovers(ctx context.Context, alone bool, times int) (took harness.Samples, err error) {
	list, stop, err := b.start(2, alone)
	if err != nil {
		return nil, err
	}
	defer stop()
	holder, waiter := list[0], list[1]
	for range times {
		if _, err := call(ctx, holder, question{Do: take, Name: "baton"}); err != nil {
			return nil, err
		}
		taken := waiter.Ask(question{Do: take, Name: "baton"})
		// Wait until it waits; then release at a random moment of redsync's longest pause.
		wait := 3 * time.Millisecond
		if alone {
			wait += rand.N(250 * time.Millisecond)
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
		given, err := call(ctx, holder, question{Do: give})
		if err != nil {
			return nil, err
		}
		got := <-taken
		if len(got.Turns) != 1 || got.Err != "" {
			return nil, fmt.Errorf("take a lock that is handed over: %s", cmp.Or(got.Err, subprocess.ErrDied.Error()))
		}
		took = append(took, time.Duration(got.Turns[0].Granted-given.Turns[0].Released))
		if _, err := call(ctx, waiter, question{Do: give}); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// crowd measures many waiters of one lock, in a few processes and in one process each.
func (b *lockBench) crowd(ctx context.Context) (rows []harness.Row, err error) {
	for _, processes := range []int{3, min(b.Waiters, maxProcesses)} {
		mine, err := b.crowded(ctx, processes, false, time.Minute)
		if err != nil {
			return nil, err
		}
		theirs, err := b.crowded(ctx, processes, true, 5*time.Second)
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			harness.Row{
				What: fmt.Sprintf("%d waiters in %d processes, %d hand-overs: p99", b.Waiters, processes, len(mine.took)), Measured: spread(mine.took),
				Goal: "≤ 3 ms", Met: mine.took.Percentile(99) <= 3*time.Millisecond,
			},
			harness.Row{
				What:     "the same: attempts of a process for each release, at most",
				Measured: fmt.Sprintf("%.2f", mine.attempts), Goal: "≤ 2", Met: mine.attempts <= 2 && mine.releases == b.times()*b.Waiters,
			},
			harness.Row{What: "the same: holders at a time, more than one", Measured: fmt.Sprint(mine.overlaps), Goal: "0", Met: mine.overlaps == 0},
			harness.Row{
				What:     fmt.Sprintf("the same, redsync alone, 5 s, %d hand-overs: p99", len(theirs.took)),
				Measured: spread(theirs.took) + fmt.Sprintf(", %.1f attempts", theirs.attempts),
			},
		)
	}
	return rows, nil
}

// maxProcesses bounds the processes of a crowd.
const maxProcesses = 16

// times returns the number of acquisitions of each waiter of a crowd.
func (b *lockBench) times() int { return max(b.Handovers/b.Waiters, 5) }

// crowdResult is the result of a crowd.
type crowdResult struct {
	took     harness.Samples // from a release until the next grant
	releases int
	overlaps int     // locks that were granted before the holder began to release them
	attempts float64 // of the busiest process for each release
}

func (b *lockBench) crowded(ctx context.Context, processes int, alone bool, limit time.Duration) (c crowdResult, err error) {
	list, stop, err := b.start(processes, alone)
	if err != nil {
		return c, err
	}
	defer stop()
	answers, errs := make([]answer, processes), make([]error, processes)
	var all sync.WaitGroup
	for i, process := range list {
		all.Go(func() {
			answers[i], errs[i] = call(ctx, process, question{
				Do: crowd, Name: "door", Waiters: (b.Waiters + i) / processes, Times: b.times(), Hold: 200 * time.Microsecond, For: limit,
			})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	var turns []turn
	var attempts int64
	for _, a := range answers {
		turns = append(turns, a.Turns...)
		attempts = max(attempts, a.Attempts)
	}
	c.judge(turns)
	c.attempts = float64(attempts) / float64(c.releases)
	return c, nil
}

// judge compares the turns of all processes in the order of their grants.
func (c *crowdResult) judge(turns []turn) {
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.Granted, b.Granted) })
	c.releases = len(turns)
	for i := 1; i < len(turns); i++ {
		between := time.Duration(turns[i].Granted - turns[i-1].Released)
		c.took = append(c.took, between)
		if between < 0 {
			c.overlaps++
		}
	}
}
