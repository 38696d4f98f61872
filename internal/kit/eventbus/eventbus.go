// Package stream carries small messages between processes, and finds out when a
// Redis lost what was written to it.
//
// A [Bus] is one order of messages that every process hears whole, or is told
// that it did not: what a process holds because of messages it can trust as long
// as it follows. [Redis] is a bus over a capped Redis stream, [Memory] one inside
// a single process.
//
// Pub/sub would be the obvious transport. It drops what is sent while a
// subscriber reconnects, or is too slow, and neither side hears of it; and a
// connection that is open but dead looks like one on which nothing happens. Here
// positions are counted, entries are chained, and each look is answered or not.
//
// A [Detector] tells when a Redis is another one than before: restarted, restored,
// promoted from a replica that was behind. What was written last may be missing
// then, acknowledged or not.
package eventbus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// A Message is what the bus carries: the topic says who hears it, the body is
// theirs.
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
	// Publish returns when the messages are on the bus, in this order and with none
	// of another call's between those of one round trip (100 messages). With an error
	// some may be on it. It ends with ctx, and has a deadline of its own for each
	// round trip. It is safe for concurrent use, but returns an error when a hearer
	// calls it (with the context it was given): who answers what it hears would hold
	// up the bus it answers on.
	Publish(ctx context.Context, ms ...Message) error

	// Subscribe has hear called with the messages of a topic, those that this
	// process published too. All hearers of a process are called from one goroutine
	// at a time, in the order of the bus; messages of one topic in a row come
	// together. A hearer that is slow holds up the others; one that panics is taken
	// to have missed something. It may keep the bodies, which others share. Call it
	// before Run.
	Subscribe(topic string, hear func(ctx context.Context, bodies [][]byte))

	// AddObserver has f told how well this process follows. Call it before Run.
	AddObserver(f Observer)

	// Run listens until ctx ends, and then returns nil. What cannot be read is tried
	// again until then. It runs once at a time.
	Run(ctx context.Context) error
}

// A Observer hears how well this process follows a bus. Its methods are called
// from the goroutine that calls the hearers.
type Observer interface {
	// Reset says that messages may be missing before what is heard from now on: at
	// the beginning and after each gap. What rests on having heard everything must
	// be forgotten before Reset returns.
	Reset(ctx context.Context, why Gap)

	// Synced says that everything that was published before at, by the monotonic
	// clock of this process, has been heard and handled, or was before a Reset.
	Synced(at time.Time)
}

// A Gap is why messages may be missing.
type Gap string

// All gaps.
const (
	GapStart   Gap = "start"   // nothing was heard before
	GapTrimmed Gap = "trimmed" // the stream dropped what was not heard yet: this process was too slow or away for too long
	GapLost    Gap = "lost"    // the stream went back, was removed or begun anew: Redis lost messages
	GapPanic   Gap = "panic"   // a hearer did not come to its end
	GapSuspect Gap = "suspect" // somebody called Suspect
	GapClosed  Gap = "closed"  // Options.Writable was false: messages could not be published
)

func allGaps() []Gap { return []Gap{GapStart, GapTrimmed, GapLost, GapPanic, GapSuspect, GapClosed} }

var errHandlerPublishes = errors.New("publish on the bus: a hearer may not, it would hold up the bus")

// handler marks the context of a hearer.
type handler struct{}

// check says why messages cannot be published, or nil.
func check(ctx context.Context, ms []Message) error {
	if ctx.Value(handler{}) != nil {
		return errHandlerPublishes
	}
	for _, m := range ms {
		if m.Topic == "" || len(m.Topic) > maxTopic {
			return fmt.Errorf("publish on the bus: a topic of %d bytes, want 1 to %d", len(m.Topic), maxTopic)
		}
		if len(m.Body) > maxBody {
			return fmt.Errorf("publish on the bus: a body of %d bytes on topic %s, want at most %d", len(m.Body), m.Topic, maxBody)
		}
	}
	return nil
}

// An subscribers is who hears and follows in this process. Its messages are to be
// delivered by one goroutine at a time.
type subscribers struct {
	hearers   map[string][]func(context.Context, [][]byte)
	followers []Observer
}

// Subscribe is as [Bus] says.
func (a *subscribers) Subscribe(topic string, hear func(ctx context.Context, bodies [][]byte)) {
	if a.hearers == nil {
		a.hearers = make(map[string][]func(context.Context, [][]byte))
	}
	a.hearers[topic] = append(a.hearers[topic], hear)
}

// AddObserver is as [Bus] says.
func (a *subscribers) AddObserver(f Observer) { a.followers = append(a.followers, f) }

// deliver calls the hearers of ms. It returns an error for the hearers that
// panicked; the others have heard all.
func (a *subscribers) deliver(ctx context.Context, ms []Message) error {
	ctx = context.WithValue(ctx, handler{}, true)
	var failed []error
	for len(ms) > 0 {
		topic := ms[0].Topic
		var bodies [][]byte
		for len(ms) > 0 && ms[0].Topic == topic {
			bodies, ms = append(bodies, ms[0].Body), ms[1:]
		}
		for _, hear := range a.hearers[topic] {
			if err := caught(func() { hear(ctx, slices.Clip(bodies)) }); err != nil {
				failed = append(failed, fmt.Errorf("hear topic %s: %w", topic, err))
			}
		}
	}
	return errors.Join(failed...)
}

// reset tells all followers. It returns an error if one of them panicked: it may
// not have forgotten what it should.
func (a *subscribers) reset(ctx context.Context, why Gap) error {
	ctx = context.WithValue(ctx, handler{}, true)
	var failed []error
	for _, f := range a.followers {
		failed = append(failed, caught(func() { f.Reset(ctx, why) }))
	}
	return errors.Join(failed...)
}

func (a *subscribers) synced(at time.Time) error {
	var failed []error
	for _, f := range a.followers {
		failed = append(failed, caught(func() { f.Synced(at) }))
	}
	return errors.Join(failed...)
}

// caught calls do and turns a panic into an error that shows where it was.
func caught(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	do()
	return nil
}
