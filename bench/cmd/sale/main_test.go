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
		{"no median", []string{"--rounds", "2"}, "an odd number"},
		{"no time", []string{"--each", "0s"}, "10ms or more"},
		{"no scene", []string{"--times", "0"}, "1 or more"},
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
