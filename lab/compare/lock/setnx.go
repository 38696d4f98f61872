package lock

import (
	"context"
	"crypto/rand"
	_ "embed" // the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/unlock.lua
var unlockLua string

// pollPause is the usual sleep between two attempts.
const pollPause = 50 * time.Millisecond

// release is a way to release a key.
type release int

const (
	scripted release = iota // compared and deleted in one step
	checked                 // compared, then deleted
	plain                   // deleted without a check of the owner
)

// setNX is a lock of one key with an expiry.
//
// Right with one command to take it and a script to release it: one holder, as long as no holder is
// slower than the expiry and Redis keeps the key. Wrong: with EXPIRE as a second command a process
// that dies between the two leaves a key forever (S1). A DEL without an owner check takes the lock
// away from the next holder (S2); so does one after a GET, when the key expires between the two
// (S2b).
type setNX struct {
	Process
	later   bool // the life is set by a second command
	release release
	unlock  *redis.Script
}

func newSetNX(s setNX) func(Process) (Scheme, error) {
	s.unlock = redis.NewScript(unlockLua)
	return func(p Process) (Scheme, error) {
		s := s
		s.Process = p
		return &s, nil
	}
}

func (s *setNX) Try(ctx context.Context, name string) (Holding, error) {
	h := s.held(name)
	life := s.TTL
	if s.later {
		life = 0
	}
	got, err := s.Nodes[0].SetNX(ctx, h.key, h.value, life).Result()
	if err == nil && got && s.later {
		err = s.Nodes[0].PExpire(ctx, h.key, s.TTL).Err()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", name, err)
	case !got:
		return nil, ErrBusy
	}
	return h, nil
}

func (s *setNX) held(name string) *keyHeld { return &keyHeld{s, s.key(name), rand.Text()} }

func (s *setNX) Lock(ctx context.Context, name string) (Holding, error) {
	return poll(ctx, pollPause, func() (Holding, error) { return s.Try(ctx, name) })
}

func (*setNX) Close(context.Context) error { return nil }

type keyHeld struct {
	*setNX
	key, value string
}

func (h *keyHeld) Unlock(ctx context.Context) error {
	rdb := h.Nodes[0]
	if h.release == scripted {
		return h.unlock.Run(ctx, rdb, []string{h.key}, h.value).Err()
	}
	if h.release == checked {
		owner, err := rdb.Get(ctx, h.key).Result()
		if errors.Is(err, redis.Nil) || err == nil && owner != h.value {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return rdb.Del(ctx, h.key).Err()
}
