package store

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

const listenWithin = 20 * time.Second

// listener runs Listen on a database until stop is called. Each kick is sent.
func listener(t *testing.T, db *SQL) (kicks chan struct{}, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	kicks = make(chan struct{}, 1000)
	ended := make(chan error, 1)
	go func() { ended <- db.Listen(ctx, "a channel", func() { kicks <- struct{}{} }) }()
	return kicks, func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Listen returned %v", err)
			}
		case <-time.After(listenWithin):
			t.Fatal("Listen did not end with its context")
		}
	}
}

func kicked(t *testing.T, kicks <-chan struct{}, when string) {
	t.Helper()
	select {
	case <-kicks:
	case <-time.After(listenWithin):
		t.Fatalf("no kick %s", when)
	}
}

func TestListenHearsNotificationsAlsoAfterItsConnectionWasCut(t *testing.T) {
	db, err := OpenSQL(SQLConfig{URL: testkit.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	kicks, stop := listener(t, db)
	defer stop()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	kicked(t, kicks, "when it began")
	for range 3 {
		exec(`NOTIFY "a channel"`)
		kicked(t, kicks, "after a notification")
		var cut int
		err := db.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%' AND application_name = 'tandian'`).Scan(&cut)
		if err != nil || cut != 1 {
			t.Fatalf("%d connections cut, and %v; want the listener's", cut, err)
		}
		kicked(t, kicks, "after a new connection")
	}
	exec(`NOTIFY "another channel"`)
	exec(`NOTIFY "a channel"`)
	kicked(t, kicks, "at last")
	if n := len(kicks); n != 0 {
		t.Errorf("%d kicks too many", n)
	}
}

func TestListenEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for _, tt := range []struct {
		name   string
		url    string // "" is SQLite
		before func(t *testing.T)
	}{
		{"on SQLite, where it hears nothing", "", func(*testing.T) {}},
		{"when nobody is there", "postgres://u:secret@127.0.0.1:1/db?sslmode=disable", func(*testing.T) {}},
		{"when the server takes a connection and says nothing", "postgres://u:secret@" + silent.Addr().String() + "/db?sslmode=disable", func(t *testing.T) {
			conn, err := silent.Accept()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if _, err := conn.Read(make([]byte, 1)); err != nil { // now it waits for an answer
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db, err := OpenSQL(SQLConfig{URL: tt.url, DataDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			kicks, stop := listener(t, db)
			tt.before(t)
			begin := time.Now()
			stop()
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("it took %v, as long as a connection may", took)
			}
			if len(kicks) != 0 {
				t.Errorf("%d kicks", len(kicks))
			}
		})
	}
}
