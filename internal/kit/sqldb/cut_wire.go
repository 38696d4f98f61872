package sqldb

import (
	"context"
	"net"
	"sync"
	"time"
)

const sqlDialTimeout = 5 * time.Second

// A cutWire dials one connection at a time for a driver, and can close it.
type cutWire struct {
	net.Dialer
	ctx context.Context //nolint:containedctx // the driver passes none

	mu   sync.Mutex
	conn net.Conn
}

func (w *cutWire) Dial(network, address string) (net.Conn, error) {
	return w.DialTimeout(network, address, sqlDialTimeout)
}

func (w *cutWire) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	return w.DialContext(ctx, network, address)
}

func (w *cutWire) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)() //nolint:contextcheck // either context ends the dial
	conn, err := w.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil { // cut ran during the dial
		_ = conn.Close()
		return nil, w.ctx.Err()
	}
	w.conn = conn
	return conn, nil
}

// cut closes the connection.
func (w *cutWire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		_ = w.conn.Close()
	}
}
