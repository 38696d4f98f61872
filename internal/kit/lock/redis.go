package lock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// nodes is one Redis node, or several independent ones of which a majority grants a lock.
// Redsync acquires, extends and releases. This type wakes waiters and removes unheld locks.
type nodes struct {
	clients     []redis.UniversalClient
	pools       []redsyncredis.Pool
	subscribers []*subscriber
	prefix      string
	timeout     time.Duration
	life        context.Context //nolint:containedctx // of the Locker: ends subscriptions and repeated attempts
	work        *background
	cleaning    chan struct{} // a slot for each lock that is being removed
}

// maxCleaning limits the locks that are removed at a time. The others expire.
const maxCleaning = 500

// NewRedis returns a Locker on one Redis, or on an odd number of independent Redis nodes, not
// replicas and not a cluster. A majority of the nodes must grant a lock (the Redlock algorithm
// by S. Sanfilippo). A node that lost its data must stay offline for a TTL.
//
// NewRedis does not close the clients. They should end commands with their contexts
// (ContextTimeoutEnabled) and not retry: a repeated release finds no key and reports a loss.
func NewRedis(clients []redis.UniversalClient, o Options) (*Locker, error) {
	if len(clients)%2 == 0 {
		return nil, fmt.Errorf("invalid number of Redis nodes: %d is not odd", len(clients))
	}
	s := &nodes{clients: clients, prefix: "lock:", cleaning: make(chan struct{}, maxCleaning)}
	if s.timeout = cmp.Or(o.NodeTimeout, 200*time.Millisecond); o.NodeTimeout == 0 && len(clients) > 1 {
		s.timeout = 50 * time.Millisecond
	}
	if o.Prefix != "" {
		s.prefix = o.Prefix + ":" + s.prefix
	}
	for _, client := range clients {
		s.pools = append(s.pools, goredis.NewPool(client))
		s.subscribers = append(s.subscribers, &subscriber{client: client, channel: s.prefix + "released"})
	}
	l, err := New(s, o)
	if err == nil {
		s.work, s.life = l.work, l.life
	}
	return l, err
}

func (s *nodes) key(name string) string { return s.prefix + "{" + name + "}" }

// mutex returns a mutex on these pools. Its calls return as soon as a majority has answered.
func (s *nodes) mutex(g *redisGrant, pools ...redsyncredis.Pool) *redsync.Mutex {
	return redsync.New(pools...).NewMutex(s.key(g.Name), redsync.WithExpiry(g.TTL), redsync.WithFailFast(true),
		redsync.WithTimeoutFactor(float64(s.timeout)/float64(g.TTL)), redsync.WithValue(g.value),
		redsync.WithGenValueFunc(func() (string, error) { return g.value, nil }))
}

func (s *nodes) Try(ctx context.Context, r Request) (Grant, error) {
	if r.Shared {
		return nil, ErrNotShared
	}
	g := &redisGrant{s: s, Request: r, value: rand.Text(), at: make([]nodeState, len(s.pools))}
	pools := make([]redsyncredis.Pool, len(s.pools))
	for i, pool := range s.pools {
		pools[i] = nodePool{pool, g, i}
	}
	g.mutex = s.mutex(g, pools...)
	if err := g.mutex.TryLockContext(context.WithoutCancel(ctx)); err != nil {
		return nil, s.attemptError(r.Name, err)
	}
	return g, nil
}

// attemptError returns [BusyError], or err if a majority failed or no node refused.
func (s *nodes) attemptError(name string, err error) error {
	failed, refused := outcomes(err)
	if len(failed) >= s.majority() || refused == 0 {
		return err
	}
	return &BusyError{name}
}

// outcomes splits an error of redsync into the errors of nodes, and the number of nodes that do
// not have the lock of the caller.
func outcomes(err error) (failed []error, refused int) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked
	case *redsync.ErrTaken:
		return nil, len(e.Nodes)
	case *redsync.ErrNodeTaken:
		return nil, 1
	case *redsync.RedisError:
		return []error{e.Err}, 0
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			f, r := outcomes(one)
			failed, refused = append(failed, f...), refused+r
		}
		return failed, refused
	}
	if errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return nil, 1
	}
	return nil, 0
}

