package soak

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// An arrival is one work of the schedule.
type arrival struct {
	at   time.Duration // since the start of the run
	work *work
	sale int // index of the sale for a buyer; -1 for others
	n    int // index in the schedule
}

// A sample is the outcome of an arrival.
type sample struct {
	work   *work
	at     time.Duration // scheduled start
	took   time.Duration // from the scheduled start to the last answer
	sent   time.Duration // delay of the actual start
	failed string        // code of the failure; "" if the answers were correct
	text   string        // message of the failure
}

// dropped is the code of arrivals that exceed the limit of concurrent works.
const dropped = "DROPPED"

// draw returns a schedule of rate works per second, chosen by weight, with exponential gaps like
// those of many independent users. The same seed gives the same schedule.
func draw(works []*work, rate float64, dur time.Duration, seed uint64) []arrival {
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a load is no secret
	total := 0
	for _, w := range works {
		total += w.weight
	}
	var all []arrival
	for at := time.Duration(0); ; {
		at += time.Duration(rnd.ExpFloat64() / rate * float64(time.Second))
		if at >= dur {
			return all
		}
		pick := rnd.IntN(total)
		i := 0
		for pick >= works[i].weight {
			pick -= works[i].weight
			i++
		}
		all = append(all, arrival{at: at, work: works[i], sale: -1})
	}
}

// race adds the buyers of a sale, most of them in the first moments.
func race(buy *work, sale, buyers int, opens, within time.Duration, seed uint64) []arrival {
	rnd := rand.New(rand.NewPCG(seed, uint64(100+sale))) //nolint:gosec // the same
	all := make([]arrival, buyers)
	for i := range all {
		// Squared, so that the density is highest at the start.
		late := rnd.Float64()
		all[i] = arrival{at: opens + time.Duration(late*late*float64(within)), work: buy, sale: sale}
	}
	return all
}

// inOrder sorts a schedule and numbers it.
func inOrder(all []arrival) []arrival {
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		all[i].n = i
	}
	return all
}

// A loop runs a schedule. It is open: no arrival waits for the responses of others.
//
// Every latency counts from the scheduled start of the work, not from its actual start. This avoids
// coordinated omission, as Gil Tene calls it: a stall delays all works that it should.
type loop struct {
	room chan struct{} // active works; arrivals are dropped while it is full
	do   func(ctx context.Context, a arrival) error

	mu      sync.Mutex
	samples []sample
}

func newLoop(room int, do func(ctx context.Context, a arrival) error) *loop {
	return &loop{room: make(chan struct{}, room), do: do}
}

// run begins each arrival at its time after begin, and returns when all have ended.
func (l *loop) run(ctx context.Context, all []arrival, begin time.Time) []sample {
	var under sync.WaitGroup
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, a := range all {
		if wait := time.Until(begin.Add(a.at)); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				under.Wait()
				return l.samples
			case <-timer.C:
			}
		}
		select {
		case l.room <- struct{}{}:
		default:
			l.note(sample{work: a.work, at: a.at, failed: dropped})
			continue
		}
		under.Go(func() {
			defer func() { <-l.room }()
			s := sample{work: a.work, at: a.at, sent: time.Since(begin) - a.at}
			err := l.do(ctx, a)
			s.end(begin, err)
			l.note(s)
		})
	}
	under.Wait()
	return l.samples
}

// end records the outcome of an arrival.
func (s *sample) end(begin time.Time, err error) {
	s.took, s.failed = time.Since(begin)-s.at, codeOf(err)
	if err != nil {
		s.text = err.Error()
	}
}

func (l *loop) note(s sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, s)
}

// sinceLast returns the samples after the first n.
func (l *loop) sinceLast(n int) []sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.samples[n:])
}

// A failure is a wrong or missing response.
type failure struct{ code, text string }

func (f failure) Error() string { return f.code + ": " + f.text }

// codeOf returns the code of a failure: that of the server, or the kind of a missing response.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[failure](err); ok {
		return f.code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "TIMEOUT"
	}
	return "NO_ANSWER"
}

// percentile returns the p-th percentile of sorted times: at most 100-p % of them are longer. The
// 100th is the longest. It is exact, because all times are stored.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := int(float64(len(sorted))*p/100 + 0.999999)
	return sorted[min(max(i-1, 0), len(sorted)-1)]
}
