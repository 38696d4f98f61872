package cachetest

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	// Keys are the rows of a truth.
	Keys = 16
	// Most is how many processes a fleet may have.
	Most = 8
)

// Truth is memory that processes share. What a process did up to the moment in
// which it was killed is in it. A value never changes but atomically, so any
// number of goroutines of any process may use it.
//
// A row is its version: an update raises it. Every eighth version, and the zero
// that a row begins with, says that there is no such row.
type Truth struct {
	Version [Keys]atomic.Int64 // what is committed
	Floor   [Keys]atomic.Int64 // the newest version that a Put or an Invalidate returned for: no later read may be older

	Delay  atomic.Int64 // nanoseconds between a load's snapshot and its answer
	Spread atomic.Int64 // at random, up to as many more
	Apart  atomic.Int64 // nanoseconds that must lie between the end of a key's load and the begin of the next; 0: any
	Stop   atomic.Bool  // ends races

	Loads       [Keys]atomic.Int64 // that began
	Ended       [Keys]atomic.Int64 // when the last one did, unix nanoseconds
	Underway    [Keys]atomic.Int64 // now; too high once a process was killed
	Loading     [Most]atomic.Int64 // loads under way in each process
	Early       atomic.Int64       // loads that began too soon after another, see Apart
	Overlapping atomic.Int64       // loads that began while another one of their key was under way

	Reads, Writes, Errors atomic.Int64 // of races: keys read, rows changed, failures
	Stale                 atomic.Int64 // reads older than the floor before they began, or than the bound allows
	StaleKey, StaleBy     atomic.Int64 // the last of them: its key, and how many versions older

	// Of reads that processes may answer themselves:
	Bound    atomic.Int64              // nanoseconds after which what a Put or an Invalidate returned for has to be seen
	Told     [Keys][rings]atomic.Int64 // when it returned for a version, unix nanoseconds, at the version's remainder; 0: not yet
	Oldest   atomic.Int64              // nanoseconds: for how long what a read missed was told when it began, the most of all reads
	Back     atomic.Int64              // reads that a process answered with an older version than it had answered before they began
	Shuffled atomic.Int64              // batches of messages that came in another order
	Paused   atomic.Int64              // reads that began in a process which had not run for a while
}

// rings is how many versions of a key are remembered with their times: more than
// a race makes in a few seconds.
const (
	rings  = 1024
	margin = 16 // places ahead of the newest version that are empty
)

// absent reports whether a version says that there is no row.
func absent(version int64) bool { return version%8 == 0 }

// commit changes a row and returns its new version.
func (t *Truth) commit(key int) int64 {
	version := t.Version[key].Add(1)
	t.Told[key][(version+margin)%rings].Store(0)
	return version
}

// raise says that a version is what later reads may rely on.
func (t *Truth) raise(key int, version int64) {
	for old := t.Floor[key].Load(); old < version && !t.Floor[key].CompareAndSwap(old, version); {
		old = t.Floor[key].Load()
	}
}

// told says that a Put or an Invalidate returned for a version now.
func (t *Truth) told(key int, version int64) {
	t.Told[key][version%rings].Store(time.Now().UnixNano())
	t.raise(key, version)
}

// missed is how long before a moment a version newer than got was told, 0 if
// none was. The floor is that before the read.
func (t *Truth) missed(key int, got, floor int64, at time.Time) (longest time.Duration) {
	for v := max(got+1, floor-rings+2*margin); v <= floor; v++ {
		if told := t.Told[key][v%rings].Load(); told != 0 {
			longest = max(longest, time.Duration(at.UnixNano()-told))
		}
	}
	return longest
}

// judgeLocal is judge for a read that began at a moment, in a process that had
// not run for a pause then, of which its own clock knows nothing.
func (t *Truth) judgeLocal(key int, floor, got int64, began time.Time, pause time.Duration) {
	t.Reads.Add(1)
	if got == 0 { // the row was absent last at this version
		now := t.Version[key].Load()
		got = now - now%8
	}
	missed := t.missed(key, got, floor, began)
	if missed == 0 {
		return
	}
	if pause > 0 {
		t.Paused.Add(1)
	}
	missed -= pause
	for old := t.Oldest.Load(); old < int64(missed) && !t.Oldest.CompareAndSwap(old, int64(missed)); {
		old = t.Oldest.Load()
	}
	if missed > time.Duration(t.Bound.Load()) {
		t.Stale.Add(1)
		t.StaleKey.Store(int64(key))
		t.StaleBy.Store(floor - got)
	}
}

// judge compares what was read, 0 for no row, with the floor before the read
// began.
func (t *Truth) judge(key int, floor, got int64) {
	t.Reads.Add(1)
	if got == 0 { // there was no row in some moment since, if one of the versions since says so
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

// begin notes that a process loads a key.
func (t *Truth) begin(process, key int) {
	t.Loads[key].Add(1)
	t.Loading[process].Add(1)
	if t.Underway[key].Add(1) > 1 {
		t.Overlapping.Add(1)
	}
	last, apart := t.Ended[key].Load(), t.Apart.Load()
	if last > 0 && time.Now().UnixNano()-last < apart {
		t.Early.Add(1)
	}
}

func (t *Truth) end(process, key int) {
	t.Ended[key].Store(time.Now().UnixNano())
	t.Underway[key].Add(-1)
	t.Loading[process].Add(-1)
}

// createTruth makes the file of a truth in which no row exists.
func createTruth(path string) error {
	if err := os.WriteFile(path, make([]byte, unsafe.Sizeof(Truth{})), 0o600); err != nil {
		return fmt.Errorf("create shared memory: %w", err)
	}
	return nil
}

// openTruth maps the file into this process, until unmap is called.
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
	return (*Truth)(unsafe.Pointer(&memory[0])), unmap, nil // a mapping begins at a page, so it is aligned
}
