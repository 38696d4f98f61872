package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

const (
	handshakes = 16      // at a time: each reads the session of a new user
	maxTries   = 5       // of one, if a busy server asks for a retry
	tryAgain   = 1013    // the code by which it does
	underWay   = 1 << 16 // maximum number of items that some lack
	readBuffer = 256 << 10
	nap        = 500 * time.Microsecond
	enough     = 256     // ready sockets at a time: a larger number makes the server wake the crowd for each
	stallRoom  = 4 << 10 // bytes that the kernel buffers for a socket that never reads, about
)

// serveCrowd runs the process that holds all sockets. One goroutine polls and reads all of them,
// for the lowest cost of a client.
func serveCrowd(ctx context.Context, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "td")
	if err != nil {
		return fmt.Errorf("make a directory for a socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := newCrowd(ctx, filepath.Join(dir, "received.sock"))
	if err != nil {
		return err
	}
	return subprocess.Serve(in, out, func(struct{}) (func(crowdQuestion) crowdAnswer, error) {
		return func(q crowdQuestion) crowdAnswer { return c.answer(ctx, q) }, nil
	})
}

// A crowd holds all subscribers of one server.
type crowd struct {
	epoll  int
	socket string

	mu        sync.Mutex
	sockets   map[int32]*socket
	beginning int       // are not subscribed yet
	again     []*socket // are asked to retry
	reading   int       // are, and count
	failed    error
	listeners []net.Conn // want to know received

	received int64           // all have all items below
	got      [underWay]int32 // how many have an item, by its number
	answered crowdAnswer     // without its percentiles
	times    histogram
}

// A socket is one subscriber.
type socket struct {
	fd       int
	protocol protocol
	steps    []step
	done     int    // of the steps
	next     int64  // it has all items below
	ahead    uint64 // which of the items from next on it has: items that are published at once come in any order
	stalls   bool
	tries    int
	rest     []byte // of a frame that is not whole
}

func newCrowd(ctx context.Context, path string) (*crowd, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create an epoll: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c := &crowd{epoll: epoll, socket: path, sockets: map[int32]*socket{}}
	go c.accept(listener) // both until the process ends
	go c.loop()
	return c, nil
}

// accept accepts listeners for received items.
func (c *crowd) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.listeners = append(c.listeners, conn)
		c.tell() // a client may publish at once, before it is accepted here
		c.mu.Unlock()
	}
}

func (c *crowd) answer(ctx context.Context, q crowdQuestion) crowdAnswer {
	var err error
	var ports []int
	switch {
	case q.Connect != nil:
		ports, err = c.connect(ctx, *q.Connect)
	case q.Await > 0:
		err = c.until(ctx, func() bool { return c.received >= q.Await })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%w: %d of them missed an item before their last one", err, c.lacking())
	}
	if q.Disconnect {
		c.disconnect()
	}
	a := c.answered
	a.Received, a.Ports, a.P50, a.P99 = c.socket, ports, c.times.percentile(50), c.times.percentile(99)
	if q.Reset || q.Disconnect {
		c.answered, c.times = crowdAnswer{}, histogram{}
	}
	cpu, cpuErr := harness.CPUTime()
	a.CPU = cpu
	if err = errors.Join(c.failed, err, cpuErr); err != nil {
		a.Err = err.Error()
	}
	return a
}

// lacking counts the subscribers that have an item and lack one before it.
func (c *crowd) lacking() (n int) {
	for _, s := range c.sockets {
		if s.ahead != 0 {
			n++
		}
	}
	return n
}

// until waits for a condition, and checks it under the lock.
func (c *crowd) until(ctx context.Context, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c.mu.Lock()
		yes, failed := is(), c.failed
		c.mu.Unlock()
		if yes || failed != nil {
			return nil // failed is in every answer
		}
		if err := clock.Sleep(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("wait for the subscribers: %w", err)
		}
	}
}

