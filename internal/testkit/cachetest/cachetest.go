// Package cachetest drives caches in several operating system processes, for tests and for
// `lab bench cache`. A [Fleet] starts and kills the processes, and [Serve] runs in each of them.
// They share a [Truth], memory that replaces the database. It also holds the versions that no read
// may miss, so the process that reads a stale value detects it.
package cachetest

import (
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// Setting configures the caches of a fleet. The name of the policy determines the keys.
type Setting struct {
	URL          string // of Redis, passed to the open function of Serve
	Prefix       string // of every key
	Policy       cache.Policy
	LocalBytes   int64         // local memory of a process; 0: none
	RedisTimeout time.Duration // of one round trip; 0: default of the cache
	BusURL       string        // Redis of the bus, with one Link per process; "": no bus, and races skip local memory
	MaxAge       time.Duration // of the cache client; 0: its default
	Reorder      bool          // delay, reorder and partly repeat bus messages

	Truth  string // file of the shared memory; set by Fleet
	Number int    // of the process; set by Fleet
}

// Command is a request to a process.
type Command struct {
	Do      Operation
	Key     int
	Version int64         // for Put
	Readers int           // for ReadHot and Race: concurrent readers
	For     time.Duration // for ReadHot: duration
	Pause   time.Duration // for ReadHot: between reads of one reader; for Race: maximum between writes
	Slow    time.Duration // for ReadHot: minimum duration of a read that counts as slow
	Seed    uint64        // for Race
}

// Operation is a kind of command.
type Operation string

// The operations.
const (
	Get        Operation = "get"        // reads a key, skipping local memory
	Put        Operation = "put"        // puts a version into the cache
	Invalidate Operation = "invalidate" // invalidates a key
	ReadHot    Operation = "read hot"   // reads one key repeatedly
	Race       Operation = "race"       // reads and writes all keys at random, until Truth.Stop
)

// Result is the result of a command. Err is "" on success.
type Result struct {
	Version int64 // of Get; 0: no row
	Stored  bool  // of Put
	Took    time.Duration
	Reads   int64       // of ReadHot
	Slow    int64       // of ReadHot
	Stats   cache.Stats // of the process, since its start
	Err     string
}

// Row is the cached value.
type Row struct {
	Version int64 `json:"v"`
}
