package lock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock/lua"
)

var (
	acquireScript = redis.NewScript(lua.Acquire)
	releaseScript = redis.NewScript(lua.Release)
	extendScript  = redis.NewScript(lua.Extend)
	raiseScript   = redis.NewScript(lua.Raise)
)

// claim is one attempt to get a lock, and the lock if it was granted: what is
// known of each node.
type claim struct {
	s     *nodes
	name  string
	keys  keys
	ttl   time.Duration
	value string // no other claim has it

	fencing int64     // written before the claim is granted
	valid   time.Time // likewise

	mu   sync.Mutex
	at   []answer
	over bool // what is granted from now on is given up
}

// answer is what a node said to a claim.
type answer struct {
	state  state
	token  int64         // granted: its token; refused: the newest one
	left   time.Duration // refused: what the holder has left
	holder string        // refused: the holder's value
	err    error         // failed or unknown
}

type state int

const (
	pending state = iota // it did not answer yet
	granted
	refused // somebody else holds the lock there
	failed  // it was not asked, or answered an error: it granted nothing
	unknown // it was asked and did not answer in time
	cleared // what it granted was given up
)

// set asks a node for the lock.
func (c *claim) set(ctx context.Context, i int) (bool, error) {
	ctx, done := c.bounded(context.WithoutCancel(ctx)) // redsync's ends with its call
	defer done()
	reply, err := acquireScript.Run(ctx, c.s.all[i], []string{c.keys.lock, c.keys.fence}, c.value, c.ttl.Milliseconds(), fenceLife.Milliseconds()).Result()
	a := readAnswer(reply, err)
	if a.left < 0 { // not a key of ours, which have a life
		a.left = c.ttl
	}
	c.mu.Lock()
	c.at[i] = a
	over := c.over
	c.mu.Unlock()
	if over {
		c.clear(i)
	}
	return a.state == granted, a.err
}

func readAnswer(reply any, err error) answer {
	if err != nil {
		if notAsked(err) {
			return answer{state: failed, err: err}
		}
		return answer{state: unknown, err: err}
	}
	switch v := reply.(type) {
	case string:
		if token, err := strconv.ParseInt(v, 10, 64); err == nil {
			return answer{state: granted, token: token}
		}
	case []any:
		if len(v) != 3 {
			break
		}
		left, ok := v[0].(int64)
		text, isText := v[1].(string)
		newest, err := strconv.ParseInt(text, 10, 64)
		holder, hasHolder := v[2].(string)
		if ok && isText && hasHolder && err == nil {
			return answer{state: refused, token: newest, left: time.Duration(left) * time.Millisecond, holder: holder}
		}
	}
	return answer{state: unknown, err: fmt.Errorf("acquire.lua answered %v", reply)}
}

// notAsked reports whether a node surely did nothing: it answered an error, or no
// connection to it was had.
func notAsked(err error) bool {
	if _, answered := errors.AsType[redis.Error](err); answered {
		return true
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	if unsent, ok := errors.AsType[interface {
		error
		Unsent() bool
	}](err); ok {
		return unsent.Unsent()
	}
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

// granted are the nodes that granted the lock, with their tokens, and the newest
// of these.
func (c *claim) granted() (tokens map[int]int64, newest int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens = make(map[int]int64, len(c.at))
	for i, a := range c.at {
		if a.state == granted {
			tokens[i] = a.token
			newest = max(newest, a.token)
		}
	}
	return tokens, newest
}

// end has every node that grants the lock from now on give it up.
func (c *claim) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// giveUp ends a claim that nobody has: what was granted is removed, without
// anybody waiting for it, and what will be granted too.
func (c *claim) giveUp() {
	c.end()
	for i := range c.at {
		c.clear(i)
	}
}

// clear has the janitor remove what a node granted, or may have.
func (c *claim) clear(i int) {
	c.mu.Lock()
	was := c.at[i].state
	if was == granted || was == unknown {
		c.at[i].state = cleared
	}
	c.mu.Unlock()
	switch was {
	case granted, unknown:
		c.s.all[i].janitor.remove(remains{claim: c, sure: was == granted, until: time.Now().Add(c.ttl + c.s.timeout)})
	case pending, refused, failed, cleared:
	}
}

// undo is what redsync asks for when an attempt failed.
func (c *claim) undo(i int) {
	c.end()
	c.clear(i)
}

// remove takes the lock from a node that granted it and answers as release.lua does.
func (c *claim) remove(ctx context.Context, i int) (int64, error) {
	c.mu.Lock()
	a := c.at[i]
	c.mu.Unlock()
	if a.state != granted {
		c.clear(i) // if it is pending, set does
		return notThere, a.err
	}
	got, err := c.run(ctx, i, releaseScript, c.keys.all(), c.value, max(a.token, c.fencing)) // who was refused may have seen either
	if err != nil {
		c.s.all[i].janitor.remove(remains{claim: c, sure: true, until: time.Now().Add(c.ttl)})
	}
	return got, err
}

// prolong gives the lock on a node its whole life again.
func (c *claim) prolong(ctx context.Context, i int) (int64, error) {
	return c.run(ctx, i, extendScript, []string{c.keys.lock}, c.value, c.ttl.Milliseconds())
}

// run runs a script on a node. Its answer is 1 if the lock was there and the
// holder's.
func (c *claim) run(ctx context.Context, i int, script *redis.Script, keys []string, args ...any) (int64, error) {
	ctx, done := c.bounded(ctx)
	defer done()
	return script.Run(ctx, c.s.all[i], keys, args...).Int64()
}

// bounded is a context for one call of one node, which ends with the time of ctx
// but not because ctx is cancelled: the answer would be lost. Its end is an alarm
// and not a timer of its own. The caller calls done.
func (c *claim) bounded(ctx context.Context) (bounded context.Context, done func()) {
	at := time.Now().Add(c.s.timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(at) {
		at = earlier
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := newAlarm(func() func() { cancel(); return nil })
	c.s.watch.set(&a, at)
	return deadline{inner, at}, func() {
		c.s.watch.drop(&a)
		cancel()
	}
}

// deadline is a context with a deadline that somebody else sees to.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// notThere is the answer of release.lua if nobody holds the lock.
const notThere = -1

// why says why an attempt failed: because of nodes that could not be asked, where
// these are too many, else because of other holders.
func (c *claim) why(err error) error {
	c.mu.Lock()
	var taken int
	var broken []error
	for i, a := range c.at {
		switch {
		case a.state == refused:
			taken++
		case a.err != nil:
			broken = append(broken, fmt.Errorf("node %d: %w", i, a.err))
		}
	}
	c.mu.Unlock()
	switch {
	case len(broken) > len(c.at)-c.s.need:
		return errors.Join(broken...)
	case taken > 0:
		c.s.count.refusals.Add(1)
		return &Busy{Name: c.name, For: c.left()}
	}
	return err
}

// split reports whether an attempt failed only because it met others: nobody has
// as many nodes as it takes, nor may have.
func (c *claim) split() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make(map[string]int)
	most, silent := 0, 0
	for _, a := range c.at {
		switch {
		case a.state == refused:
			held[a.holder]++
			most = max(most, held[a.holder])
		case a.state == pending, a.err != nil:
			silent++
		}
	}
	// Where all have to grant, one that remembers a holder is enough to be waited for.
	return len(c.at) > 1 && most+silent < c.s.need && (c.s.need < len(c.at) || len(held) > 1)
}
