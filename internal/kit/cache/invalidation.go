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
	wordBytes = 2 << 10 // of the keys in one word; JSON may write one byte with six, and a message has 16 KB
	manyKeys  = 2000    // of one invalidation, above which the others forget all of its policy
)

// publishKeys tells the other processes that keys of a policy changed. What they
// would find in Redis must be gone before.
func (h *Client) publishKeys(ctx context.Context, policy string, keys []string) error {
	if h.bus == nil || len(keys) == 0 {
		return nil
	}
	if slices.ContainsFunc(keys, unsayable) {
		return h.publish(ctx, busMessage{Policy: policy})
	}
	var words []busMessage
	for room := -1; len(keys) > 0; keys = keys[1:] {
		if room < len(keys[0]) {
			words, room = append(words, busMessage{Policy: policy}), wordBytes
		}
		last := &words[len(words)-1]
		last.Keys = append(last.Keys, keys[0])
		room -= len(keys[0]) + len(`"",`)
	}
	return h.publish(ctx, words...)
}

// unsayable reports that a word cannot carry a key as it is: JSON would write
// another text, or it is too long.
func unsayable(key string) bool { return len(key) > wordBytes || !utf8.ValidString(key) }

func (h *Client) publish(ctx context.Context, words ...busMessage) error {
	if h.bus == nil {
		return nil
	}
	messages := make([]eventbus.Message, len(words))
	for i, w := range words {
		w.From = h.id
		body, err := json.Marshal(w)
		if err != nil {
			return fmt.Errorf("write a message to the other processes: %w", err)
		}
		messages[i] = eventbus.Message{Topic: Topic, Body: body}
	}
	if err := h.bus.Publish(ctx, messages...); err != nil {
		return fmt.Errorf("tell the other processes: %w", err)
	}
	return nil
}

// receive acts on what other hubs said.
func (h *Client) receive(ctx context.Context, bodies [][]byte) {
	for _, body := range bodies {
		var w busMessage
		if err := json.Unmarshal(body, &w); err != nil { // what a later release says: better nothing than something old
			h.logFailure(ctx, "reading a message", "", err)
			h.dropLocal(member.reset)
			continue
		}
		if w.From == h.id {
			continue
		}
		h.mu.Lock()
		m, tables := h.members[w.Policy], h.tables[w.Table]
		h.mu.Unlock()
		switch {
		case w.Epoch != 0:
			h.adopt(w.Epoch)
			h.dropLocal(member.reset) // also where no epoch was known: somebody began this one now
		case w.Table != "":
			for _, t := range tables {
				t.forgetAll()
			}
		case m != nil && len(w.Keys) == 0:
			m.reset()
		case m != nil:
			m.heard(w.Keys)
		}
	}
}

// Reset is for the bus: this process may have missed something.
func (h *Client) Reset(context.Context, eventbus.Gap) {
	h.unsure.Store(true)
	h.clock.synced.Store(0)
	h.dropLocal(member.reset)
}

// Synced is for the bus: this process heard everything that was said before at.
// For maxAge from then on it counts as in sync.
func (h *Client) Synced(at time.Time) {
	h.clock.synced.Store(int64(at.Sub(h.clock.zero) + h.maxAge))
}

// dropLocal has each member forget what this process holds itself.
func (h *Client) dropLocal(forget func(member)) {
	h.mu.Lock()
	members := make([]member, 0, len(h.members))
	for _, m := range h.members {
		members = append(members, m)
	}
	h.mu.Unlock()
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
func (h *Client) InvalidateAll(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	e, err := h.askEpoch(ctx, "raise")
	if err != nil {
		return fmt.Errorf("begin a new epoch of what is cached: %w", err)
	}
	h.adopt(e)
	return h.publish(ctx, busMessage{Epoch: e})
}

// RefreshEpoch asks Redis for the epoch, as Run does by itself when it begins and
// whenever a new one may have gone by unheard. What is loaded before it is known is
// loaded again by the processes that know it.
func (h *Client) RefreshEpoch(ctx context.Context) error {
	e, err := h.askEpoch(ctx, "read")
	if err != nil {
		return fmt.Errorf("read the epoch of what is cached: %w", err)
	}
	h.adopt(e)
	return nil
}

func (h *Client) askEpoch(ctx context.Context, what string) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	e, err := epochScript.Run(ctx, h.rdb, []string{h.root + "cache-epoch"}, what, h.epoch.Load()).Int64()
	return uint32(e), err //nolint:gosec // seconds, until 2106
}

// adopt takes an epoch over if it is later than the own one, and then forgets
// what this process holds.
func (h *Client) adopt(e uint32) {
	for old := h.epoch.Load(); e > old; old = h.epoch.Load() {
		if !h.epoch.CompareAndSwap(old, e) {
			continue
		}
		if old == 0 { // learnt, not begun: no change went by unheard
			h.dropLocal(member.forgetAll)
		} else {
			h.dropLocal(member.reset)
		}
		return
	}
}
