package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/webhook"
)

// Codes receives the login codes that servers post to it.
type Codes struct {
	URL, Secret string
	server      *http.Server

	mu      sync.Mutex
	waiting map[string]chan string // by phone
}

// ServeCodes serves the webhook on a free port. Requests must be signed with secret.
func ServeCodes(ctx context.Context, secret string) (*Codes, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Codes{URL: "http://" + listener.Addr().String() + "/codes", Secret: secret, waiting: map[string]chan string{}}
	c.server = &http.Server{Handler: http.HandlerFunc(c.take), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = c.server.Serve(listener) }() // until Close
	return c, nil
}

// Close stops the server.
func (c *Codes) Close() error {
	if err := c.server.Close(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Expect returns a channel with the next code of a phone.
func (c *Codes) Expect(phone string) <-chan string {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := make(chan string, 1)
	c.waiting[phone] = to
	return to
}

func (c *Codes) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<10))
	if err != nil || !webhook.Verify([]byte(c.Secret), body, r.Header.Get(webhook.Header)) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	var m struct{ Phone, Code string }
	if err := json.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	to := c.waiting[m.Phone]
	delete(c.waiting, m.Phone)
	c.mu.Unlock()
	if to != nil {
		to <- m.Code // it has room for one
	}
	w.WriteHeader(http.StatusNoContent)
}
