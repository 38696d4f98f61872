package hyperloglog

import (
	"errors"
	"fmt"
)

// The format of Redis: a header, and then either all registers with 6 bits each, or runs of
// equal registers.
//
//	header  "HYLL", 0 dense or 1 sparse, 3 unused bytes, 8 bytes of the last count, which is
//	        invalid if the highest bit is set
//	dense   16 384 registers of 6 bits, the lowest bits of a byte first
//	sparse  00nnnnnn           n+1 registers are 0
//	        01nnnnnn nnnnnnnn  n+1 registers are 0
//	        1vvvvvnn           n+1 registers are v+1
const (
	header    = 16
	dense     = registers * 6 / 8
	maxSparse = 3000 // bytes with the header, as hll-sparse-max-bytes of Redis: above it, dense
	magic     = "HYLL"

	encodingDense  = 0
	encodingSparse = 1

	countByte    = 15   // index of the highest byte of the count
	countInvalid = 0x80 // bit of this byte

	maxRun      = 64 // registers in a short run of zeros
	maxLike     = 4  // registers in a run of another value
	maxInSparse = 32 // maximum value in such a run
)

// Parse parses the bytes of a sketch, as GET returns them for a key that PFADD created. No
// bytes are an empty sketch, like a missing key.
func Parse(b []byte) (*Sketch, error) {
	s := new(Sketch)
	if len(b) == 0 {
		return s, nil
	}
	if len(b) < header || string(b[:len(magic)]) != magic {
		return nil, errors.New("invalid HyperLogLog: missing HYLL header")
	}
	var err error
	switch body := b[header:]; b[len(magic)] {
	case encodingDense:
		err = s.readDense(body)
	case encodingSparse:
		err = s.readSparse(body)
	default:
		err = fmt.Errorf("invalid HyperLogLog: unknown encoding %d", b[len(magic)])
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Sketch) readDense(b []byte) error {
	if len(b) != dense {
		return fmt.Errorf("invalid HyperLogLog: got %d bytes of registers, want %d", len(b), dense)
	}
	for i := 0; i < registers; i += 4 {
		at := b[i/4*3:]
		four := uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16
		for j := range 4 {
			n := uint8(four >> (6 * j) & 63)
			if n > maxRegister {
				return fmt.Errorf("invalid HyperLogLog: register value %d", n)
			}
			s.register[i+j] = n
		}
	}
	return nil
}

func (s *Sketch) readSparse(b []byte) error {
	i := 0
	for len(b) > 0 {
		var n uint8
		var run int
		op := b[0]
		b = b[1:]
		switch {
		case op&0x80 != 0:
			n, run = op>>2&31+1, int(op&3)+1
		case op&0x40 == 0:
			run = int(op) + 1
		case len(b) == 0:
			return errors.New("invalid HyperLogLog: truncated")
		default:
			run = int(op&63)<<8 + int(b[0]) + 1
			b = b[1:]
		}
		if i+run > registers {
			return fmt.Errorf("invalid HyperLogLog: more than %d registers", registers)
		}
		for range run {
			s.register[i] = n
			i++
		}
	}
	if i != registers {
		return fmt.Errorf("invalid HyperLogLog: got %d registers, want %d", i, registers)
	}
	return nil
}

// Bytes returns the sketch in the format of Redis, at most [MaxBytes]. Equal sketches have
// equal bytes. The cached count is marked as invalid, so Redis computes it.
func (s *Sketch) Bytes() []byte {
	b := make([]byte, header, maxSparse)
	copy(b, magic)
	b[countByte] = countInvalid
	if b, ok := s.appendSparse(b); ok {
		b[len(magic)] = encodingSparse
		return b
	}
	b[len(magic)] = encodingDense
	return s.appendDense(b)
}

func (s *Sketch) appendDense(b []byte) []byte {
	for i := 0; i < registers; i += 4 {
		r := s.register[i : i+4]
		four := uint32(r[0]) | uint32(r[1])<<6 | uint32(r[2])<<12 | uint32(r[3])<<18
		b = append(b, byte(four), byte(four>>8), byte(four>>16))
	}
	return b
}

// appendSparse reports false if the sketch does not fit into maxSparse bytes, or if a register
// exceeds maxInSparse.
func (s *Sketch) appendSparse(b []byte) (_ []byte, ok bool) {
	for i := 0; i < registers; {
		n, end := s.register[i], i+1
		for end < registers && s.register[end] == n && (n == 0 || end-i < maxLike) {
			end++
		}
		run := end - i - 1
		switch {
		case n > maxInSparse:
			return b[:header], false
		case n > 0:
			b = append(b, 0x80|(n-1)<<2|byte(run))
		case run < maxRun:
			b = append(b, byte(run))
		default:
			b = append(b, 0x40|byte(run>>8), byte(run))
		}
		if len(b) > maxSparse {
			return b[:header], false
		}
		i = end
	}
	return b, true
}
