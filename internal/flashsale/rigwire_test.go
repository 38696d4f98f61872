package flashsale

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// rigWire is a connection to Redis that tests can break. The zero value works.
type rigWire struct {
	mu    sync.Mutex
	mode  rigWireState
	conns []net.Conn
}

type rigWireState int

const (
	wireHealthy   rigWireState = iota
	wireCut                    // refuses connections
	wireNoReplies              // delivers commands and loses the replies
)

// dialer returns a dialer that uses the wire.
func (w *rigWire) dialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.mode == wireCut {
			return nil, errors.New("connection refused")
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w.conns = append(w.conns, conn)
		return &rigConn{Conn: conn, w: w}, nil
	}
}

// set changes the wire. A cut breaks its connections; wireNoReplies breaks each at its next
// reply.
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
