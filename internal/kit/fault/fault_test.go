package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestKindOfFindsTheFaultInAChain(t *testing.T) {
	bad := BadInput("first is 1 to 100, not %d", 0)
	tests := []struct {
		name string
		err  error
		want Kind
	}{
		{"a fault itself", bad, BadUserInput},
		{"a wrapped fault", fmt.Errorf("list shops: %w", bad), BadUserInput},
		{"a fault with a cause", New(Unavailable, "Try again later.").Because(io.ErrUnexpectedEOF), Unavailable},
		{"no fault", io.ErrUnexpectedEOF, Internal},
	}
	for _, tt := range tests {
		if got := KindOf(tt.err); got != tt.want {
			t.Errorf("%s: KindOf = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTheCauseIsInTheErrorButNotInTheMessage(t *testing.T) {
	err := New(Unavailable, "Try again later.").Because(io.ErrUnexpectedEOF)
	if err.Message != "Try again later." {
		t.Errorf("Message = %q", err.Message)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "Try again later.: unexpected EOF" {
		t.Errorf("Error() = %q does not carry the cause", err)
	}
}
