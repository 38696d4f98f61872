// Package hyperloglog estimates the number of distinct members of a set, in at most 12 KB.
//
// It implements the HyperLogLog of Redis 5 and later, to the bit: the same hash, 16 384
// registers, and the estimator of O. Ertl ("New cardinality estimation algorithms for
// HyperLogLog sketches", 2017). [Parse] reads the value of a key that PFADD created. Redis
// counts and merges the output of [Sketch.Bytes] after a SET. So a database row can preserve
// a sketch and restore it.
//
// The standard error is 0.81 %: two thirds of all estimates are closer. Merged sketches count
// a common member once.
package hyperloglog

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	precision   = 14             // bits of a hash that choose a register
	registers   = 1 << precision // number of registers
	rest        = 64 - precision // bits of a hash for the run of zeros
	maxRegister = rest + 1       // maximum value of a register
)

// MaxBytes is the maximum size of an encoded sketch.
const MaxBytes = header + dense

// A Sketch estimates the size of a set. The zero value is an empty sketch, and a copy is
// independent. It is not safe for concurrent use.
type Sketch struct{ register [registers]uint8 }

// Add adds a member and reports whether the sketch changed. A repeated member never changes
// it.
func (s *Sketch) Add(member []byte) bool {
	h := hash(member)
	i := h & (registers - 1)
	// The bit above the rest terminates a run of zeros.
	n := uint8(bits.TrailingZeros64(h>>precision|1<<rest)) + 1
	if s.register[i] >= n {
		return false
	}
	s.register[i] = n
	return true
}

// Merge adds all members of other.
func (s *Sketch) Merge(other *Sketch) {
	for i, n := range other.register {
		s.register[i] = max(s.register[i], n)
	}
}

// Count returns the estimated number of distinct members.
func (s *Sketch) Count() int64 {
	var has [maxRegister + 1]int // number of registers by value
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

// sigma corrects for empty registers.
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

// tau corrects for registers at their maximum.
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

// hash returns MurmurHash64A with the seed of Redis.
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
