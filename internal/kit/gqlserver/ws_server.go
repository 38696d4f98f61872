package gqlserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"golang.org/x/time/rate"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// subprotocol is "GraphQL over WebSocket", see
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md.
const subprotocol = "graphql-transport-ws"

// retryUpgrade is the retry delay of a rejected upgrade.
const retryUpgrade = 5 * time.Second

func tooManyOpen() *gqlerror.Error {
	return errcode.RetryLater(errcode.RateLimited, "Too many open connections from this address.", retryUpgrade)
}

// wsServer is the WebSocket transport. It upgrades requests and holds all open sockets. It is
// safe for concurrent use.
type wsServer struct {
	server  *Server
	metrics *socketMetrics

	mu        sync.Mutex
	open      map[*wsConn]struct{}
	active    int // open sockets and upgrades in progress
	draining  bool
	gcAt      int           // number of open sockets that starts a garbage collection
	gcRunning atomic.Bool   // a collection runs
	idle      chan struct{} // closed when all have ended after draining began
}

func newWSServer(d *Server) *wsServer {
	return &wsServer{
		server:  d,
		metrics: newSocketMetrics(d.cfg.Registerer),
		open:    map[*wsConn]struct{}{},
		gcAt:    minGCStep,
		idle:    make(chan struct{}),
	}
}

// Do serves a WebSocket request, even one that cannot be upgraded. It returns after the upgrade,
// so a socket retains neither the request nor the goroutine of net/http.
func (s *wsServer) Do(w http.ResponseWriter, r *http.Request) {
	if !s.acquire() {
		s.server.refuse(w, r, http.StatusServiceUnavailable, errcode.RetryLater(errcode.Unavailable, "The server is stopping.", retryUpgrade))
		return
	}
	var c *wsConn
	defer func() {
		if c == nil {
			s.release()
		}
	}()
	if c = s.upgrade(w, r); c == nil {
		return
	}
	s.add(c)
	go func() {
		defer s.release()
		defer s.remove(c)
		c.serve()
	}()
}

// upgrade returns nil if it responded with an HTTP error.
func (s *wsServer) upgrade(w http.ResponseWriter, r *http.Request) *wsConn {
	if !s.server.originAllowed(r) {
		s.server.refuse(w, r, http.StatusForbidden, errcode.Errorf(errcode.CSRF, "Sockets from this page's origin are not allowed."))
		return nil
	}
	if status, err := checkHandshake(w, r); err != nil {
		s.server.refuse(w, r, status, err)
		return nil
	}
	if offered := r.Header.Values("Sec-WebSocket-Protocol"); len(offered) > 0 && !hasToken(offered, subprotocol) {
		s.server.refuse(w, r, http.StatusBadRequest, errcode.Errorf(errcode.BadRequest, "The subprotocol must be %s.", subprotocol))
		return nil
	}
	c := newWSConn(s, r)
	release, ok := s.server.perAddress.Acquire(c.caller.network)
	if !ok {
		s.server.refuse(w, r, http.StatusTooManyRequests, tooManyOpen())
		return nil
	}
	hijacking := &hijackWriter{w, c}
	conn, err := websocket.Accept(hijacking, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the origin is checked above
		OnPingReceived:     func(context.Context, []byte) bool { return c.controlFrame() },
		OnPongReceived:     func(context.Context, []byte) { c.controlFrame() },
	})
	if err != nil { // Accept has responded: the handshake was invalid
		release()
		return nil
	}
	conn.SetReadLimit(-1) // the socket has its own
	c.conn, c.releaseAddress = conn, release
	return c
}

// checkHandshake returns an error for an invalid handshake (RFC 6455, 4.2.1). The library checks
// the key.
func checkHandshake(w http.ResponseWriter, r *http.Request) (status int, err *gqlerror.Error) {
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		return http.StatusMethodNotAllowed, errcode.Errorf(errcode.MethodNotAllowed, "A WebSocket needs GET.")
	case !r.ProtoAtLeast(1, 1), !hasToken(r.Header.Values("Connection"), "upgrade"):
		return http.StatusBadRequest, errcode.Errorf(errcode.BadRequest, "A WebSocket needs HTTP/1.1 and Connection: Upgrade.")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		w.Header().Set("Sec-WebSocket-Version", "13")
		return http.StatusUpgradeRequired, errcode.Errorf(errcode.BadRequest, "The WebSocket version must be 13.")
	}
	return 0, nil
}

