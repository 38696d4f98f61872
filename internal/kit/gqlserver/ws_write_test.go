package gqlserver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A bareClient is a client's end of a connection without anything that reads by itself.
type bareClient struct {
	*testing.T
	net.Conn
	read *bufio.Reader
}

// bare opens a socket, and returns both of its ends.
func (s *socketSite) bare(t *testing.T) (*bareClient, *wsConn) {
	t.Helper()
	known := map[*wsConn]bool{}
	for _, c := range s.sockets() {
		known[c] = true
	}
	dial := (&net.Dialer{}).DialContext
	if piped, ok := s.client.Transport.(*http.Transport); ok && piped.DialContext != nil {
		dial = piped.DialContext
	}
	conn, err := dial(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, handshakeOf("x"))
	if err != nil {
		t.Fatal(err)
	}
	client := &bareClient{t, conn, bufio.NewReader(conn)}
	res, err := http.ReadResponse(client.read, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // an upgrade has none
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the upgrade was answered with %s", res.Status)
	}
	var mine *wsConn
	eventually(t, "the socket is open", func() bool {
		for _, c := range s.sockets() {
			if !known[c] {
				mine = c
			}
		}
		return mine != nil
	})
	return client, mine
}

// handshakeOf is the request of somebody who wants a socket, with what a browser sends.
func handshakeOf(host string) string {
	return "GET / HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: " + subprotocol + "\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\nAccept: */*\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nOrigin: http://" + host + "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
}

func (s *socketSite) sockets() []*wsConn {
	all := s.server.sockets
	all.mu.Lock()
	defer all.mu.Unlock()
	var open []*wsConn
	for c := range all.open {
		open = append(open, c)
	}
	return open
}

// frame reads one frame.
func (c *bareClient) frame() (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(c.read, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1])
	var long [8]byte
	switch n {
	case 126:
		_, err = io.ReadFull(c.read, long[6:])
		n = binary.BigEndian.Uint64(long[:])
	case 127:
		_, err = io.ReadFull(c.read, long[:])
		n = binary.BigEndian.Uint64(long[:])
	}
	if err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.read, payload)
	return head[0], payload, err
}

// send sends a frame with a mask of zeros.
func (c *bareClient) send(first byte, payload string) {
	c.Helper()
	if _, err := c.Write(append([]byte{first, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)); err != nil {
		c.Fatal(err)
	}
}

// quiet are limits with which a socket says nothing by itself.
func quiet(l Limits) Config {
	l.InitTime, l.Ping, l.MessageRate = -1, -1, -1
	return Config{Limits: l}
}

func (s *socketSite) slow(action string) float64 {
	return testutil.ToFloat64(s.server.sockets.metrics.slow[action])
}

func (s *socketSite) waiting() float64 { return testutil.ToFloat64(s.server.sockets.metrics.queued) }

func TestAFrameHasTheHeaderOfItsLength(t *testing.T) {
	for _, tt := range []struct {
		length int
		header []byte
	}{
		{0, []byte{0x81, 0}},
		{125, []byte{0x81, 125}},
		{126, []byte{0x81, 126, 0, 126}},
		{65535, []byte{0x81, 126, 0xff, 0xff}},
		{65536, []byte{0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0}},
	} {
		message := bytes.Repeat([]byte("x"), tt.length)
		want := append(append([]byte("before"), tt.header...), message...)
		if got := appendFrame([]byte("before"), message[:tt.length/3], nil, message[tt.length/3:]); !bytes.Equal(got, want) {
			t.Errorf("the frame of %d bytes begins with %x", tt.length, got[:min(len(got), 20)])
		}
	}
}

func TestWhatTheKernelTakesCostsNoMemory(t *testing.T) {
	s := start(t, quiet(Limits{}))
	client, c := s.bare(t)
	go func() { _, _ = client.WriteTo(io.Discard) }()
	frame := appendFrame(nil, []byte(pong))
	if n := testing.AllocsPerRun(100, func() { c.out.offer(frame) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s.slow(slowQueued) != 0 {
		t.Error("it had to wait")
	}
}

func (c *bareClient) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, c.Conn) }

// A timedConn knows the deadline that was set last.
type timedConn struct {
	net.Conn
	deadline atomic.Pointer[time.Time]
}

func (c *timedConn) SetWriteDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetWriteDeadline(t)
}

