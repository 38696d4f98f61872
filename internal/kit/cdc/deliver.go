package cdc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	firstRetry = 50 * time.Millisecond
	maxRetry   = 2 * time.Second
)

// A delivery is a call that is retried until it succeeds.
type delivery struct {
	send func(ctx context.Context) error
	done func() // counts the delivery
}

// deliveriesOf returns the deliveries of a transaction, in the order of its changes.
func (r *Reader) deliveriesOf(tx *transaction) []delivery {
	var list []delivery
	missed := false
	for i := range tx.changes {
		c := &tx.changes[i]
		table := c.table
		switch {
		case tx.outbox && !c.truncated: // its outbox jobs invalidate these rows
		case c.all && table.OnTruncate != nil:
			list = append(list, delivery{send: func(ctx context.Context) error {
				return wrap("deliver truncation of table "+table.Name, table.OnTruncate(ctx))
			}})
		case c.all:
			missed = true
		default:
			for keys := range slices.Chunk(c.keys, keysPerCall) {
				list = append(list, delivery{
					send: func(ctx context.Context) error {
						return wrap("deliver changes of table "+table.Name, table.OnChange(ctx, keys))
					},
					done: func() { r.metrics.changes.WithLabelValues(table.Name).Add(float64(len(keys))) },
				})
			}
		}
	}
	if missed {
		list = append(list, delivery{send: r.callOnGap, done: r.metrics.missed.Inc})
	}
	return list
}

func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// deliver retries each delivery until it succeeds. It returns an error when ctx ended, or
// when one has failed for so long that another process should try. All deliveries of the
// transaction are then repeated.
func (r *Reader) deliver(ctx context.Context, list []delivery) error {
	begun, pause := time.Now(), firstRetry
	for len(list) > 0 {
		err := call(ctx, list[0])
		if err == nil {
			list, pause = list[1:], firstRetry
			if len(list) > 0 && ctx.Err() != nil {
				return fmt.Errorf("stop before the last delivery: %w", ctx.Err())
			}
			continue
		}
		if time.Since(begun) > r.intervals.giveUp {
			return fmt.Errorf("%w: %w", errUndelivered, err)
		}
		r.recordFailure(ctx, err)
		if clock.Sleep(ctx, pause) != nil {
			return fmt.Errorf("stop before a delivery succeeds: %w", err)
		}
		pause = min(2*pause, maxRetry)
	}
	return nil
}

// call makes one delivery. The end of ctx does not interrupt it.
func call(ctx context.Context, n delivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := n.send(ctx); err != nil {
		return err
	}
	if n.done != nil {
		n.done()
	}
	return nil
}

// reportGap reports, without a retry, that changes may have been missed.
func (r *Reader) reportGap(ctx context.Context) error {
	return call(ctx, delivery{send: r.callOnGap, done: r.metrics.missed.Inc})
}

func (r *Reader) callOnGap(ctx context.Context) error {
	if r.o.OnGap == nil {
		return nil
	}
	return wrap("deliver gap", r.o.OnGap(ctx))
}
