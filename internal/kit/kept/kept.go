// Package kept holds what was written of objects that a process has in memory: the JSON of
// a few selections of each. It lives and dies with the object: who forgets the object
// forgets its bytes.
package kept

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A Key stands for a selection of fields, as it was written: a hash of it.
type Key [16]byte

// Most pieces and bytes of one object.
const (
	mostPieces = 8
	mostBytes  = 16 << 10
)

// A Budget bounds the bytes of many objects, and counts. It is safe for concurrent use.
type Budget struct {
	most         int64
	used         atomic.Int64
	hits, misses atomic.Int64
}

// NewBudget returns a budget of so many bytes; 0 keeps nothing.
func NewBudget(bytes int64) *Budget { return &Budget{most: bytes} }

// Stats are what a Budget did so far.
type Stats struct {
	Hits, Misses int64 // of what might have been kept
	Bytes, Most  int64
}

// Stats returns them.
func (b *Budget) Stats() Stats {
	return Stats{b.hits.Load(), b.misses.Load(), b.used.Load(), b.most}
}

// Bytes are the pieces of one object that is never changed. Its zero value is none; a nil
// one keeps nothing. It is safe for concurrent use.
type Bytes struct {
	held   *held
	pieces atomic.Pointer[[]*piece]
	mu     sync.Mutex // of who adds
}

// held is what a Bytes has of its budget. It outlives the Bytes, which gives it back when it
// is garbage: somebody may still write by an object that was forgotten.
type held struct {
	budget *Budget
	bytes  atomic.Int64
}

type piece struct {
	key  Key
	text []byte
	hits atomic.Uint32 // since others were last looked for that might go
}

// overhead is what a piece takes beside its text, roughly.
const overhead = 96

// New returns the bytes of an object, nil if the budget keeps nothing.
func New(budget *Budget) *Bytes {
	if budget == nil || budget.most <= 0 {
		return nil
	}
	return &Bytes{held: &held{budget: budget}}
}

// Equal is true: what is kept of objects is no part of them. It is for tests that compare
// objects.
func (*Bytes) Equal(*Bytes) bool { return true }

// Append appends the piece of a key to out; ok is false if there is none.
func (b *Bytes) Append(out []byte, key *Key) (_ []byte, ok bool) {
	if list := b.pieces.Load(); list != nil {
		for _, p := range *list {
			if p.key == *key {
				if hits := p.hits.Load(); hits < 1<<16 {
					p.hits.Store(hits + 1) // one that is lost does not matter
				}
				b.held.budget.hits.Add(1)
				return append(out, p.text...), true
			}
		}
	}
	b.held.budget.misses.Add(1)
	return out, false
}

// Keep keeps a copy of a piece, unless that is more than the object or the budget may have.
// Pieces that are asked for less give way.
func (b *Bytes) Keep(key *Key, text []byte) {
	cost := int64(len(text) + overhead)
	if cost > mostBytes || b.held.budget.used.Load()+cost > b.held.budget.most+b.held.bytes.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*piece
	if old := b.pieces.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if slices.ContainsFunc(list, func(p *piece) bool { return p.key == *key }) {
		return
	}
	more := cost // than now
	for len(list) == mostPieces || b.held.bytes.Load()+more > mostBytes {
		least := leastOf(list)
		if least < 0 {
			return
		}
		more -= list[least].cost()
		list = slices.Delete(list, least, least+1)
	}
	if !b.held.take(more) {
		return
	}
	if b.pieces.Load() == nil {
		runtime.AddCleanup(b, (*held).giveBack, b.held)
	}
	list = append(list, &piece{key: *key, text: slices.Clone(text)})
	b.pieces.Store(&list)
}

func (p *piece) cost() int64 { return int64(len(p.text) + overhead) }

// take takes bytes of the budget, or gives some back, unless it has too few.
func (h *held) take(bytes int64) bool {
	for {
		used := h.budget.used.Load()
		if bytes > 0 && used+bytes > h.budget.most {
			return false
		}
		if h.budget.used.CompareAndSwap(used, used+bytes) {
			h.bytes.Add(bytes)
			return true
		}
	}
}

func (h *held) giveBack() { h.budget.used.Add(-h.bytes.Load()) }

// leastOf is the piece that nobody asked for since the last time, -1 if all were asked
// for: then each of them has to be asked for again, half as often, to stay.
func leastOf(list []*piece) int {
	for i, p := range list {
		if p.hits.Load() == 0 {
			return i
		}
	}
	for _, p := range list {
		p.hits.Store(p.hits.Load() / 2)
	}
	return -1
}
