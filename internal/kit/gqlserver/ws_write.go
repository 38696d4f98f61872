package gqlserver

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// Frames of a server are not masked (RFC 6455, 5.1). Each frame is a whole message.
const (
	finalFrame  = 0x80
	textFrame   = finalFrame | 0x1
	closeFrame  = finalFrame | 0x8
	pingFrame   = finalFrame | 0x9
	frameHeader = 10  // maximum bytes
	maxControl  = 125 // bytes of a control frame after its header
)

// chunkSize is the maximum number of bytes per write that may block.
const chunkSize = 32 * kb

// A wsWriter writes whole frames to the connection of a socket, in order. Data that the kernel
// accepts at once costs one system call. One goroutine writes the rest. It is safe for
// concurrent use.
//
// The client must take queued data within Limits.WriteTime, and a second more for each 64 KB
// that it took. Otherwise, the socket ends with 4512.
type wsWriter struct {
	socket *wsConn
	conn   net.Conn
	raw    syscall.RawConn // nil if all data must be queued

	// onDrained is called without a lock, once, when the queue is written after offer refused
	// something. It may be nil.
	onDrained func()

	mu      sync.Mutex
	queue   []wsChunk
	offered int       // bytes of the queue that offer added
	writing bool      // the goroutine runs; the queue is empty without it
	refused bool      // offer refused something since the queue was written
	sealed  bool      // no more messages
	closed  bool      // the last frame was queued
	dropped bool      // the connection is closed
	closeBy time.Time // deadline of the connection after the end

	attempt    func(fd uintptr) bool // writes tryBytes
	tryBytes   []byte
	tryWritten int // number of bytes written
}

// A wsChunk is queued data. It ends with a frame, or within a message that the next chunk
// continues.
type wsChunk struct {
	bytes   []byte
	offered bool
	written chan<- struct{} // closed when the chunk is written or dropped; may be nil
}

// open sets the connection. Call it first.
func (s *wsWriter) open(c *wsConn, conn net.Conn) {
	s.socket, s.conn = c, conn
	if system, ok := conn.(syscall.Conn); ok {
		s.raw, _ = system.SyscallConn() // else all data is queued, and the goroutine gets the error
	}
	s.attempt = func(fd uintptr) bool {
		s.tryWritten = writeNow(fd, s.tryBytes)
		return true // false would wait
	}
}

// offer queues whole frames and never waits. The caller may reuse the slice. If more than
// Limits.Queue offered bytes are queued or the socket has ended, it queues nothing and returns
// false.
func (s *wsWriter) offer(frames []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sealed:
		return false
	case errcode.Exceeds(s.offered, s.socket.server.cfg.Limits.Queue):
		s.refused = true
		s.socket.sockets.metrics.slow[slowRefused].Inc()
		return false
	}
	s.writeOrQueue(frames)
	return true
}

// send writes a text message of any length and reports whether it was written. The message must
// not change meanwhile. The end of ctx does not interrupt it, as a partial message would break
// the stream.
func (s *wsWriter) send(_ context.Context, message []byte) bool {
	head := min(len(message), chunkSize) // the rest is not copied
	frame := appendHeader(make([]byte, 0, frameHeader+head), textFrame, len(message))
	written, ok := s.begin(append(frame, message[:head]...), message[head:])
	if written == nil {
		return ok
	}
	<-written
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.dropped
}

// begin writes the part of a frame that the kernel accepts. It returns a channel that is closed
// when the rest is written or dropped, or nil if there is no rest.
func (s *wsWriter) begin(head, tail []byte) (written <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return nil, false
	}
	if head = s.tryWrite(head); len(head) == 0 {
		head, tail = s.tryWrite(tail), nil
	}
	if len(head) == 0 {
		return nil, true
	}
	done := make(chan struct{})
	if len(tail) > 0 {
		s.enqueue(wsChunk{bytes: head})
		s.enqueue(wsChunk{bytes: tail, written: done})
	} else {
		s.enqueue(wsChunk{bytes: head, written: done})
	}
	return done, true
}

func (s *wsWriter) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

// control writes or queues a control frame, whatever the length of the queue. It ignores frames
// after a close frame.
func (s *wsWriter) control(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = frame[0] == closeFrame
	s.sealed = s.sealed || s.closed
	s.writeOrQueue(frame)
}

// end queues a close frame after everything else. Data unwritten at the deadline is dropped.
func (s *wsWriter) end(frame []byte, by time.Time) {
	s.control(frame)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeBy = by
	if s.writing {
		_ = s.conn.SetWriteDeadline(by) // if the connection is closed, the write fails
	}
}

// drop closes the connection and discards the queue.
func (s *wsWriter) drop() {
	s.mu.Lock()
	s.sealed, s.closed, s.dropped = true, true, true
	for _, p := range s.queue {
		s.dequeue(p, len(p.bytes))
		p.finish()
	}
	s.queue = nil
	s.mu.Unlock()
	_ = s.conn.Close() // it may be closed
}

// writeOrQueue writes frames and queues a copy of the rest. The caller holds mu, as for
// tryWrite, enqueue and dequeue.
func (s *wsWriter) writeOrQueue(frames []byte) {
	rest := s.tryWrite(frames)
	if len(rest) == 0 {
		return
	}
	if last := len(s.queue) - 1; last >= 0 && s.queue[last].offered && len(s.queue[last].bytes)+len(rest) <= chunkSize {
		s.queue[last].bytes = append(s.queue[last].bytes, rest...)
		s.count(len(rest))
		s.offered += len(rest)
		return
	}
	s.enqueue(wsChunk{bytes: append([]byte(nil), rest...), offered: true})
}

