package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// isProcess names an environment variable that is set in child processes of a test.
const isProcess = "TANDIAN_TEST_SUBPROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(isProcess) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	err := Serve(os.Stdin, os.Stdout, func(greeting string) (func(name string) string, error) {
		return func(name string) string {
			if name == "silent" {
				select {}
			}
			return greeting + ", " + name
		}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(t *testing.T) *Process[string, string] {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), isProcess+"=1"), os.Stderr
	p, err := StartProcess[string, string](cmd, "hello")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestProcessAnswersOutOfOrder(t *testing.T) {
	p := start(t)
	pending := p.Ask("silent")
	for _, name := range []string{"Ann", "Ben"} {
		got, err := p.Call(t.Context(), name)
		if err != nil || got != "hello, "+name {
			t.Errorf("got %q, %v, want a greeting of %s", got, err, name)
		}
	}
	p.Kill()
	if got, ok := <-pending; ok {
		t.Errorf("got %q, want no answer", got)
	}
}

func TestDeadProcessReturnsErrDied(t *testing.T) {
	p := start(t)
	p.Kill()
	if _, err := p.Call(t.Context(), "Ann"); !errors.Is(err, ErrDied) {
		t.Errorf("got %v, want ErrDied", err)
	}
}

func TestProcessCallEndsWithItsContext(t *testing.T) {
	p := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Call(ctx, "silent"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a timeout", err)
	}
}
