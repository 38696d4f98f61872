package cache

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Policy configures one cache. Only Name is required. The zero value of every other field is a
// good setting or disables an option. TTLs are rounded down to whole milliseconds, at least one.
type Policy struct {
	Name string // in keys and metrics: lower-case letters, digits, '-', '_'; unique in a Client

	TTL         time.Duration // lifetime of a fresh value; default 10m
	StaleTTL    time.Duration // further lifetime of a stale value, during which one load refreshes it; 0: none
	Beta        float64       // eagerness of refreshes before TTL ends (XFetch), usually 1; 0: none
	NegativeTTL time.Duration // lifetime of absence; default 30s; negative: not stored, so inserts need no invalidation
	Jitter      float64       // lifetimes vary in [d·(1−Jitter), d]; default 0.1, at most 1; negative: none

	LeaseTTL    time.Duration // lifetime of a lease whose load is lost; default LoadTimeout + 1s
	LoadTimeout time.Duration // deadline of a load, with its wait for a slot; default 2s
	MaxLoads    int           // concurrent loader calls of this process; default 32
	MaxBytes    int           // larger records, header included, are returned but not stored; default 16384

	// SecondDelete is the delay of a second deletion after each invalidation (delayed double
	// delete); 0: none. It is for loaders that read a lagging replica: set it above the lag.
	// Loaders that read the primary do not need it. Pending deletions are lost in a crash.
	SecondDelete time.Duration

	Essential    bool          // exempt from ReadLimit of the client
	StaleIfError time.Duration // how long an expired local entry may replace a value if Redis or the loader fails; 0: never
	Local        Local         // memory of this process; zero: none
}

// Local configures the memory in this process (L1), which saves the round trip to Redis.
type Local struct {
	Share    float64       // share of the client's LocalBytes, 0 to 1
	Criteria Criteria      // properties of the values
	MaxAge   time.Duration // maximum age of entries while the process is out of sync; default 1s
}

// Criteria are properties of the values of a policy. Each missing one restricts the entries in
// local memory.
type Criteria uint8

// The criteria.
const (
	Hot           Criteria = 1 << iota // read all the time; without it only keys measured as hot are stored
	RarelyChanged                      // without it entries live for at most MaxAge, in sync or not
	Small                              // without it values above 2 KB are not stored
	MayBeStale                         // briefly outdated values do no harm; New panics if there is a Share without it
)

// smallBytes is the maximum record size in local memory for values without Small.
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

func (p Policy) check() error {
	if p.Name == "" || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return fmt.Errorf("invalid policy name %q: only a-z, 0-9, '-' and '_' are allowed", p.Name) // colons and braces structure keys
	}
	if p.Local.Share < 0 || p.Local.Share > 1 {
		return fmt.Errorf("policy %s: local share must be 0 to 1, got %v", p.Name, p.Local.Share)
	}
	if p.Local.Share > 0 && p.Local.Criteria&MayBeStale == 0 {
		return fmt.Errorf("policy %s: a local share requires MayBeStale", p.Name)
	}
	return nil
}

// spread shortens a lifetime of whole milliseconds at random, by draw in [0, 1). The result is
// in [d·(1−jitter), d] and at least a millisecond: zero would store nothing or forever.
func spread(d time.Duration, jitter, draw float64) time.Duration {
	maxMS := d.Milliseconds()
	minMS := max(int64(math.Ceil(float64(maxMS)*(1-jitter))), 1)
	minMS = min(minMS, maxMS)
	return time.Duration(minMS+int64(draw*float64(maxMS-minMS+1))) * time.Millisecond
}

// wholeMillis rounds down to the precision of Redis, but not to zero.
func wholeMillis(d time.Duration) time.Duration {
	return max(d.Truncate(time.Millisecond), time.Millisecond)
}

func positiveOr[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
