package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	kit "github.com/tandian-dev/tandian/internal/kit/lock"
)

// This file is all that knows internal/kit/lock.

func ours() []Variant {
	return []Variant{
		{Name: "Tandian, one node", Nodes: 1, Leased: true, New: newLocker(kit.Options{}, false)},
		{Name: "Tandian, three nodes", Nodes: 3, Leased: true, New: newLocker(kit.Options{}, false)},
		{Name: "Tandian, all of three", Nodes: 3, Leased: true, New: newLocker(kit.Options{AllNodes: true}, false)},
		{Name: "Tandian, one node, registered", Nodes: 1, SQL: true, Leased: true, Twin: true, New: newLocker(kit.Options{}, true)},
		{Name: "Tandian on Postgres", SQL: true, Leased: true, Session: true, New: newSessions(false)},
		{Name: "Tandian on Postgres, registered", SQL: true, Leased: true, Session: true, Twin: true, New: newSessions(true)},
	}
}

// locker is internal/kit/lock as the rooms use it.
type locker struct {
	Process
	*kit.Locker
	registers bool // its fencing tokens, in the transaction of the work
}

func newLocker(o kit.Options, registers bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		o := o
		o.Prefix, o.TTL, o.NodeTimeout = strings.TrimSuffix(p.Prefix, ":"), p.TTL, commandTimeout
		var nodes []redis.UniversalClient
		for _, rdb := range p.Nodes {
			nodes = append(nodes, rdb)
		}
		l, err := kit.NewRedis(nodes, o)
		return &locker{p, l, registers}, err
	}
}

func newSessions(registers bool) func(Process) (Scheme, error) {
	return func(p Process) (Scheme, error) {
		l, err := kit.NewPostgres(p.Locks, kit.Options{TTL: p.TTL})
		return &locker{p, l, registers}, err
	}
}

func (s *locker) Try(ctx context.Context, name string) (Holding, error) {
	lease, err := s.Locker.Try(ctx, name)
	if _, busy := errors.AsType[*kit.Busy](err); busy {
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
	if s.registers {
		return &registered{leased{lease}, s.Process}
	}
	return leased{lease}
}

type leased struct{ *kit.Lease }

func (h leased) Unlock(ctx context.Context) error { return h.Release(ctx) }

// registered is a lease whose token is the first thing that the work writes.
type registered struct {
	leased
	p Process
}

func (h *registered) Begin(ctx context.Context) (Work, error) {
	tx, err := h.p.DB.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err := kit.Register(ctx, tx, h.Lease); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return &txWork{tx, h.Name()}, nil
}
