package request

import "sync"

// Buffer is a pooled buffer for bytes that live as long as one request.
type Buffer struct{ Bytes []byte } // empty at first

// Sizes of buffers.
const (
	BufferSize = 4 << 10  // bytes of a new buffer
	maxBuffer  = 64 << 10 // bytes of the largest buffer that returns to the pool
)

var buffers = sync.Pool{New: func() any { return &Buffer{make([]byte, 0, BufferSize)} }} //nolint:gochecknoglobals // process-wide pool

// BorrowBuffer returns an empty buffer. The caller must call [Buffer.Release].
func BorrowBuffer() *Buffer { return buffers.Get().(*Buffer) } //nolint:forcetypeassert // the pool holds nothing else

// Release returns the buffer to the pool. The caller must not use the buffer or its
// bytes afterwards.
func (b *Buffer) Release() {
	if cap(b.Bytes) <= maxBuffer {
		b.Bytes = b.Bytes[:0]
		buffers.Put(b)
	}
}
