package gqlserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// A rawConn is a client connection that sends raw bytes.
type rawConn struct {
	*testing.T
	net.Conn
	reader *bufio.Reader
}

func (s *testServer) dial(t *testing.T) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return &rawConn{t, conn, bufio.NewReader(conn)}
}

// send writes text unchanged.
func (w *rawConn) send(text string) {
	w.Helper()
	if _, err := io.WriteString(w.Conn, text); err != nil {
		w.Fatal(err)
	}
}

// writePOST writes the head of a POST.
func (w *rawConn) writePOST(headers ...string) {
	w.Helper()
	w.send("POST / HTTP/1.1\r\nHost: server\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n")
}

func (w *rawConn) readResponse() (*responseHead, []byte) {
	w.Helper()
	res, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		w.Fatalf("read response: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return &responseHead{res.StatusCode, res.Header, res.Close}, text
}

// wantEOF waits until the server closes the connection.
func (w *rawConn) wantEOF() {
	w.Helper()
	_, err := w.reader.ReadByte()
	if late, ok := err.(net.Error); err == nil || ok && late.Timeout() { //nolint:errorlint // connections return it unwrapped
		w.Errorf("got %v, want a closed connection", err)
	}
}

const (
	jsonHeader    = "Content-Type: application/json"
	chunkedHeader = "Transfer-Encoding: chunked"
)

func TestLateBodyTimesOut(t *testing.T) {
	late := want{408, request.MediaJSON, "-", []string{errcode.Timeout}, nil}
	tests := []struct {
		name    string
		headers []string
		prefix  string
		want    want
	}{
		{"no byte", []string{jsonHeader, "Content-Length: 100"}, "", late},
		{"half the body", []string{jsonHeader, "Content-Length: 100"}, `{"query":`, late},
		{"half of a large body", []string{jsonHeader, "Content-Length: 300000"}, `{"query":"` + strings.Repeat("a", 100_000), late},
		{"no first chunk", []string{jsonHeader, chunkedHeader}, "", late},
		{"half a chunk", []string{jsonHeader, chunkedHeader}, "100\r\n{", late},
		{"no last chunk", []string{jsonHeader, chunkedHeader}, "11\r\n{\"query\":\"{sum}\"}\r\n", late},
		{"unread body", []string{"Content-Type: text/plain", "Content-Length: 100"}, "", want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"unread body from another site", []string{jsonHeader, "Origin: https://evil.example", "Content-Length: 100"}, "", want{403, request.MediaJSON, "-", []string{errcode.CSRF}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestServer(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}})
			w := s.dial(t)
			w.writePOST(tt.headers...)
			w.send(tt.prefix)
			res, text := w.readResponse()
			tt.want.check(t, res, text)
			w.wantEOF()
			wantUnused(t, s.server.memory)
		})
	}
}

func TestBodyOfGETIsNotAwaited(t *testing.T) {
	w := newTestServer(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}}).dial(t)
	w.send("GET /?query={sum} HTTP/1.1\r\nHost: server\r\nContent-Length: 100\r\n\r\n{")
	res, text := w.readResponse()
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	w.wantEOF()
}

func TestDrippingBodyTimesOut(t *testing.T) {
	w := newTestServer(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}}).dial(t)
	w.writePOST(jsonHeader, "Content-Length: 100000")
	var dripping sync.WaitGroup
	dripping.Go(func() {
		drip := time.NewTicker(time.Millisecond)
		defer drip.Stop()
		for range drip.C {
			if _, err := w.Write([]byte(" ")); err != nil {
				return
			}
		}
	})
	res, text := w.readResponse()
	want{408, request.MediaJSON, "-", []string{errcode.Timeout}, nil}.check(t, res, text)
	dripping.Wait()
}

func TestConnectionIsReusedForNextRequest(t *testing.T) {
	s := newTestServer(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}})
	w := s.dial(t)
	const body = `{"query":"{sum}"}`
	for range 3 {
		w.writePOST(jsonHeader, fmt.Sprintf("Content-Length: %d", len(body)))
		w.send(body)
		res, text := w.readResponse()
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	}
	w.writePOST(jsonHeader, fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body[:5])
	w.send(body[5:])
	res, text := w.readResponse()
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)

	w.writePOST(jsonHeader, "Content-Length: 20")
	w.send(`{"query":"{ wait }"}`) // runs longer than BodyTime, which has ended
	eventually(t, "it runs", func() bool { return s.schema.Running("wait") == 1 })
	past := time.NewTimer(600 * time.Millisecond)
	<-past.C
	s.schema.Release()
	res, text = w.readResponse()
	want{200, request.MediaJSON, `{"wait":"released"}`, nil, nil}.check(t, res, text)
}

