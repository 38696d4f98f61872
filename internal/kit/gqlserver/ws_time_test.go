package gqlserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// These tests use pipes in synctest bubbles. Time passes only while all goroutines wait, and a
// bubble fails if goroutines are left.

// startPipeServer is startServer for a bubble, which checks for leaked goroutines itself.
func startPipeServer(t *testing.T, cfg Config, server *http.Server) *wsTestServer {
	t.Helper()
	s := newWSTestServer(t, cfg)
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server.Handler = s.server
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(pipes) })
	transport := &http.Transport{DialContext: pipes.dial}
	s.url, s.client, s.wait = "http://pipe", &http.Client{Transport: transport}, 24*time.Hour
	t.Cleanup(func() {
		s.close(t)
		_ = server.Close()
		transport.CloseIdleConnections()
		serving.Wait()
	})
	return s
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, exists := net.Pipe()
	select {
	case l.conns <- exists:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error { close(l.closed); return nil }

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func TestSocketWithoutInitCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		begin, late, inTime := time.Now(), s.connect(t), s.connect(t)
		time.Sleep(5*time.Second - 1)
		inTime.sendInit("")
		late.wantClose(4408)
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("closed after %v, want 5s", took)
		}
		inTime.wantPong()
	})
}

func TestSocketOutlivesServerTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{ReadTimeout: time.Second, WriteTimeout: time.Second, IdleTimeout: time.Second})
		v := s.connectAs(t, "")
		time.Sleep(20 * time.Second)
		v.wantPong()
	})
}

func TestSilentSocketIsDropped(t *testing.T) {
	tests := []struct {
		name           string
		answers        bool
		code           websocket.StatusCode
		minEnd, maxEnd time.Duration
		minPings       int
	}{
		{"answering socket ends at its maximum age", true, 1012, 54 * time.Minute, 66 * time.Minute, 54 * 60 / 28},
		{"silent socket is dropped", false, -1, 50 * time.Second, 50 * time.Second, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPipeServer(t, Config{}, &http.Server{})
				var pings atomic.Int32
				v, _ := s.dialWith(t, &websocket.DialOptions{Subprotocols: []string{subprotocol}, OnPingReceived: func(context.Context, []byte) bool {
					pings.Add(1)
					return tt.answers
				}})
				v.sendInit("")
				begin := time.Now()
				v.wantClose(tt.code)
				if took := time.Since(begin); took < tt.minEnd || took > tt.maxEnd {
					t.Errorf("ended after %v, want %v to %v", took, tt.minEnd, tt.maxEnd)
				}
				if n := int(pings.Load()); n < tt.minPings {
					t.Errorf("got %d pings, want at least %d", n, tt.minPings)
				}
			})
		})
	}
}

func TestEndlessMessageIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		v := s.connectAs(t, "")
		begin := time.Now()
		var reading sync.WaitGroup
		reading.Go(func() { // and answers pings
			_, _ = v.read()
			_ = v.conn.CloseNow()
		})
		w, err := v.conn.Writer(t.Context(), websocket.MessageText)
		for err == nil {
			if _, err = io.WriteString(w, " "); err == nil {
				err = v.conn.Ping(t.Context()) // flushes
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(begin); took < 50*time.Second || took > 55*time.Second {
			t.Errorf("ended after %v, want 50s to 55s", took)
		}
		reading.Wait()
	})
}

func TestOpenSocketEndsWithSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		v, anonymous := s.connectAs(t, "ann"), s.connectAs(t, "")
		ends := make(chan websocket.StatusCode, 2)
		for _, client := range []*wsClient{v, anonymous} {
			go func() {
				_, err := client.read()
				ends <- websocket.CloseStatus(err)
			}()
		}
		asked := s.auth.lookups()
		s.auth.set("ann", AuthResult{Unavailable: true})
		time.Sleep(5 * time.Minute)
		if n := s.auth.lookups() - asked; n < 4 || n > 6 {
			t.Errorf("got %d lookups in five minutes, want 4 to 6", n)
		}
		if len(ends) > 0 {
			t.Fatalf("got close code %d while lookups are unavailable", <-ends)
		}
		s.auth.set("ann", AuthResult{BadToken: true})
		begin := time.Now()
		if code := <-ends; code != 4403 || time.Since(begin) > 66*time.Second {
			t.Errorf("got close code %d after %v, want 4403 within 66s", code, time.Since(begin))
		}
		anonymous.send(pingMessage)
		synctest.Wait()
		if got := testutil.ToFloat64(s.server.sockets.metrics.open); got != 1 {
			t.Errorf("got %v open sockets, want 1", got)
		}
	})
}

func TestSlowReaderIsClosedWithCode(t *testing.T) {
	tests := []struct {
		name  string
		pause time.Duration // before the client reads
		want  websocket.StatusCode
	}{
		{"in time", 4 * time.Second, 0},
		{"too late", 7 * time.Second, 4512},
		{"never", time.Minute, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPipeServer(t, Config{}, &http.Server{})
				v := s.connectAs(t, "")
				v.subscribe("1", "subscription { flood }")
				time.Sleep(tt.pause)
				_, err := v.read() // a message in flight
				for range 10 {
					if err == nil {
						_, err = v.read()
					}
				}
				switch {
				case tt.want == 0 && err != nil, tt.want != 0 && websocket.CloseStatus(err) != tt.want:
					t.Errorf("got %v, want close code %d", err, tt.want)
				}
				synctest.Wait()
				if tt.want != 0 && (s.closeCount("4512") != 1 || s.Running("flood") != 0) {
					t.Errorf("got %v sockets closed and %d resolvers running, want 1 and 0", s.closeCount("4512"), s.Running("flood"))
				}
				_ = v.conn.CloseNow()
			})
		})
	}
}

func TestCloseSpreadsSocketEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		const (
			sockets = 10
			over    = 50 * time.Millisecond
		)
		begin := time.Now()
		var mu sync.Mutex
		var order []int
		ends := map[time.Duration]int{}
		var clients sync.WaitGroup
		for n := range sockets {
			v := s.connectAs(t, "")
			clients.Go(func() {
				v.wantClose(1012)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, n)
				ends[time.Since(begin)]++
			})
		}
		if err := s.server.sockets.Close(t.Context(), over); err != nil {
			t.Error(err)
		}
		clients.Wait()
		want := map[time.Duration]int{}
		for n := range sockets {
			want[time.Duration(n)*over/sockets]++
		}
		if d := cmp.Diff(want, ends); d != "" {
			t.Errorf("ended sockets by time (-want +got)\n%s", d)
		}
		if slices.IsSorted(order) { // by chance once in 3.6 million runs
			t.Errorf("got the order %v, want a random one", order)
		}
	})
}

func TestCloseDropsUnresponsiveSocketsWhenContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{Limits: Limits{WriteTime: time.Hour}}, &http.Server{})
		s.connectAs(t, "") // it does not read, so it never answers the close frame
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.server.sockets.Close(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		synctest.Wait()
		if open, took := testutil.ToFloat64(s.server.sockets.metrics.open), time.Since(begin); open != 0 || took != time.Second {
			t.Errorf("got %v open sockets after %v, want 0 after 1s", open, took)
		}
	})
}