// Close ends all sockets with 1012 (service restart), in random order over the given time, and
// rejects new ones with 503. It returns when all have ended. If ctx ends first, it drops the
// rest and returns an error.
func (s *wsServer) Close(ctx context.Context, over time.Duration) error {
	left := s.drain()
	rand.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	pause := spread(over, len(left))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, c := range left {
		select {
		case <-timer.C:
			c.end(websocket.StatusServiceRestart, "the server restarts")
			timer.Reset(pause)
		case <-s.idle:
			return nil
		case <-ctx.Done():
			return s.drop(ctx)
		}
	}
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return s.drop(ctx)
	}
}

// drain rejects new sockets and returns the open ones. Upgrades in progress end in add.
func (s *wsServer) drain() []*wsConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.draining = true
		if s.active == 0 {
			close(s.idle)
		}
	}
	left := make([]*wsConn, 0, len(s.open))
	for c := range s.open {
		left = append(left, c)
	}
	return left
}

// drop closes the remaining connections without a close frame.
func (s *wsServer) drop(ctx context.Context) error {
	left := s.drain()
	for _, c := range left {
		c.disconnect(statusAbnormal)
		c.out.drop() // also during its close handshake
	}
	return fmt.Errorf("close sockets, %d left: %w", len(left), context.Cause(ctx))
}

// acquire counts an upgrade until release. It returns false during a shutdown.
func (s *wsServer) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.active++
	return true
}

func (s *wsServer) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if s.draining && s.active == 0 {
		close(s.idle)
	}
}

func (s *wsServer) add(c *wsConn) {
	s.metrics.open.Inc()
	s.mu.Lock()
	s.open[c] = struct{}{}
	draining := s.draining
	s.maybeGC()
	s.mu.Unlock()
	if draining {
		c.end(websocket.StatusServiceRestart, "the server restarts")
	}
}

// maybeGC runs a garbage collection when the sockets have grown by an eighth. A handshake and a
// subscription leave garbage between memory that the socket retains. By default, Go collects it
// only when it equals the memory in use, which doubles the cost of a socket. The caller holds mu.
func (s *wsServer) maybeGC() {
	if len(s.open) < s.gcAt {
		return
	}
	s.gcAt = len(s.open) + max(len(s.open)/8, minGCStep)
	if s.gcRunning.CompareAndSwap(false, true) {
		go func() {
			defer s.gcRunning.Store(false)
			runtime.GC()
		}()
	}
}

// minGCStep is the minimum number of new sockets between two collections.
const minGCStep = 250

// lowerGCThreshold makes the next collection come sooner after sockets have closed. The caller
// holds mu.
func (s *wsServer) lowerGCThreshold() { s.gcAt = min(s.gcAt, 2*len(s.open)+minGCStep) }

func (s *wsServer) remove(c *wsConn) {
	s.metrics.open.Dec()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	s.lowerGCThreshold()
}

// newWSConn returns a socket before its upgrade.
func newWSConn(s *wsServer, r *http.Request) *wsConn {
	ctx, cancel := context.WithCancel(s.server.socketContext(r.Context()))
	c := &wsConn{
		sockets:    s,
		server:     s.server,
		ctx:        ctx,
		cancel:     cancel,
		caller:     callerOf(r.Context()),
		header:     r.Header.Get("Authorization"),
		operations: map[string]*wsOperation{},
	}
	if n := s.server.cfg.Limits.MessageRate; n >= 0 {
		c.messages = rate.NewLimiter(rate.Limit(n), 2*n)
	}
	return c
}

// socketContext returns the context of a socket. It does not derive from the request's context,
// which retains the request.
func (d *Server) socketContext(from context.Context) context.Context {
	if d.cfg.CopyContext == nil {
		return context.Background()
	}
	return d.cfg.CopyContext(from, context.Background())
}

// hasToken reports whether comma-separated lists contain a word, in any case.
func hasToken(lists []string, token string) bool {
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

// A hijackWriter hijacks a connection for a socket. [websocket.Conn] gets a connection that
// writes through the socket's writer.
type hijackWriter struct {
	http.ResponseWriter
	socket *wsConn
}

func (w *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.socket.netConn = conn
	w.socket.out.open(w.socket, conn)
	early, _ := buffers.Peek(buffers.Reader.Buffered()) // cannot fail
	through := &controlConn{conn, &w.socket.out, bytes.Clone(early)}
	return through, bufio.NewReadWriter(bufio.NewReaderSize(through, readBuffer), bufio.NewWriterSize(through, frameHeader+maxControl)), nil
}

// readBuffer is the size in bytes of the buffer for small messages. A socket retains it, so it
// is small.
const readBuffer = 256
