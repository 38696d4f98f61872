package apierror

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

func TestKindOfFindsTheErrorInAChain(t *testing.T) {
	bad := BadInput("first must be 1 to 100, not %d", 0)
	tests := []struct {
		name string
		err  error
		want Kind
	}{
		{"the error itself", bad, BadUserInput},
		{"a wrapped error", fmt.Errorf("list shops: %w", bad), BadUserInput},
		{"an error with a cause", New(Unavailable, "Try again later.").WithCause(io.ErrUnexpectedEOF), Unavailable},
		{"another error", io.ErrUnexpectedEOF, Internal},
	}
	for _, tt := range tests {
		if got := KindOf(tt.err); got != tt.want {
			t.Errorf("%s: KindOf = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestMessagesDoNotShowTheCause(t *testing.T) {
	err := New(Unavailable, "Try again later.").WithCause(io.ErrUnexpectedEOF)
	if err.Message != "Try again later." {
		t.Errorf("got message %q, want no cause", err.Message)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "Try again later.: unexpected EOF" {
		t.Errorf("got %q, want the cause in it", err)
	}
}

func TestUserErrorsAreNilWhenEmpty(t *testing.T) {
	var none UserErrors
	if none.OrNil() != nil {
		t.Error("OrNil of no reasons is an error, want nil")
	}
	two := append(Refuse("INVALID_PHONE", "This is not a phone number.", "input", "phone"), Refuse(NotFound, "Not found.")...)
	err := fmt.Errorf("log in: %w", two.OrNil())
	got, ok := errors.AsType[UserErrors](err)
	if !ok || len(got) != 2 || got[0].Field[1] != "phone" || got[1].Field != nil {
		t.Errorf("got %v in the chain, want both reasons", got)
	}
	if err.Error() != "log in: INVALID_PHONE: This is not a phone number.; NOT_FOUND: Not found." {
		t.Errorf("got %q, want both reasons", err)
	}
}

func TestWithCauseKeepsRetryAfter(t *testing.T) {
	limited := New(RateLimited, "Slow down.")
	busy := limited.WithRetryAfter(time.Minute).WithCause(io.EOF)
	if busy.RetryAfter != time.Minute || busy.Kind != RateLimited || busy.Message != "Slow down." || limited.RetryAfter != 0 {
		t.Errorf("got %+v, made from %+v", busy, limited)
	}
}

func TestUserErrorsNameTheirField(t *testing.T) {
	var errs UserErrors
	errs.Add(InvalidInput, "name", "At most %d.", 5)
	errs.Add(NotFound, "id", "None.")
	if len(errs) != 2 || errs[0].Message != "At most 5." || errs[0].Field[0] != "input" || errs[0].Field[1] != "name" || errs[1].Code != NotFound {
		t.Errorf("got %+v, want a reason for input.name and one for input.id", errs)
	}
}
