// Package gqltest provides a small GraphQL schema for tests of package gqlserver. It
// has fields that fail, panic, wait and flood, mutations, uploads and subscriptions.
package gqltest

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/generated"
)

// Secret is part of all internal error texts, which clients must never see.
const Secret = "secret"

// relatedItems is the number of elements of Item.related, which has no argument.
const relatedItems = 20

// Schema is the schema with the state of its resolvers. It is safe for concurrent
// use.
type Schema struct {
	executable graphql.ExecutableSchema

	mu          sync.Mutex
	running     map[string]int
	released    chan struct{} // closed to release the fields that wait now
	subscribers map[chan generated.Tick]struct{}
	ticks       int

	topics     map[string]*topic
	lastNumber int              // number of the last update
	faults     map[string][]any // next errors and panics of fields of News and of "load"
}

// New returns a new schema.
func New() *Schema {
	s := &Schema{
		running:     map[string]int{},
		released:    make(chan struct{}),
		subscribers: map[chan generated.Tick]struct{}{},
		topics:      map[string]*topic{},
		faults:      map[string][]any{},
	}
	cfg := generated.Config{Resolvers: root{s}}
	times := func(child, first int) int { return 1 + first*child }
	cfg.Complexity.Query.Items = times
	cfg.Complexity.Item.Items = times
	cfg.Complexity.Item.Related = func(child int) int { return times(child, relatedItems) }
	s.executable = generated.NewExecutableSchema(cfg)
	return s
}

// Executable returns the executable schema. Every call returns the same one.
func (s *Schema) Executable() graphql.ExecutableSchema { return s.executable }

// Running returns the number of running resolvers of a root field: "slow", "wait" or a
// subscription. A subscription runs from the call of its resolver to its last event.
func (s *Schema) Running(field string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[field]
}

// Subscriptions returns the number of running subscriptions of all fields.
func (s *Schema) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int
	for _, field := range []string{"count", "ticks", "broken", "crashing", "flood", "told"} {
		n += s.running[field]
	}
	return n
}

// Release ends the wait of all running "wait" fields and returns their number.
func (s *Schema) Release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.released)
	s.released = make(chan struct{})
	return s.running["wait"]
}

// Push sends a tick to all subscriptions of ticks and returns the number that got it.
// It never blocks: a subscription with 64 unread ticks misses it.
func (s *Schema) Push(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks++
	var reached int
	for c := range s.subscribers {
		select {
		case c <- generated.Tick{Number: s.ticks, Text: text}:
			reached++
		default:
		}
	}
	return reached
}

// run counts a resolver until the returned function is called.
func (s *Schema) run(field string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count(field)
}

// count is like run. The caller must hold s.mu.
func (s *Schema) count(field string) (end func()) {
	s.running[field]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running[field]--
	}
}

// waiting counts a "wait" field and returns the channel that releases it. Both happen
// in one step, so that Release reaches every counted field.
func (s *Schema) waiting() (released <-chan struct{}, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released, s.count("wait")
}

// subscribe counts a subscription of ticks and returns its channel. Both happen in one
// step, so that Push reaches every counted subscription.
func (s *Schema) subscribe() (ticks chan generated.Tick, end func()) {
	ticks = make(chan generated.Tick, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[ticks] = struct{}{}
	uncount := s.count("ticks")
	return ticks, func() {
		s.mu.Lock()
		delete(s.subscribers, ticks)
		s.mu.Unlock()
		uncount()
	}
}

type viewerKey struct{}

// WithViewer returns a context whose field viewer is name.
func WithViewer(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, viewerKey{}, name)
}
