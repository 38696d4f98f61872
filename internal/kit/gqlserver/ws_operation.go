package gqlserver

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// A wsOperation is an operation of a socket, from "subscribe" on.
type wsOperation struct {
	id      string
	payload []byte
	params  *graphql.RawParams
	cancel  context.CancelFunc
	member  *subscriber // that goes on without a goroutine, nil before
	counted bool        // among the operations
}

// subscribe starts a task. What is checked here costs little; the rest has a
// goroutine of its own.
func (c *wsConn) subscribe(m message) {
	params, err := m.params(c.server.texts)
	if err != nil {
		c.misuse(messageInvalid, statusBadMessage, err.Error())
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	t := &wsOperation{id: m.id, payload: m.payload, params: params, cancel: cancel}
	switch c.insert(t) {
	case started:
		go c.run(ctx, t)
		return
	case notReady:
		c.misuse(messageInvalid, statusUnauthorized, "unauthorized")
	case duplicate:
		c.misuse(messageInvalid, statusDuplicateID, "there is an operation with this id already")
	case tooManyTasks:
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
	tooManyTasks
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
	case c.tasks[t.id] != nil:
		return duplicate
	case errcode.Exceeds(len(c.tasks)+1, limit), limit >= 0 && c.busy >= 2*limit: // those that do not heed their end count too
		return tooManyTasks
	}
	c.tasks[t.id], t.counted = t, true
	c.busy++
	c.work.Add(1)
	c.sockets.metrics.operations.Inc()
	return started
}

// complete ends a task for its client, who gets nothing more of it and may use
// its id again.
func (c *wsConn) complete(id string) {
	c.mu.Lock()
	t := c.tasks[id]
	delete(c.tasks, id)
	c.mu.Unlock()
	if t == nil {
		return
	}
	t.cancel()
	if t.member != nil {
		t.member.close()
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
	if c.tasks[t.id] != t {
		return false
	}
	delete(c.tasks, t.id)
	return true
}

// wants reports whether the client waits for more of a task.
func (c *wsConn) wants(t *wsOperation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tasks[t.id] == t
}

// run is a task's goroutine.
func (c *wsConn) run(ctx context.Context, t *wsOperation) {
	defer c.work.Done()
	defer t.cancel()
	goesOn := false
	if c.guard(func() { goesOn = c.execute(ctx, t) }) { // it may be Config.ErrorPresenter that panics
		c.sendErrors(ctx, t, gqlerror.List{errcode.Errorf(errcode.Internal, "internal error")})
	}
	if !goesOn {
		c.release(t)
		defer c.uncount(t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
}

// execute runs a task's operation and sends what comes of it. It returns true if more
// comes of it without this goroutine.
func (c *wsConn) execute(ctx context.Context, t *wsOperation) (goesOn bool) {
	who, refused, ok := c.readmit(ctx)
	if !ok {
		return false
	}
	if refused != nil {
		c.fail(ctx, t, refused)
		return false
	}
	who.memory = c.server.memoryOf(who)
	defer func() {
		if !goesOn { // else it is the member's
			who.memory.Release()
		}
	}()
	if failed := c.server.checkJSON(t.payload, 1); failed != nil {
		c.fail(ctx, t, failed.Error)
		return false
	}
	if !who.memory.Take(weigh(t.params)) {
		c.fail(ctx, t, errcode.NoMemory())
		return false
	}
	t.payload = nil // a subscription may run for long
	op, no := c.server.begin(ctx, who, t.params)
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
		return c.follow(ctx, t, op, source)
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
		c.write(ctx, frame(messageComplete, t.id, nil))
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
	return c.write(ctx, frame(messageNext, t.id, encode(res)))
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
	c.write(ctx, frame(messageError, id, encoded(errs)))
}
