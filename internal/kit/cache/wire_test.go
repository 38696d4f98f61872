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

// wire is a bus between the hubs of a test. Each of them has a port, at which
// what was published waits until the test delivers it.
type wire struct {
	mu        sync.Mutex
	ports     []*port
	published []eventbus.Message
	before    func(ms []eventbus.Message) error // runs in Publish; an error of it is that of Publish
}

// port is the bus as one hub has it.
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

func (p *port) Subscribe(_ string, hear func(ctx context.Context, bodies [][]byte)) { p.handler = hear }

func (p *port) AddObserver(f eventbus.Observer) { p.observer = f }

func (p *port) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// take is what waits at the port, which the test may deliver in its own way.
func (p *port) drain() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.pending
	p.pending = nil
	return waiting
}

// deliver hands over what waits, in its order.
func (p *port) deliver(ctx context.Context) { p.handler(ctx, p.drain()) }

// words are the messages that were published so far.
func (w *wire) messages(t *testing.T) []busMessage {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	messages := make([]busMessage, len(w.published))
	for i, m := range w.published {
		if m.Topic != Topic {
			t.Errorf("a message of topic %q", m.Topic)
		}
		if err := json.Unmarshal(m.Body, &messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

// connected is a process whose hub is on the wire. Its clocks stand still and it
// is in sync, for as long as that lasts.
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

// inSyncSince says that the process heard all that was said until some time ago.
func (x connected) inSyncSince(ago time.Duration) {
	x.observer.Synced(x.clock.zero.Add(time.Duration(x.passed.Load()) - ago))
}

// pair are two processes on one wire, each with the cache that build makes.
type pair struct {
	world    *world
	wire     *wire
	rows     *table
	one, two connected
	here     *Cache[int, row] // of one
	there    *Cache[int, row] // of two
}

// newPair has rows in the table and the same cache of them in both processes,
// which hear of keys one by one.
func newPair(t *testing.T, p Policy, ids ...int) *pair {
	t.Helper()
	x := &pair{world: miniWorld(t), wire: new(wire), rows: newTable(ids...)}
	x.one, x.two = x.world.connected(t, x.wire, Options{}), x.world.connected(t, x.wire, Options{})
	x.here, x.there = parsedRows(x.one.Client, p, x.rows), parsedRows(x.two.Client, p, x.rows)
	return x
}

// heardRows is a cache of rows whose keys others can name, with a guard over the
// ids of the table.
func parsedRows(h *Client, p Policy, rows *table) *Cache[int, row] {
	return parsedRowsFrom(h, p, rows, rows.load)
}

func parsedRowsFrom(h *Client, p Policy, rows *table, load Loader[int, row]) *Cache[int, row] {
	return New(h, p.withTestTimes(), Source[int, row]{
		Key: strconv.Itoa, Parse: strconv.Atoi, Load: load, All: rows.ids, Version: func(r row) int64 { return int64(r.Version) },
	})
}

// warm has each process keep these keys, and checks that it does.
func (x *pair) warm(t *testing.T, ids ...int) {
	t.Helper()
	for _, c := range []*Cache[int, row]{x.here, x.there} {
		for _, id := range ids {
			localHit(t, c, id)
			if !localHit(t, c, id) {
				t.Fatalf("key %d is not kept", id)
			}
		}
	}
}

// versionOf is what a reader gets, 0 for no row.
func versionOf(ctx context.Context, t *testing.T, c *Cache[int, row], id int) int {
	t.Helper()
	r, err := c.Get(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatalf("Get(%d): %v", id, err)
	}
	return r.Version
}

// wantVersion is what a reader is to get.
func wantVersion(t *testing.T, what string, c *Cache[int, row], id, want int) {
	t.Helper()
	if got := versionOf(t.Context(), t, c, id); got != want {
		t.Errorf("%s: version %d, want %d", what, got, want)
	}
}

// own lists those of the keys that a cache answers itself.
func localKeys(t *testing.T, c *Cache[int, row], ids ...int) []int {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool {
		e, _, good := c.inside().local.get(id)
		return e == nil || !good
	})
}
