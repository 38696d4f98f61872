package lock

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestPostgresGrantToACallerWhoLeftIsDiscarded(t *testing.T) {
	connector, err := pq.NewConnector(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	l, err := NewPostgres(db, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := l.store.(*sessions) //nolint:forcetypeassert // it is what NewPostgres makes
	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.attempt(ctx, func(ctx context.Context) (*session, error) {
		h, granted, err := s.begin(ctx, "x", time.Minute)
		if !granted {
			t.Errorf("not granted: %v", err)
		}
		cancel() // the caller hears of it before of the grant
		return h, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("want its context's end, got %v", err)
	}
	if err := s.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := db.Stats().OpenConnections; n != 0 {
		t.Errorf("%d connections, one of which has the lock", n)
	}
}
