package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	handoverTTL = 8 * time.Second
	costTurns   = 50 // uncontended uses in each round
	// A holder works for a random time in between, so that waiters that sleep are at any point of
	// their sleep.
	handoverMin, handoverMax = 20 * time.Millisecond, 270 * time.Millisecond
	// waitSettled is the time a process waits before its commands are counted.
	waitSettled = 300 * time.Millisecond
	waitCounted = time.Second
)

// HandoverResult is the cost of a variant without failures.
type HandoverResult struct {
	Name          string
	P50, P99, Max time.Duration // from the start of a release until a waiting process has the lock
	Cost          time.Duration // of an uncontended acquisition and release; median of the rounds' means
	Sent          float64       // requests per acquisition and release
	Waiting       int64         // requests in one second of waiting
}

// pair is two processes of a variant.
type pair struct {
	v       Variant
	p       [2]*process
	name    string
	cost    []float64
	sent    float64
	handed  []time.Duration
	waiting int64
}

// Handover measures the variants round by round, in turns, so that a slow moment of the machine
// affects all of them.
func (s *Servers) Handover(ctx context.Context, vs []Variant, rounds int, seed uint64) (results []HandoverResult, err error) {
	var pairs []*pair
	defer func() {
		for _, pr := range pairs {
			err = errors.Join(err, pr.close(ctx))
		}
	}()
	for _, v := range vs {
		pr, err := s.pair(ctx, v)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pr)
	}
	random := rand.New(rand.NewPCG(seed, seed))
	for range rounds {
		work := handoverMin + time.Duration(random.Int64N(int64(handoverMax-handoverMin)))
		for _, pr := range pairs {
			if err := errors.Join(pr.use(ctx), pr.hand(ctx, work)); err != nil {
				return nil, fmt.Errorf("%s: %w", pr.v.Name, err)
			}
		}
	}
	for _, pr := range pairs {
		if err := pr.idle(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", pr.v.Name, err)
		}
		results = append(results, pr.result())
	}
	return results, nil
}

func (s *Servers) pair(ctx context.Context, v Variant) (*pair, error) {
	prefix := s.space()
	pr := &pair{v: v, name: prefix + user}
	ledger := s.ledger()
	if err := ledger.Open(ctx, pr.name); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	for i := range pr.p {
		if v.Single && i > 0 {
			pr.p[i] = pr.p[0]
			continue
		}
		p, err := s.start(ctx, v, i, prefix, ledger, handoverTTL)
		if err != nil {
			return nil, errors.Join(err, pr.close(ctx))
		}
		pr.p[i] = p
		if err := pr.once(ctx, p); err != nil { // scripts are loaded, connections open
			return nil, errors.Join(fmt.Errorf("%s: %w", v.Name, err), pr.close(ctx))
		}
	}
	return pr, nil
}

func (pr *pair) close(ctx context.Context) error {
	var all []error
	for i, p := range pr.p {
		if p != nil && (i == 0 || p != pr.p[0]) {
			all = append(all, p.close(ctx))
		}
	}
	return errors.Join(all...)
}

func (pr *pair) once(ctx context.Context, p *process) error {
	h, err := p.Lock(ctx, pr.name)
	if err != nil {
		return err
	}
	return h.Unlock(ctx)
}

// use takes the lock and releases it, without contention.
func (pr *pair) use(ctx context.Context) error {
	before, begin := pr.p[0].sent(), time.Now()
	for range costTurns {
		if err := pr.once(ctx, pr.p[0]); err != nil {
			return err
		}
	}
	pr.cost = append(pr.cost, float64(time.Since(begin))/costTurns)
	pr.sent = float64(pr.p[0].sent()-before) / costTurns
	return nil
}

// hand lets one process work under the lock while the other waits for it.
func (pr *pair) hand(ctx context.Context, work time.Duration) error {
	h, err := pr.p[0].Lock(ctx, pr.name)
	if err != nil {
		return err
	}
	type turn struct {
		at  time.Time
		err error
	}
	got := make(chan turn, 1)
	go func() {
		next, err := pr.p[1].Lock(ctx, pr.name)
		at := time.Now()
		if err == nil {
			err = next.Unlock(ctx)
		}
		got <- turn{at, err}
	}()
	slept := clock.Sleep(ctx, work)
	begin := time.Now()
	err = h.Unlock(ctx)
	next := <-got
	if err := errors.Join(slept, err, next.err); err != nil {
		return err
	}
	pr.handed = append(pr.handed, next.at.Sub(begin))
	return nil
}

// idle counts the requests of a process while it waits.
func (pr *pair) idle(ctx context.Context) error {
	h, err := pr.p[0].Lock(ctx, pr.name)
	if err != nil {
		return err
	}
	got := make(chan error, 1)
	go func() { got <- pr.once(ctx, pr.p[1]) }()
	slept := clock.Sleep(ctx, waitSettled)
	before := pr.p[1].sent()
	slept = errors.Join(slept, clock.Sleep(ctx, waitCounted))
	pr.waiting = pr.p[1].sent() - before
	return errors.Join(slept, h.Unlock(ctx), <-got)
}

func (pr *pair) result() HandoverResult {
	slices.Sort(pr.handed)
	slices.Sort(pr.cost)
	n := len(pr.handed)
	return HandoverResult{
		Name: pr.v.Name, P50: pr.handed[n/2], P99: pr.handed[(n*99+99)/100-1], Max: pr.handed[n-1],
		Cost: time.Duration(pr.cost[len(pr.cost)/2]), Sent: pr.sent, Waiting: pr.waiting,
	}
}
