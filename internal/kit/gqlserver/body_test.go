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

// A wire is a connection to a door on which a test writes by hand.
type wire struct {
	*testing.T
	net.Conn
	reader *bufio.Reader
}

func (s *house) wire(t *testing.T) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, conn, bufio.NewReader(conn)}
}

// send writes a text, with CRLF for the line breaks of a header.
func (w *wire) send(text string) {
	w.Helper()
	if _, err := io.WriteString(w.Conn, text); err != nil {
		w.Fatal(err)
	}
}

// posts writes the headers of a POST.
func (w *wire) posts(headers ...string) {
	w.Helper()
	w.send("POST / HTTP/1.1\r\nHost: door\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n")
}

func (w *wire) answer() (*reply, []byte) {
	w.Helper()
	res, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		w.Fatalf("no answer: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return &reply{res.StatusCode, res.Header, res.Close}, text
}

// wantsEnd waits until the server closes the connection.
func (w *wire) wantsEnd() {
	w.Helper()
	_, err := w.reader.ReadByte()
	if late, ok := err.(net.Error); err == nil || ok && late.Timeout() { //nolint:errorlint // what a connection returns
		w.Errorf("the connection is open: %v", err)
	}
}

const (
	jsonHeader    = "Content-Type: application/json"
	chunkedHeader = "Transfer-Encoding: chunked"
)

func TestABodyThatDoesNotComeInTimeIsNotWaitedFor(t *testing.T) {
	late := want{408, request.MediaJSON, "-", []string{errcode.Timeout}, nil}
	tests := []struct {
		name    string
		headers []string
		begun   string
		want    want
	}{
		{"nothing of it", []string{jsonHeader, "Content-Length: 100"}, "", late},
		{"half of it", []string{jsonHeader, "Content-Length: 100"}, `{"query":`, late},
		{"half of a large one", []string{jsonHeader, "Content-Length: 300000"}, `{"query":"` + strings.Repeat("a", 100_000), late},
		{"no first chunk", []string{jsonHeader, chunkedHeader}, "", late},
		{"half a chunk", []string{jsonHeader, chunkedHeader}, "100\r\n{", late},
		{"no last chunk", []string{jsonHeader, chunkedHeader}, "11\r\n{\"query\":\"{sum}\"}\r\n", late},
		{"what nobody reads", []string{"Content-Type: text/plain", "Content-Length: 100"}, "", want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}},
		{"what nobody reads, from another site", []string{jsonHeader, "Origin: https://evil.example", "Content-Length: 100"}, "", want{403, request.MediaJSON, "-", []string{errcode.CSRF}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openHouse(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}})
			w := s.wire(t)
			w.posts(tt.headers...)
			w.send(tt.begun)
			res, text := w.answer()
			tt.want.check(t, res, text)
			w.wantsEnd()
			wantUnused(t, s.server.memory)
		})
	}
}

func TestABodyOfAGETIsNotWaitedForEither(t *testing.T) {
	w := openHouse(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}}).wire(t)
	w.send("GET /?query={sum} HTTP/1.1\r\nHost: door\r\nContent-Length: 100\r\n\r\n{")
	res, text := w.answer()
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	w.wantsEnd()
}

func TestABodyThatDripsIsNotWaitedFor(t *testing.T) {
	w := openHouse(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}}).wire(t)
	w.posts(jsonHeader, "Content-Length: 100000")
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
	res, text := w.answer()
	want{408, request.MediaJSON, "-", []string{errcode.Timeout}, nil}.check(t, res, text)
	dripping.Wait()
}

func TestAConnectionIsGoodForTheNextRequest(t *testing.T) {
	s := openHouse(t, Config{Limits: Limits{BodyTime: 300 * time.Millisecond}})
	w := s.wire(t)
	const body = `{"query":"{sum}"}`
	for range 3 {
		w.posts(jsonHeader, fmt.Sprintf("Content-Length: %d", len(body)))
		w.send(body)
		res, text := w.answer()
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	}
	w.posts(jsonHeader, fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body[:5])
	w.send(body[5:])
	res, text := w.answer()
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)

	w.posts(jsonHeader, "Content-Length: 20")
	w.send(`{"query":"{ wait }"}`) // longer than BodyTime: that one is over
	eventually(t, "it runs", func() bool { return s.schema.Running("wait") == 1 })
	past := time.NewTimer(600 * time.Millisecond)
	<-past.C
	s.schema.Release()
	res, text = w.answer()
	want{200, request.MediaJSON, `{"wait":"released"}`, nil, nil}.check(t, res, text)
}

