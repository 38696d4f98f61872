// Package sequence makes unique numbers in any number of processes, for a thousandth of a
// round trip each. The numbers do not reveal how many there are.
//
// A number is positive and has, from its high bits to its low ones:
//
//	0 | 31 bits: seconds since 2026 | 26 bits: sequence | 6 bits: partition
//
// The seconds are those of the clock of the process. So numbers are in the order of time
// to the second, as far as the clocks agree. The caller chooses the partition.
//
// # Segments
//
// A process leases positions of the sequence in segments, from a row of the table
// id_segments. The caller migrates that table. When a fifth of a segment is left, the
// next one is leased in the background. This is the double buffer of Leaf (Meituan,
// "Leaf: Meituan's distributed ID generation system", 2017). The size follows the demand,
// from 1024 to 65 536.
//
// # Uniqueness
//
// A cycle is a run through the 2^26 positions. Column next of the row holds the floor of
// the cycle and the next position. Column second holds the ceiling, the latest second
// that any lease ever allowed. One statement reads and raises both.
//
//  1. Within a cycle a position is leased once, to one process, which uses it once.
//     All processes permute positions alike, by the secret of the row. So two numbers of
//     a cycle differ in the sequence, whatever the clocks show.
//  2. No number has a second above the ceiling of its lease: a segment is dropped when
//     the clock has passed it. No number has a second below the floor of its cycle: a
//     clock that shows less is taken to show the floor.
//  3. The floor of a cycle is above the ceiling at its beginning, and so above that of
//     every earlier lease. So two numbers of different cycles differ in the second,
//     whatever the clocks show.
//
// A lease is lost if its answer is lost or its process dies. A clock that steps back
// changes nothing. The cost is at the end of a cycle: the first numbers of the next one
// have the second of its floor. It is up to five minutes ahead of the clock, and more if
// the clock of a process was ahead.
//
// The row must be as durable as the numbered rows. A database that loses its latest
// commits loses a lease only together with the rows stored after it. A number without
// such a row can then be made again, within the same second. And a process that holds a
// lost lease shares its positions with the process that leases them again; see
// [Sequence.Skip].
//
// # Privacy
//
// The position passes a keyed permutation, a balanced Feistel network with random round
// functions (M. Luby and C. Rackoff, "How to construct pseudorandom permutations from
// pseudorandom functions", SIAM J. Comput. 17(2), 1988). Six rounds resist attacks that
// use fewer than about 2^13 numbers (J. Patarin, "Security of random Feistel schemes with
// 5 or more rounds", CRYPTO 2004). It hides the total from clients that see some numbers.
// It is no encryption for secrets.
package sequence

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	partitionBits = 6
	secondBits    = 31
	maxSecond     = 1<<secondBits - 1
	epoch         = 1767225600 // 2026-01-01, seconds since 1970
)

// Partitions is the number of partitions.
const Partitions = 1 << partitionBits

// Options tunes a Sequence. Dialect and Name are required.
type Options struct {
	Dialect    string                // "postgres" or "sqlite3"
	Name       string                // of the row: 1 to 64 bytes
	Now        func() time.Time      // safe for concurrent use; nil: time.Now
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log
}

// A Sequence makes the numbers of one name in one process. It is safe for concurrent use.
type Sequence struct {
	db        *sql.DB
	o         Options
	statement string
	log       *slog.Logger
	m         *metrics
	warnings  clock.Throttle

	mu       sync.Mutex
	now      segment       // in use
	spare    segment       // used after now
	size     int64         // of the latest lease
	pending  *pendingLease // the running lease, or nil
	err      error         // of the latest lease
	failures int           // since the last successful lease
	retryAt  time.Time
	leasedAt time.Time // on the monotonic clock

	secret   int64 // of permuted; both are used by the running lease only
	permuted *permutation
}

// A pendingLease is a lease that callers may wait for.
type pendingLease struct {
	done chan struct{}
	err  error // once done
}

// New returns a Sequence on db. It starts nothing, sends nothing and closes nothing: db belongs
// to the caller. It returns an error if the dialect is unknown, the name is invalid, or the
// Registerer has the metrics of that name already.
func New(db *sql.DB, o Options) (*Sequence, error) {
	statement, err := leaseStatement(o.Dialect)
	if err != nil {
		return nil, fmt.Errorf("open sequence: %w", err)
	}
	if o.Name == "" || len(o.Name) > 64 {
		return nil, fmt.Errorf("invalid sequence name %q: must have 1 to 64 bytes", o.Name)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sequence{db: db, o: o, statement: statement, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), m: newMetrics(o.Name)}
	if o.Registerer != nil {
		if err := s.m.register(o.Registerer); err != nil {
			return nil, fmt.Errorf("register sequence metrics: %w", err)
		}
	}
	return s, nil
}

