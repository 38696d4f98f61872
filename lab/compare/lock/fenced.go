package lock

import (
	"context"
	_ "embed" // the script and the statement
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/take_token.lua
	takeTokenLua string
	//go:embed sql/register.sql
	registerSQL string
)

// errFenced is returned to a holder if a later one has registered.
var errFenced = errors.New("a later holder has registered")

// fenced is the lock of one key with a fencing token, a number greater than those of all earlier
// holders. The first statement of the work stores it in the database, which
// refuses an older one.
//
// Right: a holder that was paused for longer than its lease cannot write (S7), nor one
// whose lock Redis forgot (S8). It needs a table and a statement in each transaction. A
// unique index, where the rule can be one, does the same without a lock.
type fenced struct {
	*setNX
	take *redis.Script
}

func newFenced(p Process) (Scheme, error) {
	s := &setNX{Process: p, unlock: redis.NewScript(unlockLua)}
	return &fenced{s, redis.NewScript(takeTokenLua)}, nil
}

func (s *fenced) Try(ctx context.Context, name string) (Holding, error) {
	held := s.held(name)
	token, err := s.take.Run(ctx, s.Nodes[0], []string{held.key, held.key + ":token"}, held.value, s.TTL.Milliseconds()).Int64()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", name, err)
	case token == 0:
		return nil, ErrBusy
	}
	return &fencedHeld{held, name, token}, nil
}

func (s *fenced) Lock(ctx context.Context, name string) (Holding, error) {
	return poll(ctx, pollPause, func() (Holding, error) { return s.Try(ctx, name) })
}

type fencedHeld struct {
	*keyHeld
	name  string
	token int64
}

// Begin registers the token before the work reads or writes.
func (h *fencedHeld) Begin(ctx context.Context) (Work, error) {
	tx, err := h.DB.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	done, err := tx.ExecContext(ctx, registerSQL, h.name, h.token)
	if err == nil {
		var n int64
		if n, err = done.RowsAffected(); err == nil && n == 0 {
			err = errFenced
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("register a token: %w", err), tx.Rollback())
	}
	return &txWork{tx, h.name}, nil
}
