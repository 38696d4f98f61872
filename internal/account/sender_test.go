package account

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

const (
	testPhone Phone = "+8613812345678"

	testCode   = "271828"
	testSecret = "hunter2-hunter2-hunter2"
	testQuery  = "?token=swordfish"
)

// secrets lists text that no error may contain.
var secrets = []string{"13812345678", testCode, "hunter2", "swordfish", "token="}

func wantNoSecrets(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, s := range secrets {
			if text := fmt.Sprintf("%v %+v", e, e); strings.Contains(text, s) {
				t.Errorf("the error contains %q: %s", s, text)
			}
		}
	}
}

func TestConsoleWritesOneLinePerCode(t *testing.T) {
	tests := []struct {
		name string
		life time.Duration
		want string
	}{
		{"minutes", 5 * time.Minute, "login code for 138****5678: 271828 (5 minutes)\n"},
		{"one minute", time.Minute, "login code for 138****5678: 271828 (1 minute)\n"},
		{"seconds", 90 * time.Second, "login code for 138****5678: 271828 (90 seconds)\n"},
		{"one second", 900 * time.Millisecond, "login code for 138****5678: 271828 (1 second)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Console(&out).Send(t.Context(), testPhone, testCode, tt.life); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// writes records each Write. It is not safe for concurrent use.
type writes struct{ texts []string }

func (w *writes) Write(b []byte) (int, error) {
	w.texts = append(w.texts, string(b))
	return len(b), nil
}

func TestConsoleWritesWholeLinesConcurrently(t *testing.T) {
	var out writes
	var all sync.WaitGroup
	c := Console(&out)
	var want []string
	for i := range 50 {
		code := fmt.Sprintf("%06d", i)
		want = append(want, "login code for 138****5678: "+code+" (5 minutes)\n")
		all.Go(func() {
			if err := c.Send(t.Context(), testPhone, code, 5*time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(out.texts)
	if d := cmp.Diff(want, out.texts); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestConsoleErrorsHideTheCode(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	err := Console(w).Send(t.Context(), testPhone, testCode, time.Minute)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	wantNoSecrets(t, err)
}

// A hook is a webhook server with the requests it received.
type hook struct {
	*httptest.Server
	mu       sync.Mutex
	requests []sent
}

type sent struct {
	header http.Header
	body   string
}

func (h *hook) sent() []sent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// serve starts a server that answers its n-th request, from 1, with answer.
func serve(t *testing.T, start func(*httptest.Server), answer func(n int, w http.ResponseWriter, r *http.Request)) *hook {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, known) })
	h := &hook{}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client gave up
		}
		h.mu.Lock()
		h.requests = append(h.requests, sent{r.Header.Clone(), string(body)})
		n := len(h.requests)
		h.mu.Unlock()
		answer(n, w, r)
	}))
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(h.Server)
	t.Cleanup(h.Close)
	return h
}

func plainHTTP(s *httptest.Server) { s.Start() }

// fastSender returns a sender to url with short pauses.
func fastSender(t *testing.T, url string) *WebhookSender {
	t.Helper()
	w, err := Webhook(WebhookConfig{URL: url + "/codes" + testQuery, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.pause = time.Millisecond
	return w
}

// sender returns a fast sender to a server and trusts its certificate.
func sender(t *testing.T, h *hook) *WebhookSender {
	t.Helper()
	w := fastSender(t, h.URL)
	if roots := h.Client().Transport.(*http.Transport).TLSClientConfig; roots != nil {
		transport(w).TLSClientConfig.RootCAs = roots.RootCAs
	}
	return w
}

func transport(w *WebhookSender) *http.Transport { return w.client.Transport.(*http.Transport) }

func TestWebhookPostsASignedCode(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"http":   plainHTTP,
		"https":  (*httptest.Server).StartTLS,
		"http/2": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, start, func(_ int, w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.RequestURI != "/codes"+testQuery || (name == "http/2") != (r.ProtoMajor == 2) {
					t.Errorf("%s %s by %s", r.Method, r.RequestURI, r.Proto)
				}
				w.WriteHeader(http.StatusAccepted)
			})
			if err := sender(t, h).Send(t.Context(), testPhone, testCode, 5*time.Minute); err != nil {
				t.Fatal(err)
			}
			got := h.sent()
			if len(got) != 1 {
				t.Fatalf("got %d requests, want 1", len(got))
			}
			const body = `{"phone":"+8613812345678","code":"271828","expiresInSeconds":300}`
			if d := cmp.Diff(body, got[0].body); d != "" {
				t.Errorf("body (-want +got)\n%s", d)
			}
			mac := hmac.New(sha256.New, []byte(testSecret))
			mac.Write([]byte(body))
			if want, given := hex.EncodeToString(mac.Sum(nil)), got[0].header.Get("Tandian-Signature"); want != given {
				t.Errorf("got signature %q, want %q", given, want)
			}
			if kind := got[0].header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("got Content-Type %q", kind)
			}
		})
	}
}

