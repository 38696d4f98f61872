package lock

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// errDied is the error of a process that is made to die.
var errDied = errors.New("the process died")

// wire is the connection from one process to one server. It counts requests, and can be cut, which
// looks to the server like the death of the process.
type wire struct {
	dialer func(ctx context.Context, network, address string) (net.Conn, error)
	sent   atomic.Int64 // writes but pings: a pipeline is one

	mu    sync.Mutex
	dead  bool
	conns []*wiredConn
}

func (w *wire) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := w.dialer(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		_ = raw.Close()
		return nil, errDied
	}
	c := &wiredConn{raw, w}
	w.conns = append(w.conns, c)
	return c, nil
}

// Dial implements pq.Dialer; pq calls DialContext.
func (w *wire) Dial(network, address string) (net.Conn, error) {
	return w.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer too.
func (w *wire) DialTimeout(network, address string, within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return w.DialContext(ctx, network, address)
}

// cut closes all connections and refuses further ones.
func (w *wire) cut() {
	w.mu.Lock()
	w.dead = true
	conns := slices.Clone(w.conns)
	w.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

type wiredConn struct {
	net.Conn
	w *wire
}

// ping checks an idle connection; it does not count as a request of a waiter.
const ping = "*1\r\n$4\r\nping\r\n"

func (c *wiredConn) Write(b []byte) (int, error) {
	if string(b) != ping {
		c.w.sent.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *wiredConn) Close() error {
	c.w.mu.Lock()
	c.w.conns = slices.DeleteFunc(c.w.conns, func(other *wiredConn) bool { return other == c })
	c.w.mu.Unlock()
	return c.Conn.Close()
}

// valve is between one process and Redis. It can stop the process before the second half of an
// operation, or kill it after its next reply.
type valve struct {
	gate atomic.Pointer[gate]

	mu   sync.Mutex
	kill func() // after the next answer
	dead bool
}

// halves are the commands that begin the second step of two-step recipes.
var halves = []string{"del", "getset"}

func (*valve) DialHook(next redis.DialHook) redis.DialHook { return next }

func (v *valve) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if g := v.gate.Load(); g != nil && g.commands.Add(1) > 1 && slices.Contains(halves, strings.ToLower(cmd.Name())) {
			if err := g.pass(ctx); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return v.answered(next(ctx, cmd), cmd)
	}
}

func (v *valve) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return v.answered(next(ctx, cmds), cmds...)
	}
}

// dieAfterAnswer kills the process when a server has replied: neither this reply nor a later one
// reaches it.
func (v *valve) dieAfterAnswer(kill func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kill = kill
}

func (v *valve) answered(err error, cmds ...redis.Cmder) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kill == nil {
		return err
	}
	if !v.dead {
		v.dead = true
		v.kill()
	}
	for _, cmd := range cmds {
		cmd.SetErr(errDied)
	}
	return errDied
}

// gate stops callers until it is opened.
type gate struct {
	commands        atomic.Int64 // that came to it
	arrived, opened chan struct{}
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 8), opened: make(chan struct{})} }

func (g *gate) pass(ctx context.Context) error {
	g.arrived <- struct{}{}
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) open() { close(g.opened) }
