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

// A position is an entry of the stream; the zero value stands before the first
// entry of a stream that there is not yet.
type position struct {
	epoch, n uint64 // its id: when its stream was begun, and the how manieth it is
	mark     string // tells its whole past from any other
}

func (p position) id() string {
	return strconv.FormatUint(p.epoch, 10) + "-" + strconv.FormatUint(p.n, 10)
}

// An entry is a message where it stands.
type entry struct {
	position
	before string // mark of the one before
	Message
}

// A streamCursor is how far a process has read.
type streamCursor struct {
	position
	why Gap // the position is not to be gone on from; "" if it is
}

func (c *streamCursor) lose(why Gap) { c.why = why }

// within reports whether a stream with this end can hold the position.
func (c *streamCursor) within(tail position) bool {
	switch {
	case c.position == position{}:
		return true
	case c.epoch != tail.epoch || c.n > tail.n:
		return false
	}
	return c.n < tail.n || c.mark == tail.mark
}

// reached reports whether everything up to tail was read.
func (c *streamCursor) reached(tail position) bool {
	return tail == position{} || c.epoch == tail.epoch && c.n >= tail.n
}

// advance steps over the entries that follow one another without a hole, and
// returns their messages. At a hole it loses the position.
func (c *streamCursor) advance(entries []entry) (heard []Message) {
	for _, e := range entries {
		first := c.position == position{}
		switch {
		case (first || c.epoch == e.epoch) && e.n == c.n+1 && e.before == c.mark:
			c.position = e.position
			heard = append(heard, e.Message)
			continue
		case (first || c.epoch == e.epoch) && e.n > c.n+1:
			c.lose(GapTrimmed)
		default:
			c.lose(GapLost)
		}
		break
	}
	return heard
}

// patience is the longest that one look takes: a connection, its handshake, the
// look itself.
const patience = time.Second

// tail reads where the stream ends.
func (s *Redis) tail(ctx context.Context, rdb redis.UniversalClient) (position, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last, err := rdb.XRevRangeN(ctx, s.key, "+", "-", 1).Result()
	if err != nil {
		return position{}, fmt.Errorf("read the end of the bus: %w", err)
	}
	return lastOf(last)
}

// read waits for entries behind a position, and reads before where the stream
// ends: of what is published while it waits, some may be missing.
func (s *Redis) read(ctx context.Context, rdb redis.UniversalClient, from position) (tail position, entries []entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pipe := rdb.Pipeline()
	last := pipe.XRevRangeN(ctx, s.key, "+", "-", 1)
	next := pipe.XRead(ctx, &redis.XReadArgs{Streams: []string{s.key, from.id()}, Count: readAtOnce, Block: block})
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := last.Err(); err != nil {
		return position{}, nil, fmt.Errorf("read the end of the bus: %w", err)
	}
	if err := next.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return position{}, nil, fmt.Errorf("read the bus: %w", err)
	}
	if tail, err = lastOf(last.Val()); err != nil {
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

func lastOf(last []redis.XMessage) (position, error) {
	if len(last) == 0 {
		return position{}, nil
	}
	e, err := parse(last[0])
	return e.position, err
}

// parse reads an entry. One that publish.lua did not write has no marks, and is a
// hole for who comes to it.
func parse(m redis.XMessage) (entry, error) {
	epoch, n, _ := strings.Cut(m.ID, "-")
	var e entry
	var err error
	if e.epoch, err = strconv.ParseUint(epoch, 10, 64); err == nil {
		e.n, err = strconv.ParseUint(n, 10, 64)
	}
	if err != nil {
		return entry{}, fmt.Errorf("read an entry of the bus: the id %q", m.ID)
	}
	field := func(name string) string {
		text, _ := m.Values[name].(string)
		return text
	}
	e.mark, e.before = field("m"), field("p")
	e.Message = Message{Topic: field("t"), Body: []byte(field("b"))}
	return e, nil
}