func TestWebhookRetriesTransientFailures(t *testing.T) {
	tests := []struct {
		name     string
		statuses []int // 0 breaks the connection
		requests int
		want     string // in the error; "" for none
		notSent  bool
	}{
		{"at once", []int{204}, 1, "", false},
		{"twice broken, then well", []int{500, 503, 200}, 3, "", false},
		{"too busy", []int{429, 425, 201}, 3, "", false},
		{"too slow", []int{408, 200}, 2, "", false},
		{"a broken connection", []int{0, 0, 200}, 3, "", false},
		{"broken three times", []int{500, 500, 502, 200}, 3, "try 3: unexpected status 502", false},
		{"three broken connections", []int{0, 0, 0, 200}, 3, "try 3: EOF", false},
		{"too busy three times", []int{503, 429, 503, 200}, 3, "try 3: code not sent: unexpected status 503", true},
		{"perhaps sent, then refused", []int{500, 400, 200}, 2, "try 2: unexpected status 400", false},
		{"busy, then refused", []int{503, 400, 200}, 2, "status 400", true},
		{"a bad request", []int{400, 200}, 1, "try 1: code not sent: unexpected status 400", true},
		{"a wrong signature", []int{401, 200}, 1, "try 1: code not sent: unexpected status 401", true},
		{"not found after all", []int{500, 404, 200}, 2, "try 2: unexpected status 404", false},
		{"a redirect", []int{302, 200}, 1, "try 1: code not sent: unexpected status 302", true},
		{"a redirect of a POST", []int{307, 200}, 1, "try 1: code not sent: unexpected status 307", true},
		{"a permanent redirect", []int{308, 200}, 1, "try 1: code not sent: unexpected status 308", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := serve(t, plainHTTP, func(n int, w http.ResponseWriter, r *http.Request) {
				status := tt.statuses[n-1]
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				if status >= 300 && status <= 399 {
					w.Header().Set("Location", r.URL.String())
				}
				w.WriteHeader(status)
				if status != http.StatusNoContent {
					_, _ = fmt.Fprint(w, testCode, testPhone.E164(), testSecret) // the response must not leak into the error
				}
			})
			err := sender(t, h).Send(t.Context(), testPhone, testCode, time.Minute)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if errors.Is(err, ErrNotSent) != tt.notSent {
				t.Errorf("got ErrNotSent %v, want %v", !tt.notSent, tt.notSent)
			}
			wantNoSecrets(t, err)
			got := h.sent()
			if len(got) != tt.requests {
				t.Fatalf("got %d requests, want %d", len(got), tt.requests)
			}
			for _, r := range got {
				if d := cmp.Diff(got[0].body, r.body); d != "" {
					t.Errorf("body differs (-first +this)\n%s", d)
				}
				if key := r.header.Get("Idempotency-Key"); len(key) < 20 || key != got[0].header.Get("Idempotency-Key") {
					t.Errorf("Idempotency-Key %q after %q", key, got[0].header.Get("Idempotency-Key"))
				}
			}
		})
	}
}

func TestWebhookCountsTriesOnReusedConnections(t *testing.T) {
	h := serve(t, plainHTTP, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n > 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusOK)
	})
	w := sender(t, h)
	if err := w.Send(t.Context(), testPhone, testCode, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), testPhone, testCode, time.Minute); err == nil {
		t.Error("got no error from a dead server")
	}
	got := h.sent()
	if len(got) != 1+webhookTries {
		t.Fatalf("got %d requests, want %d", len(got), 1+webhookTries)
	}
	if got[0].header.Get("Idempotency-Key") == got[1].header.Get("Idempotency-Key") {
		t.Error("two codes share an Idempotency-Key")
	}
}

