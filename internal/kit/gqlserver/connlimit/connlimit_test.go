package connlimit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
)

// fakeListener accepts one connection per remote address, without a peer.
type fakeListener struct {
	net.Listener
	remote []net.Addr
}

type fakeConn struct {
	net.Conn
	remote net.Addr
	closed int
}

func (k *fakeConn) RemoteAddr() net.Addr { return k.remote }
func (k *fakeConn) Close() error         { k.closed++; return errors.New("closed") }

func (l *fakeListener) Accept() (net.Conn, error) {
	if len(l.remote) == 0 {
		return nil, net.ErrClosed
	}
	next := &fakeConn{remote: l.remote[0]}
	l.remote = l.remote[1:]
	return next, nil
}

func tcpAddr(addr string) net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(addr), Port: 4242}
}

func TestListenEnforcesTotalAndAddressLimits(t *testing.T) {
	unix := &net.UnixAddr{Name: "@", Net: "unix"}
	repeat := func(n int, addr string) (list []net.Addr) {
		for range n {
			list = append(list, tcpAddr(addr))
		}
		return list
	}
	tests := []struct {
		name     string
		cfg      Config
		remote   []net.Addr
		accepted int
	}{
		{"no limit", Config{}, repeat(50, "192.0.2.1"), 50},
		{"negative limits are no limits", Config{PerAddress: -1, Total: -1}, repeat(50, "192.0.2.1"), 50},
		{"one address", Config{PerAddress: 3}, repeat(50, "192.0.2.1"), 3},
		{"two addresses", Config{PerAddress: 3}, append(repeat(4, "192.0.2.1"), repeat(4, "192.0.2.2")...), 6},
		{"IPv4 as IPv6", Config{PerAddress: 3}, append(repeat(3, "192.0.2.1"), repeat(3, "::ffff:192.0.2.1")...), 3},
		{"one IPv6 network", Config{PerAddress: 3}, append(repeat(3, "2001:db8::1"), repeat(3, "2001:db8::ff:2")...), 3},
		{"total", Config{Total: 5}, append(repeat(4, "192.0.2.1"), repeat(4, "192.0.2.2")...), 5},
		{"both limits", Config{PerAddress: 4, Total: 5}, append(repeat(9, "192.0.2.1"), repeat(9, "192.0.2.2")...), 5},
		{"rejected connections do not count", Config{PerAddress: 1, Total: 2}, append(repeat(9, "192.0.2.1"), repeat(1, "192.0.2.2")...), 2},
		{"trusted proxy", Config{PerAddress: 1, Trusted: proxiesOf(t, "192.0.2.1")}, append(repeat(5, "192.0.2.1"), repeat(5, "192.0.2.2")...), 6},
		{"trusted proxy, IPv4 as IPv6", Config{PerAddress: 1, Trusted: proxiesOf(t, "192.0.2.1")}, repeat(5, "::ffff:192.0.2.1"), 5},
		{"trusted proxy counts in total", Config{Total: 2, Trusted: proxiesOf(t, "192.0.2.1")}, repeat(5, "192.0.2.1"), 2},
		{"unix socket", Config{PerAddress: 1}, []net.Addr{unix, unix, unix}, 3},
		{"unix socket counts in total", Config{Total: 2}, []net.Addr{unix, unix, unix}, 2},
		{"no address", Config{PerAddress: 1, Total: 2}, []net.Addr{nil, nil, nil}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refused := 0
			tt.cfg.Refused = func() { refused++ }
			attempts := len(tt.remote)
			l := Listen(&fakeListener{remote: tt.remote}, tt.cfg).(*listener)
			conns := acceptAll(t, l)
			if len(conns) != tt.accepted || refused != attempts-tt.accepted {
				t.Errorf("got %d accepted and %d rejected of %d, want %d accepted", len(conns), refused, attempts, tt.accepted)
			}
			for _, c := range conns {
				if err := c.Close(); err == nil {
					t.Error("got no error from Close")
				}
				c.Close()
			}
			if l.total.Keys()+l.byAddress.Keys() != 0 {
				t.Errorf("got %d and %d keys after all connections closed, want 0", l.total.Keys(), l.byAddress.Keys())
			}
		})
	}
}

func proxiesOf(t *testing.T, list ...string) clientaddr.Proxies {
	t.Helper()
	p, err := clientaddr.ParseProxies(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// acceptAll accepts until the listener is closed.
func acceptAll(t *testing.T, l net.Listener) (conns []net.Conn) {
	t.Helper()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return conns
		}
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
}

func TestRepeatedCloseFreesOneSlot(t *testing.T) {
	inner := &fakeListener{remote: []net.Addr{tcpAddr("192.0.2.1"), tcpAddr("192.0.2.1")}}
	l := Listen(inner, Config{PerAddress: 2})
	conns := acceptAll(t, l)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { conns[0].(*limitedConn).release() })
	}
	all.Wait()
	conns[0].Close()
	inner.remote = []net.Addr{tcpAddr("192.0.2.1"), tcpAddr("192.0.2.1"), tcpAddr("192.0.2.1")}
	if got := len(acceptAll(t, l)); got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
}

func TestListenClosesExcessConnections(t *testing.T) {
	inner := &fakeListener{remote: []net.Addr{tcpAddr("192.0.2.1")}}
	l := Listen(inner, Config{PerAddress: 1}).(*listener)
	acceptAll(t, l)
	late := &fakeConn{remote: tcpAddr("192.0.2.1")}
	l.refuse(late) // Refused is nil
	if late.closed != 1 {
		t.Errorf("got %d calls of Close, want 1", late.closed)
	}
}

