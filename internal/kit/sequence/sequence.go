// Package sequence makes numbers that are never made twice, by any number of
// processes, for a thousandth of a round trip each, and that do not betray how many
// there are.
//
// A number is positive and has, from its high bits to its low ones:
//
//	0 | 31 bits: seconds since 2026 | 26 bits: sequence | 6 bits: partition
//
// The seconds are those of the clock of the process, so numbers are in the order of
// time to the second, as far as the clocks agree. The partition is what the caller
// says.
//
// # Segments
//
// A process leases positions of the sequence in segments from a row of the table
// id_segments, whose migrations are not this package's business. When a fifth of a
// segment is left, the next one is leased in the background. It is the double buffer
// of Leaf (Meituan, "Leaf: Meituan's distributed ID generation system", 2017); the
// size follows the demand, from 1024 to 65 536.
//
// # Why no number is made twice
//
// A cycle is a run through the 2^26 positions. The row holds the floor of the cycle
// with the next position (column next), and the ceiling, the latest second that any
// lease ever allowed (column second). One statement reads and raises both.
//
//  1. Within a cycle a position is leased once, to one process, which uses it once.
//     All processes permute positions alike, by the secret of the row. So two
//     numbers of a cycle differ in the sequence, whatever the clocks show.
//  2. No number has a second above the ceiling that came with its lease: a segment
//     is thrown away when the clock has passed it. None has a second below the floor
//     of its cycle: a clock that shows less is taken to show the floor.
//  3. The floor of a cycle is above the ceiling as it was when the cycle began, and
//     with it above that of every earlier lease. So two numbers of different cycles
//     differ in the second, whatever the clocks show.
//
// A lease whose answer is lost, or whose process dies, is gone, and a clock that
// steps back changes nothing. The price is at the end of a cycle: the first numbers
// of the next have the second of its floor, up to five minutes ahead of the clock,
// and more if the clock of some process was ahead.
//
// The row must be as durable as what is numbered. A database that loses its latest
// commits loses a lease only together with all that was stored after it there; a
// number that nothing was stored of can then be made again, if within the same second. And
// a process that holds what it leased in the lost commits shares it with whoever leases it
// anew; see [Sequence.Skip].
//
// # What two numbers tell
//
// The position passes a keyed permutation, a balanced Feistel network with random
// round functions (M. Luby and C. Rackoff, "How to construct pseudorandom permutations
// from pseudorandom functions", SIAM J. Comput. 17(2), 1988). Six rounds are where
// attacks that look at fewer than about 2^13 numbers end (J. Patarin, "Security of
// random Feistel schemes with 5 or more rounds", CRYPTO 2004). It hides how many were
// made from who sees some of the numbers; it is no encryption for secrets.
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

// Partitions is how many there are.
const Partitions = 1 << partitionBits

// Options say what is numbered. Dialect and Name are needed.
type Options struct {
	Dialect    string                // "postgres" or "sqlite3"
	Name       string                // of the row: 1 to 64 bytes
	Now        func() time.Time      // the clock of the process, safe for concurrent use; nil is time.Now
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: nothing is logged
}

// A Sequence makes the numbers of one name in one process. It is safe for
// concurrent use.
type Sequence struct {
	db        *sql.DB
	o         Options
	statement string
	log       *slog.Logger
	m         *metrics
	seldom    clock.Throttle

	mu       sync.Mutex
	now      segment // in use
	spare    segment // for afterwards
	size     int64   // of the latest lease
	under    *flight // the lease under way, nil if none is
	err      error   // of the latest lease
	failures int     // since the last lease that did not fail
	tryAt    time.Time
	leasedAt time.Time // by the clock that does not step

	secret   int64 // of permuted; both belong to the lease under way
	permuted *permutation
}

// A flight is a lease that callers may wait for.
type flight struct {
	done chan struct{}
	err  error // once done
}

// New builds a Sequence on db. It starts nothing, sends nothing and closes nothing:
// db belongs to the caller. It returns an error if the dialect or the name is none,
// or if the Registerer has the metrics of that name already.
func New(db *sql.DB, o Options) (*Sequence, error) {
	statement, err := leaseStatement(o.Dialect)
	if err != nil {
		return nil, fmt.Errorf("sequence: %w", err)
	}
	if o.Name == "" || len(o.Name) > 64 {
		return nil, fmt.Errorf("sequence: the name %q does not have 1 to 64 bytes", o.Name)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sequence{db: db, o: o, statement: statement, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), m: newMetrics(o.Name)}
	if o.Registerer != nil {
		if err := s.m.register(o.Registerer); err != nil {
			return nil, fmt.Errorf("sequence: register the metrics: %w", err)
		}
	}
	return s, nil
}

