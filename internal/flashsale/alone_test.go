package flashsale

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A database that does not answer does not keep those who compare for ever.
func TestALockThatNobodyAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	g := newStage(t, storetest.Real(t))
	g.SQL.SetMaxOpenConns(1)
	conn, err := g.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*lockPatience)
	defer cancel()
	begin := time.Now()
	done, err := g.alone(ctx, "sale.test", func(context.Context) error {
		t.Error("it was done without the lock")
		return nil
	})
	if done || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", done, err)
	}
	if took := time.Since(begin); took < lockPatience || ctx.Err() != nil {
		t.Errorf("it took %v", took)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the name is free again, and what is done has as long as it takes
		if done, err := g.alone(ctx, "sale.test", func(ctx context.Context) error { return ctx.Err() }); !done || err != nil {
			t.Errorf("%v, %v", done, err)
		}
	}
}
