package seeder

import (
	"math"
	"math/rand/v2"
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
