package livetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A sieve stands before a Redis. It lets everything pass, but for what subscribers are
// told: of that it can lose some, hold it back, or end the connections. It is safe for
// concurrent use.
type sieve struct {
	listener net.Listener
	upstream string
	lose     atomic.Int64 // of a thousand messages
	told     atomic.Int64 // messages that came to subscribers
	lost     atomic.Int64 // and those that did not

	all         sync.WaitGroup
	mu          sync.Mutex
	closed      bool
	conns       map[net.Conn]bool // both ends of all
	subscribers map[net.Conn]bool // the servers' ends
	held        chan struct{}     // closed when messages go on; nil if nothing holds them
}

// openSieve opens one before the Redis at an address.
func openSieve(ctx context.Context, upstream string) (*sieve, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a sieve: %w", err)
	}
	s := &sieve{listener: listener, upstream: upstream, conns: map[net.Conn]bool{}, subscribers: map[net.Conn]bool{}}
	s.all.Go(s.serve)
	return s, nil
}

func (s *sieve) addr() string { return s.listener.Addr().String() }

// close ends it and all connections.
func (s *sieve) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.goOn()
	s.all.Wait()
}

// cut ends the connections of subscribers.
func (s *sieve) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.subscribers {
		_ = conn.Close()
	}
}

// hold keeps back what subscribers are told until goOn.
func (s *sieve) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil && !s.closed {
		s.held = make(chan struct{})
	}
}

func (s *sieve) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

func (s *sieve) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.all.Go(func() { s.carry(conn) })
	}
}

// enter notes a connection; false if the sieve is closed.
func (s *sieve) enter(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.conns[conn] = true
	return true
}

func (s *sieve) leave(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
	delete(s.subscribers, conn)
}

const dialPatience = time.Second

// carry carries one connection. When one side ends, so does the other.
func (s *sieve) carry(server net.Conn) {
	if !s.enter(server) {
		return
	}
	defer s.leave(server)
	redis, err := net.DialTimeout("tcp", s.upstream, dialPatience) //nolint:noctx // it is soon over
	if err != nil || !s.enter(redis) {
		return
	}
	defer s.leave(redis)
	var subscribed atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		defer func() { _, _ = server.Close(), redis.Close() }()
		buf := make([]byte, 32<<10)
		for {
			n, err := server.Read(buf)
			if !subscribed.Load() && subscribes(buf[:n]) {
				// The server has read all answers to what it asked before it subscribes.
				subscribed.Store(true)
				s.mu.Lock()
				s.subscribers[server] = true
				s.mu.Unlock()
			}
			if _, writeErr := redis.Write(buf[:n]); err != nil || writeErr != nil {
				return
			}
		}
	})
	s.answers(server, redis, &subscribed)
	_, _ = server.Close(), redis.Close()
	both.Wait()
}

// subscribes says whether commands have one that subscribes: no key and no value of the
// servers looks like that.
func subscribes(commands []byte) bool {
	lower := bytes.ToLower(commands)
	for _, name := range []string{"subscribe", "ssubscribe", "psubscribe"} {
		if bytes.Contains(lower, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(name), name)) {
			return true
		}
	}
	return false
}

// answers carries what Redis says: as it comes, and from a subscription on in whole replies.
func (s *sieve) answers(server, redis net.Conn, subscribed *atomic.Bool) {
	from := bufio.NewReaderSize(redis, 32<<10)
	var reply []byte
	for {
		if _, err := from.Peek(1); err != nil {
			return
		}
		var err error
		whole := subscribed.Load()
		if whole {
			reply, err = appendReply(reply[:0], from)
		} else {
			reply = append(reply[:0], make([]byte, from.Buffered())...)
			_, err = io.ReadFull(from, reply)
		}
		if err != nil {
			return
		}
		if whole && isMessage(reply) && s.loses() {
			continue
		}
		if _, err := server.Write(reply); err != nil {
			return
		}
	}
}

// loses says whether the next message is lost, after it was held back.
func (s *sieve) loses() bool {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		<-held
	}
	if rand.Int64N(1000) < s.lose.Load() { //nolint:gosec // no secret
		s.lost.Add(1)
		return true
	}
	s.told.Add(1)
	return false
}

// isMessage says whether a reply is what somebody published.
func isMessage(reply []byte) bool {
	if len(reply) == 0 || (reply[0] != '>' && reply[0] != '*') {
		return false
	}
	_, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	for _, name := range []string{"message", "smessage", "pmessage"} {
		if bytes.HasPrefix(rest, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(name), name)) {
			return true
		}
	}
	return false
}

var errNoReply = errors.New("this is no reply of Redis")

// appendReply reads one whole reply, of RESP2 or RESP3.
func appendReply(to []byte, from *bufio.Reader) ([]byte, error) {
	head, err := from.ReadBytes('\n')
	if err != nil {
		return to, err
	}
	to = append(to, head...)
	if len(head) < 3 {
		return to, errNoReply
	}
	n := 0
	switch head[0] {
	case '$', '!', '=', '*', '~', '>', '%', '|':
		if n, err = strconv.Atoi(string(head[1 : len(head)-2])); err != nil {
			return to, fmt.Errorf("%w: %w", errNoReply, err)
		}
	}
	switch head[0] {
	case '$', '!', '=':
		if n < 0 {
			return to, nil
		}
		body := len(to)
		to = append(to, make([]byte, n+2)...)
		_, err := io.ReadFull(from, to[body:])
		return to, err
	case '%':
		n *= 2
	case '|': // and the reply that it is about
		n = 2*n + 1
	}
	for range n {
		if to, err = appendReply(to, from); err != nil {
			return to, err
		}
	}
	return to, nil
}
