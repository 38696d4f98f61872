package cache

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// wire is a bus between the clients of a test. Each client has a port that holds published
// messages until the test delivers them.
type wire struct {
	mu        sync.Mutex
	ports     []*port
	published []eventbus.Message
	before    func(ms []eventbus.Message) error // runs in Publish, which returns its error
}

// port is the bus of one client.
type port struct {
	*wire
	handler  func(ctx context.Context, bodies [][]byte)
	observer eventbus.Observer
	pending  [][]byte
}

func (w *wire) port() *port {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &port{wire: w}
	w.ports = append(w.ports, p)
	return p
}

func (p *port) Publish(_ context.Context, ms ...eventbus.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.before != nil {
		if err := p.before(ms); err != nil {
			return err
		}
	}
	p.published = append(p.published, ms...)
	for _, at := range p.ports {
		for _, m := range ms {
			at.pending = append(at.pending, m.Body)
		}
	}
	return nil
}

func (p *port) Subscribe(_ string, handler func(ctx context.Context, bodies [][]byte)) {
	p.handler = handler
}

func (p *port) AddObserver(f eventbus.Observer) { p.observer = f }

func (p *port) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// drain returns the pending messages.
func (p *port) drain() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.pending
	p.pending = nil
	return waiting
}

// deliver delivers the pending messages in order.
func (p *port) deliver(ctx context.Context) { p.handler(ctx, p.drain()) }

// messages returns all published messages.
func (w *wire) messages(t *testing.T) []busMessage {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	messages := make([]busMessage, len(w.published))
	for i, m := range w.published {
		if m.Topic != Topic {
			t.Errorf("got message of topic %q, want the topic of the cache", m.Topic)
		}
		if err := json.Unmarshal(m.Body, &messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

// connected is a process on a wire. Its clocks are stopped and it starts in sync.
type connected struct {
	*manualClient
	*port
}

func (w *world) connected(t *testing.T, on *wire, o Options) connected {
	t.Helper()
	p := on.port()
	o.Bus = p
	if o.LocalBytes == 0 {
		o.LocalBytes = 1 << 20
	}
	x := connected{w.manualClient(t, o), p}
	x.inSyncSince(0)
	return x
}

// inSyncSince reports a sync of some time ago.
func (x connected) inSyncSince(ago time.Duration) {
	x.observer.Synced(x.clock.zero.Add(time.Duration(x.passed.Load()) - ago))
}

// pair is two processes on one wire with the same cache.
type pair struct {
	world    *world
	wire     *wire
	rows     *table
	one, two connected
	here     *Cache[int, row] // of one
	there    *Cache[int, row] // of two
}

// newPair has rows in the table and one cache of them per process.
func newPair(t *testing.T, p Policy, ids ...int) *pair {
	t.Helper()
	x := &pair{world: miniWorld(t), wire: new(wire), rows: newTable(ids...)}
	x.one, x.two = x.world.connected(t, x.wire, Options{}), x.world.connected(t, x.wire, Options{})
	x.here, x.there = parsedRows(x.one.Client, p, x.rows), parsedRows(x.two.Client, p, x.rows)
	return x
}

// parsedRows returns a cache of rows with Parse and an existence filter over the ids of the
// table.
func parsedRows(h *Client, p Policy, rows *table) *Cache[int, row] {
	return parsedRowsFrom(h, p, rows, rows.load)
}

func parsedRowsFrom(h *Client, p Policy, rows *table, load Loader[int, row]) *Cache[int, row] {
	return New(h, p.withTestTimes(), Source[int, row]{
		Key: strconv.Itoa, Parse: strconv.Atoi, Load: load, All: rows.ids, Version: func(r row) int64 { return int64(r.Version) },
	})
}

// warm stores keys locally in both processes.
func (x *pair) warm(t *testing.T, ids ...int) {
	t.Helper()
	for _, c := range []*Cache[int, row]{x.here, x.there} {
		for _, id := range ids {
			localHit(t, c, id)
			if !localHit(t, c, id) {
				t.Fatalf("key %d is not stored", id)
			}
		}
	}
}

// versionOf returns the version that a reader gets, 0 for no row.
func versionOf(ctx context.Context, t *testing.T, c *Cache[int, row], id int) int {
	t.Helper()
	r, err := c.Get(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatalf("Get(%d): %v", id, err)
	}
	return r.Version
}

func wantVersion(t *testing.T, what string, c *Cache[int, row], id, want int) {
	t.Helper()
	if got := versionOf(t.Context(), t, c, id); got != want {
		t.Errorf("%s: got version %d, want %d", what, got, want)
	}
}

// localKeys returns the keys with a valid local entry.
func localKeys(t *testing.T, c *Cache[int, row], ids ...int) []int {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool {
		e, _, good := c.inside().local.get(id)
		return e == nil || !good
	})
}
