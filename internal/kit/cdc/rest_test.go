package cdc

import (
	"fmt"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// own is a transaction without deliveries.
const own = `WITH job AS (INSERT INTO outbox VALUES ($1)) INSERT INTO shops (id) VALUES ($1)`

// quiet makes the reader wake for messages only, until the server requests a reply after
// ten seconds.
func quiet(p *intervals) { p.beat, p.minAck = time.Hour, time.Hour }

// soon is less than these ten seconds.
const soon = 5 * time.Second

func TestChangesAmongOwnTransactionsAreDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.options(at), quiet, func(p *intervals) { p.collect = 20 * time.Millisecond })
	for i := range 20 {
		at.exec(t, own, 2*i)
		begun := time.Now()
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, 2*i+1)
		rec.await(t, fmt.Sprint("shops:", 2*i+1))
		if took := time.Since(begun); took > soon {
			t.Fatalf("delivered after %v", took)
		}
	}
}

// The cases are not parallel: the writes of other tests would wake the reader.
func TestStopEndsWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		own  int // transactions before the stop
	}{{name: "a read"}, {name: "a pause", own: 1}} {
		t.Run(tt.name, func(t *testing.T) {
			at, rec := newDatabase(t), new(recorder)
			r := at.runActive(t, rec.options(at), quiet, func(p *intervals) { p.collect = time.Hour })
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
				t.Errorf("got a stop of %v", took)
			}
		})
	}
}

// A delivery is acknowledged together with those soon after it.
func TestAcknowledgementsOfBurstAreCombined(t *testing.T) {
	t.Parallel()
	at, rec := newDatabase(t), new(recorder)
	at.runActive(t, rec.options(at), quiet, func(p *intervals) { p.minAck = 2 * time.Second })
	replied := func() string {
		return at.text(t, "SELECT s.reply_time FROM pg_stat_replication s JOIN pg_replication_slots r ON r.active_pid = s.pid WHERE r.database = current_database()")
	}
	replies := map[string]bool{replied(): true}
	for i := range 50 {
		at.exec(t, `INSERT INTO shops (id) VALUES ($1)`, i)
		rec.await(t, fmt.Sprint("shops:", i))
		replies[replied()] = true
	}
	begun := time.Now()
	at.awaitAcknowledged(t)
	if took := time.Since(begun); took > soon {
		t.Errorf("last change acknowledged after %v", took)
	}
	if len(replies) > 10 {
		t.Errorf("got %d acknowledgements of 50 changes", len(replies))
	}
}
