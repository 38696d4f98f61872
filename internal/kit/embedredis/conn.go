package embedredis

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxIdleBuffer is the maximum capacity of an empty buffer that a connection retains, in bytes.
const maxIdleBuffer = 64 << 10

var errOutputLimit = errors.New("client does not read replies")

// A conn is one end of an in-memory connection. As over TCP, Read returns the data written before
// the peer closed, and then io.EOF. After a deadline, calls fail at once.
type conn struct {
	in, out *stream
	cut     func() // called if the peer has too much unread data; if nil, Write waits instead
}

// newPipe connects a client with the server. The client's Write waits while input bytes are unread.
// The server's Write never waits, because miniredis writes under the lock of the whole database. If
// the client would have more than output unread bytes, that Write closes both ends, drops unread data
// and calls cut.
func newPipe(input, output int, cut func()) (client, served net.Conn) {
	up, down := newStream(input), newStream(output)
	return &conn{in: down, out: up}, &conn{in: up, out: down, cut: cut}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, opError("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p, c.cut == nil)
	if errors.Is(err, errOutputLimit) {
		c.out.abort()
		c.in.abort()
		c.cut()
	}
	return n, opError("write", err)
}

func (c *conn) Close() error {
	c.out.closeWriter()
	c.in.closeReader()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (*conn) LocalAddr() net.Addr  { return addr{} }
func (*conn) RemoteAddr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "embedded" }

func opError(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "memory", Addr: addr{}, Err: err}
}

// A stream is one direction of a connection.
type stream struct {
	limit int

	mu              sync.Mutex
	changed         *sync.Cond
	buf             bytes.Buffer
	writerClosed    bool
	readerClosed    bool
	readBy, writeBy deadline
}

// A deadline starts its timer only when a call waits: go-redis sets two deadlines for every command,
// and nearly all replies arrive before them.
type deadline struct {
	at    time.Time
	timer *time.Timer // nil until a call waits
}

func newStream(limit int) *stream {
	s := &stream{limit: limit}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerClosed:
			return 0, net.ErrClosed
		case s.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.buf.Len() > 0:
			n, _ := s.buf.Read(p)
			if s.buf.Len() == 0 && s.buf.Cap() > maxIdleBuffer {
				s.buf = bytes.Buffer{}
			}
			s.changed.Broadcast()
			return n, nil
		case s.writerClosed:
			return 0, io.EOF
		}
		s.wait(&s.readBy)
	}
}

// write appends p. If the stream is full, it waits for space or, if waits is false, returns
// errOutputLimit and appends nothing.
func (s *stream) write(p []byte, waits bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for done := 0; ; {
		switch {
		case s.writerClosed:
			return done, net.ErrClosed
		case s.readerClosed:
			return done, syscall.EPIPE
		case s.writeBy.passed():
			return done, os.ErrDeadlineExceeded
		}
		space := s.limit - s.buf.Len()
		if !waits && space < len(p) {
			return 0, errOutputLimit
		}
		n := min(space, len(p)-done)
		s.buf.Write(p[done : done+n])
		done += n
		s.changed.Broadcast()
		if done == len(p) {
			return done, nil
		}
		s.wait(&s.writeBy)
	}
}

// wait waits until the stream changes or the deadline passes. The caller holds mu and checks its
// condition again.
func (s *stream) wait(d *deadline) {
	if !d.at.IsZero() && d.timer == nil {
		d.timer = time.AfterFunc(time.Until(d.at), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Wait()
}

func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.stop()
	d.at = t
	s.changed.Broadcast()
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (s *stream) closeWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerClosed = true
	s.writeBy.stop()
	s.changed.Broadcast()
}

func (s *stream) closeReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerClosed = true
	s.readBy.stop()
	s.buf = bytes.Buffer{}
	s.changed.Broadcast()
}

// abort closes the stream for its writer and drops unread data.
func (s *stream) abort() {
	s.closeWriter()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = bytes.Buffer{}
}
