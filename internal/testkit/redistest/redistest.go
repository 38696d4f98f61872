// Package redistest runs Redis servers for tests that crash, replicate, promote or proxy them.
package redistest

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// deadline limits each wait for a server.
const deadline = 20 * time.Second

// A Proxy forwards connections to a Redis server. It can freeze them (they stay open, but no bytes
// pass), cut them, and redirect them to another server.
type Proxy struct {
	ctx      context.Context
	listener net.Listener
	gate     sync.RWMutex // write-locked while frozen
	mu       sync.Mutex
	target   string // unix path, or host:port
	conns    []net.Conn
	copies   sync.WaitGroup
}

// NewProxy starts a proxy of the server at url. It ends with the test.
func NewProxy(t testing.TB, url string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{ctx: t.Context(), listener: l, target: address(url)}
	p.copies.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.copies.Wait()
	})
	return p
}

// address returns the listen address of the server at url.
func address(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "unix://"), "redis://")
}

// URL returns the Redis URL of the proxy.
func (p *Proxy) URL() string { return "redis://" + p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		network := "tcp"
		if strings.HasPrefix(p.target, "/") {
			network = "unix"
		}
		server, err := new(net.Dialer).DialContext(p.ctx, network, p.target)
		if err != nil {
			p.mu.Unlock()
			_ = client.Close()
			continue
		}
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.copies.Go(func() { p.carry(client, server) })
		p.copies.Go(func() { p.carry(server, client) })
	}
}

func (p *Proxy) carry(to io.WriteCloser, from io.Reader) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.gate.RLock()
		_, err = to.Write(buf[:n])
		p.gate.RUnlock()
		if err != nil {
			return
		}
	}
}

// Cut closes all connections. The proxy accepts new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// Freeze stops forwarding on all connections, also new ones, until [Proxy.Thaw].
func (p *Proxy) Freeze() { p.gate.Lock() }

// Thaw ends [Proxy.Freeze].
func (p *Proxy) Thaw() { p.gate.Unlock() }

// Redirect cuts all connections and sends new ones to the server at url.
func (p *Proxy) Redirect(url string) {
	p.mu.Lock()
	p.target = address(url)
	p.mu.Unlock()
	p.Cut()
}

// A Server is a Redis on a fixed port and directory, so that it can restart with its saved data.
type Server struct {
	t         testing.TB
	dir, port string
	Admin     *redis.Client // may run every command
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: t.TempDir(), port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)} //nolint:forcetypeassert // the network is tcp
	_ = l.Close()
	s.Start()
	return s
}

// Start starts the server again after [Server.Crash].
func (s *Server) Start() {
	s.t.Helper()
	testkit.Redis(s.t, "--bind", "127.0.0.1", "--port", s.port, "--dir", s.dir, "--repl-diskless-sync-delay", "0")
	s.Admin = redis.NewClient(&redis.Options{Addr: address(s.URL()), Username: testkit.AdminUser, Password: "any", MaxRetries: -1, DialerRetries: 1})
	s.t.Cleanup(func() { _ = s.Admin.Close() })
}

// URL returns the Redis URL of the server.
func (s *Server) URL() string { return "redis://127.0.0.1:" + s.port }

// Crash ends the server without saving, and waits for its end.
func (s *Server) Crash() {
	s.t.Helper()
	_ = s.Admin.ShutdownNoSave(s.t.Context()) //nolint:forbidigo // its own server
	testkit.Eventually(s.t, deadline, func() bool {
		c, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", address(s.URL()))
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// Replicate starts a replica of s and waits until it has all data of s.
func (s *Server) Replicate() *Server {
	s.t.Helper()
	r := Start(s.t)
	Must(s.t, r.Admin.ReplicaOf(s.t.Context(), "127.0.0.1", s.port))
	testkit.Eventually(s.t, deadline, func() bool {
		return strings.Contains(r.Admin.Info(s.t.Context(), "replication").Val(), "master_link_status:up")
	})
	Must(s.t, s.Admin.Do(s.t.Context(), "WAIT", "1", "0"))
	return r
}

// Promote makes s a master.
func (s *Server) Promote() {
	s.t.Helper()
	Must(s.t, s.Admin.ReplicaOf(s.t.Context(), "NO", "ONE"))
}
