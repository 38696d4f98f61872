package main

import (
	"strings"
	"testing"
)

func TestAWrongFlagIsRefusedBeforeAServerIsStarted(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"a table that there is not", []string{"--only", "anomalies"}, "there is no table"},
		{"no round", []string{"--rounds", "0"}, "--rounds is 1 or more"},
		{"no time", []string{"--dur", "0s"}, "100ms or more"},
		{"one subscriber", []string{"--n", "1"}, "2 to 9000"},
		{"no number", []string{"--n", "many"}, "2 to 9000"},
		{"nobody", []string{"--n", ","}, "wants a number"},
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