// connect connects subscribers, a few at a time, and waits for all of them.
func (c *crowd) connect(ctx context.Context, w connecting) (ports []int, err error) {
	addr, err := netip.ParseAddrPort(w.Addr)
	if err != nil {
		return nil, fmt.Errorf("parse the server's address: %w", err)
	}
	c.mu.Lock()
	if c.reading == 0 {
		c.received, c.got = w.First, [underWay]int32{}
	}
	c.mu.Unlock()
	for i := range w.Number {
		token := ""
		if i < len(w.Tokens) {
			token = w.Tokens[i]
		}
		port, err := c.begin(ctx, &socket{protocol: w.Protocol, steps: w.Protocol.subscribed(w.Addr, token, i), next: w.First, stalls: w.Stalled}, addr)
		if err != nil {
			return nil, fmt.Errorf("subscriber %d: %w", i, err)
		}
		if w.Stalled {
			ports = append(ports, port)
		}
	}
	for {
		var s *socket
		err := c.until(ctx, func() bool {
			if len(c.again) > 0 {
				s, c.again = c.again[0], c.again[1:]
			}
			return s != nil || c.beginning == 0
		})
		if err != nil || s == nil {
			return ports, err
		}
		if _, err := c.begin(ctx, &socket{protocol: s.protocol, steps: s.steps, next: s.next, stalls: s.stalls, tries: s.tries + 1}, addr); err != nil {
			return nil, fmt.Errorf("reconnect a subscriber: %w", err)
		}
	}
}

// begin dials once the number of pending connections is below the limit.
func (c *crowd) begin(ctx context.Context, s *socket, addr netip.AddrPort) (port int, err error) {
	if err := c.until(ctx, func() bool { return c.beginning < handshakes }); err != nil {
		return 0, err
	}
	return c.dial(s, addr)
}

// dial connects and sends the first step.
func (c *crowd) dial(s *socket, addr netip.AddrPort) (port int, err error) {
	if s.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("make a socket: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(s.fd)
		}
	}()
	if s.stalls {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, stallRoom); err != nil {
			return 0, fmt.Errorf("set the size of a buffer: %w", err)
		}
	}
	if err := unix.Connect(s.fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}); err != nil {
		return 0, fmt.Errorf("connect: %w", err)
	}
	local, err := unix.Getsockname(s.fd)
	if err != nil {
		return 0, fmt.Errorf("read the address of a socket: %w", err)
	}
	if err := unix.SetNonblock(s.fd, true); err != nil {
		return 0, fmt.Errorf("make a socket non-blocking: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, s.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.fd)}); err != nil {
		return 0, fmt.Errorf("watch a socket: %w", err)
	}
	c.sockets[int32(s.fd)] = s
	c.beginning++
	if in4, ok := local.(*unix.SockaddrInet4); ok {
		port = in4.Port
	}
	return port, s.write(s.steps[0].send)
}

// write writes a message that fits any buffer.
func (s *socket) write(b []byte) error {
	if n, err := unix.Write(s.fd, b); err != nil || n < len(b) {
		return fmt.Errorf("write %d of %d bytes: %w", n, len(b), err)
	}
	return nil
}

// disconnect closes all connections, and clears the error of the crowd.
func (c *crowd) disconnect() {
	for _, s := range c.sockets {
		_ = unix.Close(s.fd)
	}
	clear(c.sockets)
	c.beginning, c.reading, c.again, c.failed = 0, 0, nil, nil
}

// loop reads all sockets until the process ends.
func (c *crowd) loop() {
	events, buffer := make([]unix.EpollEvent, 1024), make([]byte, readBuffer)
	for {
		n, err := unix.EpollWait(c.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			c.mu.Lock()
			c.failed = fmt.Errorf("wait for sockets: %w", err)
			c.mu.Unlock()
			return
		}
		c.mu.Lock()
		before := c.received
		for _, e := range events[:max(n, 0)] {
			if s := c.sockets[e.Fd]; s != nil {
				if err := c.read(s, buffer); err != nil {
					c.drop(s, err)
				}
			}
		}
		if c.received != before {
			c.tell()
		}
		c.mu.Unlock()
		if n < enough {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: nap.Nanoseconds()}, nil) // or a signal came
		}
	}
}

// drop closes a failed connection, which fails the whole crowd. The exception is a connection that
// the server asks to retry before it is subscribed.
func (c *crowd) drop(s *socket, err error) {
	closed, ok := errors.AsType[closedError](err)
	switch {
	case ok && closed == tryAgain && s.done < len(s.steps) && s.tries < maxTries:
		c.again = append(c.again, s)
		c.beginning--
	case c.failed == nil:
		c.failed = fmt.Errorf("serve a subscriber at step %d: %w", s.done, err)
	}
	delete(c.sockets, int32(s.fd))
	_ = unix.Close(s.fd)
}