func TestTruncatedBodyIsBadRequest(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		prefix  string
	}{
		{"half the body", []string{jsonHeader, "Content-Length: 100"}, `{"query":"{ sum }"}`},
		{"no byte", []string{jsonHeader, "Content-Length: 100"}, ``},
		{"half a chunk", []string{jsonHeader, chunkedHeader}, "100\r\n{"},
		{"no last chunk", []string{jsonHeader, chunkedHeader}, "11\r\n{\"query\":\"{sum}\"}\r\n"},
		{"no chunk at all", []string{jsonHeader, chunkedHeader}, "{\"query\":\"{sum}\"}\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestServer(t, Config{}).dial(t)
			w.writePOST(tt.headers...)
			w.send(tt.prefix)
			if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			res, text := w.readResponse()
			want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}.check(t, res, text)
			w.wantEOF()
		})
	}
}

func TestChunkedBodyIsReadUpToLimit(t *testing.T) {
	const limit = 100_000
	s := newTestServer(t, Config{Limits: Limits{Body: limit, BodyTime: 3 * time.Second}})
	for _, n := range []int{limit, limit + 1, 50 * limit} {
		w := s.dial(t)
		w.writePOST(jsonHeader, chunkedHeader)
		body := `{"query":"{ sum }"` + strings.Repeat(" ", n-19) + "}"
		status := 200
		if n > limit {
			status, body = 413, body[:limit+1] // enough to exceed the limit
		}
		w.send(fmt.Sprintf("%x\r\n%s\r\n", n, body))
		if n <= limit {
			w.send("0\r\n\r\n")
		}
		res, text := w.readResponse()
		if res.StatusCode != status {
			t.Errorf("%d bytes: got %d %s, want %d", n, res.StatusCode, text, status)
		}
		if status == 413 {
			w.wantEOF()
		}
	}
	wantUnused(t, s.server.memory)
}

// wantUnused waits until the budget is fully released.
func wantUnused(t *testing.T, b *quota.ByteBudget) {
	t.Helper()
	testkit.Eventually(t, testTimeout, func() bool {
		n, keys := b.Used()
		return n == 0 && keys == 0
	})
}

func bytesUsed(b *quota.ByteBudget) int {
	n, _ := b.Used()
	return n
}

// tokenAsUser authenticates a token as the user of the same name.
func tokenAsUser(_ context.Context, c Credentials) AuthResult { return AuthResult{User: c.Token} }

func TestLargeBodiesAreLimitedSmallOnesPass(t *testing.T) {
	const total, length = 2 << 20, 60_000
	s := newTestServer(t, Config{Authenticate: tokenAsUser, Limits: Limits{Memory: total, BodyTime: -1}})
	body := `{"query":"{ sum }"` + strings.Repeat(" ", length-19) + "}"
	busy := want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}
	begin := func(user string) *rawConn {
		w := s.dial(t)
		w.writePOST(jsonHeader, "Authorization: Bearer "+user, fmt.Sprintf("Content-Length: %d", length))
		before := bytesUsed(s.server.memory)
		w.send(body[:length-1])
		eventually(t, "the body has its memory", func() bool { return bytesUsed(s.server.memory)-before >= length })
		return w
	}
	of := func(user string) map[string]string {
		return map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + user}
	}

	held := []*rawConn{begin("ann"), begin("ann")}
	res, text := s.do(t, "POST", "/", body, of("ann"))
	busy.check(t, res, text) // ann uses the quarter of one caller
	held = append(held, begin("bob"))
	for i := 0; bytesUsed(s.server.memory) <= total-5*length; i++ {
		held = append(held, begin(fmt.Sprint("user", i)))
	}
	res, text = s.do(t, "POST", "/", body, of("cid"))
	busy.check(t, res, text) // all memory is in use
	for _, user := range []string{"ann", "cid", ""} {
		res, text = s.do(t, "POST", "/", query("{ sum }"), of(user))
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	}

	for _, w := range held {
		w.send(body[length-1:])
		res, text := w.readResponse()
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	}
	wantUnused(t, s.server.memory)
	res, text = s.do(t, "POST", "/", body, of("cid"))
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	const numbers = `[9007199254740993,0.1000000000000000055511151231257827,1e400,-0,123456789012345678901234567890]`
	s := newTestServer(t, Config{})
	const echo = "query($v: Any) { echo(value: $v) }"
	for _, r := range []testRequest{
		{"POST", "/", `{"query":"` + echo + `","variables":{"v":` + numbers + `}}`},
		{"GET", get("query", echo, "variables", `{"v":`+numbers+`}`), ""},
	} {
		res, text := r.do(t, s)
		want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
		if !strings.Contains(string(text), numbers) {
			t.Errorf("%s: got %s, want the numbers %s", r.method, text, numbers)
		}
	}
}

