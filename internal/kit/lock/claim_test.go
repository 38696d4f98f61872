package lock

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

type unsent struct{ error }

func (unsent) Unsent() bool { return true }

type answeredError struct{ error }

func (answeredError) RedisError() {}

func TestWhatSurelyGrantedNothing(t *testing.T) {
	reason := errors.New("x")
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"an answer", answeredError{reason}, true},
		{"a dial", &net.OpError{Op: "dial", Err: reason}, true},
		{"an open breaker", fmt.Errorf("state: %w", unsent{reason}), true},
		{"no free connection", redis.ErrPoolTimeout, true},
		{"a client that is closed", redis.ErrClosed, true},
		{"a read", &net.OpError{Op: "read", Err: reason}, false},
		{"a write", &net.OpError{Op: "write", Err: reason}, false},
		{"something else", reason, false},
	} {
		if got := notAsked(tt.err); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestWhenAnAttemptIsDue has three nodes, of which two are needed.
func TestWhenAnAttemptIsDue(t *testing.T) {
	began := time.Now()
	later := began.Add(time.Hour)
	for _, tt := range []struct {
		name  string
		nodes [3]rumour
		split bool
		want  time.Time
	}{
		{"nothing was heard", [3]rumour{{needs: 5, listens: true}, {needs: 5, listens: true}, {needs: 5, listens: true}}, false, later},
		{"one of three told", [3]rumour{{5, 5, true}, {needs: 5, listens: true}, {needs: 5, listens: true}}, false, later},
		{"two told", [3]rumour{{5, 5, true}, {5, 6, true}, {needs: 5, listens: true}}, false, time.Time{}},
		{"two told of an older release", [3]rumour{{5, 4, true}, {5, 4, true}, {needs: 5, listens: true}}, false, later},
		{"one told, one is free", [3]rumour{{5, 5, true}, {needs: 5, listens: true}, {needs: free, listens: true}}, false, time.Time{}},
		{"two acknowledged", [3]rumour{{5, anything, true}, {5, anything, true}, {needs: 5}}, false, began.Add(settling)},
		{"three did", [3]rumour{{5, anything, true}, {5, anything, true}, {5, anything, true}}, false, time.Time{}},
		{"it met others", [3]rumour{{5, 5, true}, {5, 5, true}, {5, 5, true}}, true, later},
	} {
		w := &contest{s: &nodes{need: 2}, at: tt.nodes[:], listens: began, again: later, split: tt.split}
		if got := w.due(); !got.Equal(tt.want) {
			t.Errorf("%s: %v after the beginning", tt.name, got.Sub(began))
		}
	}
}

// TestAQuorumIsSplitOnlyIfNobodyCanHaveIt has three nodes, of which two are needed.
func TestAQuorumIsSplitOnlyIfNobodyCanHaveIt(t *testing.T) {
	a, b, mine, silent := answer{state: refused, holder: "a"}, answer{state: refused, holder: "b"}, answer{state: granted}, answer{}
	for _, tt := range []struct {
		name string
		at   []answer
		want bool
	}{
		{"three holders", []answer{a, b, mine}, true},
		{"one has two", []answer{a, a, mine}, false},
		{"one may have two", []answer{a, b, silent}, false},
		{"one may have two, the other is broken", []answer{a, b, {state: unknown, err: errGone}}, false},
		{"one has the only node", []answer{a}, false},
	} {
		c := &claim{s: &nodes{need: len(tt.at)/2 + 1}, at: tt.at}
		if got := c.split(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
