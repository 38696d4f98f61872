package testkit

import (
	"log/slog"
	"strings"
	"sync"
)

// Log is a writer that collects text. The zero value is empty. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer]. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often text occurs in the log so far.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Logger returns a logger that writes text lines to l.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
