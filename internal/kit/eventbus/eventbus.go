// Package eventbus carries small messages between processes in one total order.
//
// Every process receives all messages of a [Bus], or is notified of a gap. So a process
// can trust a cache that it updates from messages as long as it follows the bus. [Redis]
// is a bus over a capped Redis stream, [Memory] is one inside a single process.
//
// Plain pub/sub loses messages while a subscriber reconnects or is too slow, and no side
// notices. An open but dead connection looks like an idle one. Here entries have dense
// positions and are chained by hashes, and each read has a deadline.
package eventbus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// A Message has a topic, which selects its handlers, and a body.
type Message struct {
	Topic string // 1 to 40 bytes
	Body  []byte // at most 16 KB
}

const (
	maxTopic = 40
	maxBody  = 16 << 10
)

// Bus carries small messages to every process, in one order.
type Bus interface {
	// Publish returns when the messages are on the bus, in this order. Up to 100 messages (one
	// round trip) are contiguous. After an error some may be on the bus. Publish ends with ctx,
	// and has a deadline for each round trip. It is safe for concurrent use. It returns an error
	// if a handler calls it with its own context: a handler that publishes could block the bus.
	Publish(ctx context.Context, ms ...Message) error

	// Subscribe calls handle with the messages of a topic, also those of this process. One
	// goroutine at a time calls all handlers of a process, in the order of the bus; consecutive
	// messages of one topic come together. A slow handler delays the others. A panic counts as a
	// gap. A handler may retain the bodies but not change them. Call Subscribe before Run.
	Subscribe(topic string, handle func(ctx context.Context, bodies [][]byte))

	// AddObserver registers an observer of gaps and progress. Call it before Run.
	AddObserver(f Observer)

	// Run reads until ctx ends, then returns nil. It retries failed reads. Runs must not
	// overlap.
	Run(ctx context.Context) error
}

// An Observer receives the gaps and the progress of this process on a bus. The goroutine that
// calls the handlers calls its methods.
type Observer interface {
	// Reset reports that messages before this point may be missing: at the beginning and after
	// each gap. Before it returns, it must drop all data that depends on complete messages.
	Reset(ctx context.Context, why Gap)

	// Synced reports that no message published before at is pending: it was handled, or precedes
	// a Reset. at is on the monotonic clock of this process.
	Synced(at time.Time)
}

// A Gap is the reason why messages may be missing.
type Gap string

// All gaps.
const (
	GapStart   Gap = "start"   // the process has just started
	GapTrimmed Gap = "trimmed" // the stream dropped unread messages: this process was too slow or disconnected for too long
	GapLost    Gap = "lost"    // the stream went back, was removed or restarted: Redis lost messages
	GapPanic   Gap = "panic"   // a handler panicked
	GapSuspect Gap = "suspect" // MarkSuspect was called
	GapClosed  Gap = "closed"  // Options.Writable was false: messages could not be published
)

func allGaps() []Gap { return []Gap{GapStart, GapTrimmed, GapLost, GapPanic, GapSuspect, GapClosed} }

var errHandlerPublishes = errors.New("publish on the bus: not allowed in a handler")

// handlerKey marks the context of a handler.
type handlerKey struct{}

func validate(ctx context.Context, ms []Message) error {
	if ctx.Value(handlerKey{}) != nil {
		return errHandlerPublishes
	}
	for _, m := range ms {
		if m.Topic == "" || len(m.Topic) > maxTopic {
			return fmt.Errorf("publish on the bus: topic of %d bytes, want 1 to %d", len(m.Topic), maxTopic)
		}
		if len(m.Body) > maxBody {
			return fmt.Errorf("publish on the bus: body of %d bytes on topic %s, want at most %d", len(m.Body), m.Topic, maxBody)
		}
	}
	return nil
}

// subscribers holds the handlers and observers of a process. One goroutine at a time delivers.
type subscribers struct {
	handlers  map[string][]func(context.Context, [][]byte)
	observers []Observer
}

// Subscribe implements [Bus].
func (a *subscribers) Subscribe(topic string, handle func(ctx context.Context, bodies [][]byte)) {
	if a.handlers == nil {
		a.handlers = make(map[string][]func(context.Context, [][]byte))
	}
	a.handlers[topic] = append(a.handlers[topic], handle)
}

// AddObserver implements [Bus].
func (a *subscribers) AddObserver(f Observer) { a.observers = append(a.observers, f) }

// deliver calls all handlers of ms, even if some panic. It returns the panics as errors.
func (a *subscribers) deliver(ctx context.Context, ms []Message) error {
	ctx = context.WithValue(ctx, handlerKey{}, true)
	var failed []error
	for len(ms) > 0 {
		topic := ms[0].Topic
		var bodies [][]byte
		for len(ms) > 0 && ms[0].Topic == topic {
			bodies, ms = append(bodies, ms[0].Body), ms[1:]
		}
		for _, handle := range a.handlers[topic] {
			if err := catchPanic(func() { handle(ctx, slices.Clip(bodies)) }); err != nil {
				failed = append(failed, fmt.Errorf("handle topic %s: %w", topic, err))
			}
		}
	}
	return errors.Join(failed...)
}

// reset calls all observers. After an error, one that panicked may not have dropped its data.
func (a *subscribers) reset(ctx context.Context, why Gap) error {
	ctx = context.WithValue(ctx, handlerKey{}, true)
	var failed []error
	for _, f := range a.observers {
		failed = append(failed, catchPanic(func() { f.Reset(ctx, why) }))
	}
	return errors.Join(failed...)
}

func (a *subscribers) synced(at time.Time) error {
	var failed []error
	for _, f := range a.observers {
		failed = append(failed, catchPanic(func() { f.Synced(at) }))
	}
	return errors.Join(failed...)
}

func catchPanic(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	do()
	return nil
}
