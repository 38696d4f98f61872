package cache

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/acquire.lua
	acquireLua string
	//go:embed lua/put.lua
	putLua string
	//go:embed lua/store.lua
	storeLua string

	acquireScript = redis.NewScript(acquireLua)
	putScript     = redis.NewScript(putLua)
	storeScript   = redis.NewScript(storeLua)
)

// scriptCall is one run of a script on one key, its lease and more keys of its slot, with these
// arguments. Without a script it removes key and lease.
type scriptCall struct {
	script *redis.Script
	key    string
	args   []any
	more   []string
}

// run sends up to 500 calls in one round trip and returns one command per call, each with
// its own error. A server that does not know a script, because it is new or was promoted,
// is taught it once and gets the affected calls again.
func (h *Client) run(ctx context.Context, calls []scriptCall) []*redis.Cmd {
	cmds := h.send(ctx, calls)
	var again []scriptCall
	var at []int
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			again, at = append(again, calls[i]), append(at, i)
		}
	}
	if len(again) == 0 {
		return cmds
	}
	if err := h.loadScript(ctx, again); err != nil {
		for _, i := range at {
			cmds[i].SetErr(err)
		}
		return cmds
	}
	for i, cmd := range h.send(ctx, again) {
		cmds[at[i]] = cmd
	}
	return cmds
}

func (h *Client) send(ctx context.Context, calls []scriptCall) []*redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	pipe := h.rdb.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		if c.script == nil {
			cmds[i] = pipe.Do(ctx, "unlink", c.key, leaseOf(c.key))
			continue
		}
		cmds[i] = c.script.EvalSha(ctx, pipe, append([]string{c.key, leaseOf(c.key)}, c.more...), c.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	return cmds
}

// loadScript loads the scripts of calls, on a cluster into all masters.
func (h *Client) loadScript(ctx context.Context, calls []scriptCall) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	loaded := map[*redis.Script]bool{}
	for _, c := range calls {
		if loaded[c.script] {
			continue
		}
		if err := c.script.Load(ctx, h.rdb).Err(); err != nil {
			return fmt.Errorf("load a cache script: %w", err)
		}
		loaded[c.script] = true
	}
	return nil
}

// acquired is the answer of acquire.lua for one key.
type acquired struct {
	reply   // what somebody stored meanwhile
	granted bool
	busy    time.Duration // what another load's lease has left
}

func readAcquired(cmd *redis.Cmd) acquired {
	if err := cmd.Err(); err != nil {
		return acquired{reply: reply{err: err}}
	}
	switch v := cmd.Val().(type) {
	case string:
		return acquired{reply: reply{record: []byte(v), there: true}}
	case int64:
		return acquired{granted: v == 0, busy: time.Duration(v) * time.Millisecond}
	default:
		return acquired{reply: reply{err: fmt.Errorf("acquire.lua answered %T", v)}}
	}
}
