package account

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	mathrand "math/rand/v2"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/webhook"
)

// A Sender sends a login code to a phone. Send returns after another system has accepted
// the message, or with an error that contains neither number nor code. It is safe for
// concurrent use.
//
// An error that wraps [ErrNotSent] guarantees that nothing was sent. After any other
// error the code may still arrive.
type Sender interface {
	Send(ctx context.Context, to Phone, code string, life time.Duration) error
}

// ErrNotSent reports that a code was certainly not sent.
var ErrNotSent = errors.New("code not sent")

// Console returns a Sender that writes each code as a line to out, with one Write. It is
// for a terminal, not for a log.
func Console(out io.Writer) Sender { return &console{out: out} }

type console struct {
	mu  sync.Mutex
	out io.Writer
}

func (c *console) Send(_ context.Context, to Phone, code string, life time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintf(c.out, "login code for %s: %s (%s)\n", to.Masked(), code, inWords(life)); err != nil {
		return fmt.Errorf("write login code: %w: %w", ErrNotSent, err)
	}
	return nil
}

// WebhookConfig configures a [WebhookSender].
type WebhookConfig struct {
	URL    string // see [webhook.CheckURL]
	Secret string // signs the bodies; at least 16 bytes
}

// A WebhookSender posts login codes to an HTTP server of the operator, as
// {"phone":"+86…","code":"…","expiresInSeconds":300}. The header Tandian-Signature signs
// the body (see [webhook.Sign]).
type WebhookSender struct {
	url    string
	secret []byte
	client *http.Client

	try   time.Duration // timeout of one try
	total time.Duration // timeout of all tries and pauses
	pause time.Duration // before the second try; doubles before the third
}

const (
	webhookTries = 3
	maxReply     = 1 << 10 // bytes of a response that are read, so that its connection can be reused
)

// Webhook returns a Sender by webhook. The caller closes it. Its errors contain neither
// secret nor URL.
func Webhook(cfg WebhookConfig) (*WebhookSender, error) {
	if err := errors.Join(webhook.CheckURL(cfg.URL), webhook.CheckSecret(cfg.Secret)); err != nil {
		return nil, fmt.Errorf("configure login code webhook: %w", err)
	}
	dialer := &net.Dialer{}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxConnsPerHost:        32,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 16 << 10,
	}
	if strings.HasPrefix(strings.ToLower(cfg.URL), "https:") {
		transport.Proxy = http.ProxyFromEnvironment
	} else {
		dialer.Control = loopbackOnly
	}
	return &WebhookSender{
		url: cfg.URL, secret: []byte(cfg.Secret),
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		try: 2 * time.Second, total: 5 * time.Second, pause: 200 * time.Millisecond,
	}, nil
}

var errNotLoopback = errors.New("plain http is allowed only to this machine")

// loopbackOnly rejects connections to other machines. It checks the resolved address,
// because "localhost" may resolve to any.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().IsLoopback() {
		return errNotLoopback
	}
	return nil
}

// Close closes the idle connections, and the others after their response. Send opens new
// ones.
func (w *WebhookSender) Close() { w.client.CloseIdleConnections() }

// Send posts the code. It retries up to twice if the server is unreachable, overloaded (408, 425,
// 429) or broken (5xx). A try takes at most two seconds, all together five. The tries share
// an Idempotency-Key, so a server that supports it sends one message. Status 200 to 299 is
// success. Send does not follow redirects.
func (w *WebhookSender) Send(ctx context.Context, to Phone, code string, life time.Duration) error {
	body, err := json.Marshal(struct {
		Phone            string `json:"phone"`
		Code             string `json:"code"`
		ExpiresInSeconds int64  `json:"expiresInSeconds"`
	}{to.E164(), code, int64(life / time.Second)})
	if err != nil {
		return fmt.Errorf("encode login code: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.total)
	defer cancel()
	key, pause, refused := rand.Text(), w.pause, true
	for n := 1; ; n++ {
		outcome, err := w.post(ctx, body, key)
		if err == nil {
			return nil
		}
		refused = refused && outcome.refused
		if !outcome.retry || n == webhookTries || clock.Sleep(ctx, jitter(pause)) != nil {
			if refused {
				err = fmt.Errorf("%w: %w", ErrNotSent, err)
			}
			return fmt.Errorf("post login code, try %d: %w", n, err)
		}
		pause *= 2
	}
}

// postResult classifies a failed try.
type postResult struct {
	retry   bool // another try may succeed
	refused bool // the server has certainly not accepted the message
}

func (w *WebhookSender) post(ctx context.Context, body []byte, key string) (postResult, error) {
	ctx, cancel := context.WithTimeout(ctx, w.try)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return postResult{refused: true}, redact(err)
	}
	// With a key and a replayable body, net/http would retry by itself. Send counts the
	// tries, so it must not.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set(webhook.Header, webhook.Sign(w.secret, body))
	res, err := w.client.Do(req)
	if err != nil {
		dial, ok := errors.AsType[*net.OpError](err)
		return postResult{retry: true, refused: ok && dial.Op == "dial"}, redact(err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxReply) // only the status matters
	_ = res.Body.Close()
	outcome := postResult{refused: true}
	switch code := res.StatusCode; {
	case code >= 200 && code <= 299:
		return postResult{}, nil
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		outcome.retry = true
	case code >= 500: // it may have failed after sending the message
		outcome = postResult{retry: true}
	}
	return outcome, fmt.Errorf("unexpected status %d", res.StatusCode)
}

// jitter returns a random duration from 75 % to 125 % of d.
func jitter(d time.Duration) time.Duration { return d*3/4 + mathrand.N(d/2+1) }

// redact returns the loggable part of a transport error, without the URL of a *url.Error. It
// returns errors that contain at most addresses and host names, and only the type of others: these
// may contain a response, or the proxy's password.
func redact(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, errNotLoopback, http.ErrSchemeMismatch} {
		if errors.Is(err, known) {
			return known
		}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e
	}
	return fmt.Errorf("connection failed (%T)", err)
}
