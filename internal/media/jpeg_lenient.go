package media

import (
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
)

// errTruncated is returned if most of a JPEG is missing.
var errTruncated = errors.New("most of the image data is missing")

// lenient decodes as much of a JPEG as possible, like browsers. It accepts truncated data,
// missing and wrong restart markers, broken unused tables, CMYK without an Adobe segment, and any
// sampling. Missing parts are grey, or have less detail in a progressive picture. It is slower
// than the standard library, and takes at most as much memory.
type lenient struct {
	*jpegFile
	comps            []component
	maxWidth         int // maximum of samples per minimum coded unit, over all components
	maxHeight        int
	unitsX, unitsY   int // minimum coded units of an interleaved scan
	quant            [4][64]float32
	dc, ac           [4]*huffman
	interval         int
	eobRun           int
	blocks, complete int // blocks of the first pass over each component, and complete ones
}

// A component is one colour channel of a JPEG.
type component struct {
	id, table      byte
	wide, high     int // blocks per minimum coded unit
	blocksX        int // blocks per row, in whole units
	usedX, usedY   int // blocks within the picture
	plane          []byte
	stride         int
	coefficients   [][64]int16 // of a progressive picture
	prediction     int32
	dcTable        *huffman
	acTable        *huffman
	completeBlocks int
}

