package sale

import (
	"context"
	"database/sql"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

//go:embed lua/unlock.lua
var unlockLua string

// A way is a commonly taught strategy, correct or wrong, on one or two servers. Each user may have
// one order per sale.
type way struct {
	name    string
	servers int
	indexed bool // its tables have the constraints and indexes of the server's; else none
	inRedis bool // its stock is there
	// The predicted outcome when another wish comes at the worst moment.
	oversold, duplicate, unsold bool
	admit                       func(ctx context.Context, w *wish) (Answer, error)
}

func (w way) schema() string {
	if w.indexed {
		return "public"
	}
	return "bare"
}

// ways returns all ways, each wrong one with its correct counterpart.
func ways() []way {
	return []way{
		{name: "check, then deduct, without a lock", servers: 2, oversold: true, duplicate: true, admit: checkThenDeduct},
		{name: "lock of the process, two servers", servers: 2, oversold: true, duplicate: true, admit: inProcessLock},
		{name: "lock of the process, one server", servers: 1, admit: inProcessLock},
		{name: "lock released before the commit", servers: 2, oversold: true, duplicate: true, admit: redisLock(true)},
		{name: "lock released after the commit", servers: 2, admit: redisLock(false)},
		{name: "compare and set of an equal stock, the loser gives up", servers: 2, unsold: true, admit: equalValue},
		{name: "WATCH, the loser gives up", servers: 2, inRedis: true, unsold: true, admit: watchOnce},
		{name: "conditional update and a unique index", servers: 2, indexed: true, admit: conditionally},
	}
}

func wayOf(name string) (way, bool) {
	for _, w := range ways() {
		if w.name == name {
			return w, true
		}
	}
	return way{}, false
}

// querier is a pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// check checks whether the user may buy. It returns the answer if not, and the stock.
func (w *wish) check(ctx context.Context, db querier) (a Answer, left int, err error) {
	var version, holder int64
	if err := db.QueryRowContext(ctx, text("see"), w.Voucher, w.User).Scan(&left, &version, &holder); err != nil {
		return a, 0, fmt.Errorf("check: %w", err)
	}
	switch {
	case holder != 0:
		a = Answer{Held, holder}
	case left < w.Quantity:
		a = Answer{Decision: SoldOut}
	}
	return a, left, nil
}

func (w *wish) insert(ctx context.Context, db querier) error {
	_, err := db.ExecContext(ctx, text("insert"), w.Order, w.User, w.Voucher, w.Quantity, now())
	return err
}

// buy takes stock and inserts the order.
func (w *wish) buy(ctx context.Context, db querier) (Answer, error) {
	if _, err := db.ExecContext(ctx, text("deduct"), w.Voucher, w.Quantity); err != nil {
		return Answer{}, fmt.Errorf("deduct: %w", err)
	}
	if err := w.insert(ctx, db); err != nil {
		return Answer{}, fmt.Errorf("insert the order: %w", err)
	}
	return Answer{Admitted, w.Order}, nil
}

// within runs work in a transaction, and commits it if the user is admitted. It calls before just
// before the commit.
func (w *wish) within(ctx context.Context, work func(tx *sql.Tx) (Answer, error), before func() error) (Answer, error) {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("begin: %w", err)
	}
	a, err := work(tx)
	if err == nil {
		err = before()
	}
	if err != nil || a.Decision != Admitted {
		return a, errors.Join(err, tx.Rollback())
	}
	return a, tx.Commit()
}

func nothing() error { return nil }

func checkThenDeduct(ctx context.Context, w *wish) (Answer, error) {
	a, _, err := w.check(ctx, w.db)
	if err != nil || a.Decision != 0 {
		return a, err
	}
	if err := w.pause(ctx); err != nil {
		return a, err
	}
	return w.within(ctx, func(tx *sql.Tx) (Answer, error) { return w.buy(ctx, tx) }, nothing)
}

func inProcessLock(ctx context.Context, w *wish) (Answer, error) {
	if !w.owned.TryLock() {
		if err := w.stop(ctx, waits); err != nil {
			return Answer{}, err
		}
		w.owned.Lock()
	}
	defer w.owned.Unlock()
	return checkThenDeduct(ctx, w)
}

