package cdc

import (
	"fmt"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// own is a transaction of which nothing is told.
const own = `WITH job AS (INSERT INTO outbox VALUES ($1)) INSERT INTO shops (id) VALUES ($1)`

// quiet is a pace at which only messages wake the reader, until the server asks for a sign
// of life after ten seconds.
func quiet(p *intervals) { p.beat, p.answer = time.Hour, time.Hour }

// soon is less than these ten seconds.
const soon = 5 * time.Second

func TestChangesAmongOwnTransactionsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.options(at), quiet, func(p *intervals) { p.rest = 20 * time.Millisecond })
	for i := range 20 {
		at.exec(t, own, 2*i)
		begun := time.Now()
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, 2*i+1)
		heard.await(t, fmt.Sprint("shops:", 2*i+1))
		if took := time.Since(begun); took > soon {
			t.Fatalf("told after %v", took)
		}
	}
}

// The cases are not parallel: the writes of other tests would wake the reader.
func TestAStopEndsWhatTheReaderWaitsFor(t *testing.T) {
	for _, tt := range []struct {
		name string
		own  int // transactions before the stop
	}{{name: "a read"}, {name: "a rest", own: 1}} {
		t.Run(tt.name, func(t *testing.T) {
			at, heard := newTown(t), new(listener)
			r := at.runActive(t, heard.options(at), quiet, func(p *intervals) { p.rest = time.Hour })
			for i := range tt.own {
				at.exec(t, own, i)
			}
			written := at.text(t, `SELECT pg_current_wal_lsn()`)
			testkit.Eventually(t, within, func() bool {
				return at.text(t, `SELECT s.sent_lsn >= $1::pg_lsn FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid WHERE r.database = current_database()`, written) == "true"
			})
			begun := time.Now()
			r.stop()
			if took := time.Since(begun); took > soon {
				t.Errorf("the stop took %v", took)
			}
		})
	}
}

// What is told is acknowledged together with what is told soon after it.
func TestAcknowledgementsOfABurstAreJoined(t *testing.T) {
	t.Parallel()
	at, heard := newTown(t), new(listener)
	at.runActive(t, heard.options(at), quiet, func(p *intervals) { p.answer = 2 * time.Second })
	replied := func() string {
		return at.text(t, "SELECT s.reply_time FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid WHERE r.database = current_database()")
	}
	replies := map[string]bool{replied(): true}
	for i := range 50 {
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, i)
		heard.await(t, fmt.Sprint("shops:", i))
		replies[replied()] = true
	}
	begun := time.Now()
	at.awaitAcknowledged(t)
	if took := time.Since(begun); took > soon {
		t.Errorf("the last one was acknowledged after %v", took)
	}
	if len(replies) > 10 {
		t.Errorf("%d acknowledgements of 50 changes", len(replies))
	}
}
