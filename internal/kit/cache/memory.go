package cache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Memory stores values in this process only. It is for data that Redis or another store already
// holds in its own form. Entries are valid like local entries of a [Cache]: in sync until they
// expire, otherwise for MaxAge. It is safe for concurrent use. Callers must not modify values.
type Memory[K comparable, V any] struct {
	client *Client
	policy Policy
	key    func(K) string
	parse  func(string) (K, error)
	counts *counters
	local  *local[K, V] // nil: none
}

// NewMemory returns a memory with the Name, TTL and Local of the policy; TTL bounds the
// lifetime of entries. It panics like [New]. The function key returns a unique text for each
// key, the same in every process; parse is its inverse.
func NewMemory[K comparable, V any](client *Client, p Policy, key func(K) string, parse func(string) (K, error)) *Memory[K, V] {
	p = p.withDefaults()
	n := &Memory[K, V]{client: client, policy: p, key: key, parse: parse, local: localOf[K, V](client, p)}
	n.counts = client.register(p, n, nil)
	return n
}

// Loaded is a value that Memory loaded.
type Loaded[V any] struct {
	Value  V
	TTL    time.Duration // maximum time to store it; 0: do not store
	Remote bool          // counts as a hit of Redis instead of a miss
}

// Get returns the value of a key from the memory of this process, or calls load and stores its
// value. The value is at least as new as the last [Memory.Invalidate] of this process that
// returned before. It may miss invalidations by other processes, as in [Cache.Get]. Get returns
// the error of load as it is. Concurrent readers each call load.
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
	if err != nil || found.TTL <= 0 {
		return found.Value, err
	}
	m.local.put(k, s, &entry[V]{v: found.Value, until: s.tick + int64(min(found.TTL, m.policy.TTL)), weight: overhead + uint32(len(m.key(k)))})
	return found.Value, nil
}

// Invalidate removes keys from this process and, over the bus, from the others. Call it after
// the data that load reads has changed. After an error other processes may still have old
// values: repeat the call.
func (m *Memory[K, V]) Invalidate(ctx context.Context, ks ...K) error {
	texts := make([]string, len(ks))
	for i, k := range ks {
		m.drop(k)
		texts[i] = m.key(k)
	}
	if err := m.client.publishKeys(context.WithoutCancel(ctx), m.policy.Name, texts); err != nil {
		return fmt.Errorf("invalidate %d keys of memory %s: %w", len(ks), m.policy.Name, err)
	}
	return nil
}

// DropAll drops all entries of this process and the results of running reads. Use it when the
// source was outdated.
func (m *Memory[K, V]) DropAll() { m.forgetAll() }

// Stats returns the counters of this process.
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
