package cache

import (
	"context"
	_ "embed" // the script
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

//go:embed lua/set_newer.lua
var setNewerLua string

// stamped is the first usual solution for concurrent sets of one key: a lock for the key, and a
// timestamp in the value, so that an older set is refused. The timestamp is the version of the row,
// because clocks of several machines differ.
//
// Right: the newest row stays in any order of arrival, for loads too. Wrong: every set needs a lock
// and its round trips, though one script could compare. The timestamp is lost with a deleted or
// expired key, and then an old load may set.
type stamped struct {
	mutex
	newer *redis.Script
}

func newStamped(p Process) (Scheme, error) {
	m, err := newMutex(true)(p)
	if err != nil {
		return nil, err
	}
	return &stamped{mutex: *m.(*mutex), newer: redis.NewScript(setNewerLua)}, nil
}

func (s *stamped) Read(ctx context.Context, key string) (string, error) {
	v, err := s.Redis.HGet(ctx, s.key(key), "value").Result()
	if err == nil {
		return v, nil
	}
	if !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	r, err := s.DB.Load(ctx, key)
	if err != nil {
		return "", err
	}
	return r.Value, s.setNewer(ctx, r)
}

func (s *stamped) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.setNewer(ctx, r)
}

func (s *stamped) setNewer(ctx context.Context, r Row) (err error) {
	for {
		token, got, err := s.lock(ctx, r.Key)
		if err != nil {
			return err
		}
		if !got {
			if err := clock.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			continue
		}
		err = s.newer.Run(ctx, s.Redis, []string{s.key(r.Key)}, r.Version, r.Value, s.TTL.Milliseconds()).Err()
		if err != nil {
			err = fmt.Errorf("set %s: %w", r.Key, err)
		}
		return errors.Join(err, s.free(context.WithoutCancel(ctx), r.Key, token))
	}
}

// queued is the second usual solution: only the consumer of a queue sets, so sets are not
// concurrent.
//
// Right: no lock. Wrong: the queue preserves the order of arrival, which is not that of the commits
// (A25), unless the database's log feeds it. A write returns before readers see it. One process
// must be alive.
type queued struct {
	Process
	stop context.CancelFunc
	done chan struct{}
}

func newQueued(p Process) (Scheme, error) {
	ctx, stop := context.WithCancel(context.Background())
	s := &queued{Process: p, stop: stop, done: make(chan struct{})}
	if p.Index == 0 {
		go s.consume(ctx)
	} else {
		close(s.done)
	}
	return s, nil
}

func (s *queued) Read(ctx context.Context, key string) (string, error) {
	if v, ok, err := s.get(ctx, key); ok || err != nil {
		return v, err
	}
	r, err := s.DB.Load(ctx, key)
	if err != nil {
		return "", err
	}
	return r.Value, s.send(ctx, r)
}

func (s *queued) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	if err != nil {
		return 0, err
	}
	return r.Version, s.send(ctx, r)
}

func (s *queued) queue() string  { return s.key("queue") }
func (s *queued) moving() string { return s.key("queue:moving") }

func (s *queued) send(ctx context.Context, r Row) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the message of %s: %w", r.Key, err)
	}
	if err := s.Redis.LPush(ctx, s.queue(), text).Err(); err != nil {
		return fmt.Errorf("send %s: %w", r.Key, err)
	}
	return nil
}

// consume sets messages in order of arrival. A message is in a list of its own while it is set, so
// that Settle can detect pending work.
func (s *queued) consume(ctx context.Context) {
	defer close(s.done)
	for ctx.Err() == nil {
		text, err := s.Redis.BLMove(ctx, s.queue(), s.moving(), "RIGHT", "LEFT", time.Second).Result()
		if err != nil {
			continue // nothing came, or the end
		}
		var r Row
		if json.Unmarshal([]byte(text), &r) == nil {
			_ = s.set(ctx, r) // the next write sets it again
		}
		_ = s.Redis.LTrim(ctx, s.moving(), 1, 0).Err()
	}
}

func (s *queued) Settle(ctx context.Context) error {
	for {
		left, err := s.Redis.Exists(ctx, s.queue(), s.moving()).Result()
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		if left == 0 {
			return nil
		}
		if err := clock.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *queued) Close() error {
	s.stop()
	<-s.done
	return nil
}
