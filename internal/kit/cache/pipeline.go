package cache

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A Pipeline collects the changes of one commit to caches and windows of one hub. They take
// one round trip for each 500 keys. Fill it after the commit, by methods that end in "In",
// and call [Pipeline.Exec] once. It is not safe for concurrent use.
type Pipeline struct {
	hub   *Client
	calls []scriptCall
	parts []part
}

// A part of a pipeline belongs to one cache or window.
type part struct {
	calls int
	end   func(ctx context.Context, answers []*redis.Cmd) error // takes the answers of these calls
}

// Pipeline returns an empty pipeline.
func (h *Client) Pipeline() *Pipeline { return &Pipeline{hub: h} }

// add adds calls whose answers end takes.
func (p *Pipeline) add(calls []scriptCall, end func(ctx context.Context, answers []*redis.Cmd) error) {
	p.calls, p.parts = append(p.calls, calls...), append(p.parts, part{len(calls), end})
}

// Exec sends the changes. It does not end with ctx; each round trip has the hub's deadline.
// It returns the first error and makes the other changes. The errors are those of the methods
// without "In", such as [Cache.PutMany] for [Cache.PutIn].
func (p *Pipeline) Exec(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	answers := make([]*redis.Cmd, 0, len(p.calls))
	for some := range slices.Chunk(p.calls, batch) {
		answers = append(answers, p.hub.run(ctx, some)...)
	}
	var failed error
	for _, part := range p.parts {
		failed = cmp.Or(failed, part.end(ctx, answers[:part.calls]))
		answers = answers[part.calls:]
	}
	return failed
}
