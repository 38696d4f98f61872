package flashsale

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/sale"

	"github.com/redis/go-redis/v9"
)

const (
	maxParked = 1000 // entries of a partition's parked stream
	maxReason = 200  // bytes of why
)

// park puts an entry aside that cannot be stored: its order becomes a tombstone, as
// far as its number can be read, the entry goes to the parked stream with the
// reason, and is ended. What fails is repeated when the entry is taken over; an
// entry may be parked twice then.
func (c *consumer) park(ctx context.Context, d delivery, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout+tripTimeout)
	defer cancel()
	if err := errors.Join(c.tombstoneParked(ctx, d), c.addParked(ctx, d, why)); err != nil {
		c.s.recordFailure(ctx, doingPark, err)
		return
	}
	if err := c.acknowledge(ctx, []delivery{d}); err != nil {
		c.s.recordFailure(ctx, doingAcknowledge, err)
		return
	}
	c.s.writer.m.event(eventParked)
	c.s.cfg.Log.WarnContext(ctx, "an order could not be stored and was parked", "partition", d.partition, "entry", d.id, "order", d.Order, "err", why)
}

// tombstoneParked makes a tombstone of the order of an entry. Without a number and a user in
// it there is none to be made: what was told of such an order ends by [Service.WatchPending]
// and the reconciler.
func (c *consumer) tombstoneParked(ctx context.Context, d delivery) error {
	if d.Order <= 0 || sequence.Partition(d.Order) != d.partition {
		return nil
	}
	e := d.Entry
	if e.User <= 0 || e.Voucher <= 0 {
		known, err := c.s.Entry(ctx, d.Order)
		if err != nil {
			return fmt.Errorf("ask whose order %d is: %w", d.Order, err)
		}
		if known == nil {
			return nil
		}
		e = *known
	}
	if _, err := c.s.tombstone(ctx, []Entry{e}); err != nil {
		return err
	}
	return c.s.release(ctx, []sale.Reservation{e.hold()})
}

func (c *consumer) addParked(ctx context.Context, d delivery, why error) error {
	reason := why.Error()
	err := c.s.admitter.state.XAdd(ctx, &redis.XAddArgs{
		Stream: c.s.admitter.keys.parked(d.partition), MaxLen: maxParked, Approx: true,
		Values: []any{
			"entry", d.id, "order", d.Order, "user", d.User, "voucher", d.Voucher,
			"why", reason[:min(len(reason), maxReason)], "at", time.Now().UnixMilli(),
		},
	}).Err()
	if err != nil {
		return fmt.Errorf("write down entry %s of partition %d: %w", d.id, d.partition, err)
	}
	return nil
}
