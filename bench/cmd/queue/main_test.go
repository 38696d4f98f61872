package main

import (
	"strings"
	"testing"
)

func TestAWrongFlagIsRefusedBeforeAServerIsStarted(t *testing.T) {
	for want, args := range map[string][]string{
		"there is no table": {"--only", "stale"},
		"at least 100":      {"--messages", "99"},
		"at least 1":        {"--rounds", "0"},
	} {
		if err := run(t.Context(), args, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
