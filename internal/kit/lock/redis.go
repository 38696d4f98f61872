package lock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/redis/go-redis/v9"
)

// nodes are the Redis nodes that a lock is taken on: one, or several that know
// nothing of each other, of which a majority or all have to grant it. Redsync
// asks them all, counts, and keeps the time and the drift of their clocks: the
// algorithm that S. Sanfilippo named Redlock. What it asks for is a [claim] for
// each attempt, which knows more of every node than redsync does. On one node the
// claim is asked directly: redsync's goroutines cost more than the scripts.
type nodes struct {
	all     []*node
	sync    *redsync.Redsync
	need    int
	prefix  string
	timeout time.Duration // of one call of one node
	count   *counts
	watch   watch // ends calls
	tasks   tasks // calls that nobody waits for
	end     context.CancelFunc
}

// node is one Redis.
type node struct {
	redis.UniversalClient
	ear     *ear
	janitor *janitor
}

// NewRedis returns a Locker on one Redis, or on an odd number of Redis nodes
// that are independent of each other: not replicas, not a cluster. Of those a
// majority is enough unless Options.AllNodes is set; a node that comes back empty
// has to stay away for a TTL, or two have the lock.
//
// The clients are not closed. Their commands should end with their contexts
// (ContextTimeoutEnabled), and not be repeated by the client: a release that is
// repeated finds that the lock is gone, and says that it was lost. A
// [redis.ClusterClient] does so after a lost connection whatever its options are.
// A [redis.Ring] has no place for the subscriptions.
func NewRedis(clients []redis.UniversalClient, o Options) (*Locker, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if len(clients)%2 == 0 {
		return nil, fmt.Errorf("a lock is taken on one Redis node or on an odd number of them, not on %d", len(clients))
	}
	s := &nodes{need: len(clients)/2 + 1, prefix: "lock:", timeout: o.NodeTimeout, count: new(counts)}
	if o.Prefix != "" {
		s.prefix = o.Prefix + ":" + s.prefix
	}
	if o.AllNodes {
		s.need = len(clients)
	}
	life, end := context.WithCancel(context.Background())
	s.end = end
	var pools []redsyncredis.Pool
	for i, client := range clients {
		pools = append(pools, pool{s, i})
		s.all = append(s.all, &node{client, newEar(client, i, &s.tasks), &janitor{client: client, tasks: &s.tasks, life: life, more: make(chan struct{}, 1)}})
	}
	s.sync = redsync.New(pools...)
	return newLocker(s, o, s.count), nil
}

// fenceLife is how long a name's newest token is kept after the lock was given. A
// token that is asked for later is newer by the clock.
const fenceLife = 24 * time.Hour

// keys are the lock, its fence, and the channel where a release is told. Braces
// are hash tags: all are in one slot.
func (s *nodes) keys(name string) keys {
	key := s.prefix + "{" + name + "}"
	return keys{key, key + ":f", key + ":c"}
}

type keys struct{ lock, fence, channel string }

func (k keys) all() []string { return []string{k.lock, k.fence, k.channel} }

