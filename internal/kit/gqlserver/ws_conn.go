package gqlserver

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// Close codes, in addition to 1009 (message too large), 1012 (server restart or old socket) and
// 1013 (authentication unavailable).
//
// They determine whether clients reconnect. The client graphql-ws retries after 1006, 1012,
// 1013, 4403, 4408 and codes that its protocol does not define. All other codes of the server are
// fatal. It never sends 1011, or 1000, after which clients reconnect forever without a pause.
//
// A client that exceeds the message rate gets 1008 (policy violation, RFC 6455). It is fatal, so
// the client does not reconnect, and unlike 4400 it does not suggest a malformed message.
const (
	statusAbnormal        = 1006 // not sent; the connection was lost or dropped
	statusBadMessage      = 4400
	statusUnauthorized    = 4401
	statusForbidden       = 4403
	statusNoSubprotocol   = 4406
	statusInitTimeout     = 4408
	statusDuplicateID     = 4409
	statusSecondInit      = 4429
	statusSlowConsumer    = 4512   // custom; the client does not read its messages
	statusReplaced        = 4513   // custom; the user opened newer sockets
	statusOther           = 0xffff // only in metrics; codes made up by clients
	statusTooManyMessages = websocket.StatusPolicyViolation
)

// closeCodes returns all codes of the metrics, except those that clients make up.
func closeCodes() []websocket.StatusCode {
	return []websocket.StatusCode{
		websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd, // sent by clients
		statusAbnormal, statusTooManyMessages, websocket.StatusMessageTooBig, websocket.StatusServiceRestart, websocket.StatusTryAgainLater,
		statusBadMessage, statusUnauthorized, statusForbidden, statusNoSubprotocol, statusInitTimeout, statusDuplicateID, statusSecondInit,
		statusSlowConsumer, statusReplaced,
	}
}

// A wsConn is one WebSocket connection. It has a goroutine to read, and others while an operation
// runs without a source, a timer fires or queued data is written.
type wsConn struct {
	sockets  *wsServer
	server   *Server
	conn     *websocket.Conn
	netConn  net.Conn      // below conn
	out      wsWriter      // to netConn
	messages *rate.Limiter // nil for no limit
	header   string        // the Authorization header of the upgrade

	ctx    context.Context // of all operations; ends with the socket
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines in addition to the reader

	lastSeen atomic.Int64 // time of the last frame, in Unix nanoseconds
	reading  bool         // a message is being read; owned by the reader

	drainCount atomic.Uint64 // number of calls of drained

	releaseAddress, releaseUser, releaseSession func() // owned by the reader and goroutines that it waits for

	mu         sync.Mutex
	code       websocket.StatusCode // close code; 0 while the socket is open
	state      socketState
	caller     caller
	token      string
	operations map[string]*wsOperation // those that the client waits for, by id
	busy       int                     // goroutines of operations
	timer      *time.Timer             // runs tick
	due        schedule
}

type socketState int

const (
	waitingForInit socketState = iota
	expired                    // connection_init came too late
	authenticating
	ready
)

// serve runs the socket until it ends, and waits for its goroutines.
func (c *wsConn) serve() {
	defer c.releaseAddress()
	c.lastSeen.Store(time.Now().UnixNano())
	c.startTimers()
	if c.conn.Subprotocol() == "" {
		c.end(statusNoSubprotocol, "the subprotocol must be "+subprotocol)
	}
	c.guard(c.read)
	c.disconnect(statusAbnormal) // unless it has ended
	c.out.drop()
	for _, m := range c.subscribers(true) {
		m.close()
	}
	c.work.Wait()
	_ = c.conn.CloseNow() // frees the buffers of Conn; the connection is closed
	if c.releaseUser != nil {
		c.releaseUser()
	}
	if c.releaseSession != nil {
		c.releaseSession()
	}
}

// read handles messages until the connection is closed. A socket that has ended waits here for
// the client's part of the close handshake.
func (c *wsConn) read() {
	for {
		kind, reader, err := c.conn.Reader(context.Background()) // ends with the connection
		var text []byte
		if err == nil && !c.ended() {
			text, err = c.readMessage(reader)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, reader) // of a message that is too large or unwanted
		}
		switch {
		case err != nil:
			c.disconnect(clientCode(err))
			return
		case c.ended(), !c.countMessage():
		case kind != websocket.MessageText:
			c.reject(messageInvalid, statusBadMessage, "messages must be text")
		default:
			c.runIsolated(func() { c.handle(text) })
		}
	}
}

