package hyperloglog

import (
	"errors"
	"fmt"
)

// How Redis keeps a sketch: a header, and then either each register in 6 bits, or runs
// of registers that are alike.
//
//	header  "HYLL", 0 dense or 1 sparse, 3 unused bytes, 8 bytes of the last count, which
//	        does not hold if the highest bit is set
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

	countByte    = 15   // of the header
	countInvalid = 0x80 // in it

	maxRun      = 64 // registers of a short run of zeros
	maxLike     = 4  // registers of a run of another number
	maxInSparse = 32 // what such a run can say
)

// Parse reads the bytes of a sketch, as GET returns them of a key that PFADD made. No
// bytes are an empty sketch, which is what a key that is not there is. The error says
// what is wrong with bytes that are none.
func Parse(b []byte) (*Sketch, error) {
	s := new(Sketch)
	if len(b) == 0 {
		return s, nil
	}
	if len(b) < header || string(b[:len(magic)]) != magic {
		return nil, errors.New("no HyperLogLog: it does not begin with HYLL")
	}
	var err error
	switch body := b[header:]; b[len(magic)] {
	case encodingDense:
		err = s.readDense(body)
	case encodingSparse:
		err = s.readSparse(body)
	default:
		err = fmt.Errorf("no HyperLogLog: encoding %d", b[len(magic)])
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Sketch) readDense(b []byte) error {
	if len(b) != dense {
		return fmt.Errorf("no HyperLogLog: %d bytes of registers, not %d", len(b), dense)
	}
	for i := 0; i < registers; i += 4 {
		at := b[i/4*3:]
		four := uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16
		for j := range 4 {
			n := uint8(four >> (6 * j) & 63)
			if n > maxRegister {
				return fmt.Errorf("no HyperLogLog: a register is %d", n)
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
			return errors.New("no HyperLogLog: it breaks off")
		default:
			run = int(op&63)<<8 + int(b[0]) + 1
			b = b[1:]
		}
		if i+run > registers {
			return fmt.Errorf("no HyperLogLog: it has more than %d registers", registers)
		}
		for range run {
			s.register[i] = n
			i++
		}
	}
	if i != registers {
		return fmt.Errorf("no HyperLogLog: it has %d registers, not %d", i, registers)
	}
	return nil
}

// Bytes are the sketch as Redis keeps it, [MaxBytes] at most. Equal sketches have equal
// bytes. Where Redis keeps the last count there is none: it counts anew.
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

// appendSparse reports false if the sketch does not go into so few bytes, or has a
// register that is too high for them.
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
