package lockbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// stopped stops the private Redis while many locks are held. It checks that the context of each
// holder ends before another holder could get the lock.
func (b *lockBench) stopped(ctx context.Context) (rows []harness.Row, err error) {
	signal, err := b.private.Signal(ctx)
	if err != nil {
		return nil, err
	}
	ttl := b.ttl
	p := lockConfig{urls: []string{b.private.URL}, Options: lock.Options{TTL: ttl, Prefix: b.part()}}
	w, stop, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	locker := w.(ours)
	leases := make([]*lock.Lease, b.Leases)
	for i := range leases {
		if leases[i], err = locker.Acquire(ctx, fmt.Sprintf("lease %d", i)); err != nil {
			return nil, err
		}
	}
	if err := clock.Sleep(ctx, ttl); err != nil { // each is renewed
		return nil, err
	}
	var early harness.Samples
	late := 0
	if err := signal("STOP"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, signal("CONT")) }()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, h := range leases {
		all.Go(func() { //nolint:contextcheck // the row measures the context of the lease
			<-h.Context().Done()
			before := time.Until(h.Until())
			mu.Lock()
			defer mu.Unlock()
			if early = append(early, before); before <= 0 || !errors.Is(context.Cause(h.Context()), lock.ErrLost) {
				late++
			}
		})
	}
	all.Wait()
	return []harness.Row{{
		What:     fmt.Sprintf("Redis stopped, TTL %.0f s: holders cancelled before their lock expired", ttl.Seconds()),
		Measured: fmt.Sprintf("%d of %d, at least %.0f ms before", b.Leases-late, b.Leases, harness.Millis(early.Percentile(0))),
		Goal:     fmt.Sprintf("%d", b.Leases), Met: late == 0,
	}}, nil
}

// quorum locks on three nodes while one of them hangs, and then while one is dead.
func (b *lockBench) quorum(ctx context.Context) (rows []harness.Row, err error) {
	for _, fault := range []struct{ signal, what string }{{"STOP", "one stopped"}, {"KILL", "one killed"}} {
		more, err := b.withoutOne(ctx, fault.signal, fault.what)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// withoutOne locks on three nodes after a signal to the last one.
func (b *lockBench) withoutOne(ctx context.Context, name, what string) (rows []harness.Row, err error) {
	const times = 500
	var urls []string
	var last *subprocess.Redis
	for range 3 {
		if last, err = subprocess.StartRedis(ctx); err != nil {
			return nil, err
		}
		defer last.Stop() // also when it is stopped by a signal
		urls = append(urls, last.URL)
	}
	signal, err := last.Signal(ctx)
	if err != nil {
		return nil, err
	}
	p := lockConfig{urls: urls, Options: lock.Options{Prefix: b.part()}}
	w, stop, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var mine, theirs laps
	for range 20 { // opens connections, as in a server
		new(laps).lap(ctx, w)
	}
	if err := signal(name); err != nil {
		return nil, err
	}
	for range times {
		// A pause: with too many new connections the node's kernel would refuse some, and a
		// refusing node does not hang.
		mine.lap(ctx, w)
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	p.alone = true
	for range 5 { // new clients do not know yet that the node is down
		if err := theirs.lapWithNewClients(ctx, p); err != nil {
			return nil, err
		}
	}
	row := func(does string, t harness.Samples) harness.Row {
		return harness.Row{What: fmt.Sprintf("three nodes, %s: %s, of %d", what, does, len(t)), Measured: spread(t)}
	}
	if len(mine.released) == 0 || len(theirs.released) == 0 {
		return nil, fmt.Errorf("no lock was acquired with %s", what)
	}
	rows = []harness.Row{row("acquire", mine.acquired), row("release", mine.released)}
	for i, t := range []harness.Samples{mine.acquired, mine.released} {
		rows[i].Goal, rows[i].Met = "≤ 50 ms", t.Percentile(100) <= 50*time.Millisecond
		if mine.failed > 0 {
			rows[i].Measured += fmt.Sprintf(", %d failed", mine.failed)
		}
	}
	return append(rows, row("redsync alone, acquire", theirs.acquired), row("redsync alone, release", theirs.released)), nil
}

// laps holds the times of acquisitions and of releases, including failed ones.
type laps struct {
	acquired, released harness.Samples
	failed             int // a busy machine may delay two nodes past their time-out
}

func (l *laps) lap(ctx context.Context, w locking) {
	begin := time.Now()
	h, err := w.acquire(ctx, "quorum")
	l.acquired = append(l.acquired, time.Since(begin))
	if err != nil {
		l.failed++
		return
	}
	begin = time.Now()
	err = h.Release(ctx)
	l.released = append(l.released, time.Since(begin))
	if err != nil {
		l.failed++
	}
}

func (l *laps) lapWithNewClients(ctx context.Context, p lockConfig) error {
	w, stop, err := p.open(ctx)
	if err != nil {
		return err
	}
	l.lap(ctx, w)
	return stop()
}