func TestDeepAndWideJSONIsRejectedBeforeDecoding(t *testing.T) {
	d := &Server{cfg: Config{Limits: Limits{}.orDefaults()}}
	tests := []struct{ name, text string }{
		{"brackets", strings.Repeat("[", 1<<20)},
		{"objects in objects", strings.Repeat(`{"variables":`, 50_000)},
		{"many values", `{"variables":{"v":[` + strings.Repeat("0,", 500_000) + `0]}}`},
		{"many empty lists", `{"variables":{"v":[` + strings.Repeat("[],", 300_000) + `[]]}}`},
		{"many keys", `{"variables":{` + strings.Repeat(`"a":0,`, 100_000) + `"b":0}}`},
		{"many keys in the request", `{` + strings.Repeat(`"a":0,`, 100_000) + `"query":"{sum}"}`},
		{"after a string that looks like an end", `{"query":"\\\"}","variables":` + strings.Repeat(`{"}":`, 1000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			allocated := testing.AllocsPerRun(3, func() {
				if _, failed := d.decode(text); failed == nil || failed.status != 400 || errcode.CodeOf(failed.Error) != errcode.BadRequest {
					t.Fatalf("got %+v, want status 400", failed)
				}
			})
			if allocated > 20 {
				t.Errorf("got %v allocations, want at most 20", allocated)
			}
		})
	}
}

func TestBodyIsReadInAnyChunks(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 5000)
	tests := []struct {
		name   string
		reader io.Reader
		limit  int
		status int // 0 for success
	}{
		{"at once", bytes.NewReader(text), 1 << 20, 0},
		{"byte by byte", iotest.OneByteReader(bytes.NewReader(text)), 1 << 20, 0},
		{"halves", iotest.HalfReader(bytes.NewReader(text)), 1 << 20, 0},
		{"data with EOF", iotest.DataErrReader(bytes.NewReader(text)), 1 << 20, 0},
		{"exactly the limit", iotest.OneByteReader(bytes.NewReader(text)), len(text), 0},
		{"exactly the limit, data with EOF", iotest.DataErrReader(bytes.NewReader(text)), len(text), 0},
		{"one byte above", iotest.OneByteReader(bytes.NewReader(text)), len(text) - 1, 413},
		{"without a limit", bytes.NewReader(text), -1, 0},
		{"broken", io.MultiReader(bytes.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF)), 1 << 20, 400},
		{"late", io.MultiReader(bytes.NewReader(text), iotest.ErrReader(fmt.Errorf("read: %w", os.ErrDeadlineExceeded))), 1 << 20, 408},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := quota.NewByteBudget(1<<20, 0)
			held := quota.NewMemory(b, "a")
			got, failed := readAll(limitBody(tt.reader, -1, tt.limit), tt.limit, held, nil)
			switch {
			case tt.status == 0 && failed != nil, tt.status != 0 && (failed == nil || failed.status != tt.status):
				t.Fatalf("got %+v, want status %d", failed, tt.status)
			case tt.status == 0 && !bytes.Equal(text, got):
				t.Errorf("got %d bytes, want %d unchanged", len(got), len(text))
			}
			if n := bytesUsed(b); tt.status == 0 && (n < len(text) || n > 8*len(text)) {
				t.Errorf("a body of %d bytes uses %d of the budget", len(text), n)
			}
			held.Release()
			wantUnused(t, b)
		})
	}
}

func TestSmallBodyUsesNoSharedMemory(t *testing.T) {
	b := quota.NewByteBudget(1, 0)
	held := quota.NewMemory(b, "a")
	if _, failed := readAll(bytes.NewReader(make([]byte, freeBytes-1)), -1, held, nil); failed != nil {
		t.Errorf("got %+v, want success", failed)
	}
	if _, failed := readAll(bytes.NewReader(make([]byte, freeBytes+1)), -1, held, nil); failed == nil || failed.status != 503 {
		t.Errorf("one byte more: got %+v, want status 503", failed)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `"x"`, `{"query":"{ sum }","variables":{"a":[1,2.5e9,null,{"b":"\u0000"}]},"extensions":{},"operationName":"A"}`,
		`{"query":"{ sum }"}{}`, `{"query":"` + "\xff" + `"}`, `{"query":1}`, `[{"query":"{ sum }"}]`, `{"QUERY":"{ sum }","query":null}`, `{"variables":{"a":"\ud800"}}`,
	} {
		f.Add([]byte(text))
	}
	d := &Server{cfg: Config{Limits: Limits{}.orDefaults()}}
	f.Fuzz(func(t *testing.T, text []byte) {
		params, failed := d.decode(text)
		if failed != nil {
			if failed.status != 400 || errcode.CodeOf(failed.Error) == "" {
				t.Errorf("got %+v, want status 400 and a code", failed)
			}
			return
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatalf("marshal params of %q: %v", text, err)
		}
		same, failed := d.decode(again)
		if failed != nil {
			t.Fatalf("%q is accepted, but its encoding %q is not: %v", text, again, failed.Error)
		}
		if d := cmp.Diff(params, same); d != "" {
			t.Errorf("%q (-first +again)\n%s", text, d)
		}
	})
}