// redisLock is SET NX PX over the whole sale. The work in its transaction pauses at its end: the
// lock is released before the commit, or after it.
func redisLock(early bool) func(ctx context.Context, w *wish) (Answer, error) {
	return func(ctx context.Context, w *wish) (a Answer, err error) {
		if err := w.acquire(ctx); err != nil {
			return a, err
		}
		release := func() error { return w.release(ctx) }
		before, after := nothing, release
		if early {
			before, after = release, nothing
		}
		a, err = w.within(ctx, func(tx *sql.Tx) (Answer, error) {
			a, _, err := w.check(ctx, tx)
			if err != nil || a.Decision != 0 {
				return a, err
			}
			return w.buy(ctx, tx)
		}, func() error { return errors.Join(before(), w.pause(ctx)) })
		return a, errors.Join(err, after())
	}
}

func (w *wish) lockKey() string { return fmt.Sprintf("%s:{%d}:lock", w.Prefix, w.Voucher) }

// acquire waits for the lock, and reports the wait once.
func (w *wish) acquire(ctx context.Context) error {
	for said := false; ; {
		ok, err := w.rdb.SetNX(ctx, w.lockKey(), w.Order, time.Minute).Result()
		if ok || err != nil {
			return err
		}
		if !said {
			said = true
			err = w.stop(ctx, waits)
		} else {
			err = clock.Sleep(ctx, time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
}

func (w *wish) release(ctx context.Context) error {
	return w.rdb.Eval(ctx, unlockLua, []string{w.lockKey()}, w.Order).Err()
}

func equalValue(ctx context.Context, w *wish) (Answer, error) {
	a, left, err := w.check(ctx, w.db)
	if err != nil || a.Decision != 0 {
		return a, err
	}
	if err := w.pause(ctx); err != nil {
		return a, err
	}
	return w.within(ctx, func(tx *sql.Tx) (Answer, error) {
		ok, err := changed(tx.ExecContext(ctx, text("equal"), w.Voucher, left, left-w.Quantity))
		if err != nil {
			return Answer{}, fmt.Errorf("compare and set: %w", err)
		}
		if !ok {
			return Answer{Decision: SoldOut}, nil // the mistake: this is only a conflict
		}
		return Answer{Admitted, w.Order}, w.insert(ctx, tx)
	}, nothing)
}

func watchOnce(ctx context.Context, w *wish) (a Answer, err error) {
	stock, buyers, user := w.at.stock(w.Voucher), w.at.buyers(w.Voucher), strconv.FormatInt(w.User, 10)
	err = w.rdb.Watch(ctx, func(tx *redis.Tx) error {
		held, err := tx.HGet(ctx, buyers, user).Int64()
		if err == nil {
			a = Answer{Held, held}
			return nil
		}
		left, err := tx.Get(ctx, stock).Int()
		if err != nil {
			return err
		}
		if left < w.Quantity {
			a = Answer{Decision: SoldOut}
			return nil
		}
		if err := w.pause(ctx); err != nil {
			return err
		}
		a = Answer{Admitted, w.Order}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.DecrBy(ctx, stock, int64(w.Quantity))
			p.HSet(ctx, buyers, user, w.Order)
			return nil
		})
		return err
	}, stock, buyers)
	if errors.Is(err, redis.TxFailedErr) {
		return Answer{Decision: SoldOut}, nil // the same mistake
	}
	if err != nil || a.Decision != Admitted {
		return a, err
	}
	return a, w.insert(ctx, w.db)
}

// conditionally is correct even with a pause in the middle, because it holds the row of the sale
// from the update on.
func conditionally(ctx context.Context, w *wish) (Answer, error) {
	a, err := w.within(ctx, func(tx *sql.Tx) (Answer, error) {
		ok, err := changed(tx.ExecContext(ctx, text("deduct_if"), w.Voucher, w.Quantity))
		if err != nil {
			return Answer{}, fmt.Errorf("deduct: %w", err)
		}
		if !ok {
			return Answer{Decision: SoldOut}, nil
		}
		if err := w.pause(ctx); err != nil {
			return Answer{}, err
		}
		return Answer{Admitted, w.Order}, w.insert(ctx, tx)
	}, nothing)
	if err == nil && a.Decision != SoldOut || err != nil && !doubled(err) {
		return a, err
	}
	// A user with an order does not get "sold out".
	found, _, err := w.check(ctx, w.db)
	if err == nil && found.Decision == 0 {
		err = errors.New("the stock came back")
	}
	return found, err
}
