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

// An Op is what a client wanted.
type Op string

// All operations of clients.
const (
	OpOpen   Op = "open"   // a merchant makes a flash voucher
	OpEdit   Op = "edit"   // a merchant changes its stock
	OpOrder  Op = "order"  // a customer wants a piece
	OpRead   Op = "read"   // a customer asks what became of an order
	OpPay    Op = "pay"    // a customer pays
	OpCancel Op = "cancel" // a customer cancels
	OpMe     Op = "me"     // a customer asks who is signed in
)

// Unknown is the answer of a request that may have been done or not: anything but
// an answer of the server that could be read. What a retry is told never replaces it.
const Unknown = "UNKNOWN"

// An Event is one request as its client saw it. The ids are global ones, as in
// GraphQL; times are since the run began, by one clock.
type Event struct {
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Client int           `json:"client"`
	Server int           `json:"server"` // that was asked

	Op      Op     `json:"op"`
	User    string `json:"user"`
	Voucher string `json:"voucher,omitempty"`
	Key     string `json:"key,omitempty"`   // idempotency key of an order
	Order   string `json:"order,omitempty"` // that was asked for; the answer's where none was
	Stock   int    `json:"stock,omitempty"` // pieces, of open and edit: the new total
	Delta   int    `json:"delta,omitempty"` // of edit: by how much

	// Wish names what the client wanted: the tries of one wish, which follow each other
	// until one is definite, have the same. 0 is of what is asked once.
	Wish int64 `json:"wish,omitempty"`
	// Calm is for how long no fault had been under way when it began; 0 if one was, or
	// began before it ended.
	Calm time.Duration `json:"calm,omitempty"`

	// Status is that of the order in the answer, "" if there is none.
	Status string `json:"status,omitempty"`
	// Code is why nothing was done: of a userError, of an error of the request
	// (UNAVAILABLE, RATE_LIMITED, TIMEOUT, UNAUTHENTICATED, INTERNAL, NO_CODE), or Unknown.
	// "" is success.
	Code string `json:"code,omitempty"`
	// Failure is why the order in the answer failed.
	Failure string `json:"failure,omitempty"`
	Note    string `json:"note,omitempty"` // what an Unknown was
}

// Definite says that the server answered, and what it answered is not that it could
// not tell.
func (e Event) Definite() bool {
	switch e.Code {
	case Unknown, "UNAVAILABLE", "TIMEOUT", "INTERNAL", codeNameless:
		return false
	}
	return true
}

// A History is what all clients saw, in the order in which it ended. It is safe for
// concurrent use.
type History struct {
	begin time.Time
	file  io.Closer
	out   *bufio.Writer
	lines *json.Encoder

	mu     sync.Mutex
	events []Event
	err    error // of the first line that could not be written
}

// Create begins a history, now. Each event becomes a line of JSON in the file.
func Create(path string) (*History, error) {
	file, err := os.Create(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return nil, fmt.Errorf("create the history: %w", err)
	}
	out := bufio.NewWriter(file)
	return &History{begin: time.Now(), file: file, out: out, lines: json.NewEncoder(out)}, nil
}

// Now is the time since the run began.
func (h *History) Now() time.Duration { return time.Since(h.begin) }

// Add notes what a client saw.
func (h *History) Add(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	h.err = errors.Join(h.err, h.lines.Encode(e))
}

// Events returns what was noted until now.
func (h *History) Events() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.events)
}

// Close ends the file.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.err, h.out.Flush(), h.file.Close())
}
