package faulttest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Op is a client operation.
type Op string

// All client operations.
const (
	OpOpen   Op = "open"   // a merchant creates a flash voucher
	OpEdit   Op = "edit"   // a merchant changes its stock
	OpOrder  Op = "order"  // a customer orders a unit
	OpRead   Op = "read"   // a customer reads an order
	OpPay    Op = "pay"    // a customer pays
	OpCancel Op = "cancel" // a customer cancels
	OpMe     Op = "me"     // a customer reads the signed-in user
)

// Unknown is the code of a request that may or may not have succeeded: every outcome except a
// readable answer of the server. The answer to a retry never replaces it.
const Unknown = "UNKNOWN"

// Event is one request as its client saw it. The ids are global ids, as in GraphQL. Times
// count from the start of the run on one clock.
type Event struct {
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Client int           `json:"client"`
	Server int           `json:"server"` // that got the request

	Op      Op     `json:"op"`
	User    string `json:"user"`
	Voucher string `json:"voucher,omitempty"`
	Key     string `json:"key,omitempty"`   // idempotency key of an order
	Order   string `json:"order,omitempty"` // requested order, or the order in the answer if none was requested
	Stock   int    `json:"stock,omitempty"` // units, of open and edit: the new total
	Delta   int    `json:"delta,omitempty"` // of edit: the change

	// Purchase groups the tries of one purchase, which follow each other until one is
	// definite. 0 means a single request.
	Purchase int64 `json:"wish,omitempty"`
	// Calm is how long no fault had been active at the start; 0 if one was active, or began
	// during the request.
	Calm time.Duration `json:"calm,omitempty"`

	// Status is the status of the order in the answer, "" without one.
	Status string `json:"status,omitempty"`
	// Code is the reason of a refusal: the code of a userError, of a request error
	// (UNAVAILABLE, RATE_LIMITED, TIMEOUT, UNAUTHENTICATED, INTERNAL, NO_CODE), or Unknown.
	// "" means success.
	Code string `json:"code,omitempty"`
	// Failure is why the order in the answer failed.
	Failure string `json:"failure,omitempty"`
	Note    string `json:"note,omitempty"` // detail of an Unknown
}

// Definite reports whether the server gave a final answer.
func (e Event) Definite() bool {
	switch e.Code {
	case Unknown, "UNAVAILABLE", "TIMEOUT", "INTERNAL", codeMissing:
		return false
	}
	return true
}

// History collects the events of all clients, ordered by their end. It is safe for concurrent
// use.
type History struct {
	begin time.Time
	file  io.Closer
	out   *bufio.Writer
	lines *json.Encoder

	mu     sync.Mutex
	events []Event
	err    error // of the first failed write
}

// Create starts a history now. Each event becomes a JSON line in the file.
func Create(path string) (*History, error) {
	file, err := os.Create(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	out := bufio.NewWriter(file)
	return &History{begin: time.Now(), file: file, out: out, lines: json.NewEncoder(out)}, nil
}

// Now returns the time since the run began.
func (h *History) Now() time.Duration { return time.Since(h.begin) }

// Add appends an event.
func (h *History) Add(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	h.err = errors.Join(h.err, h.lines.Encode(e))
}

// Events returns the events so far.
func (h *History) Events() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.events)
}

// Close flushes and closes the file.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.err, h.out.Flush(), h.file.Close())
}
