package sale

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/lib/pq"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// grouped lets concurrent callers share one transaction: the server's path without Redis, for
// quantities above one. It decides in the process, while it holds the row of the sale.
type grouped struct {
	*single
	mu      sync.Mutex
	waiting []*pendingWish
	flying  bool
	flights sync.WaitGroup
}

// pendingWish is the wish of a waiting caller.
type pendingWish struct {
	Wish
	order  int64
	done   chan struct{}
	answer Answer
	err    error
}

const maxSlots = 500

func newGrouped(ctx context.Context, on *Servers) (*grouped, error) {
	s, err := newSingle(ctx, on)
	return &grouped{single: s}, err
}

// Admit implements [Admitter].
func (g *grouped) Admit(ctx context.Context, w Wish) (Answer, error) {
	order, err := g.number(ctx)
	if err != nil {
		return Answer{}, err
	}
	s := &pendingWish{Wish: w, order: order, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, s)
	if !g.flying {
		g.flying = true
		g.flights.Go(func() { g.decideAll(context.WithoutCancel(ctx)) })
	}
	g.mu.Unlock()
	select {
	case <-s.done:
		return s.answer, s.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// decideAll decides wishes until none is pending.
func (g *grouped) decideAll(ctx context.Context) {
	for {
		g.mu.Lock()
		n := min(len(g.waiting), maxSlots)
		batch := g.waiting[:n:n]
		g.waiting = g.waiting[n:]
		g.flying = n > 0
		g.mu.Unlock()
		if n == 0 {
			return
		}
		err := g.commit(ctx, batch)
		for _, s := range batch {
			s.err = err
			close(s.done)
		}
	}
}

// commit decides the wishes of a batch, which are all for one sale.
func (g *grouped) commit(ctx context.Context, batch []*pendingWish) error {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	voucher := batch[0].Voucher
	var left int
	if err := rowIn(ctx, tx, g.lock, voucher).Scan(&left); err != nil {
		return fmt.Errorf("lock the sale: %w", err)
	}
	users := make([]int64, len(batch))
	for i, s := range batch {
		users[i] = s.User
	}
	held := map[int64]int64{}
	err = sqldb.Each(ctx, tx, text("holders"), []any{voucher, pq.Array(users)}, func(found *sql.Rows) error {
		var user, order int64
		err := found.Scan(&user, &order)
		held[user] = order
		return err
	})
	if err != nil {
		return fmt.Errorf("read orders: %w", err)
	}
	orders, buyers, pieces := grant(batch, left, held)
	if err := execIn(ctx, tx, g.store, pq.Array(orders), pq.Array(buyers), pq.Array(pieces), voucher, now()); err != nil {
		return fmt.Errorf("store orders: %w", err)
	}
	return tx.Commit()
}

// grant answers a batch, in order. Each wish gets all of its items or none. It returns the orders
// to store.
func grant(batch []*pendingWish, left int, held map[int64]int64) (orders, buyers, pieces []int64) {
	for _, s := range batch {
		order, has := held[s.User]
		switch {
		case has:
			s.answer = Answer{Held, order}
		case left < s.Quantity:
			s.answer = Answer{Decision: SoldOut}
		default:
			left -= s.Quantity
			held[s.User], s.answer = s.order, Answer{Admitted, s.order}
			orders, buyers, pieces = append(orders, s.order), append(buyers, s.User), append(pieces, int64(s.Quantity))
		}
	}
	return orders, buyers, pieces
}

// Close implements [Admitter].
func (g *grouped) Close(ctx context.Context) error {
	g.flights.Wait()
	return g.single.Close(ctx)
}
