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

// Frames of a server are not masked (RFC 6455, 5.1). Ours are whole messages.
const (
	finalFrame  = 0x80
	textFrame   = finalFrame | 0x1
	closeFrame  = finalFrame | 0x8
	pingFrame   = finalFrame | 0x9
	frameHeader = 10  // bytes at most
	maxControl  = 125 // bytes of a control frame after its header
)

// chunkSize is how many bytes are written at once where the kernel has to be waited for.
const chunkSize = 32 * kb

// A wsWriter writes to a socket's connection, whole frames in the order in which it gets
// them. What the kernel takes at once costs one system call; the rest waits, and one
// goroutine writes it. It is safe for concurrent use.
//
// As long as something waits, the client must take it: it has Limits.WriteTime, and a
// second more for each 64 KB that it took. Else its socket ends with 4512.
type wsWriter struct {
	socket *wsConn
	conn   net.Conn
	raw    syscall.RawConn // nil where everything has to wait

	// onDrained is called when all that waited is written, if offer refused something
	// before that: once, and without a lock. Nil is not called.
	onDrained func()

	mu      sync.Mutex
	queue   []wsChunk
	offered int       // bytes of the queue that offer took
	writing bool      // the goroutine is there; nothing waits without it
	refused bool      // offer refused something since all was written
	sealed  bool      // no more messages
	closed  bool      // the last frame has come
	dropped bool      // the connection is closed
	closeBy time.Time // when the connection will be closed, once the socket ends

	attempt    func(fd uintptr) bool // writes what is tried
	tryBytes   []byte
	tryWritten int // bytes of it
}

// A wsChunk of what waits. It ends where a frame ends, or in the middle of a message that
// the next piece goes on with.
type wsChunk struct {
	bytes   []byte
	offered bool
	written chan<- struct{} // closed when it is written or never will be; may be nil
}

// open gives the sender its connection. It must be called first.
func (s *wsWriter) open(c *wsConn, conn net.Conn) {
	s.socket, s.conn = c, conn
	if system, ok := conn.(syscall.Conn); ok {
		s.raw, _ = system.SyscallConn() // else everything waits, and finds the error
	}
	s.attempt = func(fd uintptr) bool {
		s.tryWritten = writeNow(fd, s.tryBytes)
		return true // false would wait
	}
}

// offer takes whole frames, which the caller may change afterwards. It never waits. It
// returns false, and takes nothing, if more than Limits.Queue bytes that were offered
// wait already, or if the socket has ended.
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

// send sends a text message of any length, which must not change meanwhile. It returns
// when that is written, and reports whether it is. The end of ctx does not matter: of
// half a message the other half has to follow.
func (s *wsWriter) send(_ context.Context, message []byte) bool {
	head := min(len(message), chunkSize) // what is beyond is not copied
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

// begin writes as much of a frame as the kernel takes. What it returns is closed when
// the rest is written, or never will be; nil if there is no rest.
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

// seal has it take no message any more.
func (s *wsWriter) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

// control takes a control frame, however much waits. After a close frame it takes
// nothing.
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

// end takes a close frame, behind everything that waits. What is not written by then
// never is.
func (s *wsWriter) end(frame []byte, by time.Time) {
	s.control(frame)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeBy = by
	if s.writing {
		_ = s.conn.SetWriteDeadline(by) // of a connection that is closed already, or it is a write's error
	}
}

// drop closes the connection and forgets what waits.
func (s *wsWriter) drop() {
	s.mu.Lock()
	s.sealed, s.closed, s.dropped = true, true, true
	for _, p := range s.queue {
		s.dequeue(p, len(p.bytes))
		p.finish()
	}
	s.queue = nil
	s.mu.Unlock()
	_ = s.conn.Close() // or it was closed before
}

// writeOrQueue writes frames or lets a copy wait. It is for those who hold the mutex, as are
// try, wait and leave.
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

// tryWrite writes what the kernel takes now, unless something else waits, and returns the
// rest. An error is found by who writes that.
func (s *wsWriter) tryWrite(frames []byte) (rest []byte) {
	if s.writing || s.raw == nil {
		return frames
	}
	s.tryBytes, s.tryWritten = frames, 0
	_ = s.raw.Write(s.attempt)
	s.tryBytes = nil
	return frames[s.tryWritten:]
}

// enqueue puts a piece behind the others.
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
	s.socket.work.Add(1) // before dropped is set, and so before somebody waits
	go s.run()
}

// dequeue notes that n bytes of a piece do not wait any more.
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

// run writes what waits.
func (s *wsWriter) run() {
	defer s.socket.work.Done()
	by := time.Now().Add(s.socket.server.cfg.Limits.WriteTime)
	for p, ok := s.next(); ok; p, ok = s.next() {
		by = s.write(p, by)
		p.finish()
	}
}

// write writes a piece, unless the connection is dropped. It is given, and returns, when
// the client is too slow.
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
			s.socket.end(statusSlowConsumer, "too slow to read") // which gives it a little time to hear that
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

// setDeadline lets the next write fail in time, after which there may be another, but
// not if it was the last one. It returns false if the connection is dropped.
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

// next returns what is to be written next. If there is nothing, the goroutine is over.
func (s *wsWriter) next() (p wsChunk, ok bool) {
	s.mu.Lock()
	if len(s.queue) > 0 {
		defer s.mu.Unlock()
		p, s.queue[0] = s.queue[0], wsChunk{}
		s.queue = s.queue[1:]
		return p, true
	}
	s.queue, s.writing = nil, false
	_ = s.conn.SetWriteDeadline(time.Time{}) // try would fail; or the connection is closed
	drained := s.refused && !s.closed
	s.refused = false
	s.mu.Unlock()
	if drained && s.onDrained != nil {
		s.onDrained()
	}
	return wsChunk{}, false
}

// appendFrame appends one text frame whose message is all parts together.
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

// appendHeader appends what stands before a frame's n bytes (RFC 6455, 5.2).
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

// encodeCloseFrame is a close frame. The reason has at most 123 bytes.
func encodeCloseFrame(code websocket.StatusCode, reason string) []byte {
	frame := appendHeader(nil, closeFrame, 2+len(reason))
	return append(binary.BigEndian.AppendUint16(frame, uint16(code)), reason...) //nolint:gosec // a code has 16 bits
}

// A controlConn is the connection below [websocket.Conn], which reads from it, and writes
// nothing but control frames: each with one call.
type controlConn struct {
	net.Conn
	out   *wsWriter
	early []byte // what came with the request and is to be read first
}

func (c *controlConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p) //nolint:wrapcheck // the reader looks for io.EOF
	}
	n := copy(p, c.early)
	if c.early = c.early[n:]; len(c.early) == 0 {
		c.early = nil
	}
	return n, nil
}

func (c *controlConn) Write(frame []byte) (int, error) {
	c.out.control(frame)
	return len(frame), nil // or the connection is lost, as the reader will see
}
