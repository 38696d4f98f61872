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

// knocks is a listener of connections from addresses that a test chooses. The
// other ends are not there: nothing is read or written.
type knocks struct {
	net.Listener
	remote []net.Addr
}

type knock struct {
	net.Conn
	remote net.Addr
	closed int
}

func (k *knock) RemoteAddr() net.Addr { return k.remote }
func (k *knock) Close() error         { k.closed++; return errors.New("closed") }

func (l *knocks) Accept() (net.Conn, error) {
	if len(l.remote) == 0 {
		return nil, net.ErrClosed
	}
	next := &knock{remote: l.remote[0]}
	l.remote = l.remote[1:]
	return next, nil
}

func knockFrom(addr string) net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(addr), Port: 4242}
}

func TestListenAcceptsNoMoreThanTheTotalAndOfAnAddress(t *testing.T) {
	unix := &net.UnixAddr{Name: "@", Net: "unix"}
	repeat := func(n int, addr string) (list []net.Addr) {
		for range n {
			list = append(list, knockFrom(addr))
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
		{"limits below zero are none", Config{PerAddress: -1, Total: -1}, repeat(50, "192.0.2.1"), 50},
		{"of one address", Config{PerAddress: 3}, repeat(50, "192.0.2.1"), 3},
		{"of two addresses", Config{PerAddress: 3}, append(repeat(4, "192.0.2.1"), repeat(4, "192.0.2.2")...), 6},
		{"IPv4 as IPv6", Config{PerAddress: 3}, append(repeat(3, "192.0.2.1"), repeat(3, "::ffff:192.0.2.1")...), 3},
		{"of one IPv6 network", Config{PerAddress: 3}, append(repeat(3, "2001:db8::1"), repeat(3, "2001:db8::ff:2")...), 3},
		{"in all", Config{Total: 5}, append(repeat(4, "192.0.2.1"), repeat(4, "192.0.2.2")...), 5},
		{"both", Config{PerAddress: 4, Total: 5}, append(repeat(9, "192.0.2.1"), repeat(9, "192.0.2.2")...), 5},
		{"what its address refuses does not count in all", Config{PerAddress: 1, Total: 2}, append(repeat(9, "192.0.2.1"), repeat(1, "192.0.2.2")...), 2},
		{"a trusted proxy", Config{PerAddress: 1, Trusted: proxiesOf(t, "192.0.2.1")}, append(repeat(5, "192.0.2.1"), repeat(5, "192.0.2.2")...), 6},
		{"a trusted proxy, IPv4 as IPv6", Config{PerAddress: 1, Trusted: proxiesOf(t, "192.0.2.1")}, repeat(5, "::ffff:192.0.2.1"), 5},
		{"a trusted proxy in all", Config{Total: 2, Trusted: proxiesOf(t, "192.0.2.1")}, repeat(5, "192.0.2.1"), 2},
		{"of a Unix socket", Config{PerAddress: 1}, []net.Addr{unix, unix, unix}, 3},
		{"of a Unix socket in all", Config{Total: 2}, []net.Addr{unix, unix, unix}, 2},
		{"from nowhere", Config{PerAddress: 1, Total: 2}, []net.Addr{nil, nil, nil}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refused := 0
			tt.cfg.Refused = func() { refused++ }
			knocking := len(tt.remote)
			l := Listen(&knocks{remote: tt.remote}, tt.cfg).(*listener)
			conns := acceptAll(t, l)
			if len(conns) != tt.accepted || refused != knocking-tt.accepted {
				t.Errorf("accepted %d and refused %d of %d, want %d accepted", len(conns), refused, knocking, tt.accepted)
			}
			for _, c := range conns {
				if err := c.Close(); err == nil {
					t.Error("the error of Close got lost")
				}
				c.Close()
			}
			if l.all.Keys()+l.byAddress.Keys() != 0 {
				t.Errorf("%d and %d keys are left when all are closed", l.all.Keys(), l.byAddress.Keys())
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

func TestListenFreesAPlaceOnceHoweverOftenAConnectionIsClosed(t *testing.T) {
	inner := &knocks{remote: []net.Addr{knockFrom("192.0.2.1"), knockFrom("192.0.2.1")}}
	l := Listen(inner, Config{PerAddress: 2})
	conns := acceptAll(t, l)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { conns[0].(*placedConn).leave() })
	}
	all.Wait()
	conns[0].Close()
	inner.remote = []net.Addr{knockFrom("192.0.2.1"), knockFrom("192.0.2.1"), knockFrom("192.0.2.1")}
	if got := len(acceptAll(t, l)); got != 1 {
		t.Errorf("%d came in, want 1", got)
	}
}

func TestListenClosesWhatIsTooMany(t *testing.T) {
	inner := &knocks{remote: []net.Addr{knockFrom("192.0.2.1")}}
	l := Listen(inner, Config{PerAddress: 1}).(*listener)
	acceptAll(t, l)
	late := &knock{remote: knockFrom("192.0.2.1")}
	l.refuse(late) // Refused is nil
	if late.closed != 1 {
		t.Errorf("closed %d times", late.closed)
	}
}

// guarded is an HTTP server behind Listen, on the loopback interface.
type guarded struct {
	addr    string
	refused atomic.Int64
	closed  chan struct{} // one for each connection that the server gave up
}

func serveGuarded(t *testing.T, cfg Config, h http.Handler) *guarded {
	t.Helper()
	goleak.VerifyNone(t)
	t.Cleanup(func() { goleak.VerifyNone(t) })
	s := &guarded{closed: make(chan struct{}, 100)}
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

// A rawClient is one TCP connection that speaks HTTP.
type rawClient struct {
	net.Conn
	in *bufio.Reader
}

func (s *guarded) tryDial(t *testing.T) (*rawClient, error) {
	c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", s.addr)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.Close() })
	return &rawClient{c, bufio.NewReader(c)}, c.SetDeadline(time.Now().Add(10 * time.Second))
}

func (s *guarded) dial(t *testing.T) *rawClient {
	t.Helper()
	c, err := s.tryDial(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask returns the status and body of an answer, or an error if the connection
// broke.
func (c *rawClient) ask(request string) (int, string, error) {
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
	if got, _, err := c.ask(request); err != nil || got != status {
		t.Errorf("got %d, %v; want %d", got, err, status)
	}
}

// wantRefused fails unless one more connection is closed at once: so early, it
// may be, that it is not even there.
func (s *guarded) wantRefused(t *testing.T) {
	t.Helper()
	c, err := s.tryDial(t)
	if err == nil {
		_, _, err = c.ask(bareGet)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want a connection that is closed at once", err)
	}
}

func TestListenBoundsTheConnectionsOfAnHTTPServer(t *testing.T) {
	s := serveGuarded(t, Config{PerAddress: 2}, http.NotFoundHandler())
	first, second := s.dial(t), s.dial(t)
	wantStatus(t, first, bareGet, 404)
	wantStatus(t, second, bareGet, 404)
	s.wantRefused(t)
	s.wantRefused(t)
	if n := s.refused.Load(); n != 2 {
		t.Errorf("%d refusals were told, want 2", n)
	}
	wantStatus(t, first, bareGet, 404) // those inside notice nothing

	first.Close()
	<-s.closed
	wantStatus(t, s.dial(t), bareGet, 404)
	s.wantRefused(t)
}

func TestListenLetsAProxyOfOursHaveMany(t *testing.T) {
	s := serveGuarded(t, Config{PerAddress: 1, Total: 3, Trusted: proxiesOf(t, "127.0.0.0/8")}, http.NotFoundHandler())
	for range 3 {
		wantStatus(t, s.dial(t), bareGet, 404)
	}
	s.wantRefused(t)
}

func TestListenFreesThePlaceOfAHijackedConnection(t *testing.T) {
	release := make(chan struct{})
	released := make(chan struct{}, 10)
	s := serveGuarded(t, Config{PerAddress: 1}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
	for range 3 { // each finds the place that the one before had
		wantStatus(t, s.dial(t), bareGet, 200)
		s.wantRefused(t)
		release <- struct{}{}
		<-released
	}
}

func TestListenKeepsWhatAServerNeedsOfAConnection(t *testing.T) {
	s := serveGuarded(t, Config{PerAddress: 5}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		switch r.URL.Path {
		case "/deadline":
			if err := control.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
				t.Error(err)
			}
			_, err := io.ReadAll(r.Body)
			if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
				t.Errorf("read a body with %v, want a timeout", err)
			}
			w.WriteHeader(http.StatusRequestTimeout)
		case "/early":
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		}
	}))
	wantStatus(t, s.dial(t), "POST /deadline HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\n\r\n", 408)

	// The answer arrives though the body was not read to its end.
	early := s.dial(t)
	var sender sync.WaitGroup
	sender.Go(func() {
		_, _ = io.WriteString(early, "POST /early HTTP/1.1\r\nHost: shop\r\nContent-Length: 10000000\r\n\r\n")
		_, _ = io.Copy(early, strings.NewReader(strings.Repeat("x", 1_000_000))) // it may break
	})
	wantStatus(t, early, "", 413)
	early.Close()
	sender.Wait()
	for range 2 {
		<-s.closed // the server lingers for half a second
	}
}

func TestListenKeepsWhatIsSpecialAboutTCP(t *testing.T) {
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
	s := &guarded{addr: l.Addr().String()}
	out := s.dial(t)
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	tcp, ok := in.(TCP)
	if !ok {
		t.Fatalf("%T lacks something", in)
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

func TestListenEndsWhenItIsClosed(t *testing.T) {
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
