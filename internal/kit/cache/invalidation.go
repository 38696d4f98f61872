package cache

import (
	"context"
	_ "embed" // the script
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// Topic is that of the caches' messages on a bus.
const Topic = "cache"

// busMessage is a message of one hub to the others: what they hold is not true any more.
type busMessage struct {
	From   string   `json:"f"`           // the hub that says so: it has acted already
	Policy string   `json:"p,omitempty"` // of the keys
	Keys   []string `json:"k,omitempty"` // as Source.Key says them; none: all keys of the policy
	Table  string   `json:"t,omitempty"` // all lists of this table
	Epoch  uint32   `json:"e,omitempty"` // everything that was cached before this epoch
}

const (
	maxMessageKeyBytes = 2 << 10 // of the keys in one word; JSON may write one byte with six, and a message has 16 KB
	maxPublishedKeys   = 2000    // of one invalidation, above which the others forget all of its policy
)

// publishKeys tells the other processes that keys of a policy changed. What they
// would find in Redis must be gone before.
func (c *Client) publishKeys(ctx context.Context, policy string, keys []string) error {
	if c.bus == nil || len(keys) == 0 {
		return nil
	}
	if slices.ContainsFunc(keys, unencodable) {
		return c.publish(ctx, busMessage{Policy: policy})
	}
	var changes []busMessage
	for capacity := -1; len(keys) > 0; keys = keys[1:] {
		if capacity < len(keys[0]) {
			changes, capacity = append(changes, busMessage{Policy: policy}), maxMessageKeyBytes
		}
		last := &changes[len(changes)-1]
		last.Keys = append(last.Keys, keys[0])
		capacity -= len(keys[0]) + len(`"",`)
	}
	return c.publish(ctx, changes...)
}

// unencodable reports that a word cannot carry a key as it is: JSON would write
// another text, or it is too long.
func unencodable(key string) bool { return len(key) > maxMessageKeyBytes || !utf8.ValidString(key) }

func (c *Client) publish(ctx context.Context, changes ...busMessage) error {
	if c.bus == nil {
		return nil
	}
	messages := make([]eventbus.Message, len(changes))
	for i, w := range changes {
		w.From = c.id
		body, err := json.Marshal(w)
		if err != nil {
			return fmt.Errorf("write a message to the other processes: %w", err)
		}
		messages[i] = eventbus.Message{Topic: Topic, Body: body}
	}
	if err := c.bus.Publish(ctx, messages...); err != nil {
		return fmt.Errorf("tell the other processes: %w", err)
	}
	return nil
}

// receive acts on what other hubs said.
func (c *Client) receive(ctx context.Context, bodies [][]byte) {
	for _, body := range bodies {
		var w busMessage
		if err := json.Unmarshal(body, &w); err != nil { // what a later release says: better nothing than something old
			c.logFailure(ctx, "reading a message", "", err)
			c.dropLocal(localState.reset)
			continue
		}
		if w.From == c.id {
			continue
		}
		c.mu.Lock()
		m, tables := c.states[w.Policy], c.tables[w.Table]
		c.mu.Unlock()
		switch {
		case w.Epoch != 0:
			c.adopt(w.Epoch)
			c.dropLocal(localState.reset) // also where no epoch was known: somebody began this one now
		case w.Table != "":
			for _, t := range tables {
				t.forgetAll()
			}
		case m != nil && len(w.Keys) == 0:
			m.reset()
		case m != nil:
			m.receive(w.Keys)
		}
	}
}

// Reset is for the bus: this process may have missed something.
func (c *Client) Reset(context.Context, eventbus.Gap) {
	c.epochUnsure.Store(true)
	c.clock.synced.Store(0)
	c.dropLocal(localState.reset)
}

// Synced is for the bus: this process heard everything that was said before at.
// For maxAge from then on it counts as in sync.
func (c *Client) Synced(at time.Time) {
	c.clock.synced.Store(int64(at.Sub(c.clock.zero) + c.maxAge))
}

// dropLocal has each member forget what this process holds itself.
func (c *Client) dropLocal(forget func(localState)) {
	c.mu.Lock()
	members := make([]localState, 0, len(c.states))
	for _, m := range c.states {
		members = append(members, m)
	}
	c.mu.Unlock()
	for _, m := range members {
		forget(m)
	}
}

//go:embed lua/epoch.lua
var epochLua string

var epochScript = redis.NewScript(epochLua)

// InvalidateAll begins a new epoch: whatever is cached, in Redis and in any process,
// counts as absent from now on, and is loaded anew when it is asked for. Limits
// on loads bound what that costs the database. It is for when nobody knows what
// was missed: a Redis that came back from an old snapshot, a log of changes that
// was lost.
//
// A process that cannot hear of it learns the epoch from the first record of it
// that it reads, and asks for it about once a second while it is out of sync.
// With an error it may or may not have happened; repeat it. Windows have no
// epoch: they are left as they are.
func (c *Client) InvalidateAll(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	e, err := c.runEpoch(ctx, "raise")
	if err != nil {
		return fmt.Errorf("begin a new epoch of what is cached: %w", err)
	}
	c.adopt(e)
	return c.publish(ctx, busMessage{Epoch: e})
}

// RefreshEpoch asks Redis for the epoch, as Run does by itself when it begins and
// whenever a new one may have gone by unheard. What is loaded before it is known is
// loaded again by the processes that know it.
func (c *Client) RefreshEpoch(ctx context.Context) error {
	e, err := c.runEpoch(ctx, "read")
	if err != nil {
		return fmt.Errorf("read the epoch of what is cached: %w", err)
	}
	c.adopt(e)
	return nil
}

func (c *Client) runEpoch(ctx context.Context, what string) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	e, err := epochScript.Run(ctx, c.rdb, []string{c.root + "cache-epoch"}, what, c.epoch.Load()).Int64()
	return uint32(e), err //nolint:gosec // seconds, until 2106
}

// adopt takes an epoch over if it is later than the own one, and then forgets
// what this process holds.
func (c *Client) adopt(e uint32) {
	for old := c.epoch.Load(); e > old; old = c.epoch.Load() {
		if !c.epoch.CompareAndSwap(old, e) {
			continue
		}
		if old == 0 { // learnt, not begun: no change went by unheard
			c.dropLocal(localState.forgetAll)
		} else {
			c.dropLocal(localState.reset)
		}
		return
	}
}
