package sale

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// watched sells in Redis without a script: it watches, reads, and retries after a conflict. It
// inserts the row after the admission.
type watched struct {
	*single
	at keys
}

func newWatch(ctx context.Context, on *Servers) (Admitter, error) {
	s, err := newSingle(ctx, on)
	return &watched{s, keys{on.space()}}, err
}

// Open implements [Admitter].
func (x *watched) Open(ctx context.Context, s Sale) error { return x.at.open(ctx, x.rdb, s) }

// Left implements [Admitter].
func (x *watched) Left(ctx context.Context, s Sale) (int, error) {
	return x.rdb.Get(ctx, x.at.stock(s.Voucher)).Int()
}

// Admit implements [Admitter].
func (x *watched) Admit(ctx context.Context, w Wish) (Answer, error) {
	order, err := x.number(ctx)
	if err != nil {
		return Answer{}, err
	}
	a, err := x.reserve(ctx, w, order)
	for ; errors.Is(err, redis.TxFailedErr); x.n.Add(1) {
		a, err = x.reserve(ctx, w, order)
	}
	if err != nil || a.Decision != Admitted {
		return a, err
	}
	if _, err := x.insert.ExecContext(ctx, order, w.User, w.Voucher, w.Quantity, now()); err != nil {
		return Answer{}, fmt.Errorf("insert the order: %w", err)
	}
	return a, nil
}

// reserve makes one attempt.
func (x *watched) reserve(ctx context.Context, w Wish, order int64) (a Answer, err error) {
	stock, buyers, user := x.at.stock(w.Voucher), x.at.buyers(w.Voucher), strconv.FormatInt(w.User, 10)
	err = x.rdb.Watch(ctx, func(tx *redis.Tx) error {
		var left, held *redis.StringCmd
		_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			left, held = p.Get(ctx, stock), p.HGet(ctx, buyers, user)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if held.Err() == nil {
			a.Decision = Held
			a.Order, err = held.Int64()
			return err
		}
		n, err := left.Int()
		if err != nil {
			return err
		}
		if n < w.Quantity {
			a.Decision = SoldOut
			return nil
		}
		a = Answer{Admitted, order}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.DecrBy(ctx, stock, int64(w.Quantity))
			p.HSet(ctx, buyers, user, order)
			return nil
		})
		return err
	}, stock, buyers)
	return a, err
}

// keys are the keys of ways with a simple sale in Redis.
type keys struct{ prefix string }

func (k keys) of(voucher int64, what string) string {
	return fmt.Sprintf("%s:{%d}:%s", k.prefix, voucher, what)
}

// stock returns the key of the stock, a number.
func (k keys) stock(voucher int64) string { return k.of(voucher, "stock") }

// buyers returns the key of the buyers with their orders, a hash.
func (k keys) buyers(voucher int64) string { return k.of(voucher, "buyers") }

// orders returns the key of the orders that wait for their rows, a stream.
func (k keys) orders(voucher int64) string { return k.of(voucher, "orders") }

// open sets the stock.
func (k keys) open(ctx context.Context, rdb *redis.Client, s Sale) error {
	if err := rdb.Set(ctx, k.stock(s.Voucher), s.Stock, 0).Err(); err != nil {
		return fmt.Errorf("open the sale in Redis: %w", err)
	}
	return nil
}
