package seeder

import (
	"math"
	"math/rand/v2"
)

// rank draws one of 0 to n-1, n at least 1, by a power law: over many draws r comes
// about (r+1)^(flat-1) times as often as 0. flat lies above 0, the steepest, and ends at
// 1, where all come equally often. How often the ranks come is then distributed with the
// exponent 1 + 1/(1-flat).
func rank(rnd *rand.Rand, n int, flat float64) int {
	// The inverse of the distribution over 1 to n+1, cut into n pieces.
	top := math.Pow(float64(n)+1, flat)
	at := math.Pow(1+rnd.Float64()*(top-1), 1/flat)
	return min(int(at)-1, n-1)
}

// tailed draws a whole number of 0 or more with a heavy tail (Lomax): it is at least x
// with a probability of about (1+x/scale)^-tail. What is larger than most is most.
func tailed(rnd *rand.Rand, scale, tail float64, most int) int {
	return int(min(scale*(math.Pow(1-rnd.Float64(), -1/tail)-1), float64(most)))
}

// ranked is the user of a rank among n: the administrator and the merchant, who come
// first among the users, are the last in rank.
func ranked(rank, n int) int { return (rank + 2) % n }
