package observe

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	otlpBackoff     = time.Second // before the first retry; doubles
	otlpMaxResponse = 64 << 10    // bytes of a response that are read
	otlpProtobuf    = "application/x-protobuf"
)

// An otlpClient sends spans to a collector by OTLP/HTTP, as binary protobuf. It implements
// otlptrace.Client and is safe for concurrent use.
//
// See https://opentelemetry.io/docs/specs/otlp/#otlphttp. OpenTelemetry's own client,
// otlptracehttp, links gRPC and html/template.
type otlpClient struct {
	otlpSettings
	version string
	http    *http.Client
	zippers sync.Pool // of *gzip.Writer
}

func newOTLPClient(s otlpSettings, version string) *otlpClient {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // its documented type
	transport.TLSClientConfig = s.tls
	return &otlpClient{otlpSettings: s, version: version, http: &http.Client{
		Transport: transport,
		// A redirect would take the headers, which may hold a token, to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start does nothing: the first upload connects.
func (*otlpClient) Start(context.Context) error { return nil }

// Stop closes the idle connections. It does not end an upload.
func (c *otlpClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. It retries while the collector is busy or unavailable, within the
// timeout of the settings. It returns a [*partialError] if the collector dropped some spans. No
// error contains a header or the URL.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := c.encode(spans)
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for backoff := otlpBackoff; ; backoff *= 2 {
		retryAfter, again, err := c.post(ctx, body)
		if !again {
			return err
		}
		wait := max(retryAfter, clock.Jitter(backoff))
		if end, _ := ctx.Deadline(); time.Until(end) < wait || clock.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// encode returns a request body. TracesData has the wire format of an
// ExportTraceServiceRequest, whose package links gRPC.
func (c *otlpClient) encode(spans []*tracepb.ResourceSpans) ([]byte, error) {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil || !c.gzip {
		return body, err
	}
	var zipped bytes.Buffer
	w, _ := c.zippers.Get().(*gzip.Writer)
	if w == nil {
		w = new(gzip.Writer)
	}
	defer c.zippers.Put(w)
	w.Reset(&zipped)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err = w.Close()
	return zipped.Bytes(), err
}

// post sends one request. With an error, it reports whether to retry, and the collector's minimum
// delay.
func (c *otlpClient) post(ctx context.Context, body []byte) (retryAfter time.Duration, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return 0, false, withoutURL(err)
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "tandian/"+c.version)
	req.Header.Set("Content-Type", otlpProtobuf)
	if c.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, ctx.Err() == nil, withoutURL(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, otlpMaxResponse)) // reading all of it allows connection reuse
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return parseRetryAfter(res.Header.Get("Retry-After")), true, statusError(res.StatusCode)
	}
	if res.StatusCode/100 != 2 {
		return 0, false, statusError(res.StatusCode)
	}
	if err == nil && res.Header.Get("Content-Type") == otlpProtobuf {
		return 0, false, readPartialSuccess(answer)
	}
	return 0, false, nil // the spans arrived
}

func statusError(code int) error {
	return fmt.Errorf("collector returned %d %s", code, http.StatusText(code))
}

// withoutURL removes the URL, which may contain a key, from an error of net/http.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// parseRetryAfter parses a number of seconds or an HTTP date. It returns 0 for other values.
func parseRetryAfter(v string) time.Duration {
	if seconds, err := strconv.ParseUint(v, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return time.Until(at)
	}
	return 0
}

// A partialError reports spans that the collector dropped. If rejected is 0, message is a warning.
type partialError struct {
	rejected int
	message  string
}

func (e *partialError) Error() string {
	return fmt.Sprintf("collector rejected %d spans: %s", e.rejected, e.message)
}

// readPartialSuccess returns the [*partialError] of an ExportTraceServiceResponse, or nil.
func readPartialSuccess(response []byte) error {
	var partial partialError
	eachField(response, func(field protowire.Number, value []byte, _ uint64) {
		if field != 1 { // partial_success
			return
		}
		eachField(value, func(field protowire.Number, text []byte, n uint64) {
			switch field {
			case 1: // rejected_spans
				partial.rejected = int(n) //nolint:gosec // an int64; only logged
			case 2: // error_message
				partial.message = string(text)
			default: // of a later version
			}
		})
	})
	if partial == (partialError{}) {
		return nil
	}
	return &partial
}

// eachField calls do with each field of a message, as bytes or as a varint. It stops at the
// first invalid byte.
func eachField(message []byte, do func(field protowire.Number, value []byte, n uint64)) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, kind, message)
		if size < 0 {
			return
		}
		value, _ := protowire.ConsumeBytes(message)
		number, _ := protowire.ConsumeVarint(message)
		switch kind {
		case protowire.BytesType:
			do(field, value, 0)
		case protowire.VarintType:
			do(field, nil, number)
		default: // no known field has another type
		}
		message = message[size:]
	}
}
