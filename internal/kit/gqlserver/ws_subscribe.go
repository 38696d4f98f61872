package gqlserver

import (
	"context"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
)

// follow goes on with a task without a goroutine of its own, told by a source. It returns
// false if the task is over.
func (c *wsConn) follow(ctx context.Context, t *wsOperation, op *operation, source broadcast.Source) bool {
	m := c.server.broadcasts.join(c.ctx, op, c) //nolint:contextcheck // the task's ends now
	prefix := frame(messageNext, t.id, []byte{})
	m.prefix = prefix[:len(prefix)-1]
	c.mu.Lock()
	wanted := c.tasks[t.id] == t && c.code == 0
	if wanted {
		t.member, t.params = m, nil
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

// drained resumes the members of the socket that fell behind.
func (c *wsConn) drained() {
	c.drainCount.Add(1)
	for _, m := range c.members(false) {
		m.drained()
	}
}

// conclude implements [sink].
func (c *wsConn) conclude(m *subscriber, err error) {
	defer m.close()
	if !c.hold() {
		return
	}
	defer c.work.Done()
	t := c.taskOf(m)
	if t == nil {
		return
	}
	defer c.uncount(t)
	if err != nil {
		c.fail(c.ctx, t, err)
	} else if c.release(t) {
		c.write(c.ctx, frame(messageComplete, t.id, nil))
	}
}

func (c *wsConn) taskOf(m *subscriber) *wsOperation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tasks {
		if t.member == m {
			return t
		}
	}
	return nil
}

// members are those of the socket; if it is over they are its no more.
func (c *wsConn) members(over bool) (list []*subscriber) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, t := range c.tasks {
		if t.member == nil {
			continue
		}
		list = append(list, t.member)
		if over {
			delete(c.tasks, id)
			c.uncountLocked(t)
		}
	}
	return list
}
