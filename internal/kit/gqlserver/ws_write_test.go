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

// A bareClient is the client end of a connection. Nothing reads from it in the background.
type bareClient struct {
	*testing.T
	net.Conn
	read *bufio.Reader
}

// bare opens a socket and returns both ends.
func (s *wsTestServer) bare(t *testing.T) (*bareClient, *wsConn) {
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
	_, err = io.WriteString(conn, handshakeRequest("x"))
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
		t.Fatalf("upgrade: got %s, want 101", res.Status)
	}
	var opened *wsConn
	eventually(t, "the socket is open", func() bool {
		for _, c := range s.sockets() {
			if !known[c] {
				opened = c
			}
		}
		return opened != nil
	})
	return client, opened
}

// handshakeRequest is an upgrade request with the headers of a browser.
func handshakeRequest(host string) string {
	return "GET / HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: " + subprotocol + "\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\nAccept: */*\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nOrigin: http://" + host + "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
}

func (s *wsTestServer) sockets() []*wsConn {
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

// quietConfig returns a Config with which a socket sends nothing by itself.
func quietConfig(l Limits) Config {
	l.InitTime, l.Ping, l.MessageRate = -1, -1, -1
	return Config{Limits: l}
}

func (s *wsTestServer) slowCount(action string) float64 {
	return testutil.ToFloat64(s.server.sockets.metrics.slow[action])
}

func (s *wsTestServer) queuedBytes() float64 {
	return testutil.ToFloat64(s.server.sockets.metrics.queued)
}

func TestFrameHeaderEncodesLength(t *testing.T) {
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
			t.Errorf("frame of %d bytes: got %x, want %x", tt.length, got[:min(len(got), 20)], want[:min(len(want), 20)])
		}
	}
}

func TestDirectWritesDoNotAllocate(t *testing.T) {
	s := startServer(t, quietConfig(Limits{}))
	client, c := s.bare(t)
	go func() { _, _ = client.WriteTo(io.Discard) }()
	frame := appendFrame(nil, []byte(pong))
	if n := testing.AllocsPerRun(100, func() { c.out.offer(frame) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	if s.slowCount(slowQueued) != 0 {
		t.Error("got a queued frame, want a direct write")
	}
}

func (c *bareClient) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, c.Conn) }

// A timedConn records its last write deadline.
type timedConn struct {
	net.Conn
	deadline atomic.Pointer[time.Time]
}

func (c *timedConn) SetWriteDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetWriteDeadline(t)
}

func TestUnwrittenFramesAreQueued(t *testing.T) {
	const queue, kernel = mb, 400 * kb // kernel exceeds what the kernel accepts with these buffers
	s := startServer(t, quietConfig(Limits{Queue: queue, WriteTime: time.Hour}))
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
	var accepted int
	frames := func(n int) []byte { // two frames
		first := appendFrame(nil, fmt.Appendf(nil, "%d", n))
		return appendFrame(first, fmt.Appendf(nil, "%d again", n), bytes.Repeat([]byte("."), 2000))
	}
	for c.out.offer(frames(accepted)) {
		accepted++
	}
	queued := s.slowCount(slowQueued) // the first queued frame may have been written soon
	if s.slowCount(slowRefused) != 1 || queued == 0 {
		t.Errorf("got %v refused and %v queued, want 1 and more than 0", s.slowCount(slowRefused), queued)
	}
	if n := s.queuedBytes(); n <= queue-kernel || n > queue+3*kb+chunkSize {
		t.Errorf("got %v queued bytes, want about %d", n, queue)
	}
	c.ping() // never refused
	sent, before := make(chan bool), s.queuedBytes()
	go func() { sent <- c.write(t.Context(), []byte("at the end")) }()
	eventually(t, "the message is queued", func() bool { return s.queuedBytes() > before })
	check := func(want string) {
		t.Helper()
		if _, got, err := client.frame(); err != nil || strings.TrimRight(string(got), ".") != want {
			t.Fatalf("got %.20q, %v, want %q", got, err, want)
		}
	}
	for n := range accepted {
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
		t.Errorf("got deadline %v, want none", at)
	}
	if n := s.queuedBytes(); n != 0 {
		t.Errorf("got %v queued bytes, want 0", n)
	}
	if !c.out.offer(frames(7)) || s.slowCount(slowQueued) != queued {
		t.Error("got a queued frame, want a direct write")
	}
	check("7")
	check("7 again")
	go func() { sent <- c.write(t.Context(), bytes.Repeat([]byte("."), 20*mb)) }()
	check("")
	if !<-sent || s.slowCount(slowQueued) != queued+1 {
		t.Error("the largest message was not queued or not sent")
	}
	_ = client.Close()
	s.close(t) // waits for its goroutines
	if len(drained) != 0 {
		t.Error("got another drain without a refused frame")
	}
}

