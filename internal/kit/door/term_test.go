package door

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errReason = errors.New("a reason")

func TestATermEndsAsAContextDoes(t *testing.T) {
	type key struct{}
	tests := []struct {
		name  string
		of    time.Duration
		do    func(parent context.CancelCauseFunc, end func(error))
		err   error
		cause error
	}{
		{"it lasts", time.Hour, func(context.CancelCauseFunc, func(error)) {}, nil, nil},
		{"it lasts without a time", -1, func(context.CancelCauseFunc, func(error)) { time.Sleep(1000 * time.Hour) }, nil, nil},
		{"its time is over", time.Second, func(context.CancelCauseFunc, func(error)) { time.Sleep(time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"it had no time", 0, func(context.CancelCauseFunc, func(error)) {}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"it is ended", time.Second, func(_ context.CancelCauseFunc, end func(error)) { end(nil) }, context.Canceled, context.Canceled},
		{"it is ended for a reason", -1, func(_ context.CancelCauseFunc, end func(error)) { end(errReason); end(nil) }, context.Canceled, errReason},
		{"it is ended, and its time is over then", time.Second, func(_ context.CancelCauseFunc, end func(error)) { end(errReason); time.Sleep(time.Minute) }, context.Canceled, errReason},
		{"its time is over, and then it is ended", time.Second, func(_ context.CancelCauseFunc, end func(error)) { time.Sleep(time.Minute); end(errReason) }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"its parent ends", time.Second, func(parent context.CancelCauseFunc, _ func(error)) { parent(errReason) }, context.Canceled, errReason},
		{"its parent ends, and it", time.Second, func(parent context.CancelCauseFunc, end func(error)) { parent(errReason); end(nil) }, context.Canceled, errReason},
	}
	looks := map[string]func(*term){
		"nobody waits":           func(*term) {},
		"somebody waits":         func(term *term) { _ = term.Done() },
		"somebody looks":         func(term *term) { _ = term.Err() },
		"somebody asks for more": func(term *term) { _ = term.Value(key{}) },
		"a context below waits":  func(term *term) { context.AfterFunc(context.WithValue(term, key{}, 1), func() {}) },
	}
	for _, tt := range tests {
		for look, before := range looks {
			t.Run(tt.name+"/"+look, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
					defer cancel(nil)
					term := new(term).begin(parent, tt.of)
					defer term.end(nil)
					before(term)
					tt.do(cancel, term.end)
					synctest.Wait()
					known := look == "somebody waits" || look == "a context below waits"
					if late := tt.name == "its time is over, and then it is ended" || tt.name == "its parent ends, and it"; late && !known {
						return // nobody was there to see which came first
					}
					if err := term.Err(); !errors.Is(err, tt.err) {
						t.Errorf("got %v, want %v", err, tt.err)
					}
					if cause := context.Cause(context.WithValue(term, key{}, 1)); !errors.Is(cause, tt.cause) {
						t.Errorf("the cause is %v, want %v", cause, tt.cause)
					}
					select {
					case <-term.Done():
						if tt.err == nil {
							t.Error("it is over")
						}
					default:
						if tt.err != nil {
							t.Error("it goes on")
						}
					}
					below, stop := context.WithTimeout(term, time.Hour)
					defer stop()
					if err := below.Err(); !errors.Is(err, tt.err) {
						t.Errorf("below it is %v, want %v", err, tt.err)
					}
					if term.Value(key{}) != "value" {
						t.Error("it has no values")
					}
				})
			})
		}
	}
}

func TestATermHasTheEarlierDeadline(t *testing.T) {
	early, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want, _ := early.Deadline()
	for _, of := range []time.Duration{-1, time.Hour} {
		if got, ok := new(term).begin(early, of).Deadline(); !ok || !got.Equal(want) {
			t.Errorf("%v: %v, %v", of, got, ok)
		}
	}
	if got, ok := new(term).begin(early, time.Second).Deadline(); !ok || !got.Before(want) {
		t.Errorf("%v, %v", got, ok)
	}
	if _, ok := new(term).begin(t.Context(), -1).Deadline(); ok {
		t.Error("no time has a deadline")
	}
}

func TestATermThatNobodyWaitsForCostsNoTimer(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	allocated := testing.AllocsPerRun(100, func() {
		term := new(term).begin(parent, time.Minute)
		if term.Err() != nil {
			t.Error("it is over")
		}
		term.end(nil)
	})
	if allocated > 1 {
		t.Errorf("it took %v allocations", allocated)
	}
}