func TestWebhookTimesOut(t *testing.T) {
	tests := []struct {
		name string
		set  func(*WebhookSender)
		last string // the last try
	}{
		{"each try has its time", func(w *WebhookSender) { w.try = 20 * time.Millisecond }, "try 3:"},
		{"all tries have theirs", func(w *WebhookSender) { w.total = 20 * time.Millisecond }, "try 1:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := serve(t, plainHTTP, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			w := sender(t, h)
			tt.set(w)
			err := w.Send(t.Context(), testPhone, testCode, time.Minute)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.last) {
				t.Errorf("got %v, want a deadline in %s", err, tt.last)
			}
			wantNoSecrets(t, err)
		})
	}
}

func TestWebhookEndsWithItsContext(t *testing.T) {
	for name, set := range map[string]func(*WebhookSender){
		"between tries": func(w *WebhookSender) { w.pause, w.total = time.Hour, 2*time.Hour },
		"the default":   func(*WebhookSender) {},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			h := serve(t, plainHTTP, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				cancel()
			})
			w := sender(t, h)
			set(w)
			if err := w.Send(ctx, testPhone, testCode, time.Minute); err == nil {
				t.Error("got no error")
			}
			if n := len(h.sent()); n != 1 {
				t.Errorf("got %d requests, want 1", n)
			}
		})
	}
}

func TestWebhookBacksOffWithJitter(t *testing.T) {
	w, err := Webhook(WebhookConfig{URL: "https://sms.example.com", Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	if w.try != 2*time.Second || w.total != 5*time.Second || w.pause != 200*time.Millisecond {
		t.Errorf("got try %v, total %v, pause %v", w.try, w.total, w.pause)
	}
	seen := map[time.Duration]bool{}
	for range 100 {
		d := jitter(w.pause)
		if d < 150*time.Millisecond || d > 250*time.Millisecond {
			t.Fatalf("got a pause of %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 50 {
		t.Errorf("got %d different pauses of 100", len(seen))
	}
}

func TestWebhookIgnoresEndlessResponses(t *testing.T) {
	ended := make(chan int, 1)
	h := serve(t, plainHTTP, func(_ int, w http.ResponseWriter, r *http.Request) {
		legacy := 0
		for r.Context().Err() == nil {
			n, err := w.Write(make([]byte, 4096))
			legacy += n
			if err != nil {
				break
			}
		}
		ended <- legacy
	})
	w := sender(t, h)
	w.try, w.total = time.Minute, time.Minute
	if err := w.Send(t.Context(), testPhone, testCode, time.Minute); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
}

func TestWebhookOverHTTPDialsThisMachineOnly(t *testing.T) {
	tests := []struct {
		address string
		ok      bool
	}{
		{"127.0.0.1:80", true},
		{"127.8.9.10:80", true},
		{"[::1]:80", true},
		{"[::ffff:127.0.0.1]:80", true},
		{"0.0.0.0:80", false},
		{"[::]:80", false},
		{"10.0.0.1:80", false},
		{"169.254.169.254:80", false},
		{"192.0.2.1:80", false},
		{"[2001:db8::1]:80", false},
		{"[fe80::1%eth0]:80", false},
		{"[::ffff:192.0.2.1]:80", false},
		{"localhost:80", false}, // not resolved
		{"", false},
	}
	for _, tt := range tests {
		if err := loopbackOnly("tcp", tt.address, nil); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want allowed: %v", tt.address, err, tt.ok)
		}
	}

	w := fastSender(t, "http://localhost:9")
	w.url = "http://192.0.2.1:9/" + testQuery // as if localhost resolved to it
	if err := w.Send(t.Context(), testPhone, testCode, time.Minute); !errors.Is(err, errNotLoopback) {
		t.Errorf("got %v, want %v", err, errNotLoopback)
	} else {
		wantNoSecrets(t, err)
	}
}

func TestWebhookOverHTTPUsesNoProxy(t *testing.T) {
	for url, proxied := range map[string]bool{"http://localhost:9": false, "HTTPS://sms.example.com": true} {
		w, err := Webhook(WebhookConfig{URL: url, Secret: testSecret})
		if err != nil {
			t.Fatal(err)
		}
		if got := transport(w).Proxy != nil; got != proxied {
			t.Errorf("%s: got proxy %v, want %v", url, got, proxied)
		}
	}
}

func TestWebhookRejectsUnsafeSettings(t *testing.T) {
	tests := []struct {
		name string
		cfg  WebhookConfig
		want string
	}{
		{"no URL", WebhookConfig{Secret: testSecret}, "must begin with https://"},
		{"http to another machine", WebhookConfig{"http://sms.example.com/" + testQuery, testSecret}, "http is for loopback addresses only"},
		{"a password in the URL", WebhookConfig{"https://ann:hunter2@sms.example.com/" + testQuery, testSecret}, "must not contain a user or password"},
		{"no secret", WebhookConfig{URL: "https://sms.example.com/" + testQuery}, "at least 16 bytes"},
		{"a short secret", WebhookConfig{"https://sms.example.com/", "hunter2-hunter2"}, "at least 16 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Webhook(tt.cfg)
			if w != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			wantNoSecrets(t, err)
		})
	}
}

// rawServer starts a server that reads the header of a request and sends a raw response. It
// returns its URL.
func rawServer(t *testing.T, words string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for line := "-"; line != "\r\n" && err == nil; {
				line, err = in.ReadString('\n')
			}
			_, _ = io.WriteString(c, words)
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); served.Wait() })
	return "http://" + l.Addr().String()
}

