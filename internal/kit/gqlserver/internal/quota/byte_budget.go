package quota

import "sync"

// ByteBudget limits the bytes that all callers use together, and the share of each
// caller. It never blocks. It is safe for concurrent use.
type ByteBudget struct {
	total, share int

	mu    sync.Mutex
	used  int
	byKey map[string]int // without keys that use nothing
}

// NewByteBudget returns an unused budget. A total of 0 or less means no limit. A
// share of 0 or less means the total.
func NewByteBudget(total, share int) *ByteBudget {
	return &ByteBudget{total: total, share: clampShare(total, share), byKey: map[string]int{}}
}

// Take takes n bytes. If the total or the key's share has fewer left, it takes
// nothing and returns false. The caller must return the bytes with
// [ByteBudget.Give].
func (b *ByteBudget) Take(key string, n int) bool {
	if b.total <= 0 || n <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.total-b.used || n > b.share-b.byKey[key] {
		return false
	}
	b.used += n
	b.byKey[key] += n
	return true
}

// Give returns n bytes to the budget, all at once or in parts. It panics if the
// key uses fewer. A negative n takes bytes even beyond the total and the share,
// which leaves less for other keys.
func (b *ByteBudget) Give(key string, n int) {
	if b.total <= 0 || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.byKey[key] - n
	if left < 0 {
		panic("quota: more bytes returned than taken")
	}
	b.used -= n
	if left == 0 {
		delete(b.byKey, key)
	} else {
		b.byKey[key] = left
	}
}

// Used returns the bytes in use and the number of keys that use some.
func (b *ByteBudget) Used() (n, keys int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, len(b.byKey)
}
