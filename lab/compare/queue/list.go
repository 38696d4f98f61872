package queue

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A listSender pushes to the left of a list.
type listSender struct{ Process }

func newListSender(_ context.Context, p Process) (Sender, error) { return listSender{p}, nil }

func (s listSender) Send(ctx context.Context, numbers []int) error {
	pipe := s.Redis.Pipeline()
	for _, n := range numbers {
		pipe.LPush(ctx, s.Name, encode(n, s.Bytes))
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (listSender) Close() error { return nil }

// A popReader pops from the right: popped messages exist in the process only.
type popReader struct{ Process }

func newPopReader(_ context.Context, p Process) (Reader, error) { return popReader{p}, nil }

func (r popReader) Read(ctx context.Context, _ int, wait time.Duration) ([]Message, error) {
	pop := redis.NewStringSliceCmd(ctx, "brpop", r.Name, wait.Seconds()) // BRPop would wait a second at least
	_ = r.Redis.Process(ctx, pop)                                        // its error is the command's
	got, err := pop.Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return one(got[1])
}

func (popReader) Done(context.Context, []Message) error { return nil }
func (popReader) Close() error                          { return nil }

//go:embed lua/put_back.lua
var putBackLua string

// A moveReader moves a message to a list of its own, and removes it there after handling. Each
// consumer has a mark that expires. When a mark has expired, the other consumers return its
// messages to the queue.
type moveReader struct {
	Process
	putBack   *redis.Script
	lastCheck time.Time // for what others left
}

func newMoveReader(_ context.Context, p Process) (Reader, error) {
	return &moveReader{Process: p, putBack: redis.NewScript(putBackLua), lastCheck: time.Now()}, nil
}

func (r *moveReader) consumers() string           { return r.Name + ":consumers" }
func (r *moveReader) mark(consumer string) string { return r.Name + ":mark:" + consumer }
func (r *moveReader) hand(consumer string) string { return r.Name + ":hand:" + consumer }

func (r *moveReader) Read(ctx context.Context, _ int, wait time.Duration) ([]Message, error) {
	pipe := r.Redis.Pipeline()
	pipe.SAdd(ctx, r.consumers(), r.Consumer)
	pipe.Set(ctx, r.mark(r.Consumer), 1, r.TakeOver+wait)
	moved := redis.NewStringCmd(ctx, "blmove", r.Name, r.hand(r.Consumer), "RIGHT", "LEFT", wait.Seconds())
	_ = pipe.Process(ctx, moved) // it is sent with the others
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	text, err := moved.Result()
	none := errors.Is(err, redis.Nil)
	if none || time.Since(r.lastCheck) > r.TakeOver {
		r.lastCheck = time.Now()
		if err := r.takeOver(ctx); err != nil {
			return nil, err
		}
	}
	if none {
		return nil, nil
	}
	return one(text)
}

// takeOver returns the messages of consumers with an expired mark to the queue.
func (r *moveReader) takeOver(ctx context.Context) error {
	all, err := r.Redis.SMembers(ctx, r.consumers()).Result() //nolint:forbidigo // a trial has a handful
	if err != nil {
		return fmt.Errorf("read the consumers: %w", err)
	}
	for _, other := range all {
		if other == r.Consumer {
			continue
		}
		keys := []string{r.mark(other), r.hand(other), r.Name, r.consumers()}
		if err := r.putBack.Run(ctx, r.Redis, keys, other).Err(); err != nil {
			return fmt.Errorf("return messages of %s: %w", other, err)
		}
	}
	return nil
}

func (r *moveReader) Done(ctx context.Context, messages []Message) error {
	pipe := r.Redis.Pipeline()
	for _, m := range messages {
		pipe.LRem(ctx, r.hand(r.Consumer), 1, m.entry)
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (*moveReader) Close() error { return nil }
