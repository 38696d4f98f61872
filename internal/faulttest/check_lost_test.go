package faulttest

import (
	"testing"
	"time"
)

// A server watches what it told, so a number may be without a row only if that server
// and Redis were both harmed after it was told, soon after each other.
func TestANumberIsLostWithItsServerAndRedisAlone(t *testing.T) {
	const s = time.Second
	at := func(times ...time.Duration) []time.Duration { return times }
	told := seen{Event: Event{Start: 10 * s, End: 11 * s}} // by server 1; server 0 is always killed
	for _, tt := range []struct {
		name           string
		killed, forgot []time.Duration
		want           bool
	}{
		{"both", at(12 * s), at(15 * s), true},
		{"Redis first", at(15 * s), at(12 * s), true},
		{"a power cut that takes what was just told", at(12 * s), at(9 * s), true},
		{"nothing", nil, nil, false},
		{"the server alone", at(12 * s), nil, false},
		{"Redis alone", nil, at(12 * s), false},
		{"a server that was killed before", at(9 * s), at(12 * s), false},
		{"a Redis that forgot before", at(12 * s), at(8 * s), false},
		{"Redis long after the server", at(12 * s), at(60 * s), false},
		{"both, after others", at(5*s, 12*s), at(5*s, 15*s), true},
	} {
		if got := (Rules{Killed: [][]time.Duration{at(12 * s), tt.killed}, Forgot: tt.forgot}).lostTwice(told, map[int]time.Duration{1: told.Start}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
