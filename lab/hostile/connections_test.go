package hostile_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// Outcomes of connections without an HTTP response.
const (
	cutOff  = "cut off"
	dropped = "dropped"
)

// patience returns the attacks that wait for a time-out. Those of a group run in parallel, most
// from an address of their own, so that the limits of one do not hide another's.
func patience() [][]attack {
	return [][]attack{{
		{"1,000 slow bodies of 16 KB", []string{"408 TIMEOUT", cutOff}, func(s *script) {
			s.connections(1000, 2, head(100_000)+`{"query":"`+strings.Repeat("a", 16<<10), "a", time.Second)
		}},
		{"100 slow bodies of 1 MB", []string{"408 TIMEOUT"}, func(s *script) {
			s.connections(100, 3, head(1_000_000)+`{"query":"`+strings.Repeat("a", 900<<10), "a", time.Second)
		}},
		{"20 slow uploads that break off", []string{noRequest}, func(s *script) { s.uploads(20, 4) }},
		{"answers that nobody reads", []string{dropped}, func(s *script) { s.unread(4, 5, "application/json") }},
		{"event streams that nobody reads", []string{dropped}, func(s *script) { s.unread(1, 9, "text/event-stream") }},
		{"sockets that nobody reads", []string{dropped}, func(s *script) { s.sockets(4, 10, narrow, deaf) }},
	}, {
		{"1,200 slow headers", []string{cutOff, "408"}, func(s *script) {
			s.connections(1200, 1, "POST /graphql HTTP/1.1\r\nHost: x\r\nX-Slow: "+strings.Repeat("x", 3000), "x", time.Second)
		}},
		{"900 uploads that send a boundary", []string{"408 TIMEOUT"}, func(s *script) {
			begin := strings.Replace(head(1_000_000), "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=b\r\nGraphQL-Require-Preflight: 1\r\nAuthorization: Bearer "+s.session, 1)
			s.connections(900, 12, begin+"--b\r\n", "x", time.Second)
		}},
		{"sockets that say nothing", []string{"closed 4408"}, func(s *script) { s.sockets(100, 11, nil, silent) }},
	}}
}

// floodsOfSockets returns attacks with many sockets in a short time.
func floodsOfSockets() []attack {
	return []attack{
		{"truncated bodies", []string{noRequest}, func(s *script) {
			s.rawly(16, 500, func(conn net.Conn) error {
				_, err := io.WriteString(conn, head(1000)+`{"query":"`+strings.Repeat("a", 500))
				return errors.Join(err, conn.(*net.TCPConn).CloseWrite()) //nolint:forcetypeassert // the network is tcp
			})
		}},
		{"headers of 1 MB", []string{"431", cutOff}, func(s *script) {
			s.rawly(16, 300, func(conn net.Conn) error {
				_, err := io.WriteString(conn, "POST /graphql HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 1<<20))
				return err
			})
		}},
		{"no HTTP", []string{"400", cutOff}, func(s *script) {
			s.rawly(16, 500, func(conn net.Conn) error {
				_, err := io.WriteString(conn, "GET /graphql\x00 HTTP/1.1\r\nHost: \x00\r\n\r\n")
				return err
			})
		}},
		{"1,000 sockets of one address", []string{"open", "429 RATE_LIMITED"}, func(s *script) { s.sockets(1000, 1, nil, idle) }},
		{"1,000 sockets of ten addresses", []string{"open", "429 RATE_LIMITED"}, func(s *script) { s.sockets(1000, 0, nil, idle) }},
		{"sockets that flood", []string{"closed 1008"}, func(s *script) { s.sockets(50, 0, nil, sends(10_000, `{"type":"ping"}`)) }},
		{"sockets with messages of 1 MB", []string{"closed 1009"}, func(s *script) {
			s.sockets(50, 0, nil, sends(1, `{"type":"ping","payload":{"a":"`+strings.Repeat("x", 1<<20)+`"}}`))
		}},
		{"sockets that say nonsense", []string{"closed 4400"}, func(s *script) { s.sockets(50, 0, nil, sends(1, strings.Repeat("[", 60_000))) }},
		{"sockets that begin twice", []string{"closed 4429"}, func(s *script) { s.sockets(50, 0, nil, sends(1, `{"type":"connection_init"}`)) }},
		{"sockets with 90 large queries", []string{"error RATE_LIMITED", "error UNAVAILABLE", "next"}, func(s *script) { s.sockets(20, 0, nil, busy) }},
		{"sockets with floods in them", []string{"error DOCUMENT_TOO_LARGE", "error BAD_REQUEST", "error UNAVAILABLE"}, func(s *script) { s.sockets(50, 0, nil, hostile) }},
	}
}

// head returns the head of a request with a body of the given size.
func head(length int) string {
	return fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/graphql-response+json\r\nContent-Length: %d\r\n\r\n", length)
}

// place returns the address of a script's nth connection: the address own, or one of ten if own is
// 0.
func (s *script) place(own, n int) net.IP {
	switch {
	case !s.spread:
		return nil
	case own == 0:
		return net.IPv4(127, 0, 0, byte(100+n%10))
	}
	return net.IPv4(127, 0, 0, byte(50+own))
}

// connections opens many connections from one address. Each sends a beginning, and a little more at
// intervals, until the server answers or closes it.
func (s *script) connections(count, own int, begin, more string, pause time.Duration) {
	var all sync.WaitGroup
	for n := range count {
		all.Go(func() {
			conn, err := dialer(s.place(own, n)).DialContext(s.ctx, "tcp", s.host)
			if err != nil {
				s.got(cutOff)
				return
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, begin); err != nil {
				s.got(s.answerOn(conn))
				return
			}
			answer := make(chan string, 1)
			go func() { answer <- s.answerOn(conn) }()
			drip := time.NewTicker(pause)
			defer drip.Stop()
			for {
				select {
				case <-drip.C:
					_, _ = io.WriteString(conn, more) // the response shows the outcome
				case a := <-answer:
					s.got(a)
					return
				}
			}
		})
	}
	all.Wait()
}

// answerOn reads one answer.
func (s *script) answerOn(conn net.Conn) string {
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second)) // a live connection takes it
	return said(http.ReadResponse(bufio.NewReader(conn), nil)) //nolint:bodyclose // said does
}