func TestWhatASocketDoesNotTakeWaits(t *testing.T) {
	const queue, kernel = mb, 400 * kb // the second is more than the kernel takes with these buffers
	s := start(t, quiet(Limits{Queue: queue, WriteTime: time.Hour}))
	client, c := s.bare(t)
	for _, err := range []error{client.Conn.(*net.TCPConn).SetReadBuffer(32 * kb), c.netConn.(*net.TCPConn).SetWriteBuffer(64 * kb)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	timed := &timedConn{Conn: c.netConn}
	c.out.conn = timed
	drained := make(chan struct{}, 10)
	c.out.onDrained = func() { drained <- struct{}{} }
	var taken int
	frames := func(n int) []byte { // two of them
		first := appendFrame(nil, fmt.Appendf(nil, "%d", n))
		return appendFrame(first, fmt.Appendf(nil, "%d again", n), bytes.Repeat([]byte("."), 2000))
	}
	for c.out.offer(frames(taken)) {
		taken++
	}
	queued := s.slow(slowQueued) // the first that waited may have been taken soon
	if s.slow(slowRefused) != 1 || queued == 0 {
		t.Errorf("refused %v, queued %v", s.slow(slowRefused), queued)
	}
	if n := s.waiting(); n <= queue-kernel || n > queue+3*kb+chunkSize {
		t.Errorf("%v bytes wait", n)
	}
	c.ping() // which is never refused
	sent, before := make(chan bool), s.waiting()
	go func() { sent <- c.write(t.Context(), []byte("at the end")) }()
	eventually(t, "the message waits", func() bool { return s.waiting() > before })
	check := func(want string) {
		t.Helper()
		if _, got, err := client.frame(); err != nil || strings.TrimRight(string(got), ".") != want {
			t.Fatalf("got %.20q, %v, want %q", got, err, want)
		}
	}
	for n := range taken {
		check(fmt.Sprint(n))
		check(fmt.Sprintf("%d again", n))
	}
	check("") // the ping
	check("at the end")
	if !<-sent {
		t.Error("the last message was not sent")
	}
	<-drained
	if at := timed.deadline.Load(); at == nil || !at.IsZero() {
		t.Errorf("the deadline is still %v", at)
	}
	if n := s.waiting(); n != 0 {
		t.Errorf("%v bytes wait", n)
	}
	if !c.out.offer(frames(7)) || s.slow(slowQueued) != queued {
		t.Error("what the kernel would take waits")
	}
	check("7")
	check("7 again")
	go func() { sent <- c.write(t.Context(), bytes.Repeat([]byte("."), 20*mb)) }()
	check("")
	if !<-sent || s.slow(slowQueued) != queued+1 {
		t.Error("the largest message did not wait, or is not sent")
	}
	_ = client.Close()
	s.close(t) // now nothing of it runs
	if len(drained) != 0 {
		t.Error("drained once more, but nothing was refused")
	}
}

func TestFramesOfManyStayWholeAndInOrder(t *testing.T) {
	s := start(t, quiet(Limits{Queue: -1}))
	client, c := s.bare(t)
	if conn, ok := c.netConn.(*net.TCPConn); ok {
		_ = conn.SetWriteBuffer(4 * kb) // so that nearly everything has to wait
	}
	const each = 200
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			for n := range each {
				text := fmt.Appendf(nil, "%d %d %s", writer, n, strings.Repeat("x", n*n*(1+writer%2)))
				if writer < 2 {
					c.out.offer(appendFrame(nil, text))
				} else if !c.write(t.Context(), text) {
					t.Error("not sent")
				}
			}
		})
	}
	writers.Go(func() {
		for range each {
			client.send(pingFrame, "ping")
		}
	})
	next, pongs := [4]int{}, 0
	for range 5 * each {
		first, payload, err := client.frame()
		if err != nil {
			t.Fatal(err)
		}
		if first == finalFrame|0xa && string(payload) == "ping" {
			pongs++
			continue
		}
		var writer, n int
		if _, err := fmt.Sscanf(string(payload[:min(len(payload), 20)]), "%d %d", &writer, &n); err != nil || first != textFrame || n != next[writer] ||
			!bytes.HasSuffix(payload, bytes.Repeat([]byte("x"), n*n*(1+writer%2))) {
			t.Fatalf("got %x %.20q, after %v", first, payload, next)
		}
		next[writer]++
	}
	writers.Wait()
	if pongs != each {
		t.Errorf("%d pongs", pongs)
	}
}

func TestWhoTakesNothingIsGoneInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, quiet(Limits{}), &http.Server{})
		_, c := s.bare(t)
		begin := time.Now()
		c.out.offer(appendFrame(nil, make([]byte, 100_000)))
		go c.write(t.Context(), make([]byte, 100_000)) // whose end the bubble waits for
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if open := testutil.ToFloat64(s.server.sockets.metrics.open); open != 0 || s.waiting() != 0 || s.closes("4512") != 1 || s.slow(slowDropped) != 1 {
			t.Errorf("after %v: %v are open, %v bytes wait, closed %v, dropped %v", time.Since(begin), open, s.waiting(), s.closes("4512"), s.slow(slowDropped))
		}
		if c.out.offer(appendFrame(nil, nil)) {
			t.Error("it takes more")
		}
	})
}

func TestHowFastAClientMustRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate int // bytes a second
		code websocket.StatusCode
	}{
		{"fast enough", 70 * kb, 0},
		{"all the time a little, but too slowly", 30 * kb, 4512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPiped(t, quiet(Limits{}), &http.Server{})
				client, c := s.bare(t)
				sent := make(chan bool, 1)
				go func() { sent <- c.write(t.Context(), make([]byte, mb)) }()
				for len(sent) == 0 {
					time.Sleep(100 * time.Millisecond)
					_, _ = io.CopyN(io.Discard, client.read, int64(tt.rate/10)) // or it is closed
					synctest.Wait()
				}
				if ok := <-sent; ok != (tt.code == 0) || s.closes("4512") == 1 != (tt.code == 4512) {
					t.Errorf("sent: %v, closed with 4512: %v", ok, s.closes("4512"))
				}
			})
		})
	}
}

func TestNothingFollowsACloseFrame(t *testing.T) {
	s := start(t, quiet(Limits{}))
	for _, tt := range []struct {
		name string
		end  func(*bareClient, *wsConn)
	}{
		{"of the server", func(_ *bareClient, c *wsConn) { c.end(websocket.StatusServiceRestart, "restart") }},
		{"of the client", func(client *bareClient, _ *wsConn) { client.send(closeFrame, "\x03\xf4") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, c := s.bare(t)
			tt.end(client, c)
			first, payload, err := client.frame()
			if err != nil || first != closeFrame || binary.BigEndian.Uint16(payload) != 1012 {
				t.Fatalf("got %x %q, %v", first, payload, err)
			}
			if c.out.offer(appendFrame(nil, []byte(pong))) || c.write(t.Context(), []byte(pong)) {
				t.Error("it takes a message")
			}
			c.ping()
			client.send(closeFrame, "\x03\xf4") // its part, or one too many
			if rest, err := io.ReadAll(client.read); len(rest) > 0 || err != nil && tt.name == "of the server" {
				t.Errorf("got %q, %v", rest, err)
			}
		})
	}
}