// runIsolated runs f on a new goroutine and waits for it. Otherwise, deep calls of f would
// enlarge the stack of the reader for good. A panic of f ends the socket.
func (c *wsConn) runIsolated(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c.guard(f) {
			c.disconnect(statusAbnormal)
		}
	}()
	<-done
}

// readMessage reads a message up to the limit. A longer one ends the socket.
func (c *wsConn) readMessage(message io.Reader) ([]byte, error) {
	c.reading = true
	defer func() { c.reading = false }()
	limit := c.server.cfg.Limits.Message
	if limit >= 0 {
		message = io.LimitReader(message, int64(limit)+1)
	}
	text, err := io.ReadAll(message)
	if err == nil && errcode.Exceeds(len(text), limit) {
		c.reject(messageTooLarge, websocket.StatusMessageTooBig, "the message is too large")
	}
	return text, err //nolint:wrapcheck // only its close code matters
}

// clientCode returns the close code of a client for the metrics.
func clientCode(err error) websocket.StatusCode {
	switch code := websocket.CloseStatus(err); code {
	case -1:
		return statusAbnormal
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return code
	default:
		return statusOther
	}
}

// controlFrame handles a ping or pong frame on the reader. It reports whether a ping needs a
// pong.
func (c *wsConn) controlFrame() bool {
	if c.ended() {
		return false
	}
	if c.reading { // an endless message is no sign of life
		return c.allowMessage()
	}
	return c.countMessage()
}

// countMessage stores the time of a frame and counts it.
func (c *wsConn) countMessage() bool {
	c.lastSeen.Store(time.Now().UnixNano())
	return c.allowMessage()
}

func (c *wsConn) allowMessage() bool {
	if c.messages != nil && !c.messages.Allow() {
		c.reject(messageTooOften, statusTooManyMessages, "too many messages")
		return false
	}
	return true
}

func (c *wsConn) handle(text []byte) {
	m, err := parseMessage(text)
	if err != nil {
		c.reject(messageInvalid, statusBadMessage, err.Error())
		return
	}
	switch m.kind {
	case messagePing:
		c.write(c.ctx, encodeMessage(messagePong, "", m.payload))
	case messageInit:
		c.init(m)
	case messageSubscribe:
		c.subscribe(m)
	case messageComplete:
		c.complete(m.id)
	}
}

// write sends a message and reports whether it was written. A client that is too slow is
// disconnected. The end of ctx does not interrupt it.
func (c *wsConn) write(ctx context.Context, message []byte) bool { return c.out.send(ctx, message) }

func (c *wsConn) reject(reason string, code websocket.StatusCode, text string) {
	c.sockets.metrics.refused[reason].Inc()
	c.end(code, text)
}

// end closes the socket with a code, unless it has ended. It does not wait. Queued messages and
// the client's part of the close handshake have Limits.WriteTime together. A slow consumer,
// which already used that time, has half of it.
func (c *wsConn) end(code websocket.StatusCode, reason string) {
	if !c.finish(code) {
		return
	}
	limit := closeTime
	if l := c.server.cfg.Limits.WriteTime; l >= 0 {
		limit = l
	}
	if code == statusSlowConsumer {
		limit /= 2
	}
	by := time.Now().Add(limit)
	c.out.end(encodeCloseFrame(code, reason), by)
	_ = c.netConn.SetReadDeadline(by) // last deadline of the reader; the connection may be closed
}

// closeTime bounds the close handshake of sockets without a WriteTime.
const closeTime = 5 * time.Second

// disconnect drops the connection without a close frame, unless the socket has ended.
func (c *wsConn) disconnect(code websocket.StatusCode) {
	if c.finish(code) {
		c.out.drop()
	}
}

// finish stops all operations of the socket. It returns false if it was called before.
func (c *wsConn) finish(code websocket.StatusCode) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code != 0 {
		return false
	}
	c.code = code
	c.out.seal() // else clients would receive errors of the cancelled operations
	c.cancel()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.sockets.metrics.closed(code)
	return true
}

func (c *wsConn) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code != 0
}

// addWork delays the end of serve until work.Done. It returns false if the socket has ended.
func (c *wsConn) addWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code != 0 {
		return false
	}
	c.work.Add(1)
	return true
}

// guard runs f. It logs and reports a panic.
func (c *wsConn) guard(f func()) (panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			_ = c.server.recovered(c.ctx, p) // the error carries no details
			panicked = true
		}
	}()
	f()
	return false
}
