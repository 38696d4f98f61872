package live

import (
	"math/bits"
	"time"
)

// fine is the number of buckets between a power of two and the next one: the resolution of a time
// is 1/fine of itself.
const fine = 64

// A histogram counts times.
type histogram struct {
	n       int64
	buckets [64 * fine]int64
}

// add counts one time.
func (h *histogram) add(d time.Duration) {
	h.n++
	h.buckets[bucket(d)]++
}

func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < fine {
		return int(v)
	}
	power := bits.Len64(v) - bits.Len64(fine) // 0 for fine to 2*fine-1
	return power*fine + int(v>>power)
}

// percentile returns a time that at most 100-p % of the counted times exceed, as the middle of its
// bucket.
func (h *histogram) percentile(p float64) time.Duration {
	rank := int64(p / 100 * float64(h.n-1))
	for i, n := range h.buckets {
		if rank -= n; rank < 0 {
			return ofBucket(i)
		}
	}
	return 0
}

func ofBucket(i int) time.Duration {
	if i < 2*fine {
		return time.Duration(i)
	}
	power := i/fine - 1
	low := uint64(i-power*fine) << power
	return time.Duration(low + 1<<power/2)
}
