package checkin

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"math/bits"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

var (
	//go:embed lua/check_in.lua
	checkInLua string
	//go:embed lua/fill.lua
	fillLua string
)

// A bitRef identifies the bitmap of a user and month.
type bitRef struct {
	User  int64 `json:"user"`
	Month month `json:"month"`
}

type bitmaps struct {
	rdb           redis.Cmdable
	keys          keys
	readBitmap    bitmapRead
	checkIn, fill *redis.Script
}

func newBitmaps(rdb redis.Cmdable, prefix string, bitfield bool) bitmaps {
	b := bitmaps{rdb, keys{prefix}, byGet, redis.NewScript(checkInLua), redis.NewScript(fillLua)}
	if bitfield {
		b.readBitmap = byBitfield
	}
	return b
}

// A bitmapRead adds the read of one bitmap to a pipeline. After the execution, result
// returns its bits, 0 for a missing bitmap.
type bitmapRead func(ctx context.Context, pipe redis.Pipeliner, key string) (result func() (days, error))

// byBitfield reads the first 32 bits with BITFIELD_RO.
func byBitfield(ctx context.Context, pipe redis.Pipeliner, key string) func() (days, error) {
	cmd := pipe.BitFieldRO(ctx, key, "u32", 0)
	return func() (days, error) {
		found, err := cmd.Result()
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("read bitmap: got %d numbers, want 1", len(found))
		}
		if err != nil {
			return 0, err
		}
		return fromBits(uint32(found[0])), nil //nolint:gosec // u32 was requested
	}
}

// byGet works without BITFIELD. The value ends at the last byte with a bit.
func byGet(ctx context.Context, pipe redis.Pipeliner, key string) func() (days, error) {
	cmd := pipe.Get(ctx, key)
	return func() (days, error) {
		text, err := cmd.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, err
		}
		var number uint32
		for i := range 4 {
			number <<= 8
			if i < len(text) {
				number |= uint32(text[i])
			}
		}
		return fromBits(number), nil
	}
}

// fromBits reverses a bitmap: in Redis, bit 0 is the highest bit of the first byte.
func fromBits(number uint32) days { return days(bits.Reverse32(number)) }

// read reads bitmaps in one round trip, including the mark. An error means that Redis is
// unavailable.
func (b bitmaps) read(ctx context.Context, refs []bitRef) (map[bitRef]days, error) {
	found := make(map[bitRef]days, len(refs))
	if len(refs) == 0 {
		return found, nil
	}
	pipe := b.rdb.Pipeline()
	results := make([]func() (days, error), len(refs))
	for i, p := range refs {
		results[i] = b.readBitmap(ctx, pipe, b.keys.month(p.User, p.Month))
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, p := range refs {
		d, err := results[i]()
		if err != nil {
			return nil, fmt.Errorf("read %d bitmaps: %w", len(refs), err)
		}
		found[p] = d
	}
	return found, nil
}

// addsAtOnce bounds the concurrent scripts. The client batches them into few round trips.
const addsAtOnce = 64

func (b bitmaps) add(ctx context.Context, drafts ...Draft) error {
	var g errgroup.Group
	g.SetLimit(addsAtOnce)
	for _, d := range drafts {
		g.Go(func() error {
			name := b.keys.month(d.User, monthOf(d.Day))
			err := b.checkIn.Run(ctx, b.rdb, []string{name}, d.Day.Day, life.Milliseconds()).Err()
			if err = b.orDrop(ctx, err, name); err != nil {
				return fmt.Errorf("add %v to bitmap of user %d: %w", d.Day, d.User, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// complete adds the days of rows to bitmaps of a user and marks the bitmaps as whole.
func (b bitmaps) complete(ctx context.Context, user int64, rows map[month]days) error {
	if len(rows) == 0 {
		return nil
	}
	var names []string
	args := []any{life.Milliseconds(), emptyLife.Milliseconds()}
	for m, d := range rows {
		names = append(names, b.keys.month(user, m))
		args = append(args, uint32(d))
	}
	err := b.fill.Run(ctx, b.rdb, names, args...).Err()
	if err = b.orDrop(ctx, err, names...); err != nil {
		return fmt.Errorf("fill %d bitmaps of user %d: %w", len(rows), user, err)
	}
	return nil
}

// orDrop removes bitmaps that a full Redis could not change. Redis still accepts
// deletions, and readers use the rows for missing bitmaps.
func (b bitmaps) orDrop(ctx context.Context, err error, names ...string) error {
	if !redis.HasErrorPrefix(err, "OOM") {
		return err
	}
	return b.rdb.Unlink(ctx, names...).Err()
}

func (b bitmaps) drop(ctx context.Context, p bitRef) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := b.rdb.Unlink(ctx, b.keys.month(p.User, p.Month)).Err(); err != nil {
		return fmt.Errorf("drop bitmap of user %d and %v: %w", p.User, p.Month, err)
	}
	return nil
}
