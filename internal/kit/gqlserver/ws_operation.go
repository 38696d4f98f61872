package gqlserver

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// A wsOperation is an operation of a socket, from "subscribe" on.
type wsOperation struct {
	id         string
	payload    []byte
	params     *graphql.RawParams
	cancel     context.CancelFunc
	subscriber *subscriber // that goes on without a goroutine, nil before
	counted    bool        // among the operations
}

// subscribe starts a task. What is checked here costs little; the rest has a
// goroutine of its own.
func (c *wsConn) subscribe(m message) {
	params, err := m.params(c.server.interner)
	if err != nil {
		c.reject(messageInvalid, statusBadMessage, err.Error())
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	t := &wsOperation{id: m.id, payload: m.payload, params: params, cancel: cancel}
	switch c.insert(t) {
	case started:
		go c.run(ctx, t)
		return
	case notReady:
		c.reject(messageInvalid, statusUnauthorized, "unauthorized")
	case duplicate:
		c.reject(messageInvalid, statusDuplicateID, "there is an operation with this id already")
	case tooManyOperations:
		c.sockets.metrics.refused[messageTooMany].Inc()
		c.writeErrors(ctx, t.id, gqlerror.List{errcode.Errorf(errcode.RateLimited, "There may be %d operations at once.", c.server.cfg.Limits.SocketOperations)})
	case tooLate:
	}
	cancel()
}

type insertion int

const (
	started insertion = iota
	tooLate           // the socket has ended
	notReady
	duplicate
	tooManyOperations
)

// insert adds a task whose goroutine must be started.
func (c *wsConn) insert(t *wsOperation) insertion {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch limit := c.server.cfg.Limits.SocketOperations; {
	case c.code != 0:
		return tooLate
	case c.state != ready:
		return notReady
	case c.operations[t.id] != nil:
		return duplicate
	case errcode.Exceeds(len(c.operations)+1, limit), limit >= 0 && c.busy >= 2*limit: // those that do not heed their end count too
		return tooManyOperations
	}
	c.operations[t.id], t.counted = t, true
	c.busy++
	c.work.Add(1)
	c.sockets.metrics.operations.Inc()
	return started
}

// complete ends a task for its client, who gets nothing more of it and may use
// its id again.
func (c *wsConn) complete(id string) {
	c.mu.Lock()
	t := c.operations[id]
	delete(c.operations, id)
	c.mu.Unlock()
	if t == nil {
		return
	}
	t.cancel()
	if t.subscriber != nil {
		t.subscriber.close()
		c.uncount(t)
	}
}

// uncount notes that an operation is over.
func (c *wsConn) uncount(t *wsOperation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uncountLocked(t)
}

func (c *wsConn) uncountLocked(t *wsOperation) {
	if t.counted {
		t.counted = false
		c.sockets.metrics.operations.Dec()
	}
}

// release is for a task that is going to send its last message, so that the id
// is free when the client sees it. It returns false if the client wants none.
func (c *wsConn) release(t *wsOperation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations[t.id] != t {
		return false
	}
	delete(c.operations, t.id)
	return true
}

// wants reports whether the client waits for more of a task.
func (c *wsConn) wants(t *wsOperation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.operations[t.id] == t
}

// run is a task's goroutine.
func (c *wsConn) run(ctx context.Context, t *wsOperation) {
	defer c.work.Done()
	defer t.cancel()
	detached := false
	if c.guard(func() { detached = c.execute(ctx, t) }) { // it may be Config.ErrorPresenter that panics
		c.sendErrors(ctx, t, gqlerror.List{errcode.Errorf(errcode.Internal, "internal error")})
	}
	if !detached {
		c.release(t)
		defer c.uncount(t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
}

// execute runs a task's operation and sends what comes of it. It returns true if more
// comes of it without this goroutine.
func (c *wsConn) execute(ctx context.Context, t *wsOperation) (detached bool) {
	current, refused, ok := c.reauthenticate(ctx)
	if !ok {
		return false
	}
	if refused != nil {
		c.fail(ctx, t, refused)
		return false
	}
	current.memory = c.server.memoryOf(current)
	defer func() {
		if !detached { // else it is the member's
			current.memory.Release()
		}
	}()
	if failed := c.server.checkJSON(t.payload, 1); failed != nil {
		c.fail(ctx, t, failed.Error)
		return false
	}
	if !current.memory.Take(weigh(t.params)) {
		c.fail(ctx, t, errcode.NoMemory())
		return false
	}
	t.payload = nil // a subscription may run for long
	op, no := c.server.begin(ctx, current, t.params)
	if no != nil {
		c.sendErrors(ctx, t, no.Errors)
		return false
	}
	defer op.close()
	if no = op.run(); no != nil {
		c.sendErrors(ctx, t, no.Errors)
		return false
	}
	if source := op.source(); source != nil { //nolint:contextcheck // the operation has its own
		return c.followSource(ctx, t, op, source)
	}
	for res := op.next(); res != nil; res = op.next() {
		if len(res.Data) == 0 && len(res.Errors) > 0 { // a subscription that did not begin
			c.sendErrors(ctx, t, res.Errors)
			return false
		}
		if !c.sendNext(ctx, t, op, res) {
			return false
		}
	}
	if c.release(t) {
		c.write(ctx, encodeMessage(messageComplete, t.id, nil))
	}
	return false
}

// sendNext sends one response, and reports whether the client wants more.
func (c *wsConn) sendNext(ctx context.Context, t *wsOperation, op *operation, res *graphql.Response) bool {
	held := c.server.memoryOf(op.caller)
	defer held.Release()
	switch {
	case !c.wants(t):
		return false
	case !takeAnswer(held, op, res):
		c.fail(ctx, t, errcode.NoMemory())
		return false
	}
	return c.write(ctx, encodeMessage(messageNext, t.id, encode(res)))
}

// fail ends a task with an error.
func (c *wsConn) fail(ctx context.Context, t *wsOperation, err error) {
	c.sendErrors(ctx, t, gqlerror.List{c.server.present(ctx, err)})
}

// sendErrors ends a task with "error", after which nothing may come.
func (c *wsConn) sendErrors(ctx context.Context, t *wsOperation, errs gqlerror.List) {
	if c.release(t) {
		c.writeErrors(ctx, t.id, errs)
	}
}

func (c *wsConn) writeErrors(ctx context.Context, id string, errs gqlerror.List) {
	c.write(ctx, encodeMessage(messageError, id, encoded(errs)))
}