func TestABodyThatBreaksOffIsABadRequest(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		begun   string
	}{
		{"half of it", []string{jsonHeader, "Content-Length: 100"}, `{"query":"{ sum }"}`},
		{"nothing of it", []string{jsonHeader, "Content-Length: 100"}, ``},
		{"half a chunk", []string{jsonHeader, chunkedHeader}, "100\r\n{"},
		{"no last chunk", []string{jsonHeader, chunkedHeader}, "11\r\n{\"query\":\"{sum}\"}\r\n"},
		{"no chunk at all", []string{jsonHeader, chunkedHeader}, "{\"query\":\"{sum}\"}\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := openHouse(t, Config{}).wire(t)
			w.posts(tt.headers...)
			w.send(tt.begun)
			if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			res, text := w.answer()
			want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}.check(t, res, text)
			w.wantsEnd()
		})
	}
}

func TestABodyOfUnknownLengthIsReadUpToTheLimit(t *testing.T) {
	const limit = 100_000
	s := openHouse(t, Config{Limits: Limits{Body: limit, BodyTime: 3 * time.Second}})
	for _, n := range []int{limit, limit + 1, 50 * limit} {
		w := s.wire(t)
		w.posts(jsonHeader, chunkedHeader)
		body := `{"query":"{ sum }"` + strings.Repeat(" ", n-19) + "}"
		status := 200
		if n > limit {
			status, body = 413, body[:limit+1] // no more is needed to know
		}
		w.send(fmt.Sprintf("%x\r\n%s\r\n", n, body))
		if n <= limit {
			w.send("0\r\n\r\n")
		}
		res, text := w.answer()
		if res.StatusCode != status {
			t.Errorf("%d bytes: %d %s", n, res.StatusCode, text)
		}
		if status == 413 {
			w.wantsEnd()
		}
	}
	wantUnused(t, s.server.memory)
}

// wantUnused checks that all was given back.
func wantUnused(t *testing.T, b *quota.ByteBudget) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool {
		n, keys := b.Used()
		return n == 0 && keys == 0
	})
}

func taken(b *quota.ByteBudget) int {
	n, _ := b.Used()
	return n
}

// named is an Admit for which a token is the name of its user.
func named(_ context.Context, c Credentials) AuthResult { return AuthResult{User: c.Token} }

func TestLargeBodiesAreFewAtOnceAndSmallOnesAreNotHeldUp(t *testing.T) {
	const total, length = 2 << 20, 60_000
	s := openHouse(t, Config{Authenticate: named, Limits: Limits{Memory: total, BodyTime: -1}})
	body := `{"query":"{ sum }"` + strings.Repeat(" ", length-19) + "}"
	busy := want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}
	begin := func(user string) *wire {
		w := s.wire(t)
		w.posts(jsonHeader, "Authorization: Bearer "+user, fmt.Sprintf("Content-Length: %d", length))
		before := taken(s.server.memory)
		w.send(body[:length-1])
		eventually(t, "it has its memory", func() bool { return taken(s.server.memory)-before >= length })
		return w
	}
	of := func(user string) map[string]string {
		return map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + user}
	}

	held := []*wire{begin("ann"), begin("ann")}
	res, text := s.ask(t, "POST", "/", body, of("ann"))
	busy.check(t, res, text) // she has her quarter
	held = append(held, begin("bob"))
	for i := 0; taken(s.server.memory) <= total-5*length; i++ {
		held = append(held, begin(fmt.Sprint("user", i)))
	}
	res, text = s.ask(t, "POST", "/", body, of("cid"))
	busy.check(t, res, text) // nobody has any
	for _, user := range []string{"ann", "cid", ""} {
		res, text = s.ask(t, "POST", "/", query("{ sum }"), of(user))
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	}

	for _, w := range held {
		w.send(body[length-1:])
		res, text := w.answer()
		want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	}
	wantUnused(t, s.server.memory)
	res, text = s.ask(t, "POST", "/", body, of("cid"))
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	const numbers = `[9007199254740993,0.1000000000000000055511151231257827,1e400,-0,123456789012345678901234567890]`
	s := openHouse(t, Config{})
	const echo = "query($v: Any) { echo(value: $v) }"
	for _, r := range []sent{
		{"POST", "/", `{"query":"` + echo + `","variables":{"v":` + numbers + `}}`},
		{"GET", get("query", echo, "variables", `{"v":`+numbers+`}`), ""},
	} {
		res, text := r.ask(t, s)
		want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
		if !strings.Contains(string(text), numbers) {
			t.Errorf("%s: %s", r.method, text)
		}
	}
}

