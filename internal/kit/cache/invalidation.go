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

// Topic is the bus topic of cache messages.
const Topic = "cache"

// busMessage invalidates entries of other clients.
type busMessage struct {
	From   string   `json:"f"`           // id of the sender, which has applied it already
	Policy string   `json:"p,omitempty"` // policy of the keys
	Keys   []string `json:"k,omitempty"` // texts of Source.Key; none: all keys of the policy
	Table  string   `json:"t,omitempty"` // all lists of a table
	Epoch  uint32   `json:"e,omitempty"` // everything of earlier epochs
}

const (
	maxMessageKeyBytes = 2 << 10 // of keys per message; JSON may encode a byte with six, and the bus accepts 16 KB
	maxPublishedKeys   = 2000    // larger invalidations name the whole policy
)

// publishKeys publishes invalid keys of a policy. Call it after Redis has deleted them.
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

// unencodable reports whether a message cannot carry a key: too long, or changed by JSON.
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
			return fmt.Errorf("encode cache message: %w", err)
		}
		messages[i] = eventbus.Message{Topic: Topic, Body: body}
	}
	if err := c.bus.Publish(ctx, messages...); err != nil {
		return fmt.Errorf("publish cache message: %w", err)
	}
	return nil
}

func (c *Client) receive(ctx context.Context, bodies [][]byte) {
	for _, body := range bodies {
		var w busMessage
		if err := json.Unmarshal(body, &w); err != nil { // perhaps of a later release: drop everything
			c.logFailure(ctx, "decode message", "", err)
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
			c.dropLocal(localState.reset) // also if no epoch was known: the sender began this one
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

// Reset implements [eventbus.Observer]. This process may have missed messages.
func (c *Client) Reset(context.Context, eventbus.Gap) {
	c.epochUnsure.Store(true)
	c.clock.synced.Store(0)
	c.dropLocal(localState.reset)
}

// Synced implements [eventbus.Observer]. This process has received all messages from before
// at. It counts as in sync for MaxAge from then on.
func (c *Client) Synced(at time.Time) {
	c.clock.synced.Store(int64(at.Sub(c.clock.zero) + c.maxAge))
}

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

// InvalidateAll starts a new epoch: all cached values, in Redis and in every process, count as
// absent and are reloaded on demand. The bounds on loads protect the database. Use it when the
// missed invalidations are unknown, for instance after Redis restored an old snapshot.
//
// A process that misses the message learns the epoch from the first new record that it reads.
// While it is out of sync it also reads the epoch about once a second. After an error, repeat
// the call: it may or may not have taken effect. Windows have no epoch and are not affected.
func (c *Client) InvalidateAll(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	e, err := c.runEpoch(ctx, "raise")
	if err != nil {
		return fmt.Errorf("begin cache epoch: %w", err)
	}
	c.adopt(e)
	return c.publish(ctx, busMessage{Epoch: e})
}

// RefreshEpoch reads the epoch from Redis. Run does this at its start and whenever it may have
// missed a new epoch. Processes that know the epoch reload values loaded before it was known.
func (c *Client) RefreshEpoch(ctx context.Context) error {
	e, err := c.runEpoch(ctx, "read")
	if err != nil {
		return fmt.Errorf("read cache epoch: %w", err)
	}
	c.adopt(e)
	return nil
}

func (c *Client) runEpoch(ctx context.Context, op string) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	e, err := epochScript.Run(ctx, c.rdb, []string{c.root + "cache-epoch"}, op, c.epoch.Load()).Int64()
	return uint32(e), err //nolint:gosec // seconds, until 2106
}

// adopt sets the epoch and drops the local state if e is later than the known epoch.
func (c *Client) adopt(e uint32) {
	for old := c.epoch.Load(); e > old; old = c.epoch.Load() {
		if !c.epoch.CompareAndSwap(old, e) {
			continue
		}
		if old == 0 { // the first known epoch: no change was missed
			c.dropLocal(localState.forgetAll)
		} else {
			c.dropLocal(localState.reset)
		}
		return
	}
}
