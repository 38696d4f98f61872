package lockbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"time"
)

// slowLink is a proxy to a Redis on a unix socket that delays each reply by a random time.
type slowLink struct {
	redis    string // its socket
	longest  time.Duration
	listener net.Listener
	all      sync.WaitGroup

	mu   sync.Mutex
	open []net.Conn // both ends of all connections so far; nil when it is closed
}

func newSlowLink(redisURL, socket string, longest time.Duration) (*slowLink, error) {
	to, err := url.Parse(redisURL)
	if err != nil {
		return nil, fmt.Errorf("link to Redis: %w", err)
	}
	l := &slowLink{redis: to.Path, longest: longest, open: []net.Conn{}}
	if l.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}); err != nil {
		return nil, fmt.Errorf("link to Redis: %w", err)
	}
	l.all.Go(l.accept)
	return l, nil
}

func (l *slowLink) url() string { return "unix://" + l.listener.Addr().String() }

func (l *slowLink) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "unix", l.redis)
		if err != nil || !l.keep(client, server) {
			_ = client.Close()
			continue
		}
		l.all.Go(func() { l.forward(server, client, 0) })
		l.all.Go(func() { l.forward(client, server, l.longest) })
	}
}

func (l *slowLink) keep(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return false
	}
	l.open = append(l.open, ends...)
	return true
}

func (l *slowLink) forward(to, from net.Conn, longest time.Duration) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if longest > 0 {
			time.Sleep(rand.N(longest))
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// close closes all connections and returns when forwarding has ended.
func (l *slowLink) close() error {
	err := l.listener.Close()
	l.mu.Lock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
	l.mu.Unlock()
	l.all.Wait()
	return err
}
