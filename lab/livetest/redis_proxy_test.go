package livetest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// fakeRedis accepts connections and passes them to the test.
type fakeRedis struct {
	addr string
	conn chan net.Conn
}

func openFakeRedis(t *testing.T) *fakeRedis {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r := &fakeRedis{listener.Addr().String(), make(chan net.Conn, 4)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.conn <- conn
		}
	}()
	return r
}

// through returns a connection through a redisProxy, with both ends.
func through(t *testing.T) (s *redisProxy, server, redis net.Conn) {
	t.Helper()
	r := openFakeRedis(t)
	s, err := openRedisProxy(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	if server, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", s.addr()); err != nil {
		t.Fatal(err)
	}
	redis = <-r.conn
	for _, conn := range []net.Conn{server, redis} {
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return s, server, redis
}

// passes sends a text at one end and expects another at the other end.
func passes(t *testing.T, from net.Conn, sent string, to net.Conn, want string) {
	t.Helper()
	if _, err := io.WriteString(from, sent); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

const (
	subscribeOne = "*2\r\n$9\r\nsubscribe\r\n$4\r\nlive\r\n"
	subscribed   = ">3\r\n$9\r\nsubscribe\r\n$4\r\nlive\r\n:1\r\n"
	hint         = ">3\r\n$7\r\nmessage\r\n$4\r\nlive\r\n$2\r\n17\r\n"
	oldHint      = "*3\r\n$8\r\nsmessage\r\n$4\r\nlive\r\n$2\r\n17\r\n"
	pong         = "+PONG\r\n"
)

func TestProxyDropsOnlyMessages(t *testing.T) {
	s, server, redis := through(t)
	s.lossPerMille.Store(1000)
	passes(t, server, "HELLO 3\r\n", redis, "HELLO 3\r\n")
	passes(t, redis, hint+"$-1\r\n", server, hint+"$-1\r\n") // a value that looks like a message, on a connection without a subscription
	passes(t, server, subscribeOne, redis, subscribeOne)
	passes(t, redis, subscribed+hint+pong+oldHint+hint+"%1\r\n+a\r\n*2\r\n$-1\r\n,1.5\r\n", server, subscribed+pong+"%1\r\n+a\r\n*2\r\n$-1\r\n,1.5\r\n")
	s.lossPerMille.Store(0)
	passes(t, redis, hint, server, hint)
	if s.dropped.Load() != 3 || s.delivered.Load() != 1 {
		t.Errorf("got %d dropped and %d delivered, want 3 and 1", s.dropped.Load(), s.delivered.Load())
	}
}

func TestProxyDelaysMessages(t *testing.T) {
	s, server, redis := through(t)
	passes(t, server, subscribeOne, redis, subscribeOne)
	passes(t, redis, subscribed, server, subscribed)
	s.pause()
	passes(t, redis, pong+hint, server, pong)
	if err := server.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Fatalf("got %d bytes, %v, want a timeout", n, err)
	}
	if err := server.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	s.resume()
	passes(t, redis, "", server, hint)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestProxyCutsSubscribersOnly(t *testing.T) {
	s, server, redis := through(t)
	s.cut()
	passes(t, server, "PING\r\n", redis, "PING\r\n")
	passes(t, server, subscribeOne, redis, subscribeOne)
	passes(t, redis, subscribed, server, subscribed)
	s.cut()
	for _, end := range []net.Conn{server, redis} {
		if n, err := end.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("got %d bytes, %v, want a closed connection", n, err)
		}
	}
}

func TestAppendReplyReadsWholeReplies(t *testing.T) {
	for _, reply := range []string{
		pong, ":12\r\n", "-ERR no\r\n", "$5\r\nhe\r\nl\r\n", "$-1\r\n", "_\r\n", "#t\r\n", ",3.14\r\n", "(123456789012345678901234567890\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n",
		"*0\r\n", "*-1\r\n", "*2\r\n*1\r\n:1\r\n$1\r\na\r\n", "~2\r\n:1\r\n:2\r\n", "%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "|1\r\n+ttl\r\n:3600\r\n*1\r\n:1\r\n", hint, oldHint,
	} {
		from := bufio.NewReaderSize(strings.NewReader(reply+pong), 16)
		got, err := appendReply(nil, from)
		if err != nil || string(got) != reply {
			t.Errorf("got %q, %v, want %q", got, err, reply)
		}
	}
	for _, broken := range []string{"", "$5\r\nhe", "*2\r\n:1\r\n", "$x\r\n", "\n"} {
		if got, err := appendReply(nil, bufio.NewReader(strings.NewReader(broken))); err == nil {
			t.Errorf("%q: got %q, want an error", broken, got)
		}
	}
}
