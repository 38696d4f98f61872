package observe

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// spansNamed returns a batch of spans.
func spansNamed(names ...string) []*tracepb.ResourceSpans {
	var list []*tracepb.Span
	for _, name := range names {
		list = append(list, &tracepb.Span{Name: name})
	}
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: list}}}}
}

// clientOf returns a client with the settings of the environment.
func clientOf(t *testing.T, env map[string]string) *otlpClient {
	t.Helper()
	clearEnv(t)
	for name, value := range env {
		t.Setenv(name, value)
	}
	settings, err := readOTLPSettings(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := newOTLPClient(settings, "v1")
	t.Cleanup(func() { _ = c.Stop(t.Context()) })
	return c
}

func TestUploadsAreProtobufRequests(t *testing.T) {
	var got *http.Request
	var body []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer collector.Close()
	const general, special = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, tt := range []struct {
		name    string
		env     map[string]string
		uri     string
		headers map[string]string
		gzip    bool
	}{
		{name: "a base url", env: map[string]string{general: collector.URL}, uri: "/v1/traces"},
		{name: "a base url with a path", env: map[string]string{general: collector.URL + "/otel/"}, uri: "/otel/v1/traces"},
		{name: "a url for traces", env: map[string]string{general: "http://127.0.0.1:1", special: collector.URL + "/in?a=b"}, uri: "/in?a=b"},
		{name: "a url for traces without a path", env: map[string]string{special: collector.URL}, uri: "/"},
		{
			name: "headers", env: map[string]string{general: collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=k, x-words = two%20words ,Content-Type=text/plain"},
			uri: "/v1/traces", headers: map[string]string{"Api-Key": "k", "X-Words": "two words"},
		},
		{
			name: "headers for traces", env: map[string]string{general: collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=k", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-token=a=b"},
			uri: "/v1/traces", headers: map[string]string{"Api-Key": "", "X-Token": "a=b"},
		},
		{name: "gzip", env: map[string]string{general: collector.URL, "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, uri: "/v1/traces", gzip: true},
		{name: "no gzip for traces", env: map[string]string{general: collector.URL, "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "none"}, uri: "/v1/traces"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := clientOf(t, tt.env)
			want := spansNamed("a", "b")
			for range 2 { // the second reuses the connection and the gzip writer
				if err := c.UploadTraces(t.Context(), want); err != nil {
					t.Fatal(err)
				}
			}
			if got.Method != http.MethodPost || got.RequestURI != tt.uri || got.Header.Get("Content-Type") != "application/x-protobuf" {
				t.Errorf("got request %s %s of %s", got.Method, got.RequestURI, got.Header.Get("Content-Type"))
			}
			for name, value := range tt.headers {
				if got.Header.Get(name) != value {
					t.Errorf("header %s: got %q, want %q", name, got.Header.Get(name), value)
				}
			}
			if zipped := got.Header.Get("Content-Encoding") == "gzip"; zipped != tt.gzip {
				t.Errorf("got compressed: %v", zipped)
			}
			if tt.gzip {
				r, err := gzip.NewReader(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if body, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
			// ExportTraceServiceRequest: field 1 repeats ResourceSpans.
			field, kind, n := protowire.ConsumeTag(body)
			message, m := protowire.ConsumeBytes(body[max(n, 0):])
			var spans tracepb.ResourceSpans
			if field != 1 || kind != protowire.BytesType || n+m != len(body) || proto.Unmarshal(message, &spans) != nil {
				t.Fatalf("got body %x", body)
			}
			if d := cmp.Diff(want, []*tracepb.ResourceSpans{&spans}, protocmp.Transform()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// A fakeCollector is a collector without a network. Each element of list is the response to one
// request, the last one also to all further requests.
type fakeCollector struct {
	list     []fakeResponse
	requests int
}

type fakeResponse struct {
	code   int
	header http.Header
	body   io.ReadCloser
	in     time.Duration // delay of the date in Retry-After; 0 is none
	err    error
	hangs  bool // until the context of the request ends
}

func (a *fakeCollector) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	a.requests++
	is := a.list[min(a.requests, len(a.list))-1]
	if is.hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if is.in > 0 {
		is.header.Set("Retry-After", time.Now().Add(is.in).UTC().Format(http.TimeFormat))
	}
	if is.err != nil {
		return nil, is.err
	}
	return &http.Response{StatusCode: is.code, Header: is.header, Body: is.body}, nil
}

func status(code int, retryAfter string) fakeResponse {
	return fakeResponse{code: code, header: http.Header{"Retry-After": {retryAfter}}, body: io.NopCloser(strings.NewReader("busy"))}
}

func TestUploadsAreRetriedWithinTheTimeout(t *testing.T) {
	clearEnv(t)
	refused := fakeResponse{err: errors.New("connection refused")}
	hangs := fakeResponse{hangs: true}
	inFive := status(429, "")
	inFive.in = 5 * time.Second
	type list = []fakeResponse
	for _, tt := range []struct {
		name     string
		answers  list
		requests int
		low, top time.Duration
		err      string
	}{
		{"at once", list{status(200, "")}, 1, 0, 0, ""},
		{"busy once", list{status(503, ""), status(202, "")}, 2, 900 * time.Millisecond, 1100 * time.Millisecond, ""},
		{"a bad gateway", list{status(502, ""), status(200, "")}, 2, 900 * time.Millisecond, 1100 * time.Millisecond, ""},
		{"a slow gateway", list{status(504, ""), status(200, "")}, 2, 900 * time.Millisecond, 1100 * time.Millisecond, ""},
		{"busy for seconds", list{status(429, "5"), status(200, "")}, 2, 5 * time.Second, 5 * time.Second, ""},
		{"busy until a date", list{inFive, status(200, "")}, 2, 4 * time.Second, 5 * time.Second, ""},
		{"busy for too long", list{status(502, "60")}, 1, 0, 0, "502 Bad Gateway"},
		{"busy for years", list{status(504, "4294967295")}, 1, 0, 0, "504 Gateway Timeout"},
		{"an invalid delay", list{status(503, "soon"), status(200, "")}, 2, 900 * time.Millisecond, 1100 * time.Millisecond, ""},
		{"always busy", list{status(503, "")}, 4, 6 * time.Second, 8 * time.Second, "503 Service Unavailable"},
		{"unavailable", list{refused, refused, status(200, "")}, 3, 2700 * time.Millisecond, 3300 * time.Millisecond, ""},
		{"hangs", list{hangs}, 1, 10 * time.Second, 10 * time.Second, "deadline exceeded"},
		{"invalid", list{status(400, "1")}, 1, 0, 0, "400 Bad Request"},
		{"no token", list{status(401, "")}, 1, 0, 0, "401 Unauthorized"},
		{"failed", list{status(500, "1")}, 1, 0, 0, "500 Internal Server Error"},
		{"elsewhere", list{{code: 307, header: http.Header{"Location": {"http://other/"}}, body: http.NoBody}}, 1, 0, 0, "307 Temporary Redirect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &fakeCollector{list: tt.answers}
				c := newOTLPClient(otlpSettings{endpoint: &url.URL{Scheme: "http", Host: "collector"}, timeout: defaultOTLPTimeout}, "v1")
				c.http.Transport = a
				begin := time.Now()
				err := c.UploadTraces(t.Context(), spansNamed("a"))
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want an error with %q", err, tt.err)
				}
				if took := time.Since(begin); a.requests != tt.requests || took < tt.low || took > tt.top {
					t.Errorf("got %d requests in %v, want %d in %v to %v", a.requests, took, tt.requests, tt.low, tt.top)
				}
			})
		})
	}
}

func TestUploadsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newOTLPClient(otlpSettings{endpoint: &url.URL{Scheme: "http", Host: "collector"}, timeout: time.Minute}, "v1")
		c.http.Transport = &fakeCollector{list: []fakeResponse{status(503, "30")}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		if err := c.UploadTraces(ctx, spansNamed("a")); err == nil || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }
func (*endless) Close() error                 { return nil }

func TestLongResponsesAreCut(t *testing.T) {
	for _, code := range []int{200, 400, 503} {
		body := &endless{}
		c := newOTLPClient(otlpSettings{endpoint: &url.URL{Scheme: "http", Host: "collector"}, timeout: time.Millisecond}, "v1")
		c.http.Transport = &fakeCollector{list: []fakeResponse{{code: code, header: http.Header{"Content-Type": {otlpProtobuf}}, body: body}}}
		if err := c.UploadTraces(t.Context(), spansNamed("a")); (err == nil) != (code == 200) || body.read > otlpMaxResponse {
			t.Errorf("%d: %v after %d bytes", code, err, body.read)
		}
	}
}

func TestPartialSuccessIsLogged(t *testing.T) {
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), "span too old")
	answer := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 1) // of a later version
	answer = protowire.AppendBytes(protowire.AppendTag(answer, 1, protowire.BytesType), inner)
	for _, tt := range []struct {
		name, kind string
		answer     []byte
		want       []string // parts of the log
	}{
		{"some rejected", otlpProtobuf, answer, []string{"traces not delivered", "spans=3", "span too old"}},
		{"nothing", otlpProtobuf, nil, nil},
		{"an empty one", otlpProtobuf, []byte{0x0a, 0}, nil},
		{"another type", "text/html", answer, nil},
		{"broken", otlpProtobuf, answer[:len(answer)-3], nil},
		{"noise", otlpProtobuf, bytes.Repeat([]byte{0xff}, 50), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			requests := 0
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Content-Type", tt.kind)
				_, _ = w.Write(tt.answer)
			}))
			defer collector.Close()
			clearEnv(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			var log bytes.Buffer
			tracing, err := NewTracing(t.Context(), "v1", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				_, span := tracing.tracer.Start(t.Context(), "x")
				span.End()
			}
			tracing.Close(t.Context())
			for _, part := range tt.want {
				if !strings.Contains(log.String(), part) {
					t.Errorf("want %s in the log: %s", part, log.String())
				}
			}
			if requests != 1 || tt.want == nil && log.Len() > 0 {
				t.Errorf("%d requests, %s", requests, log.String())
			}
		})
	}
}

