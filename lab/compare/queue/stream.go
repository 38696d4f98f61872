package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	field     = "m"
	group     = "workers"
	readBatch = 100 // of readers that have no group
)

func messagesOf(entries []redis.XMessage) ([]Message, error) {
	messages := make([]Message, len(entries))
	for i, e := range entries {
		text, _ := e.Values[field].(string)
		var err error
		if messages[i], err = decode(text, e.ID); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// entriesOf returns the entries of one stream, or none.
func entriesOf(got []redis.XStream, err error) ([]redis.XMessage, error) {
	if errors.Is(err, redis.Nil) || err == nil && len(got) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return got[0].Messages, nil
}

// A streamReader reads a stream without a group. Only this process knows its position.
type streamReader struct {
	Process
	from   string // the entry after which it continues; $ is the last one at that time
	follow bool   // it remembers what it read
}

// newDollarReader always reads after the last entry: it misses entries that were added between two
// calls.
func newDollarReader(_ context.Context, p Process) (Reader, error) {
	r := &streamReader{Process: p, from: "$"}
	if p.Again {
		r.from, r.follow = "0", true
	}
	return r, nil
}

// newTailReader begins at the end of the stream and continues after the last entry that it read.
func newTailReader(ctx context.Context, p Process) (Reader, error) {
	r := &streamReader{Process: p, from: "0", follow: true}
	if p.Again {
		return r, nil
	}
	last, err := p.Redis.XRevRangeN(ctx, p.Name, "+", "-", 1).Result()
	if err != nil {
		return nil, fmt.Errorf("read the last entry: %w", err)
	}
	if len(last) > 0 {
		r.from = last[0].ID
	}
	return r, nil
}

func (r *streamReader) Read(ctx context.Context, most int, wait time.Duration) ([]Message, error) {
	entries, err := entriesOf(r.Redis.XRead(ctx, &redis.XReadArgs{
		Streams: []string{r.Name, r.from}, Count: int64(min(most, readBatch)), Block: wait,
	}).Result())
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	if r.follow {
		r.from = entries[len(entries)-1].ID
	}
	return messagesOf(entries)
}

func (*streamReader) Done(context.Context, []Message) error { return nil }
func (*streamReader) Close() error                          { return nil }

// groupOptions vary a stream with a consumer group.
type groupOptions struct {
	batch  int  // maximum per read
	remove bool // what is acknowledged is removed, as internal/flashsale does; else it stays
	keep   int  // approximate maximum length of the stream; 0: unlimited
}

func (o groupOptions) sender(_ context.Context, p Process) (Sender, error) {
	return streamSender{p, o.keep}, nil
}

type streamSender struct {
	Process
	keep int
}

func (s streamSender) Send(ctx context.Context, numbers []int) error {
	pipe := s.Redis.Pipeline()
	for _, n := range numbers {
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: s.Name, MaxLen: int64(s.keep), Approx: s.keep > 0, Values: []any{field, encode(n, s.Bytes)}})
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (streamSender) Close() error { return nil }

// A groupReader is a consumer of a group: Redis stores its pending messages.
type groupReader struct {
	Process
	groupOptions
	group     string
	lastCheck time.Time // for what others left
}

// reader creates the group, from the first entry on, unless it exists.
func (o groupOptions) reader(ctx context.Context, p Process) (Reader, error) {
	r := &groupReader{Process: p, groupOptions: o, group: group, lastCheck: time.Now()}
	if p.Again {
		r.group = "again"
	}
	err := p.Redis.XGroupCreateMkStream(ctx, p.Name, r.group, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return nil, fmt.Errorf("create the group: %w", err)
	}
	return r, nil
}

// Read claims messages that are pending elsewhere for too long when there are no new ones, and
// occasionally before.
func (r *groupReader) Read(ctx context.Context, most int, wait time.Duration) ([]Message, error) {
	most = min(most, r.batch)
	if time.Since(r.lastCheck) > r.TakeOver {
		if messages, err := r.takeOver(ctx, most); err != nil || len(messages) > 0 {
			return messages, err
		}
	}
	entries, err := entriesOf(r.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: r.group, Consumer: r.Consumer, Streams: []string{r.Name, ">"}, Count: int64(most), Block: wait,
	}).Result())
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return r.takeOver(ctx, most)
	}
	return messagesOf(entries)
}

func (r *groupReader) takeOver(ctx context.Context, most int) ([]Message, error) {
	entries, _, err := r.Redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: r.Name, Group: r.group, Consumer: r.Consumer, MinIdle: r.TakeOver, Start: "0-0", Count: int64(most),
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("claim messages of other consumers: %w", err)
	}
	if len(entries) == 0 { // else there may be more
		r.lastCheck = time.Now()
	}
	return messagesOf(entries)
}

func (r *groupReader) Done(ctx context.Context, messages []Message) error {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.entry
	}
	pipe := r.Redis.Pipeline()
	pipe.XAck(ctx, r.Name, r.group, ids...)
	if r.remove {
		pipe.XDel(ctx, r.Name, ids...)
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (*groupReader) Close() error { return nil }
