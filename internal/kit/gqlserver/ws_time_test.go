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

// Here clients come over pipes, in bubbles of synctest: there time passes only
// while everybody waits, and no goroutine may be left in the end.

// startPiped is start for a bubble, whose end looks for goroutines.
func startPiped(t *testing.T, cfg Config, server *http.Server) *socketSite {
	t.Helper()
	s := newSocketSite(t, cfg)
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

func TestInitComesInTimeOrTheSocketCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		begin, late, inTime := time.Now(), s.visit(t), s.visit(t)
		time.Sleep(5*time.Second - 1)
		inTime.introduce("")
		late.wantsClose(4408)
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("closed after %v", took)
		}
		inTime.lives()
	})
}

func TestASocketOutlivesTheTimesOfTheHTTPServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{ReadTimeout: time.Second, WriteTimeout: time.Second, IdleTimeout: time.Second})
		v := s.enter(t, "")
		time.Sleep(20 * time.Second)
		v.lives()
	})
}

func TestSocketIsPingedAndDroppedWhenItIsSilent(t *testing.T) {
	tests := []struct {
		name           string
		answers        bool
		code           websocket.StatusCode
		earliest, last time.Duration // of its end
		pings          int           // at least
	}{
		{"who answers lives until it is old", true, 1012, 54 * time.Minute, 66 * time.Minute, 54 * 60 / 28},
		{"who does not is dropped", false, -1, 50 * time.Second, 50 * time.Second, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPiped(t, Config{}, &http.Server{})
				var pings atomic.Int32
				v, _ := s.dialWith(t, &websocket.DialOptions{Subprotocols: []string{subprotocol}, OnPingReceived: func(context.Context, []byte) bool {
					pings.Add(1)
					return tt.answers
				}})
				v.introduce("")
				begin := time.Now()
				v.wantsClose(tt.code)
				if took := time.Since(begin); took < tt.earliest || took > tt.last {
					t.Errorf("it ended after %v, want %v to %v", took, tt.earliest, tt.last)
				}
				if n := int(pings.Load()); n < tt.pings {
					t.Errorf("%d pings, want %d at least", n, tt.pings)
				}
			})
		})
	}
}

func TestAMessageWithoutEndIsNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		v := s.enter(t, "")
		begin := time.Now()
		var reading sync.WaitGroup
		reading.Go(func() { // and answers pings
			_, _ = v.read()
			_ = v.conn.CloseNow()
		})
		w, err := v.conn.Writer(t.Context(), websocket.MessageText)
		for err == nil {
			if _, err = io.WriteString(w, " "); err == nil {
				err = v.conn.Ping(t.Context()) // which flushes
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(begin); took < 50*time.Second || took > 55*time.Second {
			t.Errorf("it ended after %v", took)
		}
		reading.Wait()
	})
}

func TestAnOpenSocketEndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		v, nobody := s.enter(t, "ann"), s.enter(t, "")
		ends := make(chan websocket.StatusCode, 2)
		for _, one := range []*visitor{v, nobody} {
			go func() {
				_, err := one.read()
				ends <- websocket.CloseStatus(err)
			}()
		}
		asked := s.people.asked()
		s.people.change("ann", AuthResult{Unavailable: true})
		time.Sleep(5 * time.Minute)
		if n := s.people.asked() - asked; n < 4 || n > 6 {
			t.Errorf("asked %d times in five minutes", n)
		}
		if len(ends) > 0 {
			t.Fatalf("closed with %d while nobody could say", <-ends)
		}
		s.people.change("ann", AuthResult{BadToken: true})
		begin := time.Now()
		if code := <-ends; code != 4403 || time.Since(begin) > 66*time.Second {
			t.Errorf("closed with %d after %v", code, time.Since(begin))
		}
		nobody.send(pingMessage)
		synctest.Wait()
		if got := testutil.ToFloat64(s.server.sockets.metrics.open); got != 1 {
			t.Errorf("%v sockets are open, want that of nobody", got)
		}
	})
}

func TestWhoReadsTooSlowlyIsToldWhereItCan(t *testing.T) {
	tests := []struct {
		name  string
		pause time.Duration // before it reads on
		want  websocket.StatusCode
	}{
		{"in time", 4 * time.Second, 0},
		{"too late", 7 * time.Second, 4512},
		{"never", time.Minute, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPiped(t, Config{}, &http.Server{})
				v := s.enter(t, "")
				v.subscribe("1", "subscription { flood }")
				time.Sleep(tt.pause)
				_, err := v.read() // what was on its way
				for range 10 {
					if err == nil {
						_, err = v.read()
					}
				}
				switch {
				case tt.want == 0 && err != nil, tt.want != 0 && websocket.CloseStatus(err) != tt.want:
					t.Errorf("it ended with %v, want %d", err, tt.want)
				}
				synctest.Wait()
				if tt.want != 0 && (s.closes("4512") != 1 || s.Running("flood") != 0) {
					t.Errorf("%v were closed, %d floods run", s.closes("4512"), s.Running("flood"))
				}
				_ = v.conn.CloseNow()
			})
		})
	}
}

func TestCloseSpreadsTheEndOfSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
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
			v := s.enter(t, "")
			clients.Go(func() {
				v.wantsClose(1012)
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
			t.Errorf("sockets that ended by the time (-want +got)\n%s", d)
		}
		if slices.IsSorted(order) { // as it is once in 3.6 million times
			t.Errorf("closed in the order %v", order)
		}
	})
}

func TestCloseDropsTheStubbornWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{Limits: Limits{WriteTime: time.Hour}}, &http.Server{})
		s.enter(t, "") // it does not read, and so never answers the close frame
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.server.sockets.Close(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if open, took := testutil.ToFloat64(s.server.sockets.metrics.open), time.Since(begin); open != 0 || took != time.Second {
			t.Errorf("%v sockets are open after %v", open, took)
		}
	})
}
