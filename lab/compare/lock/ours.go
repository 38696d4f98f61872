package lock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	kit "github.com/tandian-dev/tandian/internal/kit/lock"
)

// Only this file uses internal/kit/lock and internal/kit/dblock.

func ours() []Variant {
	return []Variant{
		{Name: "Tandian, one node", Nodes: 1, Leased: true, New: newLocker(false)},
		{Name: "Tandian, three nodes", Nodes: 3, Leased: true, New: newLocker(false)},
		{Name: "Tandian, one node, unique index", Nodes: 1, SQL: true, Leased: true, Twin: true, New: newLocker(true)},
		{Name: "Tandian on Postgres", SQL: true, Leased: true, Session: true, New: newSessions},
	}
}

// locker is internal/kit/lock with the settings of the server.
//
// Right: it renews a lease, and ends its context before the lock ends. Wrong: a lease alone does
// not stop a paused holder from writing (S7), and one Redis may lose it (S8). So ordinary orders
// have a unique index too, which decides.
type locker struct {
	Process
	*kit.Locker
	indexed bool // a unique index refuses a second order
}

func newLocker(indexed bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		var nodes []redis.UniversalClient
		for _, rdb := range p.Nodes {
			nodes = append(nodes, rdb)
		}
		l, err := kit.NewRedis(nodes, kit.Options{Prefix: strings.TrimSuffix(p.Prefix, ":"), TTL: p.TTL, NodeTimeout: commandTimeout})
		return &locker{p, l, indexed}, err
	}
}

func newSessions(p Process) (Scheme, error) {
	l, err := dblock.NewPostgres(p.Locks, kit.Options{TTL: p.TTL})
	return &locker{p, l, false}, err
}

func (s *locker) Try(ctx context.Context, name string) (Holding, error) {
	lease, err := s.Locker.Try(ctx, name)
	if _, busy := errors.AsType[*kit.BusyError](err); busy {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return s.holding(lease), nil
}

func (s *locker) Lock(ctx context.Context, name string) (Holding, error) {
	lease, err := s.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.holding(lease), nil
}

func (s *locker) holding(lease *kit.Lease) Holding {
	if s.indexed {
		return indexed{leased{lease}, s.DB}
	}
	return leased{lease}
}

type leased struct{ *kit.Lease }

func (h leased) Unlock(ctx context.Context) error { return h.Release(ctx) }

// indexed is a lease whose work inserts into a table with a unique index.
type indexed struct {
	leased
	db *sql.DB
}

func (h indexed) Begin(ctx context.Context) (Work, error) {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return &indexedWork{txWork{tx, h.Name()}}, nil
}

type indexedWork struct{ txWork }

// Buy inserts nothing if the user has an order that the count did not see.
func (w *indexedWork) Buy(ctx context.Context) error {
	_, err := w.tx.ExecContext(ctx, `INSERT INTO orders (name, one_per_user) VALUES ($1, true) ON CONFLICT DO NOTHING`, w.name)
	return err
}
