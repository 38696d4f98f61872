package media

import "math"

// decodeSequential reads all coefficients of a block.
func decodeSequential(r *bitReader, c *component, b *[64]int16) {
	c.prediction += r.signed(min(r.symbol(c.dcTable), 16))
	b[0] = clamp16(int64(c.prediction))
	for k := 1; k < 64 && !r.short; k++ {
		symbol := r.symbol(c.acTable)
		run, size := symbol>>4, symbol&0x0f
		if size == 0 {
			if run != 15 {
				return
			}
			k += 15
			continue
		}
		v := r.signed(size)
		if k += run; k < 64 {
			b[unzig(k)] = clamp16(int64(v))
		}
	}
}

// decodeBand reads the first bits of some coefficients (T.81, G.1.2.2).
func (l *lenient) decodeBand(r *bitReader, h scanHeader, c *component, b *[64]int16) {
	if l.eobRun > 0 {
		l.eobRun--
		return
	}
	for k := h.from; k <= h.to && !r.short; k++ {
		symbol := r.symbol(c.acTable)
		run, size := symbol>>4, symbol&0x0f
		if size == 0 {
			if run != 15 {
				l.eobRun = 1<<run + r.bits(run) - 1
				return
			}
			k += 15
			continue
		}
		v := r.signed(size)
		if k += run; k <= h.to && !r.short {
			b[unzig(k)] = clamp16(int64(v) << h.low)
		}
	}
}

// refineBand reads one more bit of some coefficients (T.81, G.1.2.3).
func (l *lenient) refineBand(r *bitReader, h scanHeader, c *component, b *[64]int16) {
	k, bit := h.from, int16(1)<<h.low
	for l.eobRun == 0 && k <= h.to && !r.short {
		symbol := r.symbol(c.acTable)
		run, size := symbol>>4, symbol&0x0f
		fresh := int16(0)
		if size == 0 && run != 15 {
			l.eobRun = 1<<run + r.bits(run)
			break
		}
		if size != 0 {
			if fresh = -bit; r.bits(1) == 1 {
				fresh = bit
			}
		}
		if k = refine(r, b, k, h.to, run, bit); k <= h.to && fresh != 0 && !r.short {
			b[unzig(k)] = fresh
		}
		k++
	}
	if l.eobRun > 0 {
		refine(r, b, k, h.to, -1, bit)
		l.eobRun--
	}
}

// refine reads a bit for each non-zero coefficient, until it has passed run zero ones. It returns
// the position after them.
func refine(r *bitReader, b *[64]int16, k, to, run int, bit int16) int {
	for ; k <= to && !r.short; k++ {
		v := &b[unzig(k)]
		if *v == 0 {
			if run == 0 {
				break
			}
			run--
			continue
		}
		if r.bits(1) == 1 && *v&bit == 0 {
			if *v > 0 {
				*v += bit
			} else {
				*v -= bit
			}
		}
	}
	return k
}

func clamp16(v int64) int16 { return int16(max(math.MinInt16, min(v, math.MaxInt16))) } //nolint:gosec // clamped

// put writes the samples of a block to its plane: dequantization and inverse cosine transform
// (T.81, A.3.3).
func (l *lenient) put(c *component, b *[64]int16, x, y int) {
	const block = 8
	out := c.plane[block*(y*c.stride+x):]
	quant := &l.quant[c.table]
	var in, half [64]float32
	flat := true
	for i, v := range b {
		in[i] = float32(v) * quant[i]
		flat = flat && (v == 0 || i == 0)
	}
	if flat {
		v := sample(in[0] / block)
		for row := range block {
			for i := range block {
				out[row*c.stride+i] = v
			}
		}
		return
	}
	for row := range block {
		inverse(in[block*row:], half[block*row:], 1)
	}
	for column := range block {
		inverse(half[column:], in[column:], block)
	}
	for row := range block {
		for i := range block {
			out[row*c.stride+i] = sample(in[block*row+i])
		}
	}
}

func sample(v float32) byte { return byte(max(0, min(v+128.5, 255))) }

// inverse is the inverse cosine transform of eight values with a distance of step. It separates
// even and odd values, which have equal or opposite signs in both halves of the result.
func inverse(in, out []float32, step int) {
	const ( // cos(kπ/16)/2, and cos(π/4)/2 for the first value
		c1, c2, c3, c4 = 0.49039264, 0.46193977, 0.41573481, 0.35355339
		c5, c6, c7     = 0.27778512, 0.19134172, 0.09754516
	)
	v0, v1, v2, v3 := in[0], in[step], in[2*step], in[3*step]
	v4, v5, v6, v7 := in[4*step], in[5*step], in[6*step], in[7*step]
	sum, difference := c4*(v0+v4), c4*(v0-v4)
	outer, inner := c2*v2+c6*v6, c6*v2-c2*v6
	even := [4]float32{sum + outer, difference + inner, difference - inner, sum - outer}
	odd := [4]float32{
		c1*v1 + c3*v3 + c5*v5 + c7*v7,
		c3*v1 - c7*v3 - c1*v5 - c5*v7,
		c5*v1 - c1*v3 + c7*v5 + c3*v7,
		c7*v1 - c5*v3 + c3*v5 - c1*v7,
	}
	for i := range 4 {
		out[i*step], out[(7-i)*step] = even[i]+odd[i], even[i]-odd[i]
	}
}

// unzig returns the position of the k-th coefficient of the file (T.81, figure 5).
func unzig(k int) int {
	return int("\x00\x01\x08\x10\x09\x02\x03\x0a\x11\x18\x20\x19\x12\x0b\x04\x05\x0c\x13\x1a\x21\x28\x30\x29\x22\x1b\x14\x0d\x06\x07\x0e\x15\x1c\x23\x2a\x31\x38\x39\x32\x2b\x24\x1d\x16\x0f\x17\x1e\x25\x2c\x33\x3a\x3b\x34\x2d\x26\x1f\x27\x2e\x35\x3c\x3d\x36\x2f\x37\x3e\x3f"[k])
}
