package gqlserver

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// init handles connection_init and authenticates the client.
func (c *wsConn) init(m message) {
	switch c.advance(waitingForInit, authenticating) {
	case waitingForInit:
	case expired: // and about to end
		return
	default:
		c.reject(messageInvalid, statusSecondInit, "too many initialisation requests")
		return
	}
	token, err := m.credentials()
	switch {
	case errors.Is(err, errCredentials):
		c.reject(messageInvalid, statusUnauthorized, "unauthorized")
		return
	case err != nil:
		c.reject(messageInvalid, statusBadMessage, err.Error())
		return
	}
	current := c.authenticate(token).admission
	switch {
	case current.BadToken:
		c.reject(messageInvalid, statusUnauthorized, "unauthorized")
		return
	case current.Unavailable:
		c.end(websocket.StatusTryAgainLater, "try again later")
		return
	case current.User != "":
		c.releaseUser = c.server.perUser.Acquire(current.User, func() { c.end(statusReplaced, "replaced") })
	}
	c.releaseSession = c.server.sessions.add(current.Session, c)
	c.write(c.ctx, encodeMessage(messageAck, "", nil))
}

// advance is a compare-and-swap of the state. It returns the state before the call.
func (c *wsConn) advance(from, to socketState) (was socketState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was = c.state
	if was == from {
		c.state = to
	}
	return was
}

// authenticate authenticates a token, or that in the header of the upgrade if token is empty. A
// header with a scheme other than Bearer may be meant for a proxy.
func (c *wsConn) authenticate(token string) caller {
	current := c.caller
	token = cmp.Or(token, bearer(c.header))
	if token != "" {
		current.admission = AuthResult{Unavailable: true}
		if _, ok := c.server.allowLookup(current); ok {
			current, _ = c.server.lookUpToken(c.ctx, current, token)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller, c.token, c.state = current, token, ready
	return current
}

// reauthenticate verifies the session before an operation. If lookups are limited, it returns an
// error to send. Otherwise, it returns the result of checkSession.
func (c *wsConn) reauthenticate(ctx context.Context) (current caller, refused *gqlerror.Error, ok bool) {
	c.mu.Lock()
	known, token := c.caller, c.token
	c.mu.Unlock()
	if token == "" {
		return known, nil, true
	}
	if wait, ok := c.server.allowLookup(known); !ok {
		return known, tooMany(wait), true
	}
	return c.checkSession(ctx, known, token)
}

// checkSession verifies that a token still belongs to the known caller. If not, it closes the
// socket and returns false for ok. If authentication is unavailable, the caller keeps its limits
// and runs with the context that Authenticate returns.
func (c *wsConn) checkSession(ctx context.Context, known caller, token string) (current caller, refused *gqlerror.Error, ok bool) {
	current, _ = c.server.lookUpToken(ctx, known, token)
	switch {
	case ctx.Err() != nil: // the operation was cancelled; the result may be due to that
		return known, nil, false
	case current.admission.BadToken, !current.admission.Unavailable && current.admission.User != known.admission.User:
		c.end(statusForbidden, "the session has ended")
		return known, nil, false
	case current.admission.Unavailable && current.admission.WithContext == nil: // Authenticate returned nothing to run with
		return known, errcode.RetryLater(errcode.Unavailable, "Cannot verify your session. Try again.", time.Second), true
	case current.admission.Unavailable:
		known.admission.WithContext = current.admission.WithContext
		return known, nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller = current
	return current, nil, true
}

// A schedule holds the times of timers. Zero means never.
type schedule struct{ init, ping, recheck, age time.Time }

// startTimers calls tick when something is due.
func (c *wsConn) startTimers() {
	l, now := &c.server.cfg.Limits, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code != 0 {
		return
	}
	c.due = schedule{ping: after(now, l.Ping), recheck: after(now, l.Recheck), age: after(now, l.SocketAge)}
	if l.InitTime >= 0 {
		c.due.init = now.Add(l.InitTime)
	}
	c.timer = time.AfterFunc(c.untilTick(), c.tick)
}

// after returns now plus a jittered d, or the zero time unless d is positive.
func after(now time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return now.Add(clock.Jitter(d))
}

// initTimeout ends a socket that did not send connection_init.
func (c *wsConn) initTimeout() {
	if c.advance(waitingForInit, expired) == waitingForInit {
		c.end(statusInitTimeout, "connection initialisation timeout")
	}
}

// tick handles one due timer and waits for the next. There is one tick at a time.
func (c *wsConn) tick() {
	if !c.addWork() {
		return
	}
	defer c.work.Done()
	now, l := time.Now(), &c.server.cfg.Limits
	switch {
	case isDue(c.due.init, now):
		c.initTimeout()
		c.due.init = time.Time{}
	case isDue(c.due.age, now):
		c.end(websocket.StatusServiceRestart, "the connection is too old")
		return
	case isDue(c.silenceDeadline(), now):
		c.disconnect(statusAbnormal)
		return
	case isDue(c.due.recheck, now):
		c.recheck()
		c.due.recheck = after(now, l.Recheck)
	case isDue(c.due.ping, now):
		c.ping()
		c.due.ping = after(now, l.Ping)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == 0 {
		c.timer.Reset(c.untilTick())
	}
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// silenceDeadline returns the time at which a silent client is dropped.
func (c *wsConn) silenceDeadline() time.Time {
	ping := c.server.cfg.Limits.Ping
	if ping <= 0 {
		return time.Time{}
	}
	return time.Unix(0, c.lastSeen.Load()).Add(2 * ping)
}

func (c *wsConn) untilTick() time.Duration {
	wait := never
	for _, at := range []time.Time{c.due.init, c.due.ping, c.due.recheck, c.due.age, c.silenceDeadline()} {
		if !at.IsZero() {
			wait = min(wait, time.Until(at))
		}
	}
	return wait
}

const never = time.Duration(1 << 62)

// recheckSession implements [sessionConn].
func (c *wsConn) recheckSession() {
	if c.addWork() {
		defer c.work.Done()
		c.recheck()
	}
}

// recheck verifies the session. The server initiates it, so lookup limits do not apply.
func (c *wsConn) recheck() {
	c.mu.Lock()
	known, token, signedIn := c.caller, c.token, c.state == ready
	c.mu.Unlock()
	if signedIn && token != "" {
		_, _, _ = c.checkSession(c.ctx, known, token) // it closes the socket if needed
	}
}

// ping sends a ping frame. Browsers respond by themselves, and the reader notes the pong.
func (c *wsConn) ping() { c.out.control([]byte{pingFrame, 0}) }
