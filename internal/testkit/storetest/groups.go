package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// InOneGroup makes calls that share a transaction, and returns the errors of all. The first call
// blocks its group at a lock until all others wait for the next group. hook sets the function that
// runs before a lock; waiting returns the number of waiting calls.
func InOneGroup(t *testing.T, hook func(func(context.Context) error), waiting func() (calls, groups int), first func() error, others ...func() error) []error {
	t.Helper()
	started, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hook(func(context.Context) error {
		once.Do(func() { close(started); <-goOn })
		return nil
	})
	errs := make([]error, 1+len(others))
	var all sync.WaitGroup
	all.Go(func() { errs[0] = first() })
	<-started
	for i, call := range others {
		all.Go(func() { errs[1+i] = call() })
		testkit.Eventually(t, 10*time.Second, func() bool { n, _ := waiting(); return n == i+1 })
	}
	close(goOn)
	all.Wait()
	hook(nil)
	return errs
}

// DeadlockError is an error of Postgres that is worth another try.
type DeadlockError struct{}

func (DeadlockError) Error() string { return "deadlock detected" }

// SQLState returns the code of the error.
func (DeadlockError) SQLState() string { return "40P01" }
