package faulttest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A server watches what it told, so a number may be without a row only if that server
// and Redis were both harmed after it was told, soon after that and after each other.
func TestBrokenAreOnlyNumbersThatAreNotLostWithTheirServerAndRedis(t *testing.T) {
	const s = time.Second
	at := func(times ...time.Duration) (all []Span) {
		for _, when := range times {
			all = append(all, Span{when, when})
		}
		return all
	}
	spans := func(from, to time.Duration) []Span { return []Span{{from, to}} }
	queued := resolvedEvent{Event: Event{Start: 10 * s, End: 11 * s}} // by server 1; server 0 is always killed
	for _, tt := range []struct {
		name           string
		killed, forgot []Span
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
		{"both together, long after it was told", at(40 * s), at(41 * s), false},
		{"both, after others", at(5*s, 12*s), at(5*s, 15*s), true},
		{"a server that took long to end", spans(9*s, 12*s), at(12 * s), true},
		{"a Redis that lost it late", at(12 * s), spans(7*s, 12*s), true},
		{"both took long, and one was over before", spans(5*s, 9*s), spans(5*s, 30*s), false},
		{"a long end of which the begin is soon enough", spans(20*s, 60*s), spans(25*s, 70*s), true},
		{"a long end of which the begin is too late", spans(27*s, 60*s), spans(25*s, 70*s), false},
	} {
		rules := Rules{Killed: [][]Span{at(12 * s), tt.killed}, Losses: tt.forgot}
		if got := rules.lostTwice(queued, map[int]time.Duration{1: queued.Start}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestBrokenIsRedisWhileAFaultLastsThatHasItForget(t *testing.T) {
	const s = time.Second
	r := newReport(Config{})
	r.addEvent(s, "pause-server begins")
	r.addEvent(2*s, "replica-failover begins")
	r.addEvent(3*s, "pause-server is over")
	r.addEvent(4*s, "replica-failover is over")
	r.addEvent(5*s, "redis-wipe begins")
	if d := cmp.Diff([]Span{{2 * s, 4 * s}, {5 * s, 5 * s}}, r.losses()); d != "" {
		t.Error(d)
	}
}
