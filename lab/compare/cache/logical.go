package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// logical is the pure logical expiry: a record that never expires in Redis contains its expiry. A
// reader that finds it expired serves it, and one of them rebuilds it in the background under a
// lock. Rows are put there beforehand. A writer does nothing; the next rebuild reads the new row.
//
// Right: no reader ever waits. Wrong: a key that was not warmed, or that Redis lost, reads as
// absent forever (A20). Every write stays unseen until the expiry. A failing database leaves the
// old value without end.
type logical struct {
	mutex
	later sync.WaitGroup
}

type logicalRecord struct {
	Value string    `json:"value"`
	Until time.Time `json:"until"`
}

func newLogical(p Process) (Scheme, error) {
	m, err := newMutex(true)(p)
	if err != nil {
		return nil, err
	}
	return &logical{mutex: *m.(*mutex)}, nil
}

func (s *logical) Warm(ctx context.Context, key string) error {
	r, err := s.DB.Load(ctx, key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(logicalRecord{r.Value, time.Now().Add(s.TTL)})
	if err != nil {
		return fmt.Errorf("write the record of %s: %w", key, err)
	}
	if err := s.Redis.Set(ctx, s.key(key), text, 0).Err(); err != nil {
		return fmt.Errorf("set %s: %w", key, err)
	}
	return nil
}

func (s *logical) Read(ctx context.Context, key string) (string, error) {
	text, ok, err := s.get(ctx, key)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", ErrAbsent
	}
	var record logicalRecord
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return "", fmt.Errorf("read the record of %s: %w", key, err)
	}
	if time.Now().After(record.Until) {
		if token, got, err := s.lock(ctx, key); err == nil && got {
			s.later.Go(func() { s.renew(context.WithoutCancel(ctx), key, token) })
		}
	}
	return record.Value, nil
}

func (s *logical) renew(ctx context.Context, key, token string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = s.Warm(ctx, key) // it will be tried again
	_ = s.free(ctx, key, token)
}

func (s *logical) Write(ctx context.Context, key string) (int64, error) {
	r, err := s.DB.Update(ctx, key, nil)
	return r.Version, err
}

func (s *logical) Settle(context.Context) error {
	s.later.Wait()
	return nil
}

func (s *logical) Close() error { return s.Settle(context.Background()) }
