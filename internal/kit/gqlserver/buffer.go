package gqlserver

import "sync"

// A buffer is for bytes that nobody needs any more once a request is answered.
type buffer struct{ bytes []byte } // empty at first

// Buffers are as long at first, and are not used again once they are longer than most.
const (
	firstBuffer = freeBytes
	maxBuffer   = 64 << 10
)

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, firstBuffer)} }} //nolint:gochecknoglobals // a pool is of the process

func borrow() *buffer { return buffers.Get().(*buffer) } //nolint:forcetypeassert // nothing else is put in

// giveBack ends the use of a buffer and of everything that is made of its bytes.
func (b *buffer) giveBack() {
	if cap(b.bytes) <= maxBuffer {
		b.bytes = b.bytes[:0]
		buffers.Put(b)
	}
}
