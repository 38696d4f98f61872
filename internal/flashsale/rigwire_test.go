package flashsale

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// A rigWire is a way to Redis that can be cut and mended. The zero one is whole.
type rigWire struct {
	mu    sync.Mutex
	is    rigWireState
	conns []net.Conn
}

type rigWireState int

const (
	wireWhole rigWireState = iota
	wireCut                // refuses
	wireMute               // takes commands to Redis, and loses the answers
)

// around returns a dialer that goes through the wire.
func (w *rigWire) around(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.is == wireCut {
			return nil, errors.New("the wire is cut")
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w.conns = append(w.conns, conn)
		return &rigConn{Conn: conn, w: w}, nil
	}
}

// become changes the wire. A cut one breaks the connections that go through it; a
// mute one breaks them at their next answer.
func (w *rigWire) become(got rigWireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.is = got
	if got == wireCut {
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.conns = nil
	}
}

func (w *rigWire) state() rigWireState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.is
}

type rigConn struct {
	net.Conn
	w *rigWire
}

func (c *rigConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.w.state() == wireMute {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}
