package media

import "bytes"

// bitReader reads the coded data of a scan up to the next marker. After it, all bits are zero and
// short is set.
type bitReader struct {
	data  []byte
	at    int    // next byte; never after a marker that was not skipped
	acc   uint64 // bits read ahead, next one highest
	n     int    // number of bits in acc
	short bool
}

func (r *bitReader) fill() {
	for r.n <= 56 && r.at < len(r.data) {
		b := r.data[r.at]
		if b == 0xff {
			if r.at+1 >= len(r.data) || r.data[r.at+1] != 0 {
				return // a marker, or damage
			}
			r.at++
		}
		r.at++
		r.acc |= uint64(b) << (56 - r.n)
		r.n += 8
	}
}

// take removes n bits.
func (r *bitReader) take(n int) {
	if r.n < n {
		r.short, r.n, r.acc = true, 0, 0
		return
	}
	r.acc <<= n
	r.n -= n
}

// bits reads up to 16 bits.
func (r *bitReader) bits(n int) int {
	if n == 0 {
		return 0
	}
	if r.n < n {
		r.fill()
	}
	v := int(r.acc >> (64 - n)) //nolint:gosec // 16 bits at most
	r.take(n)
	return v
}

// signed reads a number whose first bit is the sign (EXTEND in T.81, F.2.2.1).
func (r *bitReader) signed(n int) int32 {
	v := r.bits(n)
	if n > 0 && v < 1<<(n-1) {
		v += 1 - 1<<n
	}
	return int32(v) //nolint:gosec // 17 bits at most
}

// restart drops the bits read ahead. It moves to the next restart marker and returns its number, or
// -1.
func (r *bitReader) restart() int {
	r.acc, r.n, r.short = 0, 0, false
	for r.at < len(r.data) {
		i := bytes.IndexByte(r.data[r.at:], 0xff)
		if i < 0 || r.at+i+1 >= len(r.data) {
			break
		}
		r.at += i
		if mark := r.data[r.at+1]; mark >= markRST0 && mark <= markRST7 {
			return int(mark - markRST0)
		}
		r.at++
	}
	r.at = len(r.data)
	return -1
}

// huffman is a table of codes (T.81, annex C and F.2.2.3).
type huffman struct {
	values  []byte
	fast    [1 << fastBits]uint16 // value << 8 | code length, by the next bits
	maxCode [18]int32             // largest code by length, -1 for none
	offset  [18]int32             // plus a code of that length: index of its value
}

const fastBits = 9

// newHuffman builds a table from the number of codes per length, or returns nil if it is invalid.
func newHuffman(counts, values []byte) *huffman {
	h := &huffman{values: values}
	code, k := int32(0), int32(0)
	for length := 1; length <= 16; length++ {
		n := int32(counts[length-1])
		if code+n > 1<<length || int(k+n) > len(values) {
			return nil
		}
		h.maxCode[length], h.offset[length] = code+n-1, k-code
		if n == 0 {
			h.maxCode[length] = -1
		}
		for range n {
			if length <= fastBits {
				for i := range 1 << (fastBits - length) {
					h.fast[int(code)<<(fastBits-length)|i] = uint16(values[k])<<8 | uint16(length) //nolint:gosec // 16 at most
				}
			}
			code++
			k++
		}
		code <<= 1
	}
	if k == 0 {
		return nil
	}
	return h
}

// symbol reads a value by its code. An unknown code is 0, as in libjpeg.
func (r *bitReader) symbol(h *huffman) int {
	if r.n < 16 {
		r.fill()
	}
	if f := h.fast[r.acc>>(64-fastBits)]; f != 0 {
		r.take(int(f & 0xff))
		return int(f >> 8)
	}
	for length := fastBits + 1; length <= 16; length++ {
		code := int32(r.acc >> (64 - length)) //nolint:gosec // 16 bits at most
		if code <= h.maxCode[length] {
			r.take(length)
			return int(h.values[code+h.offset[length]])
		}
	}
	r.take(16)
	return 0
}
