package main

import (
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestAWrongFlagIsRefusedBeforeAServerIsStarted(t *testing.T) {
	for want, args := range map[string][]string{
		"there is no table": {"--only", "stale"},
		"at least 1":        {"--rounds", "0"},
	} {
		if err := run(t.Context(), args, new(strings.Builder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

func TestTheTableIsPrinted(t *testing.T) {
	var out strings.Builder
	args := []string{"--redis", testkit.Redis(t), "--database", "", "--rounds", "1", "--dur", "1ms"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Left out, for want of a database: nextval", "UUIDv7", "repeated numbers"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
}