// decodeLenient returns [errTruncated] if it can decode less than half of the picture.
func (f *jpegFile) decodeLenient(ctx context.Context) (image.Image, error) {
	l := &lenient{jpegFile: f}
	for _, s := range f.segments {
		switch s.mark {
		case markSOF0, markSOF1, markSOF2:
			l.allocate(s.body)
		case markDQT:
			l.addQuantization(s.body)
		case markDHT:
			l.addHuffman(s.body)
		case markDRI:
			if len(s.body) >= 2 {
				l.interval = int(binary.BigEndian.Uint16(s.body))
			}
		case markSOS:
			if err := l.scan(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	for i := range l.comps {
		c := &l.comps[i]
		l.blocks += c.usedX * c.usedY
		l.complete += min(c.completeBlocks, c.usedX*c.usedY)
	}
	if 2*l.complete < l.blocks || l.blocks == 0 {
		return nil, errTruncated
	}
	if err := l.reconstruct(ctx); err != nil {
		return nil, err
	}
	return l.picture(), nil
}

func (l *lenient) allocate(header []byte) {
	const first, each, block = 6, 3, 8
	l.comps = make([]component, l.components)
	l.maxWidth, l.maxHeight = 1, 1
	for i := range l.comps {
		c, params := &l.comps[i], header[first+each*i:]
		c.id, c.table = params[0], params[2]&3
		c.wide, c.high = int(params[1]>>4), int(params[1]&0x0f)
		if l.components == 1 { // not interleaved: the factors have no meaning
			c.wide, c.high = 1, 1
		}
		l.maxWidth, l.maxHeight = max(l.maxWidth, c.wide), max(l.maxHeight, c.high)
	}
	l.unitsX, l.unitsY = ceil(l.width, block*l.maxWidth), ceil(l.height, block*l.maxHeight)
	for i := range l.comps {
		c := &l.comps[i]
		c.blocksX = l.unitsX * c.wide
		c.usedX = ceil(ceil(l.width*c.wide, l.maxWidth), block)
		c.usedY = ceil(ceil(l.height*c.high, l.maxHeight), block)
		c.stride = block * c.blocksX
		c.plane = make([]byte, c.stride*block*l.unitsY*c.high)
		for j := range c.plane {
			c.plane[j] = 128
		}
		if l.progressive {
			c.coefficients = make([][64]int16, c.blocksX*l.unitsY*c.high)
		}
	}
}

func ceil(n, by int) int { return (n + by - 1) / by }

// addQuantization parses the complete tables.
func (l *lenient) addQuantization(body []byte) {
	for len(body) > 0 {
		table, size := body[0]&3, 1+int(min(body[0]>>4, 1))
		if body = body[1:]; len(body) < 64*size {
			return
		}
		for i := range 64 {
			v := int(body[size*i])
			if size == 2 {
				v = v<<8 | int(body[size*i+1])
			}
			l.quant[table][unzig(i)] = float32(v)
		}
		body = body[64*size:]
	}
}

// addHuffman parses the complete tables.
func (l *lenient) addHuffman(body []byte) {
	const counts = 16
	for len(body) > counts {
		class, table, n := body[0]>>4, body[0]&3, 0
		for _, count := range body[1 : 1+counts] {
			n += int(count)
		}
		if len(body) < 1+counts+n {
			return
		}
		if h := newHuffman(body[1:1+counts], body[1+counts:1+counts+n]); class == 0 {
			l.dc[table] = h
		} else {
			l.ac[table] = h
		}
		body = body[1+counts+n:]
	}
}

// A scanHeader defines the components and bits that a scan adds (T.81, B.2.3, and G.1.1.1).
type scanHeader struct {
	comps     []*component
	from, to  int // coefficients, in zigzag order
	high, low int // bit positions
}

// header parses the header of a scan. ok is false if the scan is invalid, and skipped.
func (l *lenient) header(body []byte) (h scanHeader, ok bool) {
	if len(body) == 0 {
		return h, false
	}
	n := int(body[0])
	if n < 1 || n > len(l.comps) || len(body) < 4+2*n {
		return h, false
	}
	for i := range n {
		id, tables := body[1+2*i], body[2+2*i]
		for j := range l.comps {
			if c := &l.comps[j]; c.id == id {
				c.dcTable, c.acTable = l.dc[tables>>4&3], l.ac[tables&3]
				h.comps = append(h.comps, c)
				break
			}
		}
	}
	last := body[1+2*n:]
	if h.to = 63; l.progressive {
		h.from, h.to, h.high, h.low = int(last[0]), int(last[1]), int(last[2]>>4), int(last[2]&0x0f)
	}
	switch {
	case len(h.comps) != n, h.from > h.to, h.to > 63, h.low > 13:
		return h, false
	case l.progressive && (h.from == 0 && h.to != 0 || h.from > 0 && n > 1):
		return h, false
	}
	for _, c := range h.comps {
		if h.from == 0 && h.high == 0 && c.dcTable == nil || h.to > 0 && c.acTable == nil {
			return h, false
		}
	}
	return h, true
}

func (l *lenient) scan(ctx context.Context, s jpegSegment) error {
	h, ok := l.header(s.body)
	if !ok {
		return nil
	}
	unitsX, unitsY := l.unitsX, l.unitsY
	if len(h.comps) == 1 {
		unitsX, unitsY = h.comps[0].usedX, h.comps[0].usedY
	}
	units, r := unitsX*unitsY, &bitReader{data: s.scan}
	lost := l.resync(s.scan, units)
	for unit, ended := 0, false; unit < units && !ended; {
		end := units
		if l.interval > 0 {
			end = min(unit+l.interval, units)
		}
		l.eobRun = 0
		for _, c := range h.comps {
			c.prediction = 0
		}
		for ; unit < end && !r.short; unit++ {
			if unit%unitsX == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			l.unit(r, h, unit%unitsX, unit/unitsX)
		}
		if unit = end; unit < units {
			var skipped int
			skipped, ended = lost(r)
			unit += skipped * l.interval
		}
	}
	return nil
}

// resync returns a function that moves to the next restart marker of a scan. It returns the
// number of lost intervals, or that there are no more.
//
// Markers are numbered from 0 to 7, repeatedly. If their total is right, their numbers are
// ignored, because some encoders write wrong ones. Otherwise a number one or two ahead means that
// as many markers and intervals are missing. A number behind is skipped, as in libjpeg.
func (l *lenient) resync(scan []byte, units int) func(*bitReader) (skipped int, ended bool) {
	want, counter := 0, &bitReader{data: scan}
	found := 0
	for counter.restart() >= 0 {
		counter.at += 2
		found++
	}
	whole := l.interval > 0 && found == ceil(units, l.interval)-1
	return func(r *bitReader) (skipped int, ended bool) {
		for {
			number := r.restart()
			if number < 0 {
				return 0, true
			}
			r.at += 2
			ahead := (number - want) & 7
			if whole {
				ahead = 0
			}
			switch ahead {
			case 1, 2:
				want += ahead + 1
				return ahead, false
			case 6, 7:
				continue
			}
			want++
			return 0, false
		}
	}
}

// unit decodes a minimum coded unit: one block of a single component, or all blocks of several.
func (l *lenient) unit(r *bitReader, h scanHeader, x, y int) {
	if len(h.comps) == 1 {
		l.block(r, h, h.comps[0], x, y)
		return
	}
	for _, c := range h.comps {
		for j := range c.wide * c.high {
			l.block(r, h, c, x*c.wide+j%c.wide, y*c.high+j/c.wide)
		}
	}
}

// block decodes the part of a block in a scan. It leaves a truncated block unchanged.
func (l *lenient) block(r *bitReader, h scanHeader, c *component, x, y int) {
	var sequential [64]int16
	b := &sequential
	if l.progressive {
		b = &c.coefficients[y*c.blocksX+x]
	}
	switch {
	case !l.progressive:
		decodeSequential(r, c, b)
	case h.from == 0 && h.high == 0:
		c.prediction += r.signed(min(r.symbol(c.dcTable), 16))
		if !r.short {
			b[0] = clamp16(int64(c.prediction) << h.low)
		}
	case h.from == 0:
		if r.bits(1) == 1 {
			b[0] |= 1 << h.low
		}
	case h.high == 0:
		l.decodeBand(r, h, c, b)
	default:
		l.refineBand(r, h, c, b)
	}
	if r.short {
		return
	}
	if h.from == 0 && h.high == 0 && x < c.usedX && y < c.usedY {
		c.completeBlocks++
	}
	if !l.progressive {
		l.put(c, b, x, y)
	}
}

// reconstruct computes the samples of a progressive picture from its coefficients.
func (l *lenient) reconstruct(ctx context.Context) error {
	if !l.progressive {
		return nil
	}
	for i := range l.comps {
		c := &l.comps[i]
		for y := range c.usedY {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			for x := range c.usedX {
				l.put(c, &c.coefficients[y*c.blocksX+x], x, y)
			}
		}
		c.coefficients = nil
	}
	return nil
}

func (l *lenient) picture() image.Image {
	whole := image.Rect(0, 0, l.width, l.height)
	switch {
	case l.components == 1:
		return &image.Gray{Pix: l.comps[0].plane, Stride: l.comps[0].stride, Rect: whole}
	case l.components == 4:
		return l.cmyk(whole)
	case l.isRGB() || l.unusual:
		return l.rgba(whole)
	}
	y, cb, cr := l.comps[0], l.comps[1], l.comps[2]
	ratio, _ := subsampling([maxComponents]int{y.wide, cb.wide, cr.wide}, [maxComponents]int{y.high, cb.high, cr.high})
	return &image.YCbCr{Y: y.plane, Cb: cb.plane, Cr: cr.plane, YStride: y.stride, CStride: cb.stride, SubsampleRatio: ratio, Rect: whole}
}

func (l *lenient) at(c *component, x, y int) byte {
	return c.plane[y*c.high/l.maxHeight*c.stride+x*c.wide/l.maxWidth]
}

func (l *lenient) rgba(whole image.Rectangle) image.Image {
	img := image.NewRGBA(whole)
	for y := range l.height {
		for x := range l.width {
			p := img.Pix[y*img.Stride+4*x:][:4]
			p[0], p[1], p[2], p[3] = l.at(&l.comps[0], x, y), l.at(&l.comps[1], x, y), l.at(&l.comps[2], x, y), 255
			if !l.isRGB() {
				p[0], p[1], p[2] = color.YCbCrToRGB(p[0], p[1], p[2])
			}
		}
	}
	return img
}

// cmyk assembles a CMYK picture. Adobe and browsers invert CMYK in JPEGs: 255 is no ink. YCCK is
// converted to RGB, which is inverted CMY.
func (l *lenient) cmyk(whole image.Rectangle) image.Image {
	img := image.NewCMYK(whole)
	for y := range l.height {
		for x := range l.width {
			p := img.Pix[y*img.Stride+4*x:][:4]
			for i := range p {
				p[i] = l.at(&l.comps[i], x, y)
			}
			if l.adobe && l.adobeTransform != 0 {
				p[0], p[1], p[2] = color.YCbCrToRGB(p[0], p[1], p[2])
				p[3] = 255 - p[3]
				continue
			}
			for i := range p {
				p[i] = 255 - p[i]
			}
		}
	}
	return img
}
