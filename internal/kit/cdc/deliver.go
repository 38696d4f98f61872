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

// A delivery is a call that is repeated until it succeeds.
type delivery struct {
	tell func(ctx context.Context) error
	done func() // counts it
}

// newsOf says what is to be told of a transaction, in the order of its changes.
func (r *Reader) newsOf(tx *transaction) []delivery {
	var list []delivery
	missed := false
	for i := range tx.changes {
		c := &tx.changes[i]
		table := c.table
		switch {
		case tx.outbox && !c.cut: // it tells of that by itself
		case c.all && table.OnTruncate != nil:
			list = append(list, delivery{tell: func(ctx context.Context) error {
				return wrapped("tell of everything in table "+table.Name, table.OnTruncate(ctx))
			}})
		case c.all:
			missed = true
		default:
			for keys := range slices.Chunk(c.keys, keysAtOnce) {
				list = append(list, delivery{
					tell: func(ctx context.Context) error {
						return wrapped("tell of changes in table "+table.Name, table.OnChange(ctx, keys))
					},
					done: func() { r.metrics.changes.WithLabelValues(table.Name).Add(float64(len(keys))) },
				})
			}
		}
	}
	if missed {
		list = append(list, delivery{tell: r.tellMissed, done: r.metrics.missed.Inc})
	}
	return list
}

func wrapped(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// tell repeats each call until it succeeds. It returns an error when ctx ended,
// or when one has failed for so long that another process should try; what was
// told by then is told again.
func (r *Reader) tell(ctx context.Context, list []delivery) error {
	begun, pause := time.Now(), firstRetry
	for len(list) > 0 {
		err := call(ctx, list[0])
		if err == nil {
			list, pause = list[1:], firstRetry
			if len(list) > 0 && ctx.Err() != nil {
				return fmt.Errorf("stopped before all could be told: %w", ctx.Err())
			}
			continue
		}
		if time.Since(begun) > r.pace.patience {
			return fmt.Errorf("%w: %w", errUndelivered, err)
		}
		r.failed(ctx, err)
		if clock.Sleep(ctx, pause) != nil {
			return fmt.Errorf("stopped before it could be told again: %w", err)
		}
		pause = min(2*pause, maxRetry)
	}
	return nil
}

// call makes one call. A stop does not cut it short.
func call(ctx context.Context, n delivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := n.tell(ctx); err != nil {
		return err
	}
	if n.done != nil {
		n.done()
	}
	return nil
}

// missed says, once, that changes may have gone by unheard.
func (r *Reader) missed(ctx context.Context) error {
	return call(ctx, delivery{tell: r.tellMissed, done: r.metrics.missed.Inc})
}

func (r *Reader) tellMissed(ctx context.Context) error {
	if r.o.OnGap == nil {
		return nil
	}
	return wrapped("tell that changes may have been missed", r.o.OnGap(ctx))
}
