package seeder

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// rank draws a rank of 0 to n-1 from a power law; n must be at least 1. Rank r is about
// (r+1)^(flat-1) times as likely as rank 0. flat is in (0, 1]: near 0 is steepest, 1 is
// uniform. The frequencies of the ranks have the exponent 1 + 1/(1-flat).
func rank(rnd *rand.Rand, n int, flat float64) int {
	// The inverse of the distribution over 1 to n+1, cut into n parts.
	top := math.Pow(float64(n)+1, flat)
	at := math.Pow(1+rnd.Float64()*(top-1), 1/flat)
	return min(int(at)-1, n-1)
}

// lomax draws a whole number from a heavy-tailed Lomax distribution: it is at least x
// with a probability of about (1+x/scale)^-tail. Larger numbers than limit become limit.
func lomax(rnd *rand.Rand, scale, tail float64, limit int) int {
	return int(min(scale*(math.Pow(1-rnd.Float64(), -1/tail)-1), float64(limit)))
}

// userOfRank returns the user of a rank among n. Administrator and merchant are the first
// users and have the last ranks.
func userOfRank(rank, n int) int { return (rank + 2) % n }

const maxRedraws = 8 // of a duplicate, before the next rank is tried

// pairs draws distinct pairs of ranks, each rank from a power law. See [rank].
type pairs struct {
	rnd                   *rand.Rand
	flatFirst, flatSecond float64
	seconds               int
	limit                 int       // pairs with the same first rank
	unequal               bool      // no pair has two equal ranks
	taken                 [][]int32 // second ranks by first rank; sorted
}

// next draws a pair. At least one more pair must be possible.
func (p *pairs) next() (first, second int) {
	first = rank(p.rnd, len(p.taken), p.flatFirst)
	for len(p.taken[first]) >= p.limit {
		first = (first + 1) % len(p.taken)
	}
	list := p.taken[first]
	second = rank(p.rnd, p.seconds, p.flatSecond)
	for tries := 1; ; tries++ {
		at, there := slices.BinarySearch(list, int32(second))
		switch {
		case !there && (first != second || !p.unequal):
			p.taken[first] = slices.Insert(list, at, int32(second))
			return first, second
		case tries < maxRedraws:
			second = rank(p.rnd, p.seconds, p.flatSecond)
		default: // nearly all likely ranks are taken
			second = (second + 1) % p.seconds
		}
	}
}

// activitySpan is the age of the oldest note, rating and save.
const activitySpan = 60 * 24 * time.Hour

// moments spreads n entries over activitySpan, each within its own time slot. It returns the
// time of entry i at a moment of its slot, from 0 to 1. Later entries are newer.
func moments(n int) func(i int, moment float64) time.Time {
	first, each := time.Now().Add(-activitySpan), float64(activitySpan)/float64(n)
	return func(i int, moment float64) time.Time {
		return first.Add(time.Duration((float64(i) + moment) * each))
	}
}
