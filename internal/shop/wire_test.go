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
	redisdb.SilenceRedisLog() // each refused connection would be a line
	os.Exit(m.Run())
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// A wire is a way to Redis that can be cut and mended. The zero wire is whole.
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

// around returns a dialer that goes through the wire; through a nil one it is
// the dialer itself.
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

// become changes the wire and breaks the connections that go through it.
func (w *wire) become(state wireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = state
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}
