package request

import "sync"

// A Buffer is for bytes that nobody needs any more once a request is answered.
type Buffer struct{ Bytes []byte } // empty at first

// BufferSize is the length of a new buffer, in bytes. A buffer of more than maxBuffer is
// not used again.
const (
	BufferSize = 4 << 10
	maxBuffer  = 64 << 10
)

var buffers = sync.Pool{New: func() any { return &Buffer{make([]byte, 0, BufferSize)} }} //nolint:gochecknoglobals // a pool is of the process

// BorrowBuffer returns an empty buffer. The caller must release it.
func BorrowBuffer() *Buffer { return buffers.Get().(*Buffer) } //nolint:forcetypeassert // nothing else is put in

// Release ends the use of a buffer and of everything that is made of its bytes.
func (b *Buffer) Release() {
	if cap(b.Bytes) <= maxBuffer {
		b.Bytes = b.Bytes[:0]
		buffers.Put(b)
	}
}