// rawly opens a connection for each of n requests and writes into it.
func (s *script) rawly(connections, times int, write func(net.Conn) error) {
	work := make(chan int)
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for n := range work {
				conn, err := dialer(s.from(n)).DialContext(s.ctx, "tcp", s.host)
				if err != nil {
					s.got(cutOff)
					continue
				}
				_ = write(conn) // the response shows the outcome
				s.got(s.answerOn(conn))
				_ = conn.Close()
			}
		})
	}
	for n := range times {
		work <- n
	}
	close(work)
	all.Wait()
}

// uploads sends files slowly and aborts them.
func (s *script) uploads(count, own int) {
	var all sync.WaitGroup
	for n := range count {
		all.Go(func() {
			r := s.upload(s.session, `{"query":"{me{id}}","variables":{"a":null}}`, `{"0":["variables.a"]}`, 8<<20)
			r.Body = io.NopCloser(io.LimitReader(&slowly{ctx: s.ctx, from: r.Body}, 4<<20))
			conn, err := dialer(s.place(own, n)).DialContext(s.ctx, "tcp", s.host)
			if err != nil {
				s.got(cutOff)
				return
			}
			defer func() { _ = conn.Close() }()
			_ = r.Write(conn)                    // less than its header promises
			_ = conn.(*net.TCPConn).CloseWrite() //nolint:forcetypeassert // the network is tcp
			s.got(s.answerOn(conn))
		})
	}
	all.Wait()
}

// slowly reads half a megabyte each half a second.
type slowly struct {
	ctx  context.Context
	from io.Reader
	read int
}

func (r *slowly) Read(p []byte) (int, error) {
	if r.read >= 512<<10 {
		r.read = 0
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n, err := r.from.Read(p)
	r.read += n
	return n, err
}

// unread sends a request on each of some connections and reads no response, until the server gives
// up. Unread data fills the small buffers of a connection soon, as on a slow network.
func (s *script) unread(addresses, own int, accept string) {
	dial := net.Dialer{Control: narrow}
	var all sync.WaitGroup
	for n := range addresses * heaviest {
		text := body(heavy(n), nil)
		request := strings.Replace(head(len(text)), "application/graphql-response+json", accept, 1) + text
		all.Go(func() {
			dial := dial
			if from := s.place(own+n/heaviest, n); from != nil {
				dial.LocalAddr = &net.TCPAddr{IP: from}
			}
			conn, err := dial.DialContext(s.ctx, "tcp", s.host)
			if err != nil {
				s.got(cutOff)
				return
			}
			defer func() { _ = conn.Close() }()
			_, err = io.WriteString(conn, request)
			s.got(s.drip(conn, err))
		})
	}
	all.Wait()
}

// drip writes the beginning of another request, slowly, until the connection is closed.
func (s *script) drip(conn net.Conn, err error) string {
	more := time.NewTicker(100 * time.Millisecond)
	defer more.Stop()
	for err == nil {
		select {
		case <-more.C:
			_, err = io.WriteString(conn, "\r\n")
		case <-s.ctx.Done():
			return "no answer"
		}
	}
	return dropped
}

// control prepares a connection before it is opened; nil does nothing.
type control func(network, address string, raw syscall.RawConn) error

// narrow sets a small receive buffer.
func narrow(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536),
		)
	})
	return errors.Join(err, failed)
}

// sockets opens n sockets and runs a script on each.
func (s *script) sockets(count, own int, control control, do func(*script, *websocket.Conn) string) {
	var opened, all sync.WaitGroup
	opened.Add(count)
	for n := range count {
		all.Go(func() {
			conn, answer := s.open(own, n, control)
			opened.Done()
			if conn == nil {
				s.got(answer)
				return
			}
			opened.Wait() // all stay open until the last one is
			s.got(do(s, conn))
			_ = conn.CloseNow() // if it is not closed yet
		})
	}
	all.Wait()
}

