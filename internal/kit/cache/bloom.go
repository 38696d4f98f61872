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

// existenceFilter knows which keys exist, approximately: it may take an absent key for one
// that exists, never the other way round. So keys that somebody makes up cost
// neither Redis nor the database anything. It is a Bloom filter over all keys,
// kept right by every Invalidate and Put, and built anew when deletions or
// growth have made it let too much through. It is safe for concurrent use.
//
// A key that is added while a new filter is being built is in both: a snapshot
// of the rows that is older than the insert cannot lose it.
type existenceFilter[K comparable] struct {
	all    func(ctx context.Context) iter.Seq2[K, error]
	filter atomic.Pointer[filter] // nil until the first is built: every key may exist

	mu       sync.Mutex // adds, and the exchange of the filter
	building bool
	missed   bool // something, since the build began: what it finds is of no use
	added    []K  // since the build began

	lastTried        atomic.Int64 // tick of the last build
	excluded, passed atomic.Int64 // absent keys that were asked for since the last build: told at once, and let through
}

const (
	falsePositives   = 0.01   // of absent keys, that a new filter lets through
	maxMeasuredRate  = 0.03   // measured share at which it is built anew
	measuredKeys     = 10_000 // absent keys that a measurement takes
	never            = -1
	minBuildInterval = time.Minute      // between two builds
	maxBuildInterval = 10 * time.Minute // whether it is worn or not: what nobody told it of is hidden for no longer
)

func newExistenceFilter[K comparable](all func(context.Context) iter.Seq2[K, error]) *existenceFilter[K] {
	g := &existenceFilter[K]{all: all}
	g.lastTried.Store(never)
	return g
}

// built reports whether there is a filter.
func (g *existenceFilter[K]) built() bool { return g.filter.Load() != nil }

// excludes reports that there is no such key, for certain.
func (g *existenceFilter[K]) excludes(k K) bool {
	f := g.filter.Load()
	if f == nil || f.has(maphash.Comparable(f.seed, k)) {
		return false
	}
	g.excluded.Add(1)
	return true
}

// foundAbsent says that a key which the guard let through does not exist.
func (g *existenceFilter[K]) foundAbsent() { g.passed.Add(1) }

// add makes keys known, before anybody may look for them.
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

// forget ends the filter: inserts may have gone by unheard. The next one is built
// when it is due.
func (g *existenceFilter[K]) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed = true
	g.filter.Store(nil)
}

// needsBuild reports whether it is time to build a filter. A measurement that found
// nothing wrong begins anew.
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

// isDue reports whether it is time to build a filter, and notes the time if so.
func (g *existenceFilter[K]) isDue(now int64) bool {
	last := g.lastTried.Load()
	since := time.Duration(now - last)
	if last != never && since < maxBuildInterval && (since < minBuildInterval || !g.needsBuild()) {
		return false
	}
	g.lastTried.Store(now)
	return true
}

// resetMeasurement begins to count anew.
func (g *existenceFilter[K]) resetMeasurement() {
	g.excluded.Store(0)
	g.passed.Store(0)
}

// startBuild begins a build, which has to follow. From here on it hears of what is
// added. It reports false if one is under way.
func (g *existenceFilter[K]) startBuild() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.building {
		return false
	}
	g.building, g.missed, g.added = true, false, nil
	return true
}

// build reads all keys and exchanges the filter, after a claim. With an error
// the old one stays.
func (g *existenceFilter[K]) build(ctx context.Context) error {
	seed := maphash.MakeSeed() // another one, so that a key that is let through by chance is not so for ever
	hashes, err := g.collect(ctx, seed)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range g.added {
		hashes = append(hashes, maphash.Comparable(seed, k))
	}
	g.building, g.added = false, nil
	if err != nil {
		return fmt.Errorf("read all keys for the existence guard: %w", err)
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

// filter is a Bloom filter over 64-bit hashes. A key's bits are computed from
// two hashes, as in "Less Hashing, Same Performance" (Kirsch, Mitzenmacher, ESA
// 2006).
type filter struct {
	seed     maphash.Seed
	words    []atomic.Uint64
	count    int   // bits of one key
	capacity int64 // keys with which it still has falsePositives
	keys     atomic.Int64
}

// newFilter has room for a quarter more keys than there are.
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

// bit is the i-th bit of a hash: a word and a mask.
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