func TestConcurrentFramesStayWholeAndInOrder(t *testing.T) {
	s := startServer(t, quietConfig(Limits{Queue: -1}))
	client, c := s.bare(t)
	if conn, ok := c.netConn.(*net.TCPConn); ok {
		_ = conn.SetWriteBuffer(4 * kb) // so that nearly every frame is queued
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
					t.Error("write: got false, want true")
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
			t.Fatalf("got %x %.20q, want a next frame of %v", first, payload, next)
		}
		next[writer]++
	}
	writers.Wait()
	if pongs != each {
		t.Errorf("got %d pongs, want %d", pongs, each)
	}
}

func TestStalledReaderIsDroppedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, quietConfig(Limits{}), &http.Server{})
		_, c := s.bare(t)
		begin := time.Now()
		c.out.offer(appendFrame(nil, make([]byte, 100_000)))
		go c.write(t.Context(), make([]byte, 100_000)) // the bubble waits for its end
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if open := testutil.ToFloat64(s.server.sockets.metrics.open); open != 0 || s.queuedBytes() != 0 || s.closeCount("4512") != 1 || s.slowCount(slowDropped) != 1 {
			t.Errorf("after %v: got %v open, %v queued bytes, %v closed, %v dropped, want 0, 0, 1, 1", time.Since(begin), open, s.queuedBytes(), s.closeCount("4512"), s.slowCount(slowDropped))
		}
		if c.out.offer(appendFrame(nil, nil)) {
			t.Error("got a frame accepted after the end")
		}
	})
}

func TestClientMustReadAtMinimumRate(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate int // bytes per second
		code websocket.StatusCode
	}{
		{"fast enough", 70 * kb, 0},
		{"steady but too slow", 30 * kb, 4512},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPipeServer(t, quietConfig(Limits{}), &http.Server{})
				client, c := s.bare(t)
				sent := make(chan bool, 1)
				go func() { sent <- c.write(t.Context(), make([]byte, mb)) }()
				for len(sent) == 0 {
					time.Sleep(100 * time.Millisecond)
					_, _ = io.CopyN(io.Discard, client.read, int64(tt.rate/10)) // fails when the socket closes
					synctest.Wait()
				}
				if ok := <-sent; ok != (tt.code == 0) || s.closeCount("4512") == 1 != (tt.code == 4512) {
					t.Errorf("got sent %v and %v sockets closed with 4512, want close code %d", ok, s.closeCount("4512"), tt.code)
				}
			})
		})
	}
}

func TestNothingFollowsCloseFrame(t *testing.T) {
	s := startServer(t, quietConfig(Limits{}))
	for _, tt := range []struct {
		name string
		end  func(*bareClient, *wsConn)
	}{
		{"server closes", func(_ *bareClient, c *wsConn) { c.end(websocket.StatusServiceRestart, "restart") }},
		{"client closes", func(client *bareClient, _ *wsConn) { client.send(closeFrame, "\x03\xf4") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, c := s.bare(t)
			tt.end(client, c)
			first, payload, err := client.frame()
			if err != nil || first != closeFrame || binary.BigEndian.Uint16(payload) != 1012 {
				t.Fatalf("got %x %q, %v, want close code 1012", first, payload, err)
			}
			if c.out.offer(appendFrame(nil, []byte(pong))) || c.write(t.Context(), []byte(pong)) {
				t.Error("got a message accepted after the close frame")
			}
			c.ping()
			client.send(closeFrame, "\x03\xf4") // the answer, or a second close frame
			if rest, err := io.ReadAll(client.read); len(rest) > 0 || err != nil && tt.name == "server closes" {
				t.Errorf("got %q, %v, want the end", rest, err)
			}
		})
	}
}
