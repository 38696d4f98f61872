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
	maxParked = 1000 // entries in one parked stream
	maxReason = 200  // bytes
)

// park removes an entry that cannot be stored. Its order becomes a tombstone if its number is
// readable. The entry moves to the parked stream with the reason and is acknowledged. After an
// error, the next takeover of the entry repeats park, which may park it twice.
func (c *consumer) park(ctx context.Context, d delivery, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout+tripTimeout)
	defer cancel()
	if err := errors.Join(c.tombstoneParked(ctx, d), c.addParked(ctx, d, cause)); err != nil {
		c.s.recordFailure(ctx, doingPark, err)
		return
	}
	if err := c.acknowledge(ctx, []delivery{d}); err != nil {
		c.s.recordFailure(ctx, doingAcknowledge, err)
		return
	}
	c.s.writer.m.event(eventParked)
	c.s.cfg.Log.WarnContext(ctx, "flash sale order parked", "partition", d.partition, "entry", d.id, "order", d.Order, "err", cause)
}

// tombstoneParked inserts a tombstone for the order of an entry. It does nothing if the number
// or the user is unknown: then [Service.WatchPending] and the reconciler finish the order.
func (c *consumer) tombstoneParked(ctx context.Context, d delivery) error {
	if d.Order <= 0 || sequence.Partition(d.Order) != d.partition {
		return nil
	}
	e := d.Entry
	if e.User <= 0 || e.Voucher <= 0 {
		known, err := c.s.Entry(ctx, d.Order)
		if err != nil {
			return fmt.Errorf("read entry of order %d: %w", d.Order, err)
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

func (c *consumer) addParked(ctx context.Context, d delivery, cause error) error {
	reason := cause.Error()
	err := c.s.admitter.state.XAdd(ctx, &redis.XAddArgs{
		Stream: c.s.admitter.keys.parked(d.partition), MaxLen: maxParked, Approx: true,
		Values: []any{
			"entry", d.id, "order", d.Order, "user", d.User, "voucher", d.Voucher,
			"why", reason[:min(len(reason), maxReason)], "at", time.Now().UnixMilli(),
		},
	}).Err()
	if err != nil {
		return fmt.Errorf("park entry %s of partition %d: %w", d.id, d.partition, err)
	}
	return nil
}
