package cachetest

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	// Keys is the number of rows of a truth.
	Keys = 16
	// MaxProcesses is the maximum number of processes of a fleet.
	MaxProcesses = 8
)

// Truth is memory that processes share. It survives the kill of a process. It is safe for concurrent
// use in all processes, because all values are atomic.
//
// A row is its version, which each update increments. The row does not exist at version zero
// and at every eighth version.
type Truth struct {
	Version [Keys]atomic.Int64 // committed version
	Floor   [Keys]atomic.Int64 // newest version whose Put or Invalidate returned: no later read may be older

	Delay      atomic.Int64 // nanoseconds between snapshot and result of a load
	Spread     atomic.Int64 // maximum random addition to Delay
	MinLoadGap atomic.Int64 // nanoseconds; a load that starts sooner after another counts as early
	Stop       atomic.Bool  // ends races

	Loads       [Keys]atomic.Int64         // started loads
	Ended       [Keys]atomic.Int64         // end of the last load, unix nanoseconds
	Running     [Keys]atomic.Int64         // running loads; too high after a kill
	Loading     [MaxProcesses]atomic.Int64 // running loads of each process
	Early       atomic.Int64               // loads that started too early, see MinLoadGap
	Overlapping atomic.Int64               // loads that started during another one of their key

	Reads, Writes, Errors atomic.Int64 // of races: read keys, changed rows, failures
	Stale                 atomic.Int64 // reads older than their floor or their bound
	StaleKey, StaleBy     atomic.Int64 // key of the last one, and its lag in versions

	// Reads through local memory:
	Bound     atomic.Int64                    // nanoseconds after which an announced version must be visible
	Announced [Keys][historySize]atomic.Int64 // when version v was announced, at v%historySize, unix nanoseconds; 0: not yet
	Oldest    atomic.Int64                    // maximum staleness of a read, nanoseconds
	Back      atomic.Int64                    // reads older than an earlier read of their process
	Shuffled  atomic.Int64                    // reordered batches of messages
	Paused    atomic.Int64                    // stale reads that followed a pause of their process
}

const (
	historySize   = 1024 // recorded versions per key, more than a race writes in a few seconds
	historyMargin = 16   // empty slots ahead of the newest version
)

// absent reports whether the row does not exist at this version.
func absent(version int64) bool { return version%8 == 0 }

// commit updates a row and returns its new version.
func (t *Truth) commit(key int) int64 {
	version := t.Version[key].Add(1)
	t.Announced[key][(version+historyMargin)%historySize].Store(0)
	return version
}

// raise makes a version the floor of later reads.
func (t *Truth) raise(key int, version int64) {
	for old := t.Floor[key].Load(); old < version && !t.Floor[key].CompareAndSwap(old, version); {
		old = t.Floor[key].Load()
	}
}

// announced records that a Put or an Invalidate of a version has returned.
func (t *Truth) announced(key int, version int64) {
	t.Announced[key][version%historySize].Store(time.Now().UnixNano())
	t.raise(key, version)
}

// staleness returns the age of the oldest announcement of a version after got, up to floor, or 0 if
// there is none. at is the time of the read, floor the value before it.
func (t *Truth) staleness(key int, got, floor int64, at time.Time) (longest time.Duration) {
	for v := max(got+1, floor-historySize+2*historyMargin); v <= floor; v++ {
		if announcedAt := t.Announced[key][v%historySize].Load(); announcedAt != 0 {
			longest = max(longest, time.Duration(at.UnixNano()-announcedAt))
		}
	}
	return longest
}

// judgeLocal is like judge for a local read. The read may be stale by Bound, plus the pause of its
// process before it, in which the local clock stopped.
func (t *Truth) judgeLocal(key int, floor, got int64, began time.Time, pause time.Duration) {
	t.Reads.Add(1)
	if got == 0 { // the last version without a row
		now := t.Version[key].Load()
		got = now - now%8
	}
	staleness := t.staleness(key, got, floor, began)
	if staleness == 0 {
		return
	}
	if pause > 0 {
		t.Paused.Add(1)
	}
	staleness -= pause
	for old := t.Oldest.Load(); old < int64(staleness) && !t.Oldest.CompareAndSwap(old, int64(staleness)); {
		old = t.Oldest.Load()
	}
	if staleness > time.Duration(t.Bound.Load()) {
		t.Stale.Add(1)
		t.StaleKey.Store(int64(key))
		t.StaleBy.Store(floor - got)
	}
}

// judge compares the version that a read returned, 0 for no row, with the floor before the read.
func (t *Truth) judge(key int, floor, got int64) {
	t.Reads.Add(1)
	if got == 0 { // correct if any version since the floor has no row
		now := t.Version[key].Load()
		if absent(floor) || floor/8 != now/8 {
			return
		}
	}
	if got < floor {
		t.Stale.Add(1)
		t.StaleKey.Store(int64(key))
		t.StaleBy.Store(floor - got)
	}
}

// begin records the start of a load.
func (t *Truth) begin(process, key int) {
	t.Loads[key].Add(1)
	t.Loading[process].Add(1)
	if t.Running[key].Add(1) > 1 {
		t.Overlapping.Add(1)
	}
	last, gap := t.Ended[key].Load(), t.MinLoadGap.Load()
	if last > 0 && time.Now().UnixNano()-last < gap {
		t.Early.Add(1)
	}
}

func (t *Truth) end(process, key int) {
	t.Ended[key].Store(time.Now().UnixNano())
	t.Running[key].Add(-1)
	t.Loading[process].Add(-1)
}

// createTruth creates the file of an empty truth.
func createTruth(path string) error {
	if err := os.WriteFile(path, make([]byte, unsafe.Sizeof(Truth{})), 0o600); err != nil {
		return fmt.Errorf("create shared memory: %w", err)
	}
	return nil
}

// openTruth maps the file into this process until unmap is called.
func openTruth(path string) (t *Truth, unmap func() error, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open shared memory: %w", err)
	}
	defer func() { _ = file.Close() }() // the mapping stays
	memory, unmap, err := mapFile(file, int(unsafe.Sizeof(Truth{})))
	if err != nil {
		return nil, nil, fmt.Errorf("map shared memory: %w", err)
	}
	return (*Truth)(unsafe.Pointer(&memory[0])), unmap, nil // aligned, because a mapping starts at a page
}
