package cache

import (
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// replicated is a primary table with a lagging replica.
type replicated struct{ primary, replica *table }

func newReplicated(ids ...int) *replicated { return &replicated{newTable(ids...), newTable(ids...)} }

func (l *replicated) catchUp() {
	rows := l.primary.all()
	l.replica.mu.Lock()
	defer l.replica.mu.Unlock()
	l.replica.rows = rows
}

// A13: after an invalidation a loader reads the old row from its replica, under a valid lease.
func TestSecondDeletionCoversALaggingReplica(t *testing.T) {
	const fresh = time.Hour
	cases := []struct {
		name   string
		second time.Duration
		want   int // version after the replica caught up and all deletions ran
	}{
		{"off", 0, 1},
		{"on", time.Minute, 2},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			w, on, lag := miniWorld(t), new(wire), newReplicated(1)
			one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
			p := localPolicy()
			p.TTL, p.SecondDelete = fresh, test.second
			here := parsedRowsFrom(one.Client, p, lag.primary, lag.replica.load)
			there := parsedRowsFrom(two.Client, p, lag.primary, lag.replica.load)
			wantVersion(t, "at first", there, 1, 1)
			lag.primary.commit(1)
			mustInvalidate(t, here, 1)
			two.deliver(t.Context())
			wantVersion(t, "before the replica caught up", there, 1, 1)
			lag.catchUp()
			wantVersion(t, "after it caught up", there, 1, 1)

			one.Wait() // runs second deletions at once
			two.deliver(t.Context())
			wantVersion(t, "after the second deletion", there, 1, test.want)
			wantVersion(t, "in the process that invalidated", here, 1, test.want)
			for _, x := range []connected{one, two} {
				x.advance(fresh)
				x.inSyncSince(0)
			}
			w.expire(t, there.inside().nameOf(1))
			wantVersion(t, "after its expiry", there, 1, 2)
		})
	}
}

func TestSecondDeletionWaitsForItsDelay(t *testing.T) {
	w, lag := miniWorld(t), newReplicated(1)
	c := rowsOf(w.process(t), Policy{SecondDelete: 30 * time.Millisecond}, lag.replica.load)
	mustGet(t, c, 1)
	lag.primary.commit(1)
	mustInvalidate(t, c, 1)
	wantVersion(t, "from the replica", c, 1, 1)
	lag.catchUp()
	eventually(t, "the new row is read", func() bool { return versionOf(t.Context(), t, c, 1) == 2 })
}

func TestSecondDeletions(t *testing.T) {
	writes := map[string]func(t *testing.T, c *Cache[int, row]){
		"Invalidate": func(t *testing.T, c *Cache[int, row]) { mustInvalidate(t, c, 1) },
		"Put":        func(t *testing.T, c *Cache[int, row]) { mustPut(t, c, row{1, 2}) },
	}
	for name, write := range writes {
		t.Run("off by default for "+name, func(t *testing.T) {
			x := newPair(t, localPolicy(), 1)
			mustGet(t, x.here, 1)
			write(t, x.here)
			x.one.Wait()
			if n := len(x.wire.messages(t)); n != 1 {
				t.Errorf("got %d messages, want one", n)
			}
		})
		t.Run("published after "+name, func(t *testing.T) {
			p := localPolicy()
			p.SecondDelete = time.Hour
			x := newPair(t, p, 1)
			mustGet(t, x.here, 1)
			write(t, x.here)
			if n := len(x.wire.messages(t)); n != 1 {
				t.Errorf("got %d messages before the delay, want one", n)
			}
			versionOf(t.Context(), t, x.there, 1)
			began := time.Now()
			x.one.Wait()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("Wait took %v, want no wait for the delay", took)
			}
			if _, _, is := x.world.stored(t, x.here, 1); is != nothing {
				t.Error("the record still exists")
			}
			if n := len(x.wire.messages(t)); n != 2 {
				t.Errorf("got %d messages, want a second one", n)
			}
			x.two.deliver(t.Context())
			if got := localKeys(t, x.there, 1); len(got) > 0 {
				t.Error("the other process still has an entry")
			}
		})
	}
	t.Run("none after a failed first deletion", func(t *testing.T) {
		w, away := miniWorld(t), new(outage)
		x := w.manualClient(t, Options{}, away)
		c := rowsOf(x.Client, Policy{SecondDelete: time.Hour}, newTable(1).load)
		away.on.Store(true)
		if err := c.Invalidate(t.Context(), 1); err == nil {
			t.Error("got no error, want one")
		}
		away.on.Store(false)
		mustGet(t, c, 1)
		x.Wait()
		if _, _, is := w.stored(t, c, 1); is != value {
			t.Error("deleted, although the caller must repeat the call")
		}
	})
}

// On the primary, reads are never stale: neither without it
// (TestNoReadIsOlderThanAnInvalidation) nor with it.
func TestSecondDeletionCausesNoStaleReads(t *testing.T) {
	newRace(t, miniWorld(t), Policy{SecondDelete: 20 * time.Millisecond}).run(t, testkit.Seed(t), 3*time.Second)
}
