package cachetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Fault is the state of a link.
type Fault string

// The faults.
const (
	Healthy  Fault = "healthy"
	Cut      Fault = "cut"       // the link closes all connections, also new ones
	HalfOpen Fault = "half-open" // connections stay open and carry nothing
	Delayed  Fault = "delayed"   // each reply is delayed by a random time up to 300 ms
)

const maxDelay = 300 * time.Millisecond

// Link forwards connections to a Redis and can break them. A healed half-open link delivers
// its pending data, like a network. Its methods are safe for concurrent use.
type Link struct {
	network, addr string // of Redis
	listener      net.Listener
	all           sync.WaitGroup

	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed at the next change
	open    map[*connection]struct{}
	closed  bool
}

// connection holds both ends of a forwarded connection.
type connection struct {
	client, server net.Conn
	done           chan struct{}
	once           sync.Once
}

func (w *connection) close() {
	w.once.Do(func() {
		close(w.done)
		_, _ = w.client.Close(), w.server.Close()
	})
}

// NewLink returns a healthy link from a new Unix socket to the Redis of a URL. Close ends it.
func NewLink(redisURL, socket string) (*Link, error) {
	to, err := url.Parse(redisURL)
	if err != nil {
		return nil, fmt.Errorf("create link to Redis: %w", err)
	}
	l := &Link{network: "tcp", addr: to.Host, fault: Healthy, changed: make(chan struct{}), open: make(map[*connection]struct{})}
	if to.Scheme == "unix" {
		l.network, l.addr = "unix", to.Path
	}
	if l.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}); err != nil {
		return nil, fmt.Errorf("create link to Redis: %w", err)
	}
	l.all.Go(l.accept)
	return l, nil
}

// URL returns the address of the local end.
func (l *Link) URL() string { return "unix://" + l.listener.Addr().String() }

// Set breaks or heals the link.
func (l *Link) Set(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
	close(l.changed)
	l.changed = make(chan struct{})
	if f == Cut {
		l.closeAll()
	}
}

func (l *Link) closeAll() {
	for w := range l.open {
		w.close()
	}
}

// Close closes all connections and waits until forwarding has ended.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.closeAll()
	l.mu.Unlock()
	err := l.listener.Close()
	l.all.Wait()
	return err
}

func (l *Link) state() (Fault, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault, l.changed
}

func (l *Link) accept() {
	dial := net.Dialer{Timeout: 5 * time.Second}
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		if f, _ := l.state(); f == Cut {
			_ = client.Close()
			continue
		}
		server, err := dial.DialContext(context.Background(), l.network, l.addr)
		if err != nil {
			_ = client.Close()
			continue
		}
		w := &connection{client: client, server: server, done: make(chan struct{})}
		if !l.register(w) {
			w.close()
			continue
		}
		l.all.Go(func() { l.forward(w, w.server, w.client, false) })
		l.all.Go(func() { l.forward(w, w.client, w.server, true) })
	}
}

// register adds a connection. It returns false if the link was cut or closed meanwhile.
func (l *Link) register(w *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.fault == Cut {
		return false
	}
	l.open[w] = struct{}{}
	return true
}

func (l *Link) forward(w *connection, to, from net.Conn, back bool) {
	defer func() {
		w.close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, w)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !l.awaitHealthy(w, back) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// awaitHealthy waits until bytes may pass. It returns false if the connection was closed.
func (l *Link) awaitHealthy(w *connection, back bool) bool {
	for {
		f, changed := l.state()
		var wait <-chan time.Time
		switch {
		case f == Delayed && back:
			timer := time.NewTimer(rand.N(maxDelay))
			defer timer.Stop()
			wait = timer.C
		case f != HalfOpen:
			return true
		}
		select {
		case <-wait:
			return true
		case <-changed:
		case <-w.done:
			return false
		}
	}
}

// Link returns the link of process i to its bus.
func (f *Fleet) Link(i int) *Link { return f.links[i] }

// InjectFaults breaks and heals each link at random until ctx ends, and leaves all links healthy. It
// returns how often it injected each fault.
func (f *Fleet) InjectFaults(ctx context.Context, seed uint64) map[Fault]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	counts := make(map[Fault]int)
	for i, l := range f.links {
		all.Go(func() {
			draw := rand.New(rand.NewPCG(seed, uint64(i)))
			defer l.Set(Healthy)
			for ctx.Err() == nil {
				for _, kind := range draw.Perm(3) {
					fault := []Fault{Cut, HalfOpen, Delayed}[kind]
					l.Set(Healthy)
					if clock.Sleep(ctx, time.Duration(draw.Int64N(int64(600*time.Millisecond)))) != nil {
						return
					}
					l.Set(fault)
					mu.Lock()
					counts[fault]++
					mu.Unlock()
					if clock.Sleep(ctx, time.Duration(draw.Int64N(int64(1500*time.Millisecond)))) != nil {
						return
					}
				}
			}
		})
	}
	all.Wait()
	return counts
}

func (f *Fleet) openLinks(n int) error {
	for i := range n {
		l, err := NewLink(f.setting.BusURL, filepath.Join(f.dir, fmt.Sprintf("bus%d", i)))
		if err != nil {
			return err
		}
		f.links = append(f.links, l)
	}
	return nil
}

func (f *Fleet) closeLinks() (err error) {
	for _, l := range f.links {
		err = errors.Join(err, l.Close())
	}
	return err
}
