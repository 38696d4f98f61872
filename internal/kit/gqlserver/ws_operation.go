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
	subscriber *subscriber // set when it runs without a goroutine
	counted    bool        // in the metric of operations
}

// subscribe starts an operation. It does only cheap checks; the operation's goroutine does the
// rest.
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
		c.reject(messageInvalid, statusDuplicateID, "an operation with this id is running")
	case tooManyOperations:
		c.sockets.metrics.refused[messageTooMany].Inc()
		c.writeErrors(ctx, t.id, gqlerror.List{errcode.Errorf(errcode.RateLimited, "At most %d operations may run at once.", c.server.cfg.Limits.SocketOperations)})
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

// insert adds an operation; the caller starts its goroutine.
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
	case errcode.Exceeds(len(c.operations)+1, limit), limit >= 0 && c.busy >= 2*limit: // cancelled ones that still run count too
		return tooManyOperations
	}
	c.operations[t.id], t.counted = t, true
	c.busy++
	c.work.Add(1)
	c.sockets.metrics.operations.Inc()
	return started
}

// complete ends an operation for its client, which receives nothing more and may reuse the id.
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

// release frees the id of an operation before its last message is sent, as the client may reuse
// it from then on. It returns false if the client has completed the operation.
func (c *wsConn) release(t *wsOperation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.operations[t.id] != t {
		return false
	}
	delete(c.operations, t.id)
	return true
}

// wants reports whether the client waits for more responses of an operation.
func (c *wsConn) wants(t *wsOperation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.operations[t.id] == t
}

// run is the goroutine of an operation.
func (c *wsConn) run(ctx context.Context, t *wsOperation) {
	defer c.work.Done()
	defer t.cancel()
	detached := false
	if c.guard(func() { detached = c.execute(ctx, t) }) { // Config.ErrorPresenter may panic
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

// execute runs an operation and sends its responses. It reports whether a source took over, so
// that the operation continues without this goroutine.
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
		if !detached { // else the subscriber releases it
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
	t.payload = nil // a subscription may run for a long time
	op, rejected := c.server.begin(ctx, current, t.params)
	if rejected != nil {
		c.sendErrors(ctx, t, rejected.Errors)
		return false
	}
	defer op.close()
	if rejected = op.run(); rejected != nil {
		c.sendErrors(ctx, t, rejected.Errors)
		return false
	}
	if source := op.source(); source != nil { //nolint:contextcheck // the operation has its own
		return c.followSource(ctx, t, op, source)
	}
	for res := op.next(); res != nil; res = op.next() {
		if len(res.Data) == 0 && len(res.Errors) > 0 { // a subscription that failed to start
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

// sendNext sends one response and reports whether the client wants more.
func (c *wsConn) sendNext(ctx context.Context, t *wsOperation, op *operation, res *graphql.Response) bool {
	reserved := c.server.memoryOf(op.caller)
	defer reserved.Release()
	switch {
	case !c.wants(t):
		return false
	case !takeAnswer(reserved, op, res):
		c.fail(ctx, t, errcode.NoMemory())
		return false
	}
	return c.write(ctx, encodeMessage(messageNext, t.id, encode(res)))
}

func (c *wsConn) fail(ctx context.Context, t *wsOperation, err error) {
	c.sendErrors(ctx, t, gqlerror.List{c.server.present(ctx, err)})
}

// sendErrors ends an operation with "error", after which nothing may follow.
func (c *wsConn) sendErrors(ctx context.Context, t *wsOperation, errs gqlerror.List) {
	if c.release(t) {
		c.writeErrors(ctx, t.id, errs)
	}
}

func (c *wsConn) writeErrors(ctx context.Context, id string, errs gqlerror.List) {
	c.write(ctx, encodeMessage(messageError, id, encoded(errs)))
}