// limitedServer is an HTTP server behind Listen, on the loopback interface.
type limitedServer struct {
	addr    string
	refused atomic.Int64
	closed  chan struct{} // one for each connection that the server closed
}

func serveLimited(t *testing.T, cfg Config, h http.Handler) *limitedServer {
	t.Helper()
	goleak.VerifyNone(t)
	t.Cleanup(func() { goleak.VerifyNone(t) })
	s := &limitedServer{closed: make(chan struct{}, 100)}
	cfg.Refused = func() { s.refused.Add(1) }
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = inner.Addr().String()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			s.closed <- struct{}{}
		}
	}}
	done := make(chan error, 1)
	go func() { done <- server.Serve(Listen(inner, cfg)) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// rawClient is a TCP connection for raw HTTP requests.
type rawClient struct {
	net.Conn
	in *bufio.Reader
}

func (s *limitedServer) tryDial(t *testing.T) (*rawClient, error) {
	c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", s.addr)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.Close() })
	return &rawClient{c, bufio.NewReader(c)}, c.SetDeadline(time.Now().Add(10 * time.Second))
}

func (s *limitedServer) dial(t *testing.T) *rawClient {
	t.Helper()
	c, err := s.tryDial(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// roundTrip sends a request and returns the status and body of the response.
func (c *rawClient) roundTrip(request string) (int, string, error) {
	if _, err := io.WriteString(c, request); err != nil {
		return 0, "", err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

const bareGet = "GET / HTTP/1.1\r\nHost: shop\r\n\r\n"

func wantStatus(t *testing.T, c *rawClient, request string, status int) {
	t.Helper()
	if got, _, err := c.roundTrip(request); err != nil || got != status {
		t.Errorf("got %d, %v; want %d", got, err, status)
	}
}

// wantRefused fails unless a new connection is closed at once, even before it is
// established.
func (s *limitedServer) wantRefused(t *testing.T) {
	t.Helper()
	c, err := s.tryDial(t)
	if err == nil {
		_, _, err = c.roundTrip(bareGet)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want a closed connection", err)
	}
}

func TestListenLimitsHTTPServerConnections(t *testing.T) {
	s := serveLimited(t, Config{PerAddress: 2}, http.NotFoundHandler())
	first, second := s.dial(t), s.dial(t)
	wantStatus(t, first, bareGet, 404)
	wantStatus(t, second, bareGet, 404)
	s.wantRefused(t)
	s.wantRefused(t)
	if n := s.refused.Load(); n != 2 {
		t.Errorf("got %d rejections, want 2", n)
	}
	wantStatus(t, first, bareGet, 404) // accepted connections are not affected

	first.Close()
	<-s.closed
	wantStatus(t, s.dial(t), bareGet, 404)
	s.wantRefused(t)
}

func TestTrustedProxyIsExemptFromAddressLimit(t *testing.T) {
	s := serveLimited(t, Config{PerAddress: 1, Total: 3, Trusted: proxiesOf(t, "127.0.0.0/8")}, http.NotFoundHandler())
	for range 3 {
		wantStatus(t, s.dial(t), bareGet, 404)
	}
	s.wantRefused(t)
}

func TestHijackedConnectionFreesItsSlot(t *testing.T) {
	release := make(chan struct{})
	released := make(chan struct{}, 10)
	s := serveLimited(t, Config{PerAddress: 1}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Error(err)
		}
		if err := buf.Flush(); err != nil {
			t.Error(err)
		}
		select {
		case <-release:
		case <-t.Context().Done(): // the test has failed
		}
		conn.Close()
		conn.Close()
		released <- struct{}{}
	}))
	for range 3 { // each uses the slot of the one before
		wantStatus(t, s.dial(t), bareGet, 200)
		s.wantRefused(t)
		release <- struct{}{}
		<-released
	}
}

func TestHTTPServerFeaturesWorkOnAcceptedConnections(t *testing.T) {
	s := serveLimited(t, Config{PerAddress: 5}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		switch r.URL.Path {
		case "/deadline":
			if err := control.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
				t.Error(err)
			}
			_, err := io.ReadAll(r.Body)
			if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
				t.Errorf("read body: got %v, want a timeout", err)
			}
			w.WriteHeader(http.StatusRequestTimeout)
		case "/early":
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		}
	}))
	wantStatus(t, s.dial(t), "POST /deadline HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\n\r\n", 408)

	// The response arrives although the body is not read completely.
	early := s.dial(t)
	var sender sync.WaitGroup
	sender.Go(func() {
		_, _ = io.WriteString(early, "POST /early HTTP/1.1\r\nHost: shop\r\nContent-Length: 10000000\r\n\r\n")
		_, _ = io.Copy(early, strings.NewReader(strings.Repeat("x", 1_000_000))) // it may fail
	})
	wantStatus(t, early, "", 413)
	early.Close()
	sender.Wait()
	for range 2 {
		<-s.closed // the server lingers for half a second
	}
}

func TestAcceptedConnectionsHaveTCPMethods(t *testing.T) {
	type TCP interface {
		io.ReaderFrom
		CloseWrite() error
		SetKeepAliveConfig(net.KeepAliveConfig) error
	}
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, Config{PerAddress: 1})
	defer l.Close()
	s := &limitedServer{addr: l.Addr().String()}
	out := s.dial(t)
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	tcp, ok := in.(TCP)
	if !ok {
		t.Fatalf("%T lacks TCP methods", in)
	}
	if _, err := tcp.ReadFrom(strings.NewReader("hello")); err != nil {
		t.Error(err)
	}
	if err := tcp.CloseWrite(); err != nil {
		t.Error(err)
	}
	got, err := io.ReadAll(out)
	if d := cmp.Diff("hello", string(got)); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

func TestAcceptFailsAfterClose(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, Config{Total: 1})
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}