// Acquire retries when a holder releases the lock, when its key expires, and when a subscription
// begins: it may have missed an earlier message.
func (s *nodes) Acquire(ctx context.Context, r Request) (Grant, error) {
	w := &waiter{woken: make(chan struct{}, 1)}
	for _, sub := range s.subscribers {
		defer s.subscribe(sub, r.Name, w)()
	}
	for pause := time.Millisecond; ; {
		g, err := s.Try(ctx, r)
		if _, busy := errors.AsType[*BusyError](err); !busy {
			return g, err
		}
		left := s.left(ctx, r.Name)
		if left <= 0 { // others try at the same moment, and none has a majority
			left, pause = mathrand.N(pause), min(2*pause, 200*time.Millisecond)
		}
		select {
		case <-w.woken:
		case <-time.After(left + time.Millisecond + mathrand.N(10*time.Millisecond)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// left returns the time until the key of a holder expires. It returns 0 if no other caller has a
// majority of the nodes, because several try at the same moment.
func (s *nodes) left(ctx context.Context, name string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	type key struct {
		value string
		left  time.Duration
	}
	keys := make(chan *key, len(s.clients)) // nil from a node that failed
	for _, client := range s.clients {
		s.work.run(func() {
			p := client.Pipeline()
			value, left := p.Get(ctx, s.key(name)), p.PTTL(ctx, s.key(name))
			if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
				keys <- nil
				return
			}
			keys <- &key{value.Val(), left.Val()}
		})
	}
	nodesOf := make(map[string]int) // by value
	maxNodes, silent, left := 0, 0, time.Duration(0)
	for i := 0; i < len(s.clients) && maxNodes < s.majority(); i++ {
		var k *key
		select {
		case k = <-keys:
		case <-ctx.Done():
		}
		switch {
		case k == nil:
			silent++
		case k.value != "":
			nodesOf[k.value]++
			maxNodes, left = max(maxNodes, nodesOf[k.value]), max(left, k.left)
		}
	}
	if maxNodes+silent < s.majority() {
		return 0
	}
	return left
}

func (s *nodes) majority() int { return len(s.clients)/2 + 1 }

// redisGrant is a lock on a majority of the nodes, or the attempt to get one.
type redisGrant struct {
	s *nodes
	Request
	value string // unique to this grant
	mutex *redsync.Mutex

	mu   sync.Mutex
	at   []nodeState
	over bool // a node that grants it from now on must release it
}

// nodeState is the answer of a node to an attempt.
type nodeState int

const (
	pending nodeState = iota
	granted
	refused
	unknown // failed: the node may execute the attempt later
)

// nodePool is a node for redsync. It handles the nodes outside the majority, which may execute
// an attempt after its release.
type nodePool struct {
	redsyncredis.Pool
	g    *redisGrant
	node int
}

func (p nodePool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	if !p.g.s.work.begin() {
		return nil, ErrClosed
	}
	// Redsync cancels ctx when a majority has answered. Another node continues until the
	// deadline: a cut connection would leave its answer unknown.
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	c, err := p.Pool.Get(ctx)
	return nodeConn{c, p.g, p.node, cancel}, err
}

type nodeConn struct {
	redsyncredis.Conn
	g      *redisGrant
	node   int
	cancel context.CancelFunc
}

func (c nodeConn) Close() error {
	defer c.g.s.work.end()
	defer c.cancel()
	return c.Conn.Close()
}

// SetNX is the attempt.
func (c nodeConn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	ok, err := c.Conn.SetNX(name, value, expiry)
	state := granted
	if err != nil {
		state = unknown
	} else if !ok {
		state = refused
	}
	c.g.mu.Lock()
	c.g.at[c.node] = state
	over := c.g.over
	c.g.mu.Unlock()
	if over && state != refused {
		c.g.remove(c.node, state == unknown)
	}
	return ok, err
}

// Eval is a release or a renewal.
func (c nodeConn) Eval(script *redsyncredis.Script, keysAndArgs ...any) (any, error) {
	if len(keysAndArgs) > 2 { // a renewal has a TTL
		return c.Conn.Eval(script, keysAndArgs...)
	}
	c.g.mu.Lock()
	c.g.over = true
	state := c.g.at[c.node]
	c.g.mu.Unlock()
	if state == refused {
		return int64(0), nil // redsync releases an attempt that this node refused
	}
	answer, err := c.Conn.Eval(script, keysAndArgs...)
	if state == unknown || state == granted && err != nil {
		c.g.remove(c.node, state == unknown)
	}
	return answer, err
}

// remove deletes the lock from a node in the background, until the node confirms it or the lock
// has expired. If late is set, the attempt itself may still be on its way: an answer without a
// lock then proves nothing.
func (g *redisGrant) remove(node int, late bool) {
	select {
	case g.s.cleaning <- struct{}{}:
	default:
		return
	}
	g.s.work.run(func() {
		defer func() { <-g.s.cleaning }()
		mutex := g.s.mutex(g, g.s.pools[node])
		for end, pause := time.Now().Add(g.TTL+g.s.timeout), 50*time.Millisecond; time.Now().Before(end); pause = min(2*pause, 5*time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), g.s.timeout)
			deleted, err := mutex.UnlockContext(ctx)
			cancel()
			if deleted {
				g.publish(node)
				return
			}
			if failed, _ := outcomes(err); len(failed) == 0 && !late || clock.Sleep(g.s.life, pause) != nil {
				return
			}
		}
	})
}

func (g *redisGrant) Until() time.Time { return g.mutex.Until() }

func (g *redisGrant) Extend(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, g.s.timeout)
	defer cancel()
	ok, err := g.mutex.ExtendContext(ctx)
	if ok {
		return g.mutex.Until(), nil
	}
	return time.Time{}, g.lossError("extend", err)
}

