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
	Stale                 atomic.Int64 // reads older than the floor before they began
	StaleKey, StaleBy     atomic.Int64 // the last of them: its key, and how many versions older
}

// absent reports whether a version says that there is no row.
func absent(version int64) bool { return version%8 == 0 }

// commit changes a row and returns its new version.
func (t *Truth) commit(key int) int64 { return t.Version[key].Add(1) }

// raise says that a version is what later reads may rely on.
func (t *Truth) raise(key int, version int64) {
	for old := t.Floor[key].Load(); old < version && !t.Floor[key].CompareAndSwap(old, version); {
		old = t.Floor[key].Load()
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
