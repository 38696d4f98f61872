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
	mode  rigWireState
	conns []net.Conn
}

type rigWireState int

const (
	wireHealthy   rigWireState = iota
	wireCut                    // refuses
	wireNoReplies              // takes commands to Redis, and loses the answers
)

// around returns a dialer that goes through the wire.
func (w *rigWire) dialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.mode == wireCut {
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
func (w *rigWire) set(mode rigWireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode = mode
	if mode == wireCut {
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.conns = nil
	}
}

func (w *rigWire) state() rigWireState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mode
}

type rigConn struct {
	net.Conn
	w *rigWire
}

func (c *rigConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.w.state() == wireNoReplies {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}
