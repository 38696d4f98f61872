package quota

import (
	"slices"
	"sync"
)

// ConnCounter limits the concurrent connections per key. Keys without connections
// use no memory. It is safe for concurrent use.
type ConnCounter struct {
	limit int

	mu     sync.Mutex
	counts map[string]int
}

// NewConnCounter returns a counter without connections. A limit of 0 or less means
// no limit.
func NewConnCounter(limit int) *ConnCounter {
	return &ConnCounter{limit: limit, counts: map[string]int{}}
}

// Acquire counts a connection of the key until release is called. Calls of release
// after the first do nothing. If the limit is reached, ok is false and release is
// nil.
func (c *ConnCounter) Acquire(key string) (release func(), ok bool) {
	if c.limit <= 0 {
		return func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[key] >= c.limit {
		return nil, false
	}
	c.counts[key]++
	return sync.OnceFunc(func() { c.release(key) }), true
}

func (c *ConnCounter) release(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[key]--
	if c.counts[key] == 0 {
		delete(c.counts, key)
	}
}

// Keys returns the number of keys with connections.
func (c *ConnCounter) Keys() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.counts)
}

// EvictingLimiter limits the concurrent connections per user. Unlike ConnCounter,
// it always accepts the newest connection and evicts the oldest one. Users without
// connections use no memory. It is safe for concurrent use.
type EvictingLimiter struct {
	limit int

	mu    sync.Mutex
	slots map[string][]*slot // oldest first
}

type slot struct{ evict func() }

// NewEvictingLimiter returns a limiter without connections. A limit of 0 or less
// means no limit.
func NewEvictingLimiter(limit int) *EvictingLimiter {
	return &EvictingLimiter{limit: limit, slots: map[string][]*slot{}}
}

// Acquire adds a connection of the user until release is called. Calls of release
// after the first do nothing.
//
// If the user has too many connections, Acquire removes the oldest one and calls
// its evict before it returns, so evict must not block. It calls evict at most
// once, possibly in parallel with the release of that connection. Anonymous
// clients must not call Acquire: they would all count as one user.
func (s *EvictingLimiter) Acquire(user string, evict func()) (release func()) {
	if s.limit <= 0 {
		return func() {}
	}
	newest := &slot{evict}
	if oldest := s.add(user, newest); oldest != nil {
		oldest.evict()
	}
	return func() { s.remove(user, newest) }
}

// Users returns the number of users with connections.
func (s *EvictingLimiter) Users() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.slots)
}

// add returns the slot to evict, or nil.
func (s *EvictingLimiter) add(user string, newest *slot) (oldest *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.slots[user]
	slots = append(slots, newest)
	if len(slots) > s.limit {
		oldest = slots[0]
		slots = slices.Delete(slots, 0, 1)
	}
	s.slots[user] = slots
	return oldest
}

func (s *EvictingLimiter) remove(user string, left *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := slices.DeleteFunc(s.slots[user], func(one *slot) bool { return one == left })
	if len(slots) == 0 {
		delete(s.slots, user)
	} else {
		s.slots[user] = slots
	}
}
