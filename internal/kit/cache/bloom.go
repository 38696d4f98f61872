package cache

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// existenceFilter is a Bloom filter over all keys. It may take an absent key for an existing
// one, never the reverse, so most reads of invented keys cost Redis and the database nothing.
// Every Invalidate and Put adds its keys. It is rebuilt when deletions or growth have made it
// too permissive. It is safe for concurrent use.
//
// A key that is added during a build goes to both filters, so a snapshot of rows from before
// the insert cannot lose it.
type existenceFilter[K comparable] struct {
	all    func(ctx context.Context) iter.Seq2[K, error]
	filter atomic.Pointer[filter] // nil until the first is built: every key may exist

	mu       sync.Mutex // guards additions and the exchange of the filter
	building bool
	missed   bool // messages were missed since the build began, so its result is useless
	added    []K  // since the build began

	lastTried        atomic.Int64 // tick of the last attempt to build
	excluded, passed atomic.Int64 // reads of absent keys in the current measurement, by outcome
}

const (
	falsePositives   = 0.01   // share of absent keys that pass a new filter
	maxMeasuredRate  = 0.03   // measured share above which the filter is rebuilt
	measuredKeys     = 10_000 // absent keys per measurement
	never            = -1
	minBuildInterval = time.Minute      // also after a failure
	maxBuildInterval = 10 * time.Minute // bounds how long the filter excludes an insert that it missed
)

func newExistenceFilter[K comparable](all func(context.Context) iter.Seq2[K, error]) *existenceFilter[K] {
	g := &existenceFilter[K]{all: all}
	g.lastTried.Store(never)
	return g
}

func (g *existenceFilter[K]) built() bool { return g.filter.Load() != nil }

// excludes reports whether k certainly does not exist.
func (g *existenceFilter[K]) excludes(k K) bool {
	f := g.filter.Load()
	if f == nil || f.has(maphash.Comparable(f.seed, k)) {
		return false
	}
	g.excluded.Add(1)
	return true
}

// foundAbsent counts a key that passed the filter and does not exist.
func (g *existenceFilter[K]) foundAbsent() { g.passed.Add(1) }

// add must be called before readers can look for the keys.
func (g *existenceFilter[K]) add(ks ...K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.filter.Load(); f != nil {
		for _, k := range ks {
			f.add(maphash.Comparable(f.seed, k))
		}
	}
	if g.building {
		g.added = append(g.added, ks...)
	}
}

// forget drops the filter, which may have missed inserts, until the next build.
func (g *existenceFilter[K]) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed = true
	g.filter.Store(nil)
}

// needsBuild reports whether the filter is missing, full or too permissive. It restarts a
// measurement that found no problem.
func (g *existenceFilter[K]) needsBuild() bool {
	f := g.filter.Load()
	if f == nil || f.keys.Load() > f.capacity {
		return true
	}
	passed := g.passed.Load()
	absent := passed + g.excluded.Load()
	if absent < measuredKeys {
		return false
	}
	if float64(passed) > maxMeasuredRate*float64(absent) {
		return true
	}
	g.resetMeasurement()
	return false
}

// isDue reports whether it is time for a build, and records the attempt if so.
func (g *existenceFilter[K]) isDue(now int64) bool {
	last := g.lastTried.Load()
	since := time.Duration(now - last)
	if last != never && since < maxBuildInterval && (since < minBuildInterval || !g.needsBuild()) {
		return false
	}
	g.lastTried.Store(now)
	return true
}

func (g *existenceFilter[K]) resetMeasurement() {
	g.excluded.Store(0)
	g.passed.Store(0)
}

// startBuild records added keys for the build that must follow. It reports false during a build.
func (g *existenceFilter[K]) startBuild() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.building {
		return false
	}
	g.building, g.missed, g.added = true, false, nil
	return true
}

// build replaces the filter, after startBuild. After an error the old filter remains.
func (g *existenceFilter[K]) build(ctx context.Context) error {
	seed := maphash.MakeSeed() // a new seed: a false positive does not last forever
	hashes, err := g.collect(ctx, seed)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range g.added {
		hashes = append(hashes, maphash.Comparable(seed, k))
	}
	g.building, g.added = false, nil
	if err != nil {
		return fmt.Errorf("read all keys for existence filter: %w", err)
	}
	if g.missed {
		return nil
	}
	f := newFilter(seed, int64(len(hashes)))
	for _, h := range hashes {
		f.add(h)
	}
	g.filter.Store(f)
	g.resetMeasurement()
	return nil
}

func (g *existenceFilter[K]) collect(ctx context.Context, seed maphash.Seed) ([]uint64, error) {
	var hashes []uint64
	for k, err := range g.all(ctx) {
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, maphash.Comparable(seed, k))
	}
	return hashes, nil
}

// filter is a Bloom filter over 64-bit hashes. It computes the bits of a key from two hashes,
// as in "Less Hashing, Same Performance" (Kirsch, Mitzenmacher, ESA 2006).
type filter struct {
	seed     maphash.Seed
	words    []atomic.Uint64
	count    int   // bits per key
	capacity int64 // keys up to which falsePositives holds
	keys     atomic.Int64
}

func newFilter(seed maphash.Seed, keys int64) *filter {
	capacity := keys + keys/4 + 1000
	perKey := -math.Log(falsePositives) / (math.Ln2 * math.Ln2)
	return &filter{
		seed:     seed,
		words:    make([]atomic.Uint64, int(math.Ceil(perKey*float64(capacity)/64))),
		count:    int(math.Round(perKey * math.Ln2)),
		capacity: capacity,
	}
}

func (f *filter) bit(h uint64, i int) (word *atomic.Uint64, mask uint64) {
	step := bits.RotateLeft64(h, 32)*0x9E3779B97F4A7C15 | 1
	at, _ := bits.Mul64(h+uint64(i)*step, uint64(len(f.words))*64) // the high half: [0, bits) without a division
	return &f.words[at/64], 1 << (at % 64)
}

func (f *filter) add(h uint64) {
	isNew := false
	for i := range f.count {
		word, mask := f.bit(h, i)
		isNew = word.Or(mask)&mask == 0 || isNew
	}
	if isNew {
		f.keys.Add(1)
	}
}

func (f *filter) has(h uint64) bool {
	for i := range f.count {
		if word, mask := f.bit(h, i); word.Load()&mask == 0 {
			return false
		}
	}
	return true
}
