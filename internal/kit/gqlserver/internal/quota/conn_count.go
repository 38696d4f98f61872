package quota

import (
	"slices"
	"sync"
)

// ConnCounter bound how many of something each key has at once. They are safe for
// concurrent use. Only keys that have something take memory.
type ConnCounter struct {
	limit int

	mu sync.Mutex
	by map[string]int
}

// NewConnCounter returns counts that are all zero. A limit of no more than 0 is no
// limit.
func NewConnCounter(limit int) *ConnCounter {
	return &ConnCounter{limit: limit, by: map[string]int{}}
}

// Acquire counts one more for the key, until leave is called; calls after the
// first do nothing. If the key has as many as it may, ok is false and leave is
// nil.
func (c *ConnCounter) Acquire(key string) (leave func(), ok bool) {
	if c.limit <= 0 {
		return func() {}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[key] >= c.limit {
		return nil, false
	}
	c.by[key]++
	return sync.OnceFunc(func() { c.leave(key) }), true
}

func (c *ConnCounter) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[key]--
	if c.by[key] == 0 {
		delete(c.by, key)
	}
}

// Keys returns how many keys have something.
func (c *ConnCounter) Keys() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.by)
}

// EvictingLimiter bound how many of something each user has at once, like ConnCounter, but the
// newest always gets in and the oldest has to go. They are safe for concurrent
// use. Only users who sit take memory.
type EvictingLimiter struct {
	limit int

	mu sync.Mutex
	by map[string][]*slot // the oldest first
}

type slot struct{ evict func() }

// NewEvictingLimiter returns empty seats. A limit of no more than 0 is no limit.
func NewEvictingLimiter(limit int) *EvictingLimiter {
	return &EvictingLimiter{limit: limit, by: map[string][]*slot{}}
}

// Acquire gives the user one more seat, until leave is called; calls after the
// first do nothing. If that is one too many, the user's oldest seat is taken
// away at once and its evict called, before Acquire returns: an evict must not
// block. It is called at most once, and it may be that its seat is being left
// at that moment. Somebody unknown must not sit: all of them would be one user.
func (s *EvictingLimiter) Acquire(user string, evict func()) (leave func()) {
	if s.limit <= 0 {
		return func() {}
	}
	newest := &slot{evict}
	if oldest := s.add(user, newest); oldest != nil {
		oldest.evict()
	}
	return func() { s.remove(user, newest) }
}

// Users returns how many users have something.
func (s *EvictingLimiter) Users() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by)
}

// add returns the seat that has to go, or nil.
func (s *EvictingLimiter) add(user string, newest *slot) (oldest *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.by[user]
	row = append(row, newest)
	if len(row) > s.limit {
		oldest = row[0]
		row = slices.Delete(row, 0, 1)
	}
	s.by[user] = row
	return oldest
}

func (s *EvictingLimiter) remove(user string, left *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := slices.DeleteFunc(s.by[user], func(one *slot) bool { return one == left })
	if len(row) == 0 {
		delete(s.by, user)
	} else {
		s.by[user] = row
	}
}
