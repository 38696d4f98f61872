package eventbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Memory is a [Bus] inside one process. Publish calls the handlers itself and then returns, even
// if Run does not run. It is safe for concurrent use after Subscribe and AddObserver.
type Memory struct {
	subscribers
	mu sync.Mutex // held while handlers are called
}

var _ Bus = (*Memory)(nil)

// NewMemory returns a bus without handlers.
func NewMemory() *Memory { return &Memory{} }

// Publish calls the handlers. It returns an error if one of them panicked; then the observers
// have been reset, and all other handlers have received the messages.
func (l *Memory) Publish(ctx context.Context, ms ...Message) error {
	if err := errors.Join(validate(ctx, ms), ctx.Err()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A partial invalidation is useless, so the end of ctx stops no handler.
	ctx = context.WithoutCancel(ctx)
	if err := l.deliver(ctx, ms); err != nil {
		return fmt.Errorf("publish on the bus: %w", errors.Join(err, l.reset(ctx, GapPanic)))
	}
	return nil
}

// farFuture exceeds the life of any process.
const farFuture = 100 * 365 * 24 * time.Hour

// Run resets the observers, reports them synced for a century, and waits for the end of ctx. It
// returns an error at once if one of them panics.
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
	return l.synced(time.Now().Add(farFuture))
}