// Next returns a new number. It waits for a lease at the first call, after minutes without a
// call, and if numbers are used faster than the database leases them. Waiting callers share a
// lease.
//
// Next returns the error of ctx if that ends first. If no position is left and the lease fails,
// it returns the wrapped cause. After that, calls fail at once for 20 ms, doubling up to 1 s.
// Next never makes a number without a lease. It rejects a partition outside 0 to 63.
//
// The lease is a separate transaction on another connection. Do not call Next while holding the
// only connection or the write lock of SQLite.
func (s *Sequence) Next(ctx context.Context, partition int) (int64, error) {
	if partition < 0 || partition >= Partitions {
		return 0, fmt.Errorf("generate number of %s: partition must be 0 to %d, got %d", s.o.Name, Partitions-1, partition)
	}
	for {
		t, pending, err := s.take(ctx)
		if err != nil {
			return 0, fmt.Errorf("generate number of %s: %w", s.o.Name, err)
		}
		if pending == nil {
			return t.number(partition), nil
		}
		select {
		case <-pending.done:
			if pending.err != nil {
				return 0, fmt.Errorf("generate number of %s: %w", s.o.Name, pending.err)
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("generate number of %s: wait for lease: %w", s.o.Name, ctx.Err())
		}
	}
}

// position is one leased position and its second.
type position struct {
	second   int64
	position uint32
	permuted *permutation
}

func (t position) number(partition int) int64 {
	return t.second<<(positionBits+partitionBits) | int64(t.permuted.apply(t.position))<<partitionBits | int64(partition)
}

func (s *Sequence) take(ctx context.Context) (position, *pendingLease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	second := s.second()
	if !s.now.usable(second) {
		s.now, s.spare = s.spare, segment{}
	}
	if !s.now.usable(second) {
		s.now = segment{}
		if s.pending == nil && !s.begin(ctx) {
			return position{}, nil, fmt.Errorf("lease numbers: %d failures, last: %w", s.failures, s.err)
		}
		return position{}, s.pending, nil
	}
	t := position{max(second, s.now.floor), uint32(s.now.next), s.now.permuted}
	s.now.next++
	if s.pending == nil && s.now.low(second) && !s.spare.usable(second) {
		s.begin(ctx)
	}
	return t, nil, nil
}

// second returns the time of the clock in seconds since epoch.
func (s *Sequence) second() int64 { return s.o.Now().Unix() - epoch }

// begin starts a lease, unless one failed a moment ago. The caller holds mu. All callers
// share the lease, so it does not end with ctx.
func (s *Sequence) begin(ctx context.Context) bool {
	now := time.Now()
	if s.err != nil && now.Before(s.retryAt) {
		return false
	}
	s.pending = &pendingLease{done: make(chan struct{})}
	go s.runLease(context.WithoutCancel(ctx), s.pending, nextSize(s.size, now.Sub(s.leasedAt)))
	return true
}

func (s *Sequence) runLease(ctx context.Context, f *pendingLease, size int64) {
	got, err := s.lease(ctx, size)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(f.done)
	s.pending = nil
	if err != nil {
		s.fail(ctx, f, err)
		return
	}
	s.m.leases.Inc()
	s.err, s.failures, s.leasedAt = nil, 0, time.Now()
	s.spare, s.size = got, size
}

// Wait returns when no lease runs: within five seconds of the last call of Next. Until then db
// must be open.
func (s *Sequence) Wait() {
	for {
		s.mu.Lock()
		pending := s.pending
		s.mu.Unlock()
		if pending == nil {
			return
		}
		<-pending.done
	}
}

// Partition returns the partition of a number.
func Partition(number int64) int { return int(number & (Partitions - 1)) }

// At returns the second in which a number was made, by the clock of its process. At the end of a
// cycle, and while that clock is behind the floor of the cycle, it returns a later second.
func At(number int64) time.Time {
	return time.Unix(number>>(positionBits+partitionBits)+epoch, 0).UTC()
}

const (
	firstPause = 20 * time.Millisecond // after a failure, doubled by each further one
	maxPause   = time.Second
)

func (s *Sequence) fail(ctx context.Context, f *pendingLease, err error) {
	f.err = fmt.Errorf("lease numbers: %w", err)
	s.err = f.err
	s.retryAt = time.Now().Add(min(firstPause<<min(s.failures, 10), maxPause))
	s.failures++
	s.m.failures.Inc()
	if s.warnings.Allow() {
		s.log.WarnContext(ctx, "cannot lease numbers, retrying", "name", s.o.Name, "err", err)
	}
}
