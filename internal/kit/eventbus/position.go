package eventbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A position is an entry of the stream. The zero value is before the first entry.
type position struct {
	epoch, n uint64 // its id: creation time of the stream, and number of the entry
	mark     string // hash of all entries up to this one
}

func (p position) id() string {
	return strconv.FormatUint(p.epoch, 10) + "-" + strconv.FormatUint(p.n, 10)
}

// An entry is a message with its position.
type entry struct {
	position
	prevMark string // mark of the previous entry
	Message
}

// A streamCursor is the read position of a process.
type streamCursor struct {
	position
	gap Gap // the position is invalid for this reason; "" if it is valid
}

func (c *streamCursor) lose(why Gap) { c.gap = why }

// within reports whether a stream with this tail can contain the position.
func (c *streamCursor) within(tail position) bool {
	switch {
	case c.position == position{}:
		return true
	case c.epoch != tail.epoch || c.n > tail.n:
		return false
	}
	return c.n < tail.n || c.mark == tail.mark
}

// reached reports whether all entries up to tail were read.
func (c *streamCursor) reached(tail position) bool {
	return tail == position{} || c.epoch == tail.epoch && c.n >= tail.n
}

// advance moves up to the next hole and returns the messages. A hole invalidates the position.
func (c *streamCursor) advance(entries []entry) (received []Message) {
	for _, e := range entries {
		first := c.position == position{}
		switch {
		case (first || c.epoch == e.epoch) && e.n == c.n+1 && e.prevMark == c.mark:
			c.position = e.position
			received = append(received, e.Message)
			continue
		case (first || c.epoch == e.epoch) && e.n > c.n+1:
			c.lose(GapTrimmed)
		default:
			c.lose(GapLost)
		}
		break
	}
	return received
}

// readTimeout limits one read with its connection and handshake.
const readTimeout = time.Second

func (s *Redis) tail(ctx context.Context, rdb redis.UniversalClient) (position, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	last, err := rdb.XRevRangeN(ctx, s.key, "+", "-", 1).Result()
	if err != nil {
		return position{}, fmt.Errorf("read end of bus: %w", err)
	}
	return lastPosition(last)
}

// read waits for entries after a position. It reads the tail first, so entries published during
// the wait may follow it.
func (s *Redis) read(ctx context.Context, rdb redis.UniversalClient, from position) (tail position, entries []entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	pipe := rdb.Pipeline()
	last := pipe.XRevRangeN(ctx, s.key, "+", "-", 1)
	next := pipe.XRead(ctx, &redis.XReadArgs{Streams: []string{s.key, from.id()}, Count: readBatch, Block: block})
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := last.Err(); err != nil {
		return position{}, nil, fmt.Errorf("read end of bus: %w", err)
	}
	if err := next.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return position{}, nil, fmt.Errorf("read bus: %w", err)
	}
	if tail, err = lastPosition(last.Val()); err != nil {
		return position{}, nil, err
	}
	for _, part := range next.Val() {
		for _, m := range part.Messages {
			e, err := parse(m)
			if err != nil {
				return position{}, nil, err
			}
			entries = append(entries, e)
		}
	}
	return tail, entries, nil
}

func lastPosition(last []redis.XMessage) (position, error) {
	if len(last) == 0 {
		return position{}, nil
	}
	e, err := parse(last[0])
	return e.position, err
}

// parse decodes an entry. An entry that publish.lua did not write has no marks, so it is a hole.
func parse(m redis.XMessage) (entry, error) {
	epoch, n, _ := strings.Cut(m.ID, "-")
	var e entry
	var err error
	if e.epoch, err = strconv.ParseUint(epoch, 10, 64); err == nil {
		e.n, err = strconv.ParseUint(n, 10, 64)
	}
	if err != nil {
		return entry{}, fmt.Errorf("decode entry of bus: invalid id %q", m.ID)
	}
	field := func(name string) string {
		text, _ := m.Values[name].(string)
		return text
	}
	e.mark, e.prevMark = field("m"), field("p")
	e.Message = Message{Topic: field("t"), Body: []byte(field("b"))}
	return e, nil
}
