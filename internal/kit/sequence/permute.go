package sequence

import (
	"crypto/sha256"
	"encoding/binary"
)

const (
	positionBits = 26
	positions    = 1 << positionBits
	rounds       = 6
)

// A permutation permutes the numbers of an even number of bits. It is a balanced Feistel
// network with round functions that are tables filled from a key.
type permutation struct {
	half   uint // bits
	rounds [rounds][]uint16
}

// newPermutation must never change: numbers of one cycle are unique only if all processes
// use the same permutation.
func newPermutation(key int64, bits uint) *permutation {
	p := &permutation{half: bits / 2}
	for r := range p.rounds {
		table := make([]uint16, 1<<p.half)
		var input [12]byte
		binary.BigEndian.PutUint64(input[:], uint64(key))
		for i := 0; i < len(table); i += sha256.Size / 2 {
			binary.BigEndian.PutUint32(input[8:], uint32(r)<<24|uint32(i))
			sum := sha256.Sum256(input[:])
			for j := range min(sha256.Size/2, len(table)-i) {
				table[i+j] = binary.BigEndian.Uint16(sum[2*j:]) & uint16(len(table)-1)
			}
		}
		p.rounds[r] = table
	}
	return p
}

func (p *permutation) apply(n uint32) uint32 {
	mask := uint32(1)<<p.half - 1
	left, right := n>>p.half&mask, n&mask
	for r := range p.rounds {
		left, right = right, left^uint32(p.rounds[r][right])
	}
	return left<<p.half | right
}