func TestUploadErrorsContainNoSecrets(t *testing.T) {
	const key = "s3cr3t"
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Api-Key"), http.StatusForbidden)
	}))
	defer collector.Close()
	for name, endpoint := range map[string]string{
		"refused": collector.URL, "unavailable": "http://127.0.0.1:1", "no host": "http://collector.invalid", "no tls": strings.Replace(collector.URL, "http", "https", 1),
	} {
		t.Run(name, func(t *testing.T) {
			u, _ := url.Parse(endpoint)
			u.User, u.RawQuery = url.UserPassword("ann", key), "key="+key
			c := clientOf(t, map[string]string{
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": u.String(), "OTEL_EXPORTER_OTLP_HEADERS": "api-key=" + key, "OTEL_EXPORTER_OTLP_TIMEOUT": "200",
			})
			if err := c.UploadTraces(t.Context(), spansNamed("a")); err == nil || strings.Contains(err.Error(), key) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCollectorCertificatesAreVerified(t *testing.T) {
	clients := 0
	collector := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { clients += len(r.TLS.PeerCertificates) }))
	defer collector.Close()
	collector.TLS.ClientAuth = 1 // requests a certificate
	collector.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	key, err := x509.MarshalPKCS8PrivateKey(collector.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_TIMEOUT": "2000"} // the client retries until then
	if err := clientOf(t, env).UploadTraces(t.Context(), spansNamed("a")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v", err)
	}
	env["OTEL_EXPORTER_OTLP_CERTIFICATE"] = file("ca.pem", "CERTIFICATE", collector.Certificate().Raw)
	env["OTEL_EXPORTER_OTLP_TIMEOUT"] = "10000"
	if err := clientOf(t, env).UploadTraces(t.Context(), spansNamed("a")); err != nil || clients != 0 {
		t.Errorf("known authority: %v, %d client certificates", err, clients)
	}
	env["OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"], env["OTEL_EXPORTER_OTLP_CLIENT_KEY"] = env["OTEL_EXPORTER_OTLP_CERTIFICATE"], file("key.pem", "PRIVATE KEY", key)
	if err := clientOf(t, env).UploadTraces(t.Context(), spansNamed("a")); err != nil || clients != 1 {
		t.Errorf("client certificate: %v, %d client certificates", err, clients)
	}
}

func TestInvalidTraceSettings(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, value string
		warns       bool
		err         string
	}{
		{name: "TIMEOUT", value: "250"},
		{name: "TIMEOUT", value: "10s", warns: true},
		{name: "TIMEOUT", value: "0", warns: true},
		{name: "TRACES_TIMEOUT", value: "-1", warns: true},
		{name: "COMPRESSION", value: "GZIP"},
		{name: "COMPRESSION", value: "zstd", warns: true},
		{name: "HEADERS", value: "a=1,,b="},
		{name: "HEADERS", value: "a=1,secret", warns: true},
		{name: "HEADERS", value: "a=1,b c=secret", warns: true},
		{name: "HEADERS", value: "a=1,b=secret%0a", warns: true},
		{name: "TRACES_HEADERS", value: "a=1,b=secret%zz", warns: true},
		{name: "PROTOCOL", value: "http/protobuf"},
		{name: "PROTOCOL", value: "http/json", err: `unsupported OTEL_EXPORTER_OTLP_PROTOCOL "http/json"`},
		{name: "TRACES_PROTOCOL", value: "grpc", err: `unsupported OTEL_EXPORTER_OTLP_TRACES_PROTOCOL "grpc"`},
		{name: "CERTIFICATE", value: "/nowhere.pem", err: "CERTIFICATE"},
		{name: "CERTIFICATE", value: empty, err: "no certificate in PEM"},
		{name: "CLIENT_CERTIFICATE", value: empty, err: "CLIENT_CERTIFICATE"},
		{name: "CLIENT_KEY", value: empty, err: "CLIENT_CERTIFICATE"},
	} {
		t.Run(tt.name+" "+strconv.Quote(tt.value), func(t *testing.T) {
			clearEnv(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("OTEL_EXPORTER_OTLP_"+tt.name, tt.value)
			var log bytes.Buffer
			s, err := readOTLPSettings(slog.New(slog.NewTextHandler(&log, nil)))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want an error with %q", err, tt.err)
			}
			warned := strings.Contains(log.String(), "variable=OTEL_EXPORTER_OTLP_"+tt.name)
			if warned != tt.warns || strings.Contains(log.String(), "secret") {
				t.Errorf("got log %q", log.String())
			}
			if err == nil && strings.Contains(tt.name, "HEADERS") && s.headers["a"] != "1" {
				t.Errorf("got headers %v", s.headers)
			}
			if want := map[bool]time.Duration{true: 250 * time.Millisecond, false: defaultOTLPTimeout}[tt.value == "250"]; err == nil && s.timeout != want {
				t.Errorf("got timeout %v", s.timeout)
			}
		})
	}
	t.Run("a certificate without tls", func(t *testing.T) {
		clearEnv(t)
		collector := httptest.NewTLSServer(nil)
		defer collector.Close()
		path := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", path)
		if _, err := readOTLPSettings(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "https://") {
			t.Errorf("got %v", err)
		}
	})
}
