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

// init is connection_init: it finds out who asks.
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

// advance goes on to a state if the socket is in the one before, and returns
// the one in which it was.
func (c *wsConn) advance(from, to socketState) (was socketState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was = c.state
	if was == from {
		c.state = to
	}
	return was
}

// authenticate finds out who has a token. The header of the upgrade is read if the
// message has none. Another scheme than Bearer may be meant for a proxy there.
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

// reauthenticate finds out whether the session still is, before each operation. If it may not
// be asked now, that is a refusal; else see confirm.
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

// checkSession finds out whether the session of a token still is that of who is known, and
// closes the socket if not: then ok is false. If it cannot be found out, whoever asks is
// as unknown as in a request.
func (c *wsConn) checkSession(ctx context.Context, known caller, token string) (current caller, refused *gqlerror.Error, ok bool) {
	current, _ = c.server.lookUpToken(ctx, known, token)
	switch {
	case ctx.Err() != nil: // nobody waits for the answer, which may be that of the end
		return known, nil, false
	case current.admission.BadToken, !current.admission.Unavailable && current.admission.User != known.admission.User:
		c.end(statusForbidden, "the session has ended")
		return known, nil, false
	case current.admission.Unavailable && current.admission.WithContext == nil: // Config.Authenticate cannot even say that
		return known, errcode.RetryLater(errcode.Unavailable, "Who you are cannot be found out at the moment.", time.Second), true
	case current.admission.Unavailable:
		known.admission.WithContext = current.admission.WithContext
		return known, nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller = current
	return current, nil, true
}

// A schedule says when a timer has to do what. Zero is never.
type schedule struct{ init, ping, recheck, age time.Time }

// startTimers runs tick when something is due.
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

// after is the time about d from now, or never if d is no time.
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

// tick does what is due, and waits for what is due next. There is one at a time.
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
		c.end(websocket.StatusServiceRestart, "it is time for a new connection")
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

// silenceDeadline is when a client that sends nothing any more is given up.
func (c *wsConn) silenceDeadline() time.Time {
	ping := c.server.cfg.Limits.Ping
	if ping <= 0 {
		return time.Time{}
	}
	return time.Unix(0, c.lastSeen.Load()).Add(2 * ping)
}

// untilTick is how long nothing is due.
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

// recheck looks whether the session still is, however often that is asked: it is the
// server's own wish.
func (c *wsConn) recheck() {
	c.mu.Lock()
	known, token, signedIn := c.caller, c.token, c.state == ready
	c.mu.Unlock()
	if signedIn && token != "" {
		_, _, _ = c.checkSession(c.ctx, known, token) // it has closed the socket, if need be
	}
}

// ping sends a ping frame, which browsers answer by themselves. The pong, or anything
// else, is noted where it is read.
func (c *wsConn) ping() { c.out.control([]byte{pingFrame, 0}) }
