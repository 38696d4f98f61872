package cache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Describe is what a record of any cache says, for people: a line for each
// field of its header, an empty line, and the value as indented JSON, or quoted if it is a text. Clocks of
// the process that wrote it decide what "created" says. It returns an error if
// the bytes are no record, or the value is no JSON.
func Describe(record []byte) (string, error) {
	h, payload, err := parse(record)
	if err != nil {
		return "", err
	}
	kind := "value"
	switch {
	case h.flags&flagNegative != 0:
		kind = "negative: there is no such value"
	case h.flags&flagBare != 0:
		kind = "bare: there is a value, and it is not kept"
	}
	var b strings.Builder
	for _, line := range []struct{ name, text string }{
		{"record", kind},
		{"version", fmt.Sprint(h.version)},
		{"created", h.created.UTC().Format(time.RFC3339Nano)},
		{"soft", h.soft.String()},
		{"delta", h.delta.String()},
		{"epoch", fmt.Sprint(h.epoch)},
		{"payload", fmt.Sprintf("%d bytes", len(payload))},
	} {
		fmt.Fprintf(&b, "%-9s%s\n", line.name, line.text)
	}
	if len(payload) == 0 {
		return b.String(), nil
	}
	if h.codec == codecRaw {
		return fmt.Sprintf("%s\n%q\n", &b, payload), nil
	}
	var value bytes.Buffer
	if err := json.Indent(&value, payload, "", "  "); err != nil {
		return "", fmt.Errorf("read the value of a record: %w", err)
	}
	return b.String() + "\n" + value.String() + "\n", nil
}
