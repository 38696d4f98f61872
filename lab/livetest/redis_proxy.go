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

// redisProxy forwards connections to a Redis. It can drop or delay messages to subscribers, or
// end their connections; everything else passes. It is safe for concurrent use.
type redisProxy struct {
	listener     net.Listener
	upstream     string
	lossPerMille atomic.Int64 // dropped messages per thousand
	delivered    atomic.Int64 // messages to subscribers
	dropped      atomic.Int64 // dropped messages

	all         sync.WaitGroup
	mu          sync.Mutex
	closed      bool
	conns       map[net.Conn]bool // both ends of all
	subscribers map[net.Conn]bool // the servers' ends
	paused      chan struct{}     // closed when messages continue; nil if they are not paused
}

// openRedisProxy opens a proxy in front of a Redis.
func openRedisProxy(ctx context.Context, upstream string) (*redisProxy, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open Redis proxy: %w", err)
	}
	s := &redisProxy{listener: listener, upstream: upstream, conns: map[net.Conn]bool{}, subscribers: map[net.Conn]bool{}}
	s.all.Go(s.serve)
	return s, nil
}

func (s *redisProxy) addr() string { return s.listener.Addr().String() }

// close closes the proxy and all connections.
func (s *redisProxy) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.resume()
	s.all.Wait()
}

// cut ends the connections of subscribers.
func (s *redisProxy) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.subscribers {
		_ = conn.Close()
	}
}

// pause delays the messages of subscribers until resume.
func (s *redisProxy) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == nil && !s.closed {
		s.paused = make(chan struct{})
	}
}

func (s *redisProxy) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != nil {
		close(s.paused)
		s.paused = nil
	}
}

func (s *redisProxy) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.all.Go(func() { s.forward(conn) })
	}
}

// register adds a connection. It returns false if the proxy is closed.
func (s *redisProxy) register(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.conns[conn] = true
	return true
}

func (s *redisProxy) unregister(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
	delete(s.subscribers, conn)
}

const dialTimeout = time.Second

// forward forwards one connection until either side ends.
func (s *redisProxy) forward(server net.Conn) {
	if !s.register(server) {
		return
	}
	defer s.unregister(server)
	redis, err := net.DialTimeout("tcp", s.upstream, dialTimeout) //nolint:noctx // it ends soon
	if err != nil || !s.register(redis) {
		return
	}
	defer s.unregister(redis)
	var subscribed atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		defer func() { _, _ = server.Close(), redis.Close() }()
		buf := make([]byte, 32<<10)
		for {
			n, err := server.Read(buf)
			if !subscribed.Load() && subscribes(buf[:n]) {
				// A server reads all earlier replies before it subscribes.
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
	s.forwardReplies(server, redis, &subscribed)
	_, _ = server.Close(), redis.Close()
	both.Wait()
}

// subscribes reports whether commands contain a subscription. No key or value of the servers
// looks like one.
func subscribes(commands []byte) bool {
	lower := bytes.ToLower(commands)
	for _, name := range []string{"subscribe", "ssubscribe", "psubscribe"} {
		if bytes.Contains(lower, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(name), name)) {
			return true
		}
	}
	return false
}

// forwardReplies forwards the replies of Redis, after a subscription only whole replies.
func (s *redisProxy) forwardReplies(server, redis net.Conn, subscribed *atomic.Bool) {
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
		if whole && isMessage(reply) && s.drop() {
			continue
		}
		if _, err := server.Write(reply); err != nil {
			return
		}
	}
}

// drop waits while messages are paused, and reports whether to drop the next one.
func (s *redisProxy) drop() bool {
	s.mu.Lock()
	held := s.paused
	s.mu.Unlock()
	if held != nil {
		<-held
	}
	if rand.Int64N(1000) < s.lossPerMille.Load() { //nolint:gosec // no secret
		s.dropped.Add(1)
		return true
	}
	s.delivered.Add(1)
	return false
}

// isMessage reports whether a reply is a published message.
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

var errNoReply = errors.New("invalid Redis reply")

// appendReply reads one whole reply of RESP2 or RESP3.
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
	case '|': // and the reply that follows the attribute
		n = 2*n + 1
	}
	for range n {
		if to, err = appendReply(to, from); err != nil {
			return to, err
		}
	}
	return to, nil
}