func (s *nodes) try(ctx context.Context, name string, ttl time.Duration) (grant, error) {
	c, err := s.attempt(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// attempt makes one attempt. What it is granted after ctx ended is given up: an
// answer is never left unread, since nobody would know then whether the lock is
// held.
//
// A goroutine that could be left alone with the answer costs half as much as the
// round trip, so there is one only if ctx will have ended before the nodes have
// to have answered. If ctx is cancelled, that is waited for.
func (s *nodes) attempt(ctx context.Context, name string, ttl time.Duration) (*claim, error) {
	c := &claim{s: s, name: name, keys: s.keys(name), ttl: ttl, value: rand.Text(), at: make([]answer, len(s.all))}
	if !s.tasks.enter() {
		return c, ErrClosed
	}
	defer s.tasks.leave()
	var err error
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 2*s.timeout { // a quorum is asked twice
		err = c.acquireUntil(ctx)
	} else {
		err = c.acquire(ctx)
	}
	if ctx.Err() != nil {
		c.giveUp()
		if err = context.Cause(ctx); errors.Is(err, errWithin) {
			err = errNoAnswer
		}
	}
	return c, err
}

var errNoAnswer = errors.New("the store did not answer in time")

// acquireUntil acquires, or leaves that to itself when ctx ends.
func (c *claim) acquireUntil(ctx context.Context) error {
	done := make(chan error, 1)
	c.s.tasks.run(func() { done <- c.acquire(ctx) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *nodes) close(ctx context.Context) error {
	s.end()
	for _, n := range s.all {
		n.ear.close()
	}
	return s.tasks.close(ctx)
}

// acquire asks all nodes, and sees to the token.
func (c *claim) acquire(ctx context.Context) error {
	c.s.count.attempts.Add(1)
	ctx = context.WithoutCancel(ctx)
	err := c.ask(ctx)
	if err == nil {
		err = c.agree(ctx)
	}
	if err == nil {
		return nil
	}
	c.giveUp()
	return c.why(err)
}

// ask asks all nodes. One alone needs no redsync: its answer is the outcome.
func (c *claim) ask(ctx context.Context) error {
	if len(c.at) > 1 {
		m := c.mutex(c.s.failFast())
		err := m.TryLockContext(context.WithValue(ctx, sinkKey{}, c))
		c.valid = m.Until()
		return err
	}
	start := time.Now()
	if ok, err := c.set(ctx, 0); !ok {
		return errors.Join(errTooFew, err)
	}
	c.valid = validity(start, c.ttl)
	return nil
}

// validity is until when a lock is valid that was asked for at a time: its life
// may be shorter by the clock of the node. It is what redsync reckons.
func validity(asked time.Time, ttl time.Duration) time.Time { return asked.Add(ttl - ttl/100) }

// agree finds the token of a lock that enough nodes granted. Each has a counter
// of its own, so the greatest of theirs is taken, and written back to the others:
// the next majority has a node in common with this one, and therefore a greater
// token. On all nodes, and on one, it always has.
func (c *claim) agree(ctx context.Context) error {
	granted, newest := c.granted()
	if len(granted) < c.s.need {
		return errTooFew
	}
	c.fencing = newest
	if c.s.need < len(c.at) {
		if err := c.writeBack(ctx, granted); err != nil {
			return err
		}
	}
	if time.Until(c.valid) <= guard(c.ttl) {
		return errTooLate
	}
	return nil
}

// writeBack tells a majority of the nodes the token.
func (c *claim) writeBack(ctx context.Context, granted map[int]int64) error {
	raised := make(chan error, len(granted))
	for i, token := range granted {
		c.s.tasks.run(func() { raised <- c.raise(ctx, i, token) })
	}
	var failed []error
	for agreed := 0; agreed < c.s.need; {
		if len(failed) > len(granted)-c.s.need {
			return errors.Join(failed...)
		}
		if err := <-raised; err != nil {
			failed = append(failed, err)
		} else {
			agreed++
		}
	}
	return nil
}

var (
	errTooFew  = errors.New("too few nodes granted the lock")
	errTooLate = errors.New("the nodes took about as long as the lock is valid")
)

// raise writes the token to a node that gave out an older one.
func (c *claim) raise(ctx context.Context, i int, older int64) error {
	if older == c.fencing {
		return nil
	}
	ctx, done := c.bounded(ctx)
	defer done()
	ok, err := raiseScript.Run(ctx, c.s.all[i], []string{c.keys.lock, c.keys.fence}, c.value, c.fencing, fenceLife.Milliseconds()).Bool()
	if err == nil && !ok {
		err = errGone
	}
	if err != nil {
		return fmt.Errorf("node %d: write the token back: %w", i, err)
	}
	return nil
}

func (c *claim) token() int64     { return c.fencing }
func (c *claim) until() time.Time { return c.valid }

func (c *claim) extend(ctx context.Context) (until time.Time, err error) {
	o := &outcome{claim: c, run: c.prolong}
	if len(c.at) > 1 {
		m := c.mutex(c.s.failFast())
		_, err = m.ExtendContext(context.WithValue(ctx, sinkKey{}, o))
		until = m.Until()
	} else {
		until = validity(time.Now(), c.ttl)
		_, err = o.of(ctx, 0)
	}
	switch yes, gone := o.sum(); {
	case gone > len(c.at)-c.s.need:
		return time.Time{}, errGone
	case err == nil && yes >= c.s.need:
		return until, nil
	}
	return time.Time{}, fmt.Errorf("extend the lock: %w", cmp.Or(err, errTooFew))
}

func (c *claim) release(ctx context.Context) (err error) {
	c.end()
	o := &outcome{claim: c, run: c.remove}
	if len(c.at) > 1 {
		_, err = c.mutex(c.s.failFast()).UnlockContext(context.WithValue(ctx, sinkKey{}, o))
	} else {
		_, err = o.of(ctx, 0)
	}
	most := len(c.at)/2 + 1
	switch yes, gone := o.sum(); {
	case yes >= most:
		return nil
	case gone >= most:
		return errGone
	}
	return cmp.Or(err, errTooFew)
}

// lapse has nothing to do: the keys end by themselves.
func (c *claim) lapse() {}

// left is how long it takes until enough nodes are free if nobody renews.
func (c *claim) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []time.Duration
	for _, a := range c.at {
		if a.state == refused {
			left = append(left, a.left)
		}
	}
	slices.Sort(left)
	return left[max(0, len(left)-1-(len(c.at)-c.s.need))]
}
