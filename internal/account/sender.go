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

// A Sender brings a login code to a phone. Send returns when somebody else has
// taken over, or with an error that shows neither number nor code. It is safe
// for concurrent use.
//
// An error with [ErrNotSent] in it promises that nothing went out. With any
// other one the code may still arrive.
type Sender interface {
	Send(ctx context.Context, to Phone, code string, life time.Duration) error
}

// ErrNotSent says that a code certainly did not go out.
var ErrNotSent = errors.New("the code was not sent")

// Console returns a Sender that writes each code as a line to out, with one
// Write: for a terminal, never for a log.
func Console(out io.Writer) Sender { return &console{out: out} }

type console struct {
	mu  sync.Mutex
	out io.Writer
}

func (c *console) Send(_ context.Context, to Phone, code string, life time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintf(c.out, "login code for %s: %s (%s)\n", to.Masked(), code, inWords(life)); err != nil {
		return fmt.Errorf("write a login code: %w: %w", ErrNotSent, err)
	}
	return nil
}

// WebhookConfig says who sends the codes of a [WebhookSender].
type WebhookConfig struct {
	URL    string // see webhook.CheckURL
	Secret string // signs the bodies; at least 16 bytes
}

// A WebhookSender has login codes sent by an HTTP server of the operator's, as
// {"phone":"+86…","code":"…","expiresInSeconds":300} signed in the header
// Tandian-Signature (see [webhook.Sign]).
type WebhookSender struct {
	url    string
	secret []byte
	client *http.Client

	try   time.Duration // longest time of one try
	total time.Duration // longest time of all tries with their pauses
	pause time.Duration // before the second try; twice that before the third
}

const (
	webhookTries = 3
	maxReply     = 1 << 10 // bytes of an answer that are read, so that its connection can be used again
)

// Webhook returns a Sender by webhook. The caller closes it. Its errors show
// neither secret nor URL.
func Webhook(cfg WebhookConfig) (*WebhookSender, error) {
	if err := errors.Join(webhook.CheckURL(cfg.URL), webhook.CheckSecret(cfg.Secret)); err != nil {
		return nil, fmt.Errorf("webhook of login codes: %w", err)
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

var errNotLoopback = errors.New("http is for this machine alone, and the name leads elsewhere")

// loopbackOnly refuses to dial other machines. It sees the address after the
// name was looked up: what "localhost" means is not ours to say.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().IsLoopback() {
		return errNotLoopback
	}
	return nil
}

// Close closes the connections, those in use when their answer has come. A
// Send after it opens new ones.
func (w *WebhookSender) Close() { w.client.CloseIdleConnections() }

// Send posts the code. It tries up to three times, two seconds each and five
// in all, when the server is away, overloaded (408, 425, 429) or broken (5xx);
// the tries have one Idempotency-Key, so that a server which knows it sends one
// message. Any status from 200 to 299 is success; redirects are not followed.
func (w *WebhookSender) Send(ctx context.Context, to Phone, code string, life time.Duration) error {
	body, err := json.Marshal(struct {
		Phone            string `json:"phone"`
		Code             string `json:"code"`
		ExpiresInSeconds int64  `json:"expiresInSeconds"`
	}{to.E164(), code, int64(life / time.Second)})
	if err != nil {
		return fmt.Errorf("write the body of a login code: %w", err)
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
			return fmt.Errorf("post a login code, try %d: %w", n, err)
		}
		pause *= 2
	}
}

// postResult is what is known of a try that failed.
type postResult struct {
	retry   bool // it makes sense to try again
	refused bool // the server has certainly not taken over
}

// post tries once.
func (w *WebhookSender) post(ctx context.Context, body []byte, key string) (postResult, error) {
	ctx, cancel := context.WithTimeout(ctx, w.try)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return postResult{refused: true}, redact(err)
	}
	// With a key and a body that can be read anew, net/http repeats a request by
	// itself. The tries are counted here, so it must not.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set(webhook.Header, webhook.Sign(w.secret, body))
	res, err := w.client.Do(req)
	if err != nil {
		dial, ok := errors.AsType[*net.OpError](err)
		return postResult{retry: true, refused: ok && dial.Op == "dial"}, redact(err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxReply) // the status has said all
	_ = res.Body.Close()
	outcome := postResult{refused: true}
	switch code := res.StatusCode; {
	case code >= 200 && code <= 299:
		return postResult{}, nil
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		outcome.retry = true
	case code >= 500: // it may have failed after it had sent the message
		outcome = postResult{retry: true}
	}
	return outcome, fmt.Errorf("the server answers with status %d", res.StatusCode)
}

// jitter is between three and five quarters of d.
func jitter(d time.Duration) time.Duration { return d*3/4 + mathrand.N(d/2+1) }

// redact returns what may be said of a transport's error. A *url.Error holds the
// URL; others may quote what the server or the proxy answered, or the proxy's
// password. So those are shown that are known to hold addresses and host names
// at most, and of the others their type.
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
	return fmt.Errorf("the connection failed (%T)", err)
}
