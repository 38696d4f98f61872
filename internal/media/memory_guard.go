package media

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/metrics"
)

// errMemory ends a decoder that takes more memory than measured.
var errMemory = errors.New("decoder needs too much memory")

// A guardedReader reads a file until ctx ends, or until the heap has grown by more than the
// measured size of the picture. The content of a file can make a decoder allocate more: a few
// bytes of a lossless WebP can require tables of megabytes.
type guardedReader struct {
	ctx       context.Context
	file      io.Reader
	maxHeap   int64 // bytes
	unchecked int   // bytes read since the last check
}

const (
	checkEvery = 16 << 10 // bytes of the file between checks
	slack      = 32 << 20 // growth of the heap for other reasons, bytes
)

// guard returns a guardedReader for a picture whose decoder takes that many bytes of memory.
func guard(ctx context.Context, file io.Reader, bytes int64) io.Reader {
	return &guardedReader{ctx: ctx, file: file, maxHeap: heap() + bytes + slack}
}

// Read implements [io.Reader].
func (w *guardedReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if w.unchecked >= checkEvery {
		w.unchecked = 0
		if w.exceeded() {
			return 0, errMemory
		}
	}
	n, err := w.file.Read(p)
	w.unchecked += n
	return n, err
}

// exceeded reports whether the heap is too large, also after a garbage collection.
func (w *guardedReader) exceeded() bool {
	if heap() <= w.maxHeap {
		return false
	}
	runtime.GC()
	return heap() > w.maxHeap
}

// heap returns the bytes of all objects of the process, including garbage.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) //nolint:gosec // no heap is that large
}
