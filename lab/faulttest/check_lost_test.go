package faulttest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A server watches the numbers that it reported. So a number may lack a row only if that
// server and Redis both lost data soon after the answer, and soon after each other.
func TestLostNumbersNeedServerAndRedisLoss(t *testing.T) {
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
		{"power cut that loses a recent write", at(12 * s), at(9 * s), true},
		{"nothing", nil, nil, false},
		{"server only", at(12 * s), nil, false},
		{"Redis only", nil, at(12 * s), false},
		{"server killed before", at(9 * s), at(12 * s), false},
		{"Redis lost data before", at(12 * s), at(8 * s), false},
		{"Redis long after the server", at(12 * s), at(60 * s), false},
		{"both, long after the answer", at(40 * s), at(41 * s), false},
		{"both, after earlier losses", at(5*s, 12*s), at(5*s, 15*s), true},
		{"slow end of the server", spans(9*s, 12*s), at(12 * s), true},
		{"late loss in Redis", at(12 * s), spans(7*s, 12*s), true},
		{"both slow, one ended before", spans(5*s, 9*s), spans(5*s, 30*s), false},
		{"long spans that begin in time", spans(20*s, 60*s), spans(25*s, 70*s), true},
		{"long spans that begin too late", spans(27*s, 60*s), spans(25*s, 70*s), false},
	} {
		rules := Rules{Killed: [][]Span{at(12 * s), tt.killed}, Losses: tt.forgot}
		if got := rules.lostTwice(queued, map[int]time.Duration{1: queued.Start}); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDataLossLastsAsLongAsItsFault(t *testing.T) {
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