func TestWebhookErrorsHideSecrets(t *testing.T) {
	fine := func(int, http.ResponseWriter, *http.Request) { t.Error("it was sent") }
	send := func(w *WebhookSender) error { return w.Send(t.Context(), testPhone, testCode, time.Minute) }
	tests := []struct {
		name string
		send func(t *testing.T) error
		want string // in the error
	}{
		{"no listener", func(t *testing.T) error {
			h := serve(t, plainHTTP, fine)
			w := sender(t, h)
			h.Close()
			return send(w)
		}, "connection refused"},
		{"an unknown certificate", func(t *testing.T) error {
			w := sender(t, serve(t, (*httptest.Server).StartTLS, fine))
			transport(w).TLSClientConfig.RootCAs = nil
			return send(w)
		}, "failed to verify certificate"},
		{"TLS that is too old", func(t *testing.T) error {
			return send(sender(t, serve(t, func(s *httptest.Server) {
				s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
				s.StartTLS()
			}, fine)))
		}, "protocol version not supported"},
		{"no TLS at all", func(t *testing.T) error {
			h := serve(t, plainHTTP, fine)
			h.URL = strings.Replace(h.URL, "http:", "https:", 1)
			return send(sender(t, h))
		}, "server gave HTTP response to HTTPS client"},
		{"a status of rubbish", func(t *testing.T) error {
			return send(fastSender(t, rawServer(t, "HTTP/1.1 "+testCode+testPhone.E164()+" no\r\n\r\n")))
		}, "connection failed"},
		{"no HTTP", func(t *testing.T) error {
			return send(fastSender(t, rawServer(t, testCode+" "+testSecret+"\r\n\r\n")))
		}, "connection failed"},
		{"a header of rubbish", func(t *testing.T) error {
			return send(fastSender(t, rawServer(t, "HTTP/1.1 200 OK\r\n"+testCode+"\r\n\r\n")))
		}, "connection failed"},
		{"a header without an end", func(t *testing.T) error {
			return send(fastSender(t, rawServer(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat(testCode, 1<<15))))
		}, "try 3"},
		{"a URL that cannot be read", func(t *testing.T) error {
			w := fastSender(t, rawServer(t, ""))
			w.url = "http://ann:hunter2@localhost:" + testCode + "x/" + testQuery
			return send(w)
		}, "connection failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.send(t)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			wantNoSecrets(t, err)
		})
	}
}

func TestWebhookReportsNotSentWithoutServer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w, err := Webhook(WebhookConfig{URL: gone.URL, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.pause = time.Millisecond
	if err := w.Send(t.Context(), testPhone, testCode, time.Minute); !errors.Is(err, ErrNotSent) {
		t.Errorf("got %v", err)
	}
}
