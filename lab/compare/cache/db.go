package cache

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// ErrAbsent means that the row does not exist, or that a cache claims so.
var ErrAbsent = errors.New("row not found")

// Row is one state of a row. Its versions count up from 1.
type Row struct {
	Key     string
	Version int64
	Value   string
}

// DB simulates the database that all processes share. A row has a lock, as in PostgreSQL: two
// transactions that change it run one after the other. It simulates network time too: LoadTime
// passes between the snapshot of a load and its result, and WriteTime inside a transaction and
// again between the commit and its result.
//
// It is safe for concurrent use; set its fields before the first call.
type DB struct {
	LoadTime  func() time.Duration // nil for none
	WriteTime func() time.Duration // nil for none

	// Hooks for single interleavings; nil means none. An error of read or inside becomes the error
	// of the load or write.
	read    func(ctx context.Context) error // a load has its snapshot and has not answered
	inside  func(ctx context.Context) error // a transaction is about to commit
	decided func(ctx context.Context)       // a write has its version and its writer does not know yet

	loads atomic.Int64
	mu    sync.Mutex
	rows  map[string]*rowState
}

type rowState struct {
	lock  sync.Mutex // held by a transaction that changes the row
	last  int64      // newest version given out
	now   Row        // what loads see
	there bool
}

// NewDB returns an empty database.
func NewDB() *DB { return &DB{rows: make(map[string]*rowState)} }

// Put inserts or replaces a row.
func (d *DB) Put(key, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state(key)
	s.last++
	s.now, s.there = Row{key, s.last, value}, true
}

// state returns the state of a row. The caller holds mu.
func (d *DB) state(key string) *rowState {
	if d.rows[key] == nil {
		d.rows[key] = new(rowState)
	}
	return d.rows[key]
}

// Loads returns the number of keys loaded so far.
func (d *DB) Loads() int64 { return d.loads.Load() }

// Load reads one row, or returns [ErrAbsent].
func (d *DB) Load(ctx context.Context, key string) (Row, error) {
	found, err := d.LoadMany(ctx, []string{key})
	if err != nil {
		return Row{}, err
	}
	r, ok := found[key]
	if !ok {
		return Row{}, ErrAbsent
	}
	return r, nil
}

// LoadMany reads rows in one statement; absent ones are left out.
func (d *DB) LoadMany(ctx context.Context, keys []string) (map[string]Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.loads.Add(int64(len(keys)))
	found := make(map[string]Row, len(keys))
	d.mu.Lock()
	for _, key := range keys {
		if s := d.state(key); s.there {
			found[key] = s.now
		}
	}
	d.mu.Unlock()
	if d.read != nil {
		if err := d.read(ctx); err != nil {
			return nil, err
		}
	}
	return found, pass(ctx, d.LoadTime)
}

// Update writes the next version of a row in a transaction. It calls during, unless it is nil,
// while the row is locked and its new state is not visible.
func (d *DB) Update(ctx context.Context, key string, during func(Row) error) (Row, error) {
	d.mu.Lock()
	s := d.state(key)
	d.mu.Unlock()
	r, err := d.transact(ctx, s, key, during)
	if err != nil {
		return Row{}, err
	}
	d.tell(ctx)
	return r, pass(ctx, d.WriteTime)
}

func (d *DB) transact(ctx context.Context, s *rowState, key string, during func(Row) error) (Row, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	r := d.next(s, key)
	if during != nil {
		if err := during(r); err != nil {
			return Row{}, err
		}
	}
	if d.inside != nil {
		if err := d.inside(ctx); err != nil {
			return Row{}, err
		}
	}
	if err := pass(ctx, d.WriteTime); err != nil {
		return Row{}, err
	}
	d.show(s, r)
	return r, nil
}

// Reserve returns the next version of a row, for a later [DB.Apply].
func (d *DB) Reserve(ctx context.Context, key string) Row {
	d.mu.Lock()
	s := d.state(key)
	d.mu.Unlock()
	r := d.next(s, key)
	d.tell(ctx)
	return r
}

// Apply writes a reserved state, unless the row is newer.
func (d *DB) Apply(ctx context.Context, r Row) error {
	d.mu.Lock()
	s := d.state(r.Key)
	d.mu.Unlock()
	d.show(s, r)
	return pass(ctx, d.WriteTime)
}

func (d *DB) next(s *rowState, key string) Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.last++
	return Row{key, s.last, strconv.FormatInt(s.last, 10)}
}

func (d *DB) show(s *rowState, r Row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Version > s.now.Version {
		s.now, s.there = r, true
	}
}

func (d *DB) tell(ctx context.Context) {
	if d.decided != nil {
		d.decided(ctx)
	}
}

// pass waits for the duration of one response.
func pass(ctx context.Context, spent func() time.Duration) error {
	if spent == nil {
		return nil
	}
	return clock.Sleep(ctx, spent())
}
