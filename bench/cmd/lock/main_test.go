package main

import (
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestAWrongFlagIsRefusedBeforeAServerIsStarted(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a table that there is not", []string{"--only", "stale"}, "there is no table"},
		{"two servers", []string{"--redis", "redis://a,redis://b"}, "one or three are wanted"},
		{"no round", []string{"--rounds", "0"}, "at least 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), tt.args, new(strings.Builder))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestATableIsPrinted(t *testing.T) {
	var out strings.Builder
	args := []string{"--redis", testkit.Redis(t), "--database", testkit.Postgres(t), "--only", "anomalies", "--scheme", "GET and DEL"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	if want := "TWO HOLDERS"; !strings.Contains(out.String(), want) {
		t.Errorf("it lacks %q:\n%s", want, &out)
	}
}
