package gqlserver

import (
	"context"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
)

// followSource continues an operation without a goroutine, driven by a source. It returns false
// if the operation is over.
func (c *wsConn) followSource(ctx context.Context, t *wsOperation, op *operation, source broadcast.Source) bool {
	m := c.server.broadcasts.subscribe(c.ctx, op, c) //nolint:contextcheck // that of the operation ends now
	prefix := encodeMessage(messageNext, t.id, []byte{})
	m.prefix = prefix[:len(prefix)-1]
	c.mu.Lock()
	wanted := c.operations[t.id] == t && c.code == 0
	if wanted {
		t.subscriber, t.params = m, nil
		if c.out.onDrained == nil {
			c.out.onDrained = c.drained
		}
	}
	c.mu.Unlock()
	if !wanted {
		m.close()
		return false
	}
	if err := m.follow(source); err != nil {
		c.fail(ctx, t, err)
		return false
	}
	return true
}

// appendNext implements [sink].
func (*wsConn) appendNext(out []byte, m *subscriber, payload []byte, _ *broadcast.Update) []byte {
	return appendFrame(out, m.prefix, payload, []byte{'}'})
}

// offer implements [sink].
func (c *wsConn) offer(frames []byte) bool { return c.out.offer(frames) }

// drains implements [sink].
func (c *wsConn) drains() uint64 { return c.drainCount.Load() }

// drained resumes the subscribers of the socket that fell behind.
func (c *wsConn) drained() {
	c.drainCount.Add(1)
	for _, m := range c.subscribers(false) {
		m.drained()
	}
}

// finishSubscriber implements [sink].
func (c *wsConn) finishSubscriber(m *subscriber, err error) {
	defer m.close()
	if !c.addWork() {
		return
	}
	defer c.work.Done()
	t := c.operationOf(m)
	if t == nil {
		return
	}
	defer c.uncount(t)
	if err != nil {
		c.fail(c.ctx, t, err)
	} else if c.release(t) {
		c.write(c.ctx, encodeMessage(messageComplete, t.id, nil))
	}
}

func (c *wsConn) operationOf(m *subscriber) *wsOperation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.operations {
		if t.subscriber == m {
			return t
		}
	}
	return nil
}

// subscribers returns the subscribers of the socket. If over is set, it also removes them.
func (c *wsConn) subscribers(over bool) (list []*subscriber) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, t := range c.operations {
		if t.subscriber == nil {
			continue
		}
		list = append(list, t.subscriber)
		if over {
			delete(c.operations, id)
			c.uncountLocked(t)
		}
	}
	return list
}
