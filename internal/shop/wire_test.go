package shop

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // refused connections would log one line each
	os.Exit(m.Run())
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// wire is a connection to Redis that can be cut and restored. The zero wire works.
type wire struct {
	mu    sync.Mutex
	state wireState
	conns []net.Conn

	refused atomic.Int64 // connections
}

type wireState int

const (
	whole wireState = iota
	cut             // refuses
	mute            // accepts and never answers
)

// around returns a dialer that uses the wire. A nil wire returns dial.
func (w *wire) around(dial dialer) dialer {
	if w == nil {
		return dial
	}
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch w.state {
		case cut:
			w.refused.Add(1)
			return nil, errors.New("the wire is cut")
		case mute:
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }() // ends with near
			w.conns = append(w.conns, near)
			return near, nil
		case whole:
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			w.conns = append(w.conns, conn)
		}
		return conn, err
	}
}

// set changes the state and closes all connections.
func (w *wire) set(state wireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = state
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}