// tryWrite writes what the kernel accepts now, unless data is queued, and returns the rest. The
// write of the rest returns the error, if any.
func (s *wsWriter) tryWrite(frames []byte) (rest []byte) {
	if s.writing || s.raw == nil {
		return frames
	}
	s.tryBytes, s.tryWritten = frames, 0
	_ = s.raw.Write(s.attempt)
	s.tryBytes = nil
	return frames[s.tryWritten:]
}

// enqueue appends a chunk to the queue and starts the goroutine if it does not run.
func (s *wsWriter) enqueue(p wsChunk) {
	s.queue = append(s.queue, p)
	s.count(len(p.bytes))
	if p.offered {
		s.offered += len(p.bytes)
	}
	if s.dropped || s.writing {
		return
	}
	s.writing = true
	s.socket.sockets.metrics.slow[slowQueued].Inc()
	s.socket.work.Add(1) // before dropped is set, and so before a Wait
	go s.run()
}

// dequeue removes n bytes of a chunk from the counts.
func (s *wsWriter) dequeue(p wsChunk, n int) {
	s.count(-n)
	if p.offered {
		s.offered -= n
	}
}

func (s *wsWriter) count(bytes int) { s.socket.sockets.metrics.queued.Add(float64(bytes)) }

func (p wsChunk) finish() {
	if p.written != nil {
		close(p.written)
	}
}

// run is the goroutine that writes the queue.
func (s *wsWriter) run() {
	defer s.socket.work.Done()
	by := time.Now().Add(s.socket.server.cfg.Limits.WriteTime)
	for p, ok := s.next(); ok; p, ok = s.next() {
		by = s.write(p, by)
		p.finish()
	}
}

// write writes a chunk unless the connection is dropped. It takes and returns the time from
// which the client is too slow.
func (s *wsWriter) write(p wsChunk, by time.Time) time.Time {
	rest := p.bytes
	for len(rest) > 0 {
		last, ok := s.setDeadline(by)
		if !ok {
			break
		}
		n, err := s.conn.Write(rest[:min(len(rest), chunkSize)])
		rest = rest[n:]
		s.mu.Lock()
		s.dequeue(p, n)
		s.mu.Unlock()
		switch {
		case err == nil:
			by = earlier(by.Add(writeTime(n)), time.Now().Add(s.socket.server.cfg.Limits.WriteTime))
		case errors.Is(err, os.ErrDeadlineExceeded) && !last:
			s.socket.end(statusSlowConsumer, "too slow to read") // grants a little time to receive that
		default:
			s.socket.disconnect(statusAbnormal) // unless it has ended
			s.drop()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dequeue(p, len(rest))
	return by
}

// setDeadline sets the deadline of the next write. last reports whether no write may follow a
// missed deadline. ok is false if the connection is dropped.
func (s *wsWriter) setDeadline(by time.Time) (last, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last = !s.closeBy.IsZero()
	switch {
	case s.dropped:
		return last, false
	case last:
		by = s.closeBy
	case s.socket.server.cfg.Limits.WriteTime < 0:
		return last, true
	}
	_ = s.conn.SetWriteDeadline(by) // or the write fails
	return last, true
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// next returns the next chunk. If there is none, the goroutine must stop.
func (s *wsWriter) next() (p wsChunk, ok bool) {
	s.mu.Lock()
	if len(s.queue) > 0 {
		defer s.mu.Unlock()
		p, s.queue[0] = s.queue[0], wsChunk{}
		s.queue = s.queue[1:]
		return p, true
	}
	s.queue, s.writing = nil, false
	_ = s.conn.SetWriteDeadline(time.Time{}) // tryWrite would fail otherwise; the connection may be closed
	drained := s.refused && !s.closed
	s.refused = false
	s.mu.Unlock()
	if drained && s.onDrained != nil {
		s.onDrained()
	}
	return wsChunk{}, false
}

// appendFrame appends one text frame with the concatenated parts as its message.
func appendFrame(out []byte, parts ...[]byte) []byte {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	out = appendHeader(out, textFrame, n)
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

// appendHeader appends the header of a frame of n bytes (RFC 6455, 5.2).
func appendHeader(out []byte, first byte, n int) []byte {
	switch {
	case n < 126:
		return append(out, first, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, first, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(out, first, 127), uint64(n))
	}
}

// encodeCloseFrame returns a close frame. The reason has at most 123 bytes.
func encodeCloseFrame(code websocket.StatusCode, reason string) []byte {
	frame := appendHeader(nil, closeFrame, 2+len(reason))
	return append(binary.BigEndian.AppendUint16(frame, uint16(code)), reason...) //nolint:gosec // a code has 16 bits
}

// A controlConn is the connection below [websocket.Conn], which writes only control frames, each
// with one call.
type controlConn struct {
	net.Conn
	out   *wsWriter
	early []byte // data received with the request, to read first
}

func (c *controlConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p) //nolint:wrapcheck // the reader expects io.EOF
	}
	n := copy(p, c.early)
	if c.early = c.early[n:]; len(c.early) == 0 {
		c.early = nil
	}
	return n, nil
}

func (c *controlConn) Write(frame []byte) (int, error) {
	c.out.control(frame)
	return len(frame), nil // if the connection is lost, the reader gets the error
}
