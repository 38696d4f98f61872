package apierror

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
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
		{"a fault with a cause", New(Unavailable, "Try again later.").WithCause(io.ErrUnexpectedEOF), Unavailable},
		{"no fault", io.ErrUnexpectedEOF, Internal},
	}
	for _, tt := range tests {
		if got := KindOf(tt.err); got != tt.want {
			t.Errorf("%s: KindOf = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTheCauseIsInTheErrorButNotInTheMessage(t *testing.T) {
	err := New(Unavailable, "Try again later.").WithCause(io.ErrUnexpectedEOF)
	if err.Message != "Try again later." {
		t.Errorf("Message = %q", err.Message)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "Try again later.: unexpected EOF" {
		t.Errorf("Error() = %q does not carry the cause", err)
	}
}

func TestUserErrorsAreAnErrorAsLongAsThereIsOne(t *testing.T) {
	var none UserErrors
	if none.OrNil() != nil {
		t.Error("no reason is an error")
	}
	two := append(Refuse("INVALID_PHONE", "This is no phone.", "input", "phone"), Refuse(NotFound, "There is none.")...)
	err := fmt.Errorf("log in: %w", two.OrNil())
	got, ok := errors.AsType[UserErrors](err)
	if !ok || len(got) != 2 || got[0].Field[1] != "phone" || got[1].Field != nil {
		t.Errorf("the chain holds %v", got)
	}
	if err.Error() != "log in: INVALID_PHONE: This is no phone.; NOT_FOUND: There is none." {
		t.Errorf("Error() = %q", err)
	}
}

func TestACauseKeepsWhenToTryAgain(t *testing.T) {
	slowly := New(RateLimited, "Slowly.")
	busy := slowly.WithRetryAfter(time.Minute).WithCause(io.EOF)
	if busy.RetryAfter != time.Minute || busy.Kind != RateLimited || busy.Message != "Slowly." || slowly.RetryAfter != 0 {
		t.Errorf("%+v of %+v", busy, slowly)
	}
}

func TestAReasonIsAboutAFieldOfTheInput(t *testing.T) {
	var errs UserErrors
	errs.Add(InvalidInput, "name", "At most %d.", 5)
	errs.Add(NotFound, "id", "None.")
	if len(errs) != 2 || errs[0].Message != "At most 5." || errs[0].Field[0] != "input" || errs[0].Field[1] != "name" || errs[1].Code != NotFound {
		t.Errorf("%+v", errs)
	}
}
