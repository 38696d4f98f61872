package cache

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Policy says how one kind of value is cached. Only Name is required: the zero
// value of every other field is a good setting, and leaves an option out that
// has no default. Times count in whole milliseconds, at least one.
type Policy struct {
	Name string // names the kind in keys and metrics: lower-case letters, digits, '-', '_'; unique in a Hub

	TTL         time.Duration // how long a value is current; default 10m
	StaleTTL    time.Duration // how much longer it is served while one load refreshes it (logical expiry); 0: it is gone after Fresh
	Beta        float64       // how eagerly a value is refreshed before Fresh is over (XFetch), 1 is usual; 0: never before
	NegativeTTL time.Duration // longest life of "there is none"; default 30s; negative: it is not kept, and an insert need tell nobody
	Jitter      float64       // lives are spread over [life·(1−Jitter), life]; default 0.1, at most 1, negative for none

	LeaseTTL    time.Duration // how long other readers rely on one load that says nothing; default LoadTimeout + 1s
	LoadTimeout time.Duration // longest wait for a place among the loads and the loader call, together; default 2s
	MaxLoads    int           // loader calls of this process at a time (bulkhead); default 32
	MaxBytes    int           // records above this, header included, are served but not kept; default 16384

	// SecondDelete is when an invalidation deletes once more (delayed double delete);
	// 0: never. Leases make it needless where loaders read the primary database; a
	// lagging replica behind a loader asks for it, with more than its lag. What waits
	// for it in a process ends with a crash.
	SecondDelete time.Duration

	Essential    bool          // exempt from the hub's read limit
	StaleIfError time.Duration // how long after its end a local entry stands in when Redis, or the loader, does not answer; 0: never
	Local        Local         // this kind's part of the process's own memory; the zero value: none
}

// Local is a kind's part of the local cache (L1), which spares the round trip
// to Redis.
type Local struct {
	Share    float64       // part of the hub's LocalBytes, 0 to 1
	Criteria Criteria      // why this kind may live there
	MaxAge   time.Duration // how old an entry may be while the process cannot know of invalidations elsewhere; default 1s
}

// Criteria are the four by which one judges whether a kind of value may live in
// the process's own memory. Each that is missing narrows what is kept.
type Criteria uint8

// The criteria.
const (
	Hot           Criteria = 1 << iota // read all the time; without it only those keys are kept that were found hot
	RarelyChanged                      // without it an entry lives for MaxAge at most, in sync or not
	Small                              // without it values above 2 KB stay out
	MayBeStale                         // for a moment an older value does no harm; without it New panics if there is a Share
)

// smallBytes is what a record may have at most to be kept locally, if its kind
// is not small as a whole.
const smallBytes = 2 << 10

func (p Policy) withDefaults() Policy {
	p.TTL = wholeMillis(positiveOr(p.TTL, 10*time.Minute))
	p.StaleTTL = max(p.StaleTTL.Truncate(time.Millisecond), 0)
	p.Beta = max(p.Beta, 0)
	if p.NegativeTTL >= 0 {
		p.NegativeTTL = wholeMillis(positiveOr(p.NegativeTTL, 30*time.Second))
	}
	p.LoadTimeout = wholeMillis(positiveOr(p.LoadTimeout, 2*time.Second))
	p.LeaseTTL = wholeMillis(positiveOr(p.LeaseTTL, p.LoadTimeout+time.Second))
	p.Jitter = min(max(cmp.Or(p.Jitter, 0.1), 0), 1)
	p.MaxLoads = positiveOr(p.MaxLoads, 32)
	p.MaxBytes = positiveOr(p.MaxBytes, 16<<10)
	p.Local.MaxAge = positiveOr(p.Local.MaxAge, time.Second)
	return p
}

// check says what is wrong with a policy, if anything.
func (p Policy) check() error {
	if p.Name == "" || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return fmt.Errorf("%q cannot be the name of a policy", p.Name) // a colon or a brace would mean something else in a key
	}
	if p.Local.Share < 0 || p.Local.Share > 1 {
		return fmt.Errorf("policy %s: a share of the local cache is 0 to 1, not %v", p.Name, p.Local.Share)
	}
	if p.Local.Share > 0 && p.Local.Criteria&MayBeStale == 0 {
		return fmt.Errorf("policy %s: what may not be stale for a moment has no place in the local cache", p.Name)
	}
	return nil
}

// spread shortens a life of whole milliseconds by up to jitter of itself, where
// draw in [0, 1) chooses how much. The result lies in [life·(1−jitter), life]
// and is never below a millisecond: rounding goes up, because a zero would keep
// nothing or for ever.
func spread(life time.Duration, jitter, draw float64) time.Duration {
	most := life.Milliseconds()
	least := max(int64(math.Ceil(float64(most)*(1-jitter))), 1)
	least = min(least, most)
	return time.Duration(least+int64(draw*float64(most-least+1))) * time.Millisecond
}

// wholeMillis rounds down to what Redis can count, but not to zero.
func wholeMillis(d time.Duration) time.Duration {
	return max(d.Truncate(time.Millisecond), time.Millisecond)
}

func positiveOr[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
