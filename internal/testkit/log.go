package testkit

import (
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
