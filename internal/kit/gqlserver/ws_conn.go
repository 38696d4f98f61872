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

// Codes that sockets close with, beside 1009 (a message too large), 1012 (the
// server restarts, or the socket is old) and 1013 (nobody can say now who asks).
// They decide what clients do: the client graphql-ws comes again after 1006,
// 1012, 1013 and those of ours that its protocol does not know, 4403 and 4408
// too, but takes all others for fatal. Never sent are 1000, after which it comes
// again at once and for ever, and 1011.
//
// Too many messages are 1008 (policy violation), for which RFC 6455 has this
// meaning: fatal to graphql-ws, because who floods must not come again by
// itself; and unlike 4400 it does not look like a client that speaks wrongly.
const (
	statusAbnormal        = 1006 // not sent: the connection was lost or dropped
	statusBadMessage      = 4400
	statusUnauthorized    = 4401
	statusForbidden       = 4403
	statusNoSubprotocol   = 4406
	statusInitTimeout     = 4408
	statusDuplicateID     = 4409
	statusSecondInit      = 4429
	statusSlowConsumer    = 4512   // ours: it does not read what it asked for
	statusReplaced        = 4513   // ours: the user has newer sockets
	statusOther           = 0xffff // for metrics: a client made it up
	statusTooManyMessages = websocket.StatusPolicyViolation
)

// closeCodes are all that a socket can end with, but for those that clients
// make up.
func closeCodes() []websocket.StatusCode {
	return []websocket.StatusCode{
		websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd, // of clients
		statusAbnormal, statusTooManyMessages, websocket.StatusMessageTooBig, websocket.StatusServiceRestart, websocket.StatusTryAgainLater,
		statusBadMessage, statusUnauthorized, statusForbidden, statusNoSubprotocol, statusInitTimeout, statusDuplicateID, statusSecondInit,
		statusSlowConsumer, statusReplaced,
	}
}

// A wsConn is one connection. One goroutine reads, each operation has one, and
// timers have one as long as they are at work.
type wsConn struct {
	sockets  *wsServer
	server   *Server
	conn     *websocket.Conn
	netConn  net.Conn      // below conn
	out      wsWriter      // to netConn
	messages *rate.Limiter // nil for no limit
	header   string        // the Authorization of the upgrade

	ctx    context.Context // of all operations; ends when the socket does
	cancel context.CancelFunc
	work   sync.WaitGroup // what runs beside the reader

	lastSeen atomic.Int64 // when something last came, in Unix nanoseconds
	reading  bool         // a message is being read; the reader's own

	drainCount atomic.Uint64 // how often members were told that all was written

	releaseAddress, releaseUser, releaseSession func() // the reader's own, and of what it waits for

	mu         sync.Mutex
	code       websocket.StatusCode // that it ended with; 0 while it lives
	state      socketState
	caller     caller
	token      string
	operations map[string]*wsOperation // those whose client waits for more, by id
	busy       int                     // goroutines of tasks
	timer      *time.Timer             // runs tick
	due        schedule
}

type socketState int

const (
	waitingForInit socketState = iota
	expired                    // waited too long
	authenticating
	ready
)

// serve runs the socket until it ends and nothing of it runs any more.
func (c *wsConn) serve() {
	defer c.releaseAddress()
	c.lastSeen.Store(time.Now().UnixNano())
	c.startTimers()
	if c.conn.Subprotocol() == "" {
		c.end(statusNoSubprotocol, "the only sub-protocol is "+subprotocol)
	}
	c.guard(c.read)
	c.disconnect(statusAbnormal) // unless it has ended
	c.out.drop()
	for _, m := range c.subscribers(true) {
		m.close()
	}
	c.work.Wait()
	_ = c.conn.CloseNow() // frees what Conn holds; the connection is closed
	if c.releaseUser != nil {
		c.releaseUser()
	}
	if c.releaseSession != nil {
		c.releaseSession()
	}
}

// read handles messages until the connection is closed. When the socket has ended, that
// is by the client's part of the close handshake, or because it does not come.
func (c *wsConn) read() {
	for {
		kind, reader, err := c.conn.Reader(context.Background()) // ends when the connection is closed
		var text []byte
		if err == nil && !c.ended() {
			text, err = c.readMessage(reader)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, reader) // of what is too large, or not wanted any more
		}
		switch {
		case err != nil:
			c.disconnect(clientCode(err))
			return
		case c.ended(), !c.countMessage():
		case kind != websocket.MessageText:
			c.reject(messageInvalid, statusBadMessage, "messages are text")
		default:
			c.runIsolated(func() { c.handle(text) })
		}
	}
}

// runIsolated runs f on a goroutine of its own and waits for it: what f does is deep, and the
// reader's stack would be as large ever after. A panic of f ends the socket.
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

// readMessage reads a message, as much of it as may be looked at. One that is longer ends
// the socket.
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
	return text, err //nolint:wrapcheck // the code that it tells is all that matters
}

// clientCode is the code that a client closed with, as a label.
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

// controlFrame is called for a ping or pong frame, by whoever reads. It returns
// false if nothing should be said to it.
func (c *wsConn) controlFrame() bool {
	if c.ended() {
		return false
	}
	if c.reading { // a message that never ends is no sign of life
		return c.allowMessage()
	}
	return c.countMessage()
}

// countMessage notes a sign of life, and counts it.
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

// handle does what one message wants.
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

// write sends a message, and reports whether it could. Who does not take it in time is
// disconnected. The end of ctx does not matter.
func (c *wsConn) write(ctx context.Context, message []byte) bool { return c.out.send(ctx, message) }

// reject ends the socket for something that its client should not have sent.
func (c *wsConn) reject(reason string, code websocket.StatusCode, text string) {
	c.sockets.metrics.refused[reason].Inc()
	c.end(code, text)
}

// end closes the socket with a code, unless it has ended. It does not wait: what is on
// its way has Limits.WriteTime to get out, and the client as long for its part of the
// close handshake, together. Who was too slow already has half of that.
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
	_ = c.netConn.SetReadDeadline(by) // the reader's last; or the connection is closed
}

// closeTime bounds the close handshake of sockets whose writes are not bounded.
const closeTime = 5 * time.Second

// disconnect drops the connection without another word, unless the socket has ended.
func (c *wsConn) disconnect(code websocket.StatusCode) {
	if c.finish(code) {
		c.out.drop()
	}
}

// finish ends what runs on the socket. It returns false if that was done before.
func (c *wsConn) finish(code websocket.StatusCode) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code != 0 {
		return false
	}
	c.code = code
	c.out.seal() // or the client would be told that its operations failed, as they do now
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

// addWork keeps the socket from being over until work.Done. It returns false if it
// has ended.
func (c *wsConn) addWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code != 0 {
		return false
	}
	c.work.Add(1)
	return true
}

// guard runs f. It logs a panic and reports it.
func (c *wsConn) guard(f func()) (panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			_ = c.server.recovered(c.ctx, p) // says only that there was one
			panicked = true
		}
	}()
	f()
	return false
}
