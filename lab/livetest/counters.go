package livetest

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

const maxFlaws = 20

// counters counts the events of a run. It is safe for concurrent use.
type counters struct {
	received         atomic.Int64
	sockets, streams atomic.Int64 // subscriptions

	mu     sync.Mutex
	counts map[string]int
	flaws  []string
	flawed int
}

func newCounters() *counters { return &counters{counts: map[string]int{}} }

func (t *counters) connected(sse bool) {
	if sse {
		t.streams.Add(1)
	} else {
		t.sockets.Add(1)
	}
}

func (t *counters) connections() int { return int(t.sockets.Load() + t.streams.Load()) }

// add counts an event by name.
func (t *counters) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
}

// recordError records an error if no server may return its code.
func (t *counters) recordError(code, message string) {
	switch code {
	case "INTERNAL", "", "BAD_USER_INPUT", "UNAUTHENTICATED", "GRAPHQL_VALIDATION_FAILED", "RATE_LIMITED":
		t.flaw("error %q: %s", code, message)
	}
}

// flaw records an error that no server may make.
func (t *counters) flaw(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flawed++; t.flawed <= maxFlaws {
		t.flaws = append(t.flaws, fmt.Sprintf(format, args...))
	}
}

func (t *counters) all() (counts map[string]int, flaws []string, flawed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts), t.flaws, t.flawed
}
