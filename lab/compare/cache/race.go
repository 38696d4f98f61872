package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Settings of [Race].
const (
	raceInstances = 3
	raceReaders   = 8 // of each instance
	raceWriters   = 1
	raceKeys      = 16
	raceTTL       = time.Minute            // so only writes change what is cached
	raceTime      = 3 * time.Millisecond   // a load, a commit, and its answer each take up to this
	racePause     = 12 * time.Millisecond  // a writer pauses up to this
	readPause     = time.Millisecond       // maximum pause of a reader, so that writers get CPU time
	lostRead      = 500 * time.Millisecond // a slow read; no scheme intends to wait that long
)

// RaceResult holds the observations of [Race] for one scheme.
type RaceResult struct {
	Reads, Writes, Loads int64
	Stale                int64         // reads older than a write that had returned before they began
	Absent               int64         // reads that did not find an existing row
	Slow                 int64         // reads that took half a second or more
	Errors               int64         // reads and writes that failed
	Worst                time.Duration // longest time between the return of a write and the begin of a read that did not see it
	FirstError           error
}

// Race runs three processes of a variant that read and write 16 rows at random. A read is stale if
// it returns a version lower than one whose write had returned before the read began. The seed
// determines the choices, but not the interleaving of goroutines.
func Race(ctx context.Context, v Variant, url, prefix string, during time.Duration, seed uint64) (RaceResult, error) {
	db := NewDB()
	db.LoadTime = func() time.Duration { return rand.N(raceTime) }
	db.WriteTime = db.LoadTime
	f, err := start(v, url, raceInstances, Process{Prefix: prefix, DB: db, TTL: raceTTL, Tuned: true})
	if err != nil {
		return RaceResult{}, err
	}
	r := &race{db: db, began: time.Now()}
	for i := range raceKeys {
		db.Put(raceKey(i), "1")
		if err := warm(ctx, f.schemes[0], raceKey(i)); err != nil {
			return RaceResult{}, errors.Join(fmt.Errorf("warm %s: %w", v.Name, err), f.close(v))
		}
	}
	before := db.Loads()
	r.run(ctx, f.schemes, during, seed)
	out := r.result()
	out.Loads = db.Loads() - before
	return out, f.close(v)
}

func raceKey(i int) string { return "row" + strconv.Itoa(i) }

type race struct {
	db                                         *DB
	began                                      time.Time
	keys                                       [raceKeys]history
	reads, writes, stale, absent, slow, failed atomic.Int64
	worst                                      atomic.Int64
	first                                      atomic.Pointer[error]
}

// history holds the times at which the writes of one key returned.
type history struct {
	floor atomic.Int64 // newest version whose write returned
	mu    sync.Mutex
	ended map[int64]time.Duration // version → since the race began
}

func (r *race) run(ctx context.Context, schemes []Scheme, during time.Duration, seed uint64) {
	more, stop := period(ctx, during)
	defer stop()
	for i := range r.keys {
		r.keys[i].ended = make(map[int64]time.Duration)
	}
	var all sync.WaitGroup
	next := seed
	draw := func() *rand.Rand {
		next++
		return rand.New(rand.NewPCG(seed, next))
	}
	for _, s := range schemes {
		for range raceWriters {
			d := draw()
			all.Go(func() { r.write(ctx, more, s, d) })
		}
		for range raceReaders {
			d := draw()
			all.Go(func() { r.read(ctx, more, s, d) })
		}
	}
	all.Wait()
}

// period is a ctx that ends after some time and only decides when to stop beginning operations. A
// deadline for running ones would look like a failure of Redis.
func period(ctx context.Context, during time.Duration) (more context.Context, stop func()) {
	return context.WithTimeout(ctx, during)
}

func (r *race) write(ctx, more context.Context, s Scheme, draw *rand.Rand) {
	for clock.Sleep(more, time.Duration(draw.Int64N(int64(racePause)))) == nil {
		i := draw.IntN(raceKeys)
		version, err := s.Write(ctx, raceKey(i))
		if err != nil {
			r.fail(err)
			continue
		}
		r.writes.Add(1)
		r.keys[i].add(version, time.Since(r.began))
	}
}

func (r *race) read(ctx, more context.Context, s Scheme, draw *rand.Rand) {
	for clock.Sleep(more, time.Duration(draw.Int64N(int64(readPause)))) == nil {
		i := draw.IntN(raceKeys)
		floor, begin := r.keys[i].floor.Load(), time.Now()
		text, err := s.Read(ctx, raceKey(i))
		if time.Since(begin) >= lostRead {
			r.slow.Add(1)
		}
		if errors.Is(err, ErrAbsent) {
			r.absent.Add(1)
		} else if err != nil {
			r.fail(err)
			continue
		}
		r.reads.Add(1)
		version, _ := strconv.ParseInt(text, 10, 64) // an absent one is older than all
		if version < floor {
			r.stale.Add(1)
			age := begin.Sub(r.began) - r.keys[i].firstAfter(version)
			for old := r.worst.Load(); old < int64(age) && !r.worst.CompareAndSwap(old, int64(age)); {
				old = r.worst.Load()
			}
		}
	}
}

func (r *race) fail(err error) {
	r.failed.Add(1)
	r.first.CompareAndSwap(nil, &err)
}

func (r *race) result() RaceResult {
	out := RaceResult{
		Reads: r.reads.Load(), Writes: r.writes.Load(), Stale: r.stale.Load(), Absent: r.absent.Load(),
		Slow: r.slow.Load(), Errors: r.failed.Load(), Worst: time.Duration(r.worst.Load()),
	}
	if err := r.first.Load(); err != nil {
		out.FirstError = *err
	}
	return out
}

// add records that the write of a version returned. The floor rises last, so that its readers find
// its time.
func (h *history) add(version int64, at time.Duration) {
	h.mu.Lock()
	h.ended[version] = at
	h.mu.Unlock()
	for old := h.floor.Load(); old < version && !h.floor.CompareAndSwap(old, version); {
		old = h.floor.Load()
	}
}

// firstAfter returns when the first write of a newer version returned.
func (h *history) firstAfter(version int64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := time.Duration(1<<63 - 1)
	for v, at := range h.ended {
		if v > version {
			first = min(first, at)
		}
	}
	return first
}
