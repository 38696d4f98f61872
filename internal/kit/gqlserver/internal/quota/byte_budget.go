package quota

import "sync"

// A ByteBudget is an amount of something that all callers have together, and of
// which each may have a share: bytes, for example. Nobody waits for it. It is
// safe for concurrent use.
type ByteBudget struct {
	total, share int

	mu   sync.Mutex
	used int
	by   map[string]int // keys that have something
}

// NewByteBudget returns a budget of which nothing is taken. A total of no more than
// 0 is no limit. A share of no more than 0 is the total.
func NewByteBudget(total, share int) *ByteBudget {
	return &ByteBudget{total: total, share: clampShare(total, share), by: map[string]int{}}
}

// Take takes n, or nothing and returns false if that is more than is left of
// the total or of the key's share. What was taken must be given back.
func (b *ByteBudget) Take(key string, n int) bool {
	if b.total <= 0 || n <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.total-b.used || n > b.share-b.by[key] {
		return false
	}
	b.used += n
	b.by[key] += n
	return true
}

// Give gives back n of what was taken, at once or in pieces. It panics if the
// key does not have as much. A negative n takes as much, also beyond the total
// and the share: what others find is less then.
func (b *ByteBudget) Give(key string, n int) {
	if b.total <= 0 || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.by[key] - n
	if left < 0 {
		panic("quota: more given back than was taken")
	}
	b.used -= n
	if left == 0 {
		delete(b.by, key)
	} else {
		b.by[key] = left
	}
}

// Used returns how much is taken, and how many keys have taken something.
func (b *ByteBudget) Used() (n, keys int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, len(b.by)
}
