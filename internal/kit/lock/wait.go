package lock

import (
	"context"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

// contest is the wait of this process for one name on Redis. It makes an attempt
// when it is told of a release, by pub/sub, when it may have missed one, and when
// what the holder has left is over: not in between.
type contest struct {
	s    *nodes
	name string

	// Of the one whose turn it is.
	asked   bool      // an attempt was made
	split   bool      // it met others, of whom none had enough nodes
	again   time.Time // when the next is due without any news
	listens time.Time // since when, on all nodes; zero if not yet

	mu    sync.Mutex
	at    []rumour
	heard chan struct{} // something
}

// rumour is what a contest knows of a node since the newest attempt.
type rumour struct {
	needs   int64 // the token whose release would be news; free if the node would grant an attempt
	newest  int64 // the newest token that it told the release of
	listens bool
}

const (
	free     = -1            // as a token that is needed: none
	anything = math.MaxInt64 // as a token that was heard: some may have been missed
)

// settling is how long a subscription waits for the acknowledgement of every node
// when enough have given theirs: one that comes later looks like news.
const settling = 10 * time.Millisecond

func (s *nodes) wait(name string) waiting {
	return &contest{s: s, name: name, at: make([]rumour, len(s.all)), heard: make(chan struct{}, 1)}
}

func (w *contest) take(ctx context.Context, ttl time.Duration, refusal *Busy) (grant, error) {
	refused := refusal != nil
	if refused && !w.asked {
		w.asked, w.again = true, time.Now().Add(refusal.For+jitter())
	}
	for met := 0; ; {
		if w.asked {
			if err := w.wait(ctx); err != nil {
				return nil, err
			}
		}
		w.forget()
		c, err := w.s.attempt(ctx, w.name, ttl)
		w.learn(c, err)
		if err == nil {
			return c, nil
		}
		_, busy := errors.AsType[*Busy](err)
		switch {
		case ctx.Err() != nil && (busy || refused):
			return nil, context.Cause(ctx)
		case !busy:
			return nil, err
		}
		refused = true
		if w.split {
			met++
			w.again = time.Now().Add(backoff(met))
		}
	}
}

// backoff is the pause of an attempt that met others so many times in a row.
func backoff(met int) time.Duration {
	return time.Millisecond + mathrand.N(min(10*time.Millisecond<<min(met, 10), 200*time.Millisecond))
}

// forget takes all news for seen by the attempt that follows.
func (w *contest) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.at {
		w.at[i].newest = 0
	}
}

// learn takes from an attempt when the next one is due.
func (w *contest) learn(c *claim, err error) {
	w.asked, w.again, w.split = true, time.Time{}, false
	if busy, ok := errors.AsType[*Busy](err); ok {
		w.again = time.Now().Add(busy.For + jitter())
		w.split = c.split()
	} else if err == nil {
		w.again = c.valid.Add(jitter())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range c.at {
		needs := &w.at[i].needs
		switch {
		case a.state == refused, err == nil && a.state == granted:
			*needs = a.token
		case a.state == pending, a.err != nil: // anything from it is news: that it listens again, at first
			*needs = 0
		default: // granted in vain
			*needs = free
		}
	}
}

// jitter spreads the attempts of processes that wait for the same end.
func jitter() time.Duration { return time.Millisecond + mathrand.N(20*time.Millisecond) }

// wait returns when an attempt may succeed.
func (w *contest) wait(ctx context.Context) error {
	if w.listens.IsZero() {
		w.listens = time.Now()
		for _, n := range w.s.all {
			n.ear.listen(w.s.keys(w.name).channel, w) //nolint:contextcheck // the connection is for all who wait
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due := w.due()
		if !due.After(time.Now()) {
			return nil
		}
		timer.Reset(time.Until(due))
		select {
		case <-w.heard:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// due is when an attempt is: now, if as many nodes as it takes are free or told of
// a release.
func (w *contest) due() time.Time {
	if w.split {
		return w.again
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	open, silent := 0, 0
	for _, r := range w.at {
		if r.needs == free || r.newest > 0 && r.newest >= r.needs {
			open++
		}
		if !r.listens {
			silent++
		}
	}
	settled := w.listens.Add(settling)
	switch {
	case open < w.s.need:
		return w.again
	case silent > 0 && settled.Before(w.again):
		return settled
	}
	return time.Time{}
}

// hear is told by a node that the holder of a token gave it up, or that it listens
// now and may have missed something.
func (w *contest) hear(node int, token int64) {
	w.mu.Lock()
	r := &w.at[node]
	r.newest = max(r.newest, token)
	r.listens = r.listens || token == anything
	w.mu.Unlock()
	select {
	case w.heard <- struct{}{}:
	default: // it has not seen the last yet
	}
}

func (w *contest) close() {
	for _, n := range w.s.all {
		n.ear.forget(w.s.keys(w.name).channel, w)
	}
}
