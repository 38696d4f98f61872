// Package gqltest is a small GraphQL schema for tests of package gqlserver: fields
// that fail, panic, wait and flood, a mutation of each kind, uploads, and
// subscriptions.
package gqltest

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/generated"
)

// Secret stands in all texts from the inside that no client may ever see.
const Secret = "secret"

// The number of elements of Item.related, which takes no argument.
const related = 20

// A Schema is the schema with the state of its resolvers. It is safe for
// concurrent use.
type Schema struct {
	executable graphql.ExecutableSchema

	mu          sync.Mutex
	running     map[string]int
	released    chan struct{} // closed for those that wait now
	subscribers map[chan generated.Tick]struct{}
	ticks       int

	topics map[string]*topic
	told   int              // the last number
	broken map[string][]any // what fields of news, and "load", do next instead: errors and what they panic with
}

// New returns a schema that nobody else uses.
func New() *Schema {
	s := &Schema{
		running:     map[string]int{},
		released:    make(chan struct{}),
		subscribers: map[chan generated.Tick]struct{}{},
		topics:      map[string]*topic{},
		broken:      map[string][]any{},
	}
	cfg := generated.Config{Resolvers: root{s}}
	times := func(child, first int) int { return 1 + first*child }
	cfg.Complexity.Query.Items = times
	cfg.Complexity.Item.Items = times
	cfg.Complexity.Item.Related = func(child int) int { return times(child, related) }
	s.executable = generated.NewExecutableSchema(cfg)
	return s
}

// Executable returns the schema for a server. Every call returns the same one.
func (s *Schema) Executable() graphql.ExecutableSchema { return s.executable }

// Running says how many resolvers of a root field run now: of "slow", "wait",
// or a subscription from the call of its resolver until its last event.
func (s *Schema) Running(field string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[field]
}

// Subscriptions says how many subscriptions run now, of all fields.
func (s *Schema) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int
	for _, field := range []string{"count", "ticks", "broken", "crashing", "flood", "told"} {
		n += s.running[field]
	}
	return n
}

// Release lets all fields "wait" that run now go on, and says how many.
func (s *Schema) Release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.released)
	s.released = make(chan struct{})
	return s.running["wait"]
}

// Push sends a tick to all who subscribe to ticks, and says to how many. It
// never waits: who has 64 unread ticks does not get it.
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

// count is run for those who hold the mutex.
func (s *Schema) count(field string) (end func()) {
	s.running[field]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running[field]--
	}
}

// waiting counts a field "wait" and returns what releases it, in one step: who
// is counted is released.
func (s *Schema) waiting() (released <-chan struct{}, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released, s.count("wait")
}

// subscribe counts a subscription to ticks and returns what it gets, in one
// step: who is counted gets what is pushed.
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

// WithViewer returns the context of an operation that somebody asks for: the
// Enter of an admission.
func WithViewer(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, viewerKey{}, name)
}
