package store

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"
)

const (
	listenPing     = 30 * time.Second // how often a connection that is silent is asked
	listenPatience = 5 * time.Second  // for its answer, and for a new connection
	listenPause    = 20 * time.Millisecond
	listenMaxPause = time.Second // between two tries to connect
)

// Listen calls kick after each notification on a channel of Postgres, and after
// each time that the connection is there (again): what was notified meanwhile is
// lost. It takes a connection of its own, beside the pool, and connects anew until
// ctx ends; then it returns nil. It returns an error if the server refuses to listen.
//
// kick runs in Listen's own goroutine and must not block. SQLite notifies nobody:
// there Listen only waits for ctx to end.
func (s *SQL) Listen(ctx context.Context, channel string, kick func()) error {
	if s.Dialect != dialect.Postgres {
		<-ctx.Done()
		return nil
	}
	wire := &cutWire{ctx: ctx}
	l := pq.NewDialListener(wire, s.listenURL, listenPause, listenMaxPause, nil)
	// Who dials, reads or waits inside the listener knows no context: only the end
	// of its wire wakes it.
	var ending sync.WaitGroup
	ending.Add(1)
	stop := context.AfterFunc(ctx, func() { defer ending.Done(); wire.cut(); _ = l.Close() })
	defer func() {
		if stop() {
			ending.Done()
			_ = l.Close()
		}
		ending.Wait()
		for range l.Notify { // it ends when the listener's goroutine does
		}
	}()
	if err := l.Listen(channel); err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end
		}
		return fmt.Errorf("listen on channel %s: %w", channel, err)
	}
	kick()
	ping := time.NewTicker(listenPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-l.Notify: // nil after a new connection
			if !ok {
				return nil // closed, by the end of ctx alone
			}
			kick()
		case <-ping.C:
			// A connection whose other end is gone without a word looks silent for ever.
			late := time.AfterFunc(listenPatience, wire.cut)
			_ = l.Ping() // a failure shows as a new connection
			late.Stop()
		}
	}
}

// cutWire dials for a listener, and cuts what it dialled.
type cutWire struct {
	net.Dialer
	ctx context.Context //nolint:containedctx // the listener passes none

	mu   sync.Mutex
	conn net.Conn
}

func (w *cutWire) Dial(network, address string) (net.Conn, error) {
	return w.DialTimeout(network, address, listenPatience)
}

func (w *cutWire) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	return w.DialContext(ctx, network, address)
}

func (w *cutWire) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)() //nolint:contextcheck // both may end it: the dial for its time, ours for all
	conn, err := w.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil { // cut has been, and did not see this one
		_ = conn.Close()
		return nil, w.ctx.Err()
	}
	w.conn = conn
	return conn, nil
}

// cut ends the connection that is there.
func (w *cutWire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// listenURL is the URL of a database for a listener, with the settings that the
// connections of the pool have.
func listenURL(u *url.URL, cfg pq.Config) string {
	with, query := *u, u.Query()
	query.Set("connect_timeout", fmt.Sprint(int(cfg.ConnectTimeout.Seconds())))
	query.Set("application_name", cfg.ApplicationName)
	with.RawQuery = query.Encode()
	return with.String()
}
