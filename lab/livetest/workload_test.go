package livetest

import (
	"testing"
	"time"
)

func TestUnfollowLeewayWaitsForStoppedServers(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name    string
		stopped [][2]time.Duration
		late    int64
	}{
		{"no stopped server", nil, 12},
		{"continued before", [][2]time.Duration{{5 * s, 9 * s}}, 12},
		{"stopped during the answer", [][2]time.Duration{{9 * s, 14 * s}}, 16},
		{"stopped within the leeway", [][2]time.Duration{{11 * s, 13 * s}}, 15},
		{"stopped later", [][2]time.Duration{{13 * s, 20 * s}}, 12},
	} {
		pair := Pair{1, 2}
		w := &workload{cfg: Config{Leeway: 2 * s}, follows: map[Pair][]Follow{pair: {{Ended: true}}}, ended: map[Pair][]time.Duration{pair: {10 * s}}}
		for i := range int64(30) {
			w.heads = append(w.heads, head{at: time.Duration(i) * s, seq: i})
		}
		if got := w.history(test.stopped)[pair][0].MaxSeq; got != test.late {
			t.Errorf("%s: got last number %d, want %d", test.name, got, test.late)
		}
	}
}
