package sequence

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	kit "github.com/tandian-dev/tandian/internal/kit/sequence"
)

type makerFunc func(ctx context.Context) (ID, error)

func (f makerFunc) Next(ctx context.Context) (ID, error) { return f(ctx) }

// segments is Tandian's own: a row of the database assigns ranges of numbers to processes.
type segments struct{ *kit.Sequence }

func newSegments(_ context.Context, p Process) (Maker, error) {
	s, err := kit.New(p.DB, kit.Options{Dialect: "postgres", Name: p.Name, Now: p.Now})
	return segments{s}, err
}

func (s segments) Next(ctx context.Context) (ID, error) {
	n, err := s.Sequence.Next(ctx, 0)
	return ID{Low: uint64(n)}, err
}

// newUUID4 makes random ids: RFC 9562, section 5.4.
func newUUID4(context.Context, Process) (Maker, error) {
	return makerFunc(func(context.Context) (ID, error) { return version(random(), 4), nil }), nil
}

// newUUID7 makes random ids that begin with milliseconds: RFC 9562, section 5.7.
func newUUID7(_ context.Context, p Process) (Maker, error) {
	return makerFunc(func(context.Context) (ID, error) {
		id := random()
		id.High = uint64(p.Now().UnixMilli())<<16 | id.High&0xffff
		return version(id, 7), nil
	}), nil
}

func random() ID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return ID{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func version(id ID, v uint64) ID {
	return ID{id.High&^0xf000 | v<<12, id.Low&^(3<<62) | 1<<63}
}

// newRedisSeconds is as courses teach it: the second, then 32 bits of a counter in Redis with a key
// for each day.
func newRedisSeconds(_ context.Context, p Process) (Maker, error) {
	begin := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return makerFunc(func(ctx context.Context) (ID, error) {
		now := p.Now().UTC()
		n, err := p.Redis.Incr(ctx, p.Name+now.Format(":2006:01:02")).Uint64()
		return ID{Low: uint64(now.Unix()-begin.Unix())<<32 | n}, err
	}), nil
}

// newRedisDate is the same counter after the date, human-readable.
func newRedisDate(_ context.Context, p Process) (Maker, error) {
	return makerFunc(func(ctx context.Context) (ID, error) {
		now := p.Now().UTC()
		n, err := p.Redis.Incr(ctx, p.Name+now.Format(":2006:01:02")).Uint64()
		day := uint64(now.Year()*10_000 + int(now.Month())*100 + now.Day())
		return ID{Low: day*10_000_000_000 + n}, err
	}), nil
}

var errClockBehind = errors.New("clock moved backwards")

// snowflake is Twitter's of 2010: milliseconds, the node, a counter within the
// millisecond. It refuses while the clock is behind its last id, which it knows only
// until the process ends.
type snowflake struct {
	now  func() time.Time
	node uint64

	mu       sync.Mutex
	last     int64 // milliseconds
	sequence uint64
}

func newSnowflake(_ context.Context, p Process) (Maker, error) {
	return &snowflake{now: p.Now, node: p.Node}, nil
}

func (s *snowflake) Next(ctx context.Context) (ID, error) {
	const begin = 1767225600000 // 2026
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := s.now().UnixMilli() - begin
	for ; ms == s.last && s.sequence == 4095; ms = s.now().UnixMilli() - begin { // all of this one are used
		if err := ctx.Err(); err != nil {
			return ID{}, err
		}
	}
	switch {
	case ms < s.last:
		return ID{}, errClockBehind
	case ms == s.last:
		s.sequence++
	default:
		s.last, s.sequence = ms, 0
	}
	return ID{Low: uint64(ms)<<22 | s.node<<12 | s.sequence}, nil
}

// newNextval reads each id from a sequence of Postgres, as a column of type bigserial does.
func newNextval(ctx context.Context, p Process) (Maker, error) {
	if _, err := p.DB.ExecContext(ctx, "CREATE SEQUENCE IF NOT EXISTS "+p.Name); err != nil {
		return nil, fmt.Errorf("make the sequence: %w", err)
	}
	query := "SELECT nextval('" + p.Name + "')" // without parameters: one round trip
	return makerFunc(func(ctx context.Context) (id ID, err error) {
		err = p.DB.QueryRowContext(ctx, query).Scan(&id.Low)
		return id, err
	}), nil
}
