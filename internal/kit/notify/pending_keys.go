package notify

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A key is the hash of a name, here and on the bus. A collision costs an unneeded read.
type key uint32

// keyOf returns the FNV-1a hash, which is the same in every process.
func keyOf(name string) key {
	k := key(2166136261)
	for i := range len(name) {
		k = (k ^ key(name[i])) * 16777619
	}
	return k
}

// A batch is a set of hinted keys, or all keys.
type batch struct {
	keys []key
	all  bool
}

func (b batch) empty() bool { return !b.all && len(b.keys) == 0 }

// A pendingKeys holds the keys that wait for delivery, each once. With more than max it holds
// all keys. It is safe for concurrent use.
type pendingKeys struct {
	wake chan struct{} // capacity 1: it is not empty
	max  int

	mu   sync.Mutex
	keys map[key]struct{}
	all  bool
}

func newPendingKeys(limit int) *pendingKeys {
	return &pendingKeys{wake: make(chan struct{}, 1), max: limit, keys: make(map[key]struct{})}
}

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

func (t *pendingKeys) take() batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := batch{keys: slices.AppendSeq(make([]key, 0, len(t.keys)), maps.Keys(t.keys)), all: t.all}
	clear(t.keys)
	t.all = false
	return b
}

// A message is the sender's id and big-endian keys of 4 bytes. Without keys it means all keys.
const (
	idBytes        = 8
	keyBytes       = 4
	keysPerMessage = (16<<10 - idBytes) / keyBytes
)

func encode(id [idBytes]byte, b batch) (bodies [][]byte) {
	if b.all {
		return [][]byte{id[:]}
	}
	for chunk := range slices.Chunk(b.keys, keysPerMessage) {
		body := append(make([]byte, 0, idBytes+keyBytes*len(chunk)), id[:]...)
		for _, k := range chunk {
			body = binary.BigEndian.AppendUint32(body, uint32(k))
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// decode returns the sender and the keys of a message. An invalid message, perhaps of another
// release, counts as one for all keys; decode then also returns an error.
func decode(body []byte) (id [idBytes]byte, b batch, err error) {
	n := copy(id[:], body)
	rest := body[n:]
	if n < idBytes || len(rest)%keyBytes != 0 {
		return [idBytes]byte{}, batch{all: true}, fmt.Errorf("decode live message: invalid length %d", len(body))
	}
	b.all = len(rest) == 0
	for chunk := range slices.Chunk(rest, keyBytes) {
		b.keys = append(b.keys, key(binary.BigEndian.Uint32(chunk)))
	}
	return id, b, nil
}