// Next makes a number. It seldom waits: at the first call, after minutes without
// any, and when numbers are taken faster than the database leases them. Callers that
// wait share one lease.
//
// It returns the error of ctx if that ends first, and one that wraps the cause if no
// number is in hand and the database does not lease any; further calls fail at once
// for a moment, which grows to a second, before the database is asked again. Nothing
// is ever made without a lease. A partition that is not within 0 to 63 is an error.
//
// The lease is a transaction of its own on another connection: do not call Next
// while holding the only one, or the write lock of SQLite.
func (s *Sequence) Next(ctx context.Context, partition int) (int64, error) {
	if partition < 0 || partition >= Partitions {
		return 0, fmt.Errorf("number of %s: there is no partition %d", s.o.Name, partition)
	}
	for {
		t, under, err := s.take(ctx)
		if err != nil {
			return 0, fmt.Errorf("number of %s: %w", s.o.Name, err)
		}
		if under == nil {
			return t.number(partition), nil
		}
		select {
		case <-under.done:
			if under.err != nil {
				return 0, fmt.Errorf("number of %s: %w", s.o.Name, under.err)
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("number of %s: wait for a lease: %w", s.o.Name, ctx.Err())
		}
	}
}

// taken is a position that is the caller's, and its second.
type taken struct {
	second   int64
	position uint32
	permuted *permutation
}

func (t taken) number(partition int) int64 {
	return t.second<<(positionBits+partitionBits) | int64(t.permuted.of(t.position))<<partitionBits | int64(partition)
}

// take takes a position that is in hand, or says which lease to wait for.
func (s *Sequence) take(ctx context.Context) (taken, *flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	second := s.second()
	if !s.now.usable(second) {
		s.now, s.spare = s.spare, segment{}
	}
	if !s.now.usable(second) {
		s.now = segment{}
		if s.under == nil && !s.begin(ctx) {
			return taken{}, nil, fmt.Errorf("no lease since %d failures: %w", s.failures, s.err)
		}
		return taken{}, s.under, nil
	}
	t := taken{max(second, s.now.floor), uint32(s.now.next), s.now.permuted}
	s.now.next++
	if s.under == nil && s.now.low(second) && !s.spare.usable(second) {
		s.begin(ctx)
	}
	return t, nil, nil
}

// second is what the clock shows, as numbers count.
func (s *Sequence) second() int64 { return s.o.Now().Unix() - epoch }

// begin begins a lease, unless one failed a moment ago. s.mu is locked. The lease is
// everybody's: it does not end with ctx.
func (s *Sequence) begin(ctx context.Context) bool {
	now := time.Now()
	if s.err != nil && now.Before(s.tryAt) {
		return false
	}
	s.under = &flight{done: make(chan struct{})}
	go s.fly(context.WithoutCancel(ctx), s.under, nextSize(s.size, now.Sub(s.leasedAt)))
	return true
}

func (s *Sequence) fly(ctx context.Context, f *flight, size int64) {
	got, err := s.lease(ctx, size)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(f.done)
	s.under = nil
	if err != nil {
		s.fail(ctx, f, err)
		return
	}
	s.m.leases.Inc()
	s.err, s.failures, s.leasedAt = nil, 0, time.Now()
	s.spare, s.size = got, size
}

// Wait returns when no lease is under way: within five seconds of the last call of
// Next. Until then db must be open.
func (s *Sequence) Wait() {
	for {
		s.mu.Lock()
		under := s.under
		s.mu.Unlock()
		if under == nil {
			return
		}
		<-under.done
	}
}

// Partition returns the partition of a number.
func Partition(number int64) int { return int(number & (Partitions - 1)) }

// At returns the second in which a number was made, by the clock of the process that
// made it. At the end of a cycle, and while that clock is behind the floor of the
// cycle, it is later.
func At(number int64) time.Time {
	return time.Unix(number>>(positionBits+partitionBits)+epoch, 0).UTC()
}

const (
	firstPause = 20 * time.Millisecond // after a failure, doubled by each further one
	maxPause   = time.Second
)

func (s *Sequence) fail(ctx context.Context, f *flight, err error) {
	f.err = fmt.Errorf("lease numbers: %w", err)
	s.err = f.err
	s.tryAt = time.Now().Add(min(firstPause<<min(s.failures, 10), maxPause))
	s.failures++
	s.m.failures.Inc()
	if s.seldom.Allow() {
		s.log.WarnContext(ctx, "numbers cannot be leased; it is tried again", "name", s.o.Name, "err", err)
	}
}
