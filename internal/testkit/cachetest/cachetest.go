// Package cachetest drives caches in several operating system processes at
// once, for tests and for `tandian bench cache`. A [Fleet] starts the processes
// and kills them, [Serve] is what each of them runs, and a [Truth] is the memory
// that all share: it stands for the database, and it holds what every process
// knows to be true already, so that a stale read is seen by the one that read it.
package cachetest

import (
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// Setting is how the processes of a fleet use their cache. The policy's name
// decides the keys.
type Setting struct {
	URL          string        // of the Redis, as the open function of Serve takes it
	Prefix       string        // begins every key
	Policy       cache.Policy  // of the one cache
	LocalBytes   int64         // for the process's own memory; 0: none
	RedisTimeout time.Duration // deadline of one round trip; 0: the cache's default
	BusURL       string        // of the Redis that carries the bus, to which a Fleet lays a link for each process; "": no bus, and races read past the process's own memory
	MaxAge       time.Duration // how long a process trusts a sync; 0: the cache's default
	Reorder      bool          // messages of the bus come late, in any order, and some of them twice

	Truth  string // file of the shared memory; a Fleet fills it in
	Number int    // of the process; a Fleet fills it in
}

// Command is one thing that a process is to do.
type Command struct {
	Do      Deed
	Key     int
	Version int64         // for Put
	Readers int           // for ReadHot and Race: how many read at a time
	For     time.Duration // for ReadHot: how long
	Pause   time.Duration // for ReadHot: between two reads of one reader; for Race: between two writes, at most
	Slow    time.Duration // for ReadHot: reads that took as long are counted
	Seed    uint64        // for Race
}

// Deed is a kind of command.
type Deed string

// The deeds.
const (
	Get        Deed = "get"        // reads a key, past what the process holds itself
	Put        Deed = "put"        // tells the cache of a version
	Invalidate Deed = "invalidate" // forgets a key
	ReadHot    Deed = "read hot"   // reads one key again and again
	Race       Deed = "race"       // reads and writes all keys at random, until the truth says stop
)

// Answer is what became of a command.
type Answer struct {
	Version int64 // of Get; 0: there is none
	Kept    bool  // of Put
	Took    time.Duration
	Reads   int64       // of ReadHot
	Slow    int64       // of ReadHot
	Stats   cache.Stats // of the process, since it began
	Err     string
}

// Row is what is cached.
type Row struct {
	Version int64 `json:"v"`
}
