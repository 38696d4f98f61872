package notify

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A key stands for the words of one, here and on the bus: 4 bytes, however long
// those are. Two that look the same cost a read for nothing.
type key uint32

// keyOf is FNV-1a, which is the same in every process.
func keyOf(words string) key {
	k := key(2166136261)
	for i := range len(words) {
		k = (k ^ key(words[i])) * 16777619
	}
	return k
}

// A batch is keys of which something was told, or all there are.
type batch struct {
	keys []key
	all  bool
}

func (b batch) empty() bool { return !b.all && len(b.keys) == 0 }

// A pendingKeys holds what waits to be passed on: each key once, and beyond most of them
// everything. It is safe for concurrent use.
type pendingKeys struct {
	wake chan struct{} // capacity 1: something is in it
	max  int

	mu   sync.Mutex
	keys map[key]struct{}
	all  bool
}

func newTally(most int) *pendingKeys {
	return &pendingKeys{wake: make(chan struct{}, 1), max: most, keys: make(map[key]struct{})}
}

// add reports whether the keys have become too many.
func (t *pendingKeys) add(b batch) (overflow bool) {
	if b.empty() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.all && !b.all {
		for _, k := range b.keys {
			t.keys[k] = struct{}{}
		}
		overflow = len(t.keys) > t.max
	}
	if t.all = t.all || b.all || overflow; t.all {
		clear(t.keys)
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return overflow
}

// take empties it.
func (t *pendingKeys) take() batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := batch{keys: slices.AppendSeq(make([]key, 0, len(t.keys)), maps.Keys(t.keys)), all: t.all}
	clear(t.keys)
	t.all = false
	return b
}

// A message is the sender's id and keys of 4 bytes, the high byte first. One
// without keys is about everything.
const (
	idBytes  = 8
	keyBytes = 4
	perBody  = (16<<10 - idBytes) / keyBytes // what a message of the bus holds
)

func encode(id [idBytes]byte, b batch) (bodies [][]byte) {
	if b.all {
		return [][]byte{id[:]}
	}
	for some := range slices.Chunk(b.keys, perBody) {
		body := append(make([]byte, 0, idBytes+keyBytes*len(some)), id[:]...)
		for _, k := range some {
			body = binary.BigEndian.AppendUint32(body, uint32(k))
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// decode takes a message that it does not understand, perhaps of another release,
// for one about everything, and returns an error besides.
func decode(body []byte) (id [idBytes]byte, b batch, err error) {
	n := copy(id[:], body)
	rest := body[n:]
	if n < idBytes || len(rest)%keyBytes != 0 {
		return [idBytes]byte{}, batch{all: true}, fmt.Errorf("read a live message: it has %d bytes", len(body))
	}
	b.all = len(rest) == 0
	for some := range slices.Chunk(rest, keyBytes) {
		b.keys = append(b.keys, key(binary.BigEndian.Uint32(some)))
	}
	return id, b, nil
}
