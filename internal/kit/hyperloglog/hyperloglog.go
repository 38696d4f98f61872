// Package hyperloglog counts how many different things were added, in 12 KB however
// many there are, and in the bytes that Redis keeps under a key.
//
// It is the HyperLogLog of Redis 5 and later, to the bit: the same hash, 16 384
// registers, and the estimator of O. Ertl ("New cardinality estimation algorithms for
// HyperLogLog sketches", 2017). What PFADD made, [Parse] reads; what [Sketch.Bytes]
// writes, SET gives to a Redis that counts and merges it as its own. So a sketch can
// outlive its Redis in a row of a database, and come back.
//
// The standard error is 0.81 %: of 100 000 sketches two thirds are off by less. Two
// sketches that were merged count what was in both once.
package hyperloglog

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	precision   = 14             // bits of a hash that choose a register
	registers   = 1 << precision // how many there are
	rest        = 64 - precision // bits of a hash whose zeros are counted
	maxRegister = rest + 1       // that a register can be
)

// MaxBytes is how long the bytes of a sketch can be.
const MaxBytes = header + dense

// A Sketch is a set that only knows about how many members it has. The zero value is
// empty and ready; a copy is a sketch of its own. It is not safe for concurrent use.
type Sketch struct{ register [registers]uint8 }

// Add adds a member, and reports whether that changed the sketch. One that was added
// before never does.
func (s *Sketch) Add(member []byte) bool {
	h := hash(member)
	i := h & (registers - 1)
	// The bit above the rest ends a run of zeros that has no other end.
	n := uint8(bits.TrailingZeros64(h>>precision|1<<rest)) + 1
	if s.register[i] >= n {
		return false
	}
	s.register[i] = n
	return true
}

// Merge adds all that was added to other.
func (s *Sketch) Merge(other *Sketch) {
	for i, n := range other.register {
		s.register[i] = max(s.register[i], n)
	}
}

// Count is about how many different members were added.
func (s *Sketch) Count() int64 {
	var has [maxRegister + 1]int // how many registers are so high
	for _, n := range s.register {
		has[n]++
	}
	const m = float64(registers)
	z := m * tau((m-float64(has[maxRegister]))/m)
	for n := rest; n >= 1; n-- {
		z = (z + float64(has[n])) / 2
	}
	z += m * sigma(float64(has[0])/m)
	const alpha = 0.721347520444481703680 // 1 / (2 ln 2)
	return int64(math.Round(alpha * m * m / z))
}

// sigma corrects for registers that are empty.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	for y, z := 1.0, x; ; {
		x *= x
		before := z
		z += x * y
		y += y
		if z == before {
			return z
		}
	}
}

// tau corrects for registers that cannot be higher.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	for y, z := 1.0, 1-x; ; {
		x = math.Sqrt(x)
		before := z
		y /= 2
		z -= (1 - x) * (1 - x) * y
		if z == before {
			return z / 3
		}
	}
}

// hash is MurmurHash64A with the seed of Redis.
func hash(data []byte) uint64 {
	const (
		seed  = 0xadc83b19
		mul   = 0xc6a4a7935bd1e995
		shift = 47
	)
	h := seed ^ uint64(len(data))*mul
	for ; len(data) >= 8; data = data[8:] {
		k := binary.LittleEndian.Uint64(data) * mul
		k = (k ^ k>>shift) * mul
		h = (h ^ k) * mul
	}
	if len(data) > 0 {
		var last [8]byte
		copy(last[:], data)
		h = (h ^ binary.LittleEndian.Uint64(last[:])) * mul
	}
	h = (h ^ h>>shift) * mul
	return h ^ h>>shift
}
