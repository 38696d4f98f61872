package lock

import (
	"errors"
	"fmt"
	"net"
	"testing"

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
