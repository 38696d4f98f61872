package cache

import (
	"cmp"
	"context"
	_ "embed" // the scripts
	"fmt"
	"slices"
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

// scriptCall is one run of a script on a key, its lease and further keys of the same slot.
// Without a script it deletes key and lease.
type scriptCall struct {
	script *redis.Script
	key    string
	args   []any
	more   []string
}

// run sends up to 500 calls in one round trip and returns one command per call, each with its
// own error. If the server lacks a script, for instance after a failover, run loads the script
// and repeats the affected calls once.
func (c *Client) run(ctx context.Context, calls []scriptCall) []*redis.Cmd {
	cmds := c.send(ctx, calls)
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
	if err := c.loadScript(ctx, again); err != nil {
		for _, i := range at {
			cmds[i].SetErr(err)
		}
		return cmds
	}
	for i, cmd := range c.send(ctx, again) {
		cmds[at[i]] = cmd
	}
	return cmds
}

func (c *Client) send(ctx context.Context, calls []scriptCall) []*redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	pipe := c.rdb.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, call := range calls {
		if call.script == nil {
			cmds[i] = pipe.Do(ctx, "unlink", call.key, leaseOf(call.key))
			continue
		}
		cmds[i] = call.script.EvalSha(ctx, pipe, append([]string{call.key, leaseOf(call.key)}, call.more...), call.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	return cmds
}

// loadScript loads the scripts of calls, on a cluster into all masters.
func (c *Client) loadScript(ctx context.Context, calls []scriptCall) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	loaded := map[*redis.Script]bool{}
	for _, call := range calls {
		if loaded[call.script] {
			continue
		}
		if err := call.script.Load(ctx, c.rdb).Err(); err != nil {
			return fmt.Errorf("load cache script: %w", err)
		}
		loaded[call.script] = true
	}
	return nil
}

// acquired is the reply of acquire.lua for one key.
type acquired struct {
	reply   // the record that another load stored meanwhile
	granted bool
	busy    time.Duration // remaining time of another load's lease
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
		return acquired{reply: reply{err: fmt.Errorf("acquire.lua returned %T", v)}}
	}
}

// A Pipeline collects the changes of one commit to caches and windows of one client. It costs
// one round trip for each 500 keys. Fill it after the commit with the methods that end in
// "In", and call [Pipeline.Exec] once. It is not safe for concurrent use.
type Pipeline struct {
	client *Client
	calls  []scriptCall
	parts  []part
}

// part is the part of a pipeline that belongs to one cache or window.
type part struct {
	calls int
	end   func(ctx context.Context, answers []*redis.Cmd) error // handles the replies
}

// Pipeline returns an empty pipeline.
func (c *Client) Pipeline() *Pipeline { return &Pipeline{client: c} }

func (p *Pipeline) add(calls []scriptCall, end func(ctx context.Context, answers []*redis.Cmd) error) {
	p.calls, p.parts = append(p.calls, calls...), append(p.parts, part{len(calls), end})
}

// Exec sends the changes. It ignores cancellation of ctx; each round trip has the deadline
// RedisTimeout. It attempts all changes and returns the first error. Errors are those of the
// methods without "In", such as [Cache.PutMany] for [Cache.PutIn].
func (p *Pipeline) Exec(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	answers := make([]*redis.Cmd, 0, len(p.calls))
	for some := range slices.Chunk(p.calls, batch) {
		answers = append(answers, p.client.run(ctx, some)...)
	}
	var failed error
	for _, part := range p.parts {
		failed = cmp.Or(failed, part.end(ctx, answers[:part.calls]))
		answers = answers[part.calls:]
	}
	return failed
}