func TestDeepAndWideJSONIsRefusedBeforeItIsDecoded(t *testing.T) {
	d := &Server{cfg: Config{Limits: Limits{}.orDefaults()}}
	tests := []struct{ name, text string }{
		{"brackets", strings.Repeat("[", 1<<20)},
		{"objects in objects", strings.Repeat(`{"variables":`, 50_000)},
		{"many values", `{"variables":{"v":[` + strings.Repeat("0,", 500_000) + `0]}}`},
		{"many empty lists", `{"variables":{"v":[` + strings.Repeat("[],", 300_000) + `[]]}}`},
		{"many keys", `{"variables":{` + strings.Repeat(`"a":0,`, 100_000) + `"b":0}}`},
		{"many keys of the request", `{` + strings.Repeat(`"a":0,`, 100_000) + `"query":"{sum}"}`},
		{"after a text that looks like an end", `{"query":"\\\"}","variables":` + strings.Repeat(`{"}":`, 1000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			allocated := testing.AllocsPerRun(3, func() {
				if _, failed := d.decode(text); failed == nil || failed.status != 400 || errcode.Of(failed.Error) != errcode.BadRequest {
					t.Fatalf("got %+v", failed)
				}
			})
			if allocated > 20 {
				t.Errorf("it took %v allocations", allocated)
			}
		})
	}
}

func TestABodyIsReadInWhateverPieces(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 5000)
	tests := []struct {
		name   string
		reader io.Reader
		limit  int
		status int // 0 for success
	}{
		{"at once", bytes.NewReader(text), 1 << 20, 0},
		{"one by one", iotest.OneByteReader(bytes.NewReader(text)), 1 << 20, 0},
		{"halves", iotest.HalfReader(bytes.NewReader(text)), 1 << 20, 0},
		{"with the end", iotest.DataErrReader(bytes.NewReader(text)), 1 << 20, 0},
		{"exactly the limit", iotest.OneByteReader(bytes.NewReader(text)), len(text), 0},
		{"exactly the limit, with the end", iotest.DataErrReader(bytes.NewReader(text)), len(text), 0},
		{"a byte above", iotest.OneByteReader(bytes.NewReader(text)), len(text) - 1, 413},
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
				t.Fatalf("got %+v, want %d", failed, tt.status)
			case tt.status == 0 && !bytes.Equal(text, got):
				t.Errorf("%d bytes became %d", len(text), len(got))
			}
			if taken := taken(b); tt.status == 0 && (taken < len(text) || taken > 8*len(text)) {
				t.Errorf("it took %d bytes for %d", taken, len(text))
			}
			held.Release()
			wantUnused(t, b)
		})
	}
}

func TestASmallBodyTakesNoMemoryOfAll(t *testing.T) {
	b := quota.NewByteBudget(1, 0)
	held := quota.NewMemory(b, "a")
	if _, failed := readAll(bytes.NewReader(make([]byte, freeBytes-1)), -1, held, nil); failed != nil {
		t.Errorf("got %+v", failed)
	}
	if _, failed := readAll(bytes.NewReader(make([]byte, freeBytes+1)), -1, held, nil); failed == nil || failed.status != 503 {
		t.Errorf("a byte more: %+v", failed)
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
			if failed.status != 400 || errcode.Of(failed.Error) == "" {
				t.Errorf("got %+v", failed)
			}
			return
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatalf("%q was accepted, but %v", text, err)
		}
		same, failed := d.decode(again)
		if failed != nil {
			t.Fatalf("%q was accepted, but not %q: %v", text, again, failed.Error)
		}
		if d := cmp.Diff(params, same); d != "" {
			t.Errorf("%q (-first +again)\n%s", text, d)
		}
	})
}
