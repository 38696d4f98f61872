package testkit

import (
	"log/slog"
	"strings"
	"sync"
)

// Log collects what is written to it, by several goroutines too, for a test to
// read. Its zero value is empty.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write is for an [io.Writer]; it never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often text was written so far.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Logger returns a logger that writes lines of text to l.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