// open opens a socket, or returns the reason of the failure.
func (s *script) open(own, n int, control control) (*websocket.Conn, string) {
	dial := dialer(s.place(own, n))
	dial.Control = control
	transport := &http.Transport{DialContext: dial.DialContext}
	defer transport.CloseIdleConnections()
	conn, res, err := websocket.Dial(s.ctx, "ws://"+s.host+"/graphql", &websocket.DialOptions{ //nolint:bodyclose // said does, where there is one
		HTTPClient: &http.Client{Transport: transport}, Subprotocols: []string{"graphql-transport-ws"},
	})
	switch {
	case err == nil:
		return conn, ""
	case res == nil:
		return nil, cutOff
	}
	return nil, said(res, nil)
}

// Socket scripts. Each uses an open socket and returns the outcome.

func silent(s *script, conn *websocket.Conn) string { return s.rest(conn) }

// idle initialises the socket, sends a query, and waits.
func idle(s *script, conn *websocket.Conn) string {
	s.say(conn, `{"type":"connection_init"}`, `{"type":"subscribe","id":"1","payload":{"query":"{me{id}}"}}`)
	for {
		switch _, text, err := conn.Read(s.ctx); {
		case err != nil:
			return ending(err)
		case strings.Contains(string(text), `"complete"`):
			return "open"
		}
	}
}

// sends initialises the socket and sends one message n times.
func sends(times int, message string) func(*script, *websocket.Conn) string {
	return func(s *script, conn *websocket.Conn) string {
		s.say(conn, `{"type":"connection_init"}`)
		go func() {
			for range times {
				if conn.Write(s.ctx, websocket.MessageText, []byte(message)) != nil {
					return
				}
			}
		}()
		return s.rest(conn)
	}
}

// busy runs as many operations at once as it can.
func busy(s *script, conn *websocket.Conn) string {
	const operations = 90
	s.say(conn, `{"type":"connection_init"}`)
	go func() {
		for i := range operations {
			s.say(conn, fmt.Sprintf(`{"type":"subscribe","id":"%d","payload":%s}`, i, body(largest(i), map[string]any{})))
		}
	}()
	conn.SetReadLimit(-1)
	last := ""
	for over := 0; over < operations; {
		_, text, err := conn.Read(s.ctx)
		if err != nil {
			return ending(err)
		}
		switch kind := string(text[:min(len(text), 4096)]); {
		case strings.HasPrefix(kind, `{"type":"next"`):
			last = "next"
		case strings.HasPrefix(kind, `{"type":"complete"`):
			over++
			continue
		case strings.HasPrefix(kind, `{"type":"error"`):
			over++
			last = "error " + codeIn.FindStringSubmatch(kind)[1]
		default:
			continue
		}
		s.got(last)
	}
	return last
}

// hostile sends documents over a socket that are also rejected over HTTP.
func hostile(s *script, conn *websocket.Conn) string {
	s.say(conn, `{"type":"connection_init"}`)
	last := ""
	for i, text := range []string{
		body("{"+strings.Repeat("a ", 20_000)+"}", map[string]any{}),
		body(doubling("...F%[2]d ...F%[2]d a%[1]d:__typename"), map[string]any{}),
		body("{me{id"+strings.Repeat("@skip(if:false)", 800)+"}}", map[string]any{}),
		`{"query":"{me{id}}","variables":{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`,
		body(nodes, map[string]any{"ids": make([]int, 20_000)}),
	} {
		s.say(conn, fmt.Sprintf(`{"type":"subscribe","id":"%d","payload":%s}`, i, text))
		for {
			_, answer, err := conn.Read(s.ctx)
			if err != nil {
				return ending(err)
			}
			if strings.HasPrefix(string(answer), `{"type":"error"`) {
				last = "error " + codeIn.FindStringSubmatch(string(answer))[1]
				s.got(last)
				break
			}
		}
	}
	return last
}

// deaf requests more than fits into the buffers, and reads nothing until the server closes the
// socket.
func deaf(s *script, conn *websocket.Conn) string {
	s.say(conn, `{"type":"connection_init"}`)
	more := time.NewTicker(50 * time.Millisecond)
	defer more.Stop()
	for i := 0; ; i++ {
		select {
		case <-more.C:
		case <-s.ctx.Done():
			return "no answer"
		}
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		err := conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"subscribe","id":"%d","payload":%s}`, i, body(largest(i), map[string]any{})))
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return "no answer"
		case err != nil:
			return dropped
		}
	}
}

// say sends messages. Reads show their outcome.
func (s *script) say(conn *websocket.Conn, messages ...string) {
	for _, m := range messages {
		_ = conn.Write(s.ctx, websocket.MessageText, []byte(m))
	}
}

// rest reads until the socket is closed.
func (s *script) rest(conn *websocket.Conn) string {
	for {
		if _, _, err := conn.Read(s.ctx); err != nil {
			return ending(err)
		}
	}
}

// ending describes how a socket ended.
func ending(err error) string {
	if code := websocket.CloseStatus(err); code != -1 {
		return fmt.Sprintf("closed %d", code)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer"
	}
	return dropped
}