// lossError returns ErrGone if a majority does not have the lock.
func (g *redisGrant) lossError(operation string, err error) error {
	if _, refused := outcomes(err); refused >= g.s.majority() {
		return ErrGone
	}
	return fmt.Errorf("%s in Redis: %w", operation, err)
}

func (g *redisGrant) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.s.timeout)
	defer cancel()
	ok, err := g.mutex.UnlockContext(ctx)
	if !ok {
		return g.lossError("release", err)
	}
	for i := range g.s.clients {
		g.s.work.run(func() { g.publish(i) }) //nolint:contextcheck // it outlives the call
	}
	return nil
}

// publish wakes the waiters of all processes. A waiter that misses the message retries when the
// key of the holder would expire.
func (g *redisGrant) publish(node int) {
	ctx, cancel := context.WithTimeout(context.Background(), g.s.timeout)
	defer cancel()
	_ = g.s.clients[node].Publish(ctx, g.s.subscribers[node].channel, g.value+" "+g.Name).Err()
}

// Expire does nothing: the keys expire.
func (*redisGrant) Expire() {}

// waiter is the caller of this process that waits for a name.
type waiter struct {
	woken chan struct{}
	last  atomic.Value // the latest release, a string: several nodes publish it
}

func (w *waiter) wake(release string) {
	if w.last.Swap(release) == any(release) && release != "" {
		return
	}
	select {
	case w.woken <- struct{}{}:
	default: // it has not retried since the previous one
	}
}

// subscriber receives the releases of one node for all waiters, from the first wait on.
type subscriber struct {
	client  redis.UniversalClient
	channel string

	mu      sync.Mutex
	waiters map[string]*waiter // nil before the first wait
}

func (s *nodes) subscribe(sub *subscriber, name string, w *waiter) (unsubscribe func()) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.waiters == nil {
		sub.waiters = make(map[string]*waiter)
		s.work.run(func() {
			for open := true; open; open = clock.Sleep(s.life, reconnectPause) == nil {
				sub.receive(s.life)
			}
		})
	}
	sub.waiters[name] = w
	return func() {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if sub.waiters[name] == w {
			delete(sub.waiters, name)
		}
	}
}

const (
	healthCheck    = 3 * time.Second // silence before a ping, and again before the connection is closed
	reconnectPause = 100 * time.Millisecond
)

// receive wakes waiters until the first error of its connection. A new subscription wakes
// all waiters: it may have missed a release.
func (s *subscriber) receive(ctx context.Context) {
	p := s.client.Subscribe(ctx, s.channel)
	defer func() { _ = p.Close() }()
	defer context.AfterFunc(ctx, func() { _ = p.Close() })() // a blocked read does not notice the end of ctx
	for pinged := false; ; {
		m, err := p.ReceiveTimeout(ctx, healthCheck)
		if err != nil {
			late, isNet := errors.AsType[net.Error](err)
			if ctx.Err() != nil || !isNet || !late.Timeout() || pinged || p.Ping(ctx) != nil {
				return
			}
			pinged = true
			continue
		}
		pinged = false
		s.mu.Lock()
		switch m := m.(type) {
		case *redis.Subscription:
			for _, w := range s.waiters {
				w.wake("")
			}
		case *redis.Message:
			release, name, _ := strings.Cut(m.Payload, " ")
			if w := s.waiters[name]; w != nil {
				w.wake(release)
			}
		}
		s.mu.Unlock()
	}
}