// tell sends the received items to the listeners.
func (c *crowd) tell() {
	b := binary.LittleEndian.AppendUint64(nil, uint64(c.received))
	there := c.listeners[:0]
	for _, conn := range c.listeners {
		if _, err := conn.Write(b); err != nil {
			_ = conn.Close()
			continue
		}
		there = append(there, conn)
	}
	c.listeners = there
}

// read reads once: a socket with more data is ready again.
func (c *crowd) read(s *socket, buffer []byte) error {
	n, err := unix.Read(s.fd, buffer)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return nil
	}
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	now := time.Now()
	b := buffer[:n]
	if len(s.rest) > 0 {
		s.rest = append(s.rest, b...)
		b = s.rest
	}
	if s.done == 0 {
		if b, err = c.upgraded(s, b); err != nil {
			return err
		}
	}
	for s.done > 0 {
		f, rest, ok, err := nextFrame(b)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		b = rest
		if err := c.take(s, f, now); err != nil {
			return err
		}
	}
	s.rest = append(s.rest[:0], b...)
	return nil
}

// upgraded reads the response to the upgrade and returns the bytes after it.
func (c *crowd) upgraded(s *socket, b []byte) ([]byte, error) {
	end := bytes.Index(b, []byte(s.steps[0].expect))
	if end < 0 {
		return b, nil
	}
	if !bytes.HasPrefix(b, []byte("HTTP/1.1 101 ")) {
		return nil, fmt.Errorf("unexpected message %.300s", b)
	}
	return b[end+len(s.steps[0].expect):], c.step(s)
}

// step runs the next step, or starts or stops reading if there is none.
func (c *crowd) step(s *socket) error {
	s.done++
	if s.done < len(s.steps) {
		return s.write(s.steps[s.done].send)
	}
	c.beginning--
	if !s.stalls {
		c.reading++
		return nil
	}
	return unix.EpollCtl(c.epoll, unix.EPOLL_CTL_DEL, s.fd, nil)
}

// A closedError is the code with which a server closed a connection.
type closedError uint16

func (e closedError) Error() string { return fmt.Sprintf("server closed with code %d", uint16(e)) }

// take handles a frame that arrived at a given time.
func (c *crowd) take(s *socket, f frame, now time.Time) error {
	switch f.op {
	case opPing:
		return s.write(clientFrame(opPong, string(f.payload)))
	case opPong:
		return nil
	case opClose:
		code := uint16(0)
		if len(f.payload) >= 2 {
			code = binary.BigEndian.Uint16(f.payload)
		}
		return closedError(code)
	}
	if s.done < len(s.steps) && bytes.Contains(f.payload, []byte(s.steps[s.done].expect)) {
		return c.step(s)
	}
	n, at, rest, ok := nextItem(f.payload)
	if !ok {
		answer, err := s.protocol.pong(f.payload)
		if err != nil || answer == nil {
			return err
		}
		return s.write(answer)
	}
	for ; ok && !s.stalls; n, at, rest, ok = nextItem(rest) {
		if err := c.count(s, n, time.Unix(0, int64(at)), now); err != nil {
			return err
		}
	}
	return nil
}

// count counts an item of a subscriber.
func (c *crowd) count(s *socket, n int64, published, now time.Time) error {
	a := &c.answered
	if n < s.next || (n-s.next < 64 && s.ahead&(1<<(n-s.next)) != 0) {
		a.Repeated++
		return nil
	}
	if far := n - s.next; far >= 64 { // what is missing by then does not come
		a.Missed += far - int64(bits.OnesCount64(s.ahead))
		s.next, s.ahead = n, 0
	}
	s.ahead |= 1 << (n - s.next)
	for s.ahead&1 != 0 {
		s.ahead >>= 1
		s.next++
	}
	if n < c.received || n-c.received >= underWay {
		return fmt.Errorf("got item %d, want %d", n, c.received)
	}
	if a.Items == 0 || published.Before(a.Since) {
		a.Since = published
	}
	a.Items++
	a.Last = now
	c.times.add(now.Sub(published))
	c.got[n%underWay]++
	for c.reading > 0 && c.got[c.received%underWay] == int32(min(c.reading, math.MaxInt32)) {
		c.got[c.received%underWay] = 0
		c.received++
	}
	return nil
}
