package media

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/metrics"
)

// errFull ends a decoder that takes more memory than its picture is weighed with.
var errFull = errors.New("decoding it takes too much memory")

// A guardedReader file can be read as long as somebody waits for it, and as long as the process
// has not grown by much more than the picture was weighed with. What a decoder takes
// besides it takes because of what it has read: the tables of a lossless WebP, of which a
// few bytes order megabytes, or whatever the next decoder has. It is the net below the
// weighing.
type guardedReader struct {
	ctx    context.Context
	file   io.Reader
	most   int64 // bytes that the heap may have
	unseen int   // bytes that were read since the last look
}

const (
	lookEvery = 16 << 10 // bytes of the file
	slack     = 32 << 20 // bytes by which the process may have grown besides
)

// watch returns a file as it is read while its picture takes so many bytes.
func watch(ctx context.Context, file io.Reader, bytes int64) io.Reader {
	return &guardedReader{ctx: ctx, file: file, most: heap() + bytes + slack}
}

// Read implements [io.Reader].
func (w *guardedReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if w.unseen >= lookEvery {
		w.unseen = 0
		if w.full() {
			return 0, errFull
		}
	}
	n, err := w.file.Read(p)
	w.unseen += n
	return n, err
}

// full looks again without what others have thrown away before it says so.
func (w *guardedReader) full() bool {
	if heap() <= w.most {
		return false
	}
	runtime.GC()
	return heap() > w.most
}

// heap is how many bytes the objects of the process take, garbage too.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) //nolint:gosec // no process has more
}
