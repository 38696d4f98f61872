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

// Fault is what is wrong with a link.
type Fault string

// The faults.
const (
	Healthy  Fault = "healthy"
	Cut      Fault = "cut"       // connections are closed, new ones too
	HalfOpen Fault = "half-open" // connections stay and carry nothing
	Delayed  Fault = "delayed"   // what comes back takes up to 300 ms more, each time another while
)

const maxDelay = 300 * time.Millisecond

// Link is a way to a Redis that can be broken. What it holds back while it is
// half-open comes when it heals, as it does on a network. Its methods are safe for
// concurrent use.
type Link struct {
	network, addr string // of the Redis
	listener      net.Listener
	all           sync.WaitGroup

	mu      sync.Mutex
	fault   Fault
	changed chan struct{}      // closed at the next change
	open    map[*wire]struct{} // connections
	closed  bool
}

// wire is one connection: both of its ends.
type wire struct {
	client, server net.Conn
	over           chan struct{}
	once           sync.Once
}

func (w *wire) close() {
	w.once.Do(func() {
		close(w.over)
		_, _ = w.client.Close(), w.server.Close()
	})
}

// NewLink begins to forward connections, from the socket that URL names, to the
// Redis of a URL. Close ends it.
func NewLink(redisURL, socket string) (*Link, error) {
	to, err := url.Parse(redisURL)
	if err != nil {
		return nil, fmt.Errorf("link to Redis: %w", err)
	}
	l := &Link{network: "tcp", addr: to.Host, fault: Healthy, changed: make(chan struct{}), open: make(map[*wire]struct{})}
	if to.Scheme == "unix" {
		l.network, l.addr = "unix", to.Path
	}
	if l.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}); err != nil {
		return nil, fmt.Errorf("link to Redis: %w", err)
	}
	l.all.Go(l.accept)
	return l, nil
}

// URL is where the near end of the link is.
func (l *Link) URL() string { return "unix://" + l.listener.Addr().String() }

// Set breaks the link, or heals it.
func (l *Link) Set(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
	close(l.changed)
	l.changed = make(chan struct{})
	if f == Cut {
		l.hangUp()
	}
}

func (l *Link) hangUp() {
	for w := range l.open {
		w.close()
	}
}

// Close ends all connections, and returns when nothing is forwarded any more.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.hangUp()
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
		w := &wire{client: client, server: server, over: make(chan struct{})}
		if !l.keep(w) {
			w.close()
			continue
		}
		l.all.Go(func() { l.forward(w, w.server, w.client, false) })
		l.all.Go(func() { l.forward(w, w.client, w.server, true) })
	}
}

// keep notes a connection, unless the link was cut or closed meanwhile.
func (l *Link) keep(w *wire) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.fault == Cut {
		return false
	}
	l.open[w] = struct{}{}
	return true
}

func (l *Link) forward(w *wire, to, from net.Conn, back bool) {
	defer func() {
		w.close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, w)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !l.passes(w, back) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// passes waits until bytes may go on. It reports false if the connection ended.
func (l *Link) passes(w *wire, back bool) bool {
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
		case <-w.over:
			return false
		}
	}
}

// Link is the way of process i to its bus, nil if it has none.
func (f *Fleet) Link(i int) *Link { return f.links[i] }

// Trouble breaks and heals the links at random until ctx ends, each on its own,
// and leaves them healthy. Every kind of fault has its turn. It returns how often
// each one was.
func (f *Fleet) Trouble(ctx context.Context, seed uint64) map[Fault]int {
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

// openLinks gives each of n processes its own way to the bus.
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
