package cache

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A Pipeline collects what one commit changes in caches and windows of one hub, so that all
// of it takes one round trip for each 500 keys. Fill it after the commit, by methods that end
// in "In", and call [Pipeline.Exec] once. It is not safe for concurrent use.
type Pipeline struct {
	hub   *Hub
	calls []call
	parts []part
}

// A part of a pipeline belongs to one cache or window.
type part struct {
	calls int
	end   func(ctx context.Context, answers []*redis.Cmd) error // takes the answers of these calls
}

// Pipeline returns an empty pipeline.
func (h *Hub) Pipeline() *Pipeline { return &Pipeline{hub: h} }

// add adds calls whose answers end takes.
func (p *Pipeline) add(calls []call, end func(ctx context.Context, answers []*redis.Cmd) error) {
	p.calls, p.parts = append(p.calls, calls...), append(p.parts, part{len(calls), end})
}

// Exec sends what was collected. It does not end with ctx; each round trip has the hub's
// deadline. It returns the first error, which is that of the method without "In", such as
// [Cache.Put] for PutIn. The other changes are made all the same.
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
