package eventbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Memory is a [Bus] inside one process, which has nobody else to tell. When
// Publish returns, every hearer has heard the messages: they are called by it,
// whether Run runs or not. It is safe for concurrent use after Subscribe and
// Follow.
type Memory struct {
	subscribers
	mu sync.Mutex // held while hearers are called
}

var _ Bus = (*Memory)(nil)

// NewMemory returns a bus without hearers.
func NewMemory() *Memory { return &Memory{} }

// Publish calls the hearers. It returns an error if one of them panicked; then
// the followers have been reset, and the others have heard the messages.
func (l *Memory) Publish(ctx context.Context, ms ...Message) error {
	if err := errors.Join(check(ctx, ms), ctx.Err()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Half of an invalidation is none: who hangs up meanwhile stops no hearer.
	ctx = context.WithoutCancel(ctx)
	if err := l.deliver(ctx, ms); err != nil {
		return fmt.Errorf("publish on the bus: %w", errors.Join(err, l.reset(ctx, GapPanic)))
	}
	return nil
}

// always is later than any process lives.
const always = 100 * 365 * 24 * time.Hour

// Run tells the followers that they are in sync, for good, and waits for the end
// of ctx. It returns an error at once if one of them panics.
func (l *Memory) Run(ctx context.Context) error {
	if err := l.start(ctx); err != nil {
		return fmt.Errorf("start the bus: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (l *Memory) start(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.reset(ctx, GapStart); err != nil {
		return err
	}
	return l.synced(time.Now().Add(always))
}
