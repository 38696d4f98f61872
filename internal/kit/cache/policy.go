package cache

import (
	"cmp"
	"math"
	"strings"
	"time"
)

// Policy says how one kind of value is cached. Only Name is required: the zero
// value of every other field is a good setting. Times count in whole
// milliseconds, at least one.
type Policy struct {
	Name        string        // names the kind in keys and metrics: lower-case letters, digits, '-', '_'; unique in a Hub
	Fresh       time.Duration // longest life of a value; default 10m
	Negative    time.Duration // longest life of "there is none"; default 30s
	LeaseTTL    time.Duration // how long other readers rely on one load that says nothing; default LoadTimeout + 1s
	LoadTimeout time.Duration // deadline of one loader call; default 2s
	Jitter      float64       // lives are spread over [life·(1−Jitter), life]; default 0.1, at most 1, negative for none
	MaxBytes    int           // records above this, header included, are served but not kept; default 16384
}

func (p Policy) withDefaults() Policy {
	p.Fresh = wholeMillis(positiveOr(p.Fresh, 10*time.Minute))
	p.Negative = wholeMillis(positiveOr(p.Negative, 30*time.Second))
	p.LoadTimeout = wholeMillis(positiveOr(p.LoadTimeout, 2*time.Second))
	p.LeaseTTL = wholeMillis(positiveOr(p.LeaseTTL, p.LoadTimeout+time.Second))
	p.Jitter = min(max(cmp.Or(p.Jitter, 0.1), 0), 1)
	p.MaxBytes = positiveOr(p.MaxBytes, 16<<10)
	return p
}

// named reports whether the name can stand in a key, where a colon or a brace
// would mean something else.
func (p Policy) named() bool {
	return p.Name != "" && strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
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
