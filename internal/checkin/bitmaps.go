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

// A bitRef is a month of a user.
type bitRef struct {
	User  int64 `json:"user"`
	Month month `json:"month"`
}

// bitmaps are the months in Redis.
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

// A bitmapRead reads one bitmap in a pipeline. After that its result says what was found, 0 for
// a bitmap that is not there.
type bitmapRead func(ctx context.Context, pipe redis.Pipeliner, key string) (result func() (days, error))

// byBitfield has Redis make a number of the first 32 bits.
func byBitfield(ctx context.Context, pipe redis.Pipeliner, key string) func() (days, error) {
	cmd := pipe.BitFieldRO(ctx, key, "u32", 0)
	return func() (days, error) {
		found, err := cmd.Result()
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d numbers for one", len(found))
		}
		if err != nil {
			return 0, err
		}
		return fromBits(uint32(found[0])), nil //nolint:gosec // u32 was asked for
	}
}

// byGet is for a Redis without BITFIELD. A bitmap ends with the last byte that has a bit.
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

// fromBits turns a bitmap around: in Redis bit 0 is the highest of the first byte.
func fromBits(number uint32) days { return days(bits.Reverse32(number)) }

// read reads bitmaps in one round trip, each with its mark or without. The error means
// that Redis is away.
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

// addsAtOnce is how many scripts run at once. The client sends them in few round trips.
const addsAtOnce = 64

// add adds days to bitmaps.
func (b bitmaps) add(ctx context.Context, drafts ...Draft) error {
	var g errgroup.Group
	g.SetLimit(addsAtOnce)
	for _, d := range drafts {
		g.Go(func() error {
			name := b.keys.month(d.User, monthOf(d.Day))
			err := b.checkIn.Run(ctx, b.rdb, []string{name}, d.Day.Day, life.Milliseconds()).Err()
			if err = b.orDrop(ctx, err, name); err != nil {
				return fmt.Errorf("add %v to the bitmap of user %d: %w", d.Day, d.User, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// complete fills bitmaps of a user by what their rows had, and marks them as whole.
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

// orDrop removes bitmaps that a full Redis could not change: it takes deletions,
// and the rows answer for what is missing.
func (b bitmaps) orDrop(ctx context.Context, err error, names ...string) error {
	if !redis.HasErrorPrefix(err, "OOM") {
		return err
	}
	return b.rdb.Unlink(ctx, names...).Err()
}

// drop removes the bitmap of a month.
func (b bitmaps) drop(ctx context.Context, p bitRef) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := b.rdb.Unlink(ctx, b.keys.month(p.User, p.Month)).Err(); err != nil {
		return fmt.Errorf("drop the bitmap of user %d and %v: %w", p.User, p.Month, err)
	}
	return nil
}
