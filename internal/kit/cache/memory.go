package cache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Memory keeps values in this process alone: of what lies in Redis, or
// elsewhere, under rules of its own, so that a record beside it would be one copy
// too many. An entry is good as one of a [Cache] is: in sync for its life, else
// for the policy's MaxAge. "There is none" is not kept. It is safe for concurrent
// use; values are for reading only.
type Memory[K comparable, V any] struct {
	client *Client
	policy Policy
	key    func(K) string
	parse  func(string) (K, error)
	counts *counters
	local  *local[K, V] // nil: none
}

// NewMemory builds one, under the policy's Name, Fresh (the longest life of an
// entry) and Local. It panics as [New] does. The functions give each key a text,
// the same in every process, and back.
func NewMemory[K comparable, V any](client *Client, p Policy, key func(K) string, parse func(string) (K, error)) *Memory[K, V] {
	p = p.withDefaults()
	n := &Memory[K, V]{client: client, policy: p, key: key, parse: parse, local: localOf[K, V](client, p)}
	n.counts = client.register(p, n, nil)
	return n
}

// Loaded is what was found elsewhere.
type Loaded[V any] struct {
	Value  V
	Life   time.Duration // for which it may be kept, at most
	Remote bool          // Redis had it: this counts as a hit, else as a miss
}

// Get returns the value of a key: the entry of this process, or what load
// returns, which is kept for its life at most. It is at least as new as the last
// [Memory.Invalidate] that returned in this process before, and in another one
// while this one is in sync; else MaxAge old at most. Readers at once each load.
func (m *Memory[K, V]) Get(ctx context.Context, k K, load func(ctx context.Context) (Loaded[V], error)) (V, error) {
	if m.local == nil {
		found, err := load(ctx)
		return found.Value, err
	}
	if e, _, ok := m.local.get(k); ok && !skipsLocal(ctx) {
		m.counts.localHits.Add(1)
		return e.v, nil
	}
	s := m.local.stamp(k)
	found, err := load(ctx)
	if err == nil && found.Remote {
		m.counts.hits.Add(1)
	} else {
		m.counts.misses.Add(1)
	}
	if err != nil || found.Life <= 0 {
		return found.Value, err
	}
	m.local.put(k, s, &entry[V]{v: found.Value, until: s.tick + int64(min(found.Life, m.policy.TTL)), weight: overhead + uint32(len(m.key(k)))})
	return found.Value, nil
}

// Invalidate forgets keys, in this process and in those that hear of it. Call it
// when what load reads has changed for good. With an error the others may not
// have heard: repeat it.
func (m *Memory[K, V]) Invalidate(ctx context.Context, ks ...K) error {
	texts := make([]string, len(ks))
	for i, k := range ks {
		m.drop(k)
		texts[i] = m.key(k)
	}
	if err := m.client.publishKeys(context.WithoutCancel(ctx), m.policy.Name, texts); err != nil {
		return fmt.Errorf("invalidate %d keys of %s: %w", len(ks), m.policy.Name, err)
	}
	return nil
}

// DropAll drops all entries of this process, and what reads under way will find.
// It is for a source that turned out to be out of date.
func (m *Memory[K, V]) DropAll() { m.forgetAll() }

// Stats returns what it did in this process so far.
func (m *Memory[K, V]) Stats() Stats { return m.counts.snapshot() }

func (m *Memory[K, V]) drop(k K) {
	if m.local != nil {
		m.local.drop(k)
	}
}

func (m *Memory[K, V]) receive(texts []string) {
	var wrong error
	for _, text := range texts {
		k, err := m.parse(text)
		wrong = errors.Join(wrong, err)
		if err == nil {
			m.drop(k)
		}
	}
	if wrong != nil {
		m.reset()
	}
}

func (m *Memory[K, V]) reset() { m.forgetAll() }

func (m *Memory[K, V]) forgetAll() {
	if m.local != nil {
		m.local.dropAll()
	}
}
