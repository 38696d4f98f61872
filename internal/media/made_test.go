package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"image/color"
	"slices"
)

// made is a JPEG of single-colour blocks with trivial tables. The encoder of the standard library
// supports only one sampling and no restart markers.
type made struct {
	w, h        int
	parts       []madePart
	interval    int
	marker      func(i int) []byte // the i-th restart marker; default: the correct one
	progressive bool
	adobe       int // transform of an Adobe segment; -1: no segment
	jfif        bool
	components  func(c color.RGBA) [4]byte // samples of a colour
}

// A madePart is a component: id and sampling factors.
type madePart struct{ id, wide, high byte }

// ycc returns a colour in YCbCr.
func ycc(c color.RGBA) (to [4]byte) {
	to[0], to[1], to[2] = color.RGBToYCbCr(c.R, c.G, c.B)
	return to
}

func plainRGB(c color.RGBA) [4]byte { return [4]byte{c.R, c.G, c.B} }

// inkless returns a colour in CMYK as Adobe writes it: 255 is no ink.
func inkless(c color.RGBA) [4]byte { return [4]byte{c.R, c.G, c.B, 255} }

// yccInkless returns a colour in YCCK: its CMY as YCbCr.
func yccInkless(c color.RGBA) [4]byte {
	to := ycc(color.RGBA{255 - c.R, 255 - c.G, 255 - c.B, 255})
	to[3] = 255
	return to
}

// file encodes a picture with the quarters of painted.
func (m made) file() []byte {
	picture := painted(m.w, m.h)
	at := func(x, y int) color.RGBA {
		r, g, b, _ := picture.At(min(x, m.w-1), min(y, m.h-1)).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	}
	var b bytes.Buffer
	segment := func(mark byte, body []byte) {
		b.Write(binary.BigEndian.AppendUint16([]byte{0xff, mark}, uint16(len(body)+2)))
		b.Write(body)
	}
	b.WriteString("\xff\xd8")
	if m.jfif {
		segment(0xe0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"))
	}
	if m.adobe >= 0 {
		segment(0xee, []byte{'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, byte(m.adobe)})
	}
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...))
	frame := []byte{8, byte(m.h >> 8), byte(m.h), byte(m.w >> 8), byte(m.w), byte(len(m.parts))}
	scan := []byte{byte(len(m.parts))}
	maxWidth, maxHeight := 1, 1
	for _, p := range m.parts {
		frame = append(frame, p.id, p.wide<<4|p.high, 0)
		scan = append(scan, p.id, 0)
		maxWidth, maxHeight = max(maxWidth, int(p.wide)), max(maxHeight, int(p.high))
	}
	mark, last := byte(0xc0), []byte{0, 63, 0}
	if m.progressive {
		mark, last = 0xc2, []byte{0, 0, 0}
	}
	segment(mark, frame)
	segment(0xc4, append([]byte{0x00, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) // 4 bits each
	segment(0xc4, append([]byte{0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0))                                     // a zero bit ends each block
	if m.interval > 0 {
		segment(0xdd, binary.BigEndian.AppendUint16(nil, uint16(m.interval)))
	}
	segment(0xda, append(scan, last...))
	m.code(&b, at, maxWidth, maxHeight)
	b.WriteString("\xff\xd9")
	return b.Bytes()
}

// code writes the data of the scan.
func (m made) code(b *bytes.Buffer, at func(x, y int) color.RGBA, maxWidth, maxHeight int) {
	w := &codeWriter{to: b}
	unitsX, unitsY := ceil(m.w, 8*maxWidth), ceil(m.h, 8*maxHeight)
	if len(m.parts) == 1 {
		unitsX, unitsY = ceil(m.w, 8), ceil(m.h, 8)
	}
	var before [4]int
	for unit := range unitsX * unitsY {
		if m.interval > 0 && unit > 0 && unit%m.interval == 0 {
			w.flush()
			i := unit/m.interval - 1
			if marker := []byte{0xff, 0xd0 + byte(i%8)}; m.marker == nil {
				b.Write(marker)
			} else {
				b.Write(m.marker(i))
			}
			before = [4]int{}
		}
		for c, p := range m.parts {
			wide, high := int(p.wide), int(p.high)
			if len(m.parts) == 1 {
				wide, high, maxWidth, maxHeight = 1, 1, 1, 1
			}
			for j := range wide * high {
				x, y := (unit%unitsX*wide+j%wide)*8*maxWidth/wide, (unit/unitsX*high+j/wide)*8*maxHeight/high
				dc := int(m.components(at(x+4*maxWidth/wide, y+4*maxHeight/high))[c]) - 128
				w.number(dc - before[c])
				before[c] = dc
				if !m.progressive {
					w.put(0, 1)
				}
			}
		}
	}
	w.flush()
}

// A codeWriter writes bits, highest first, as in JPEG.
type codeWriter struct {
	to  *bytes.Buffer
	acc uint32
	n   int
}

func (w *codeWriter) put(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		w.acc = w.acc<<1 | v>>i&1
		if w.n++; w.n == 8 {
			if w.to.WriteByte(byte(w.acc)); byte(w.acc) == 0xff {
				w.to.WriteByte(0)
			}
			w.acc, w.n = 0, 0
		}
	}
}

func (w *codeWriter) number(v int) {
	size := 0
	for n := max(v, -v); n > 0; n >>= 1 {
		size++
	}
	w.put(uint32(size), 4)
	if v < 0 {
		v += 1<<size - 1
	}
	w.put(uint32(v), size)
}

func (w *codeWriter) flush() {
	for w.n > 0 {
		w.put(1, 1)
	}
}

// A madeProfile is a colour profile of a matrix and a curve.
type madeProfile struct {
	gray      bool
	colorants [3][3]float64 // of red, green and blue, adapted to D50
	curve     []byte
	version   byte
	class     string
}

func displayP3() [3][3]float64 {
	return [3][3]float64{{0.51512, 0.24120, -0.00105}, {0.29198, 0.69225, 0.04189}, {0.15710, 0.06657, 0.78407}}
}

// file encodes a profile. Three names share one curve tag, as in most profiles.
func (p madeProfile) file() []byte {
	be := binary.BigEndian
	head := make([]byte, 128)
	head[8] = p.version
	copy(head[12:], "mntrRGB XYZ ")
	if p.class != "" {
		copy(head[12:], p.class)
	}
	names := []string{"rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"}
	if p.gray {
		copy(head[16:], "GRAY")
		names = []string{"kTRC"}
	}
	copy(head[36:], "acsp")
	table := be.AppendUint32(nil, uint32(len(names)))
	var content []byte
	begin := 128 + 4 + 12*len(names)
	curveAt := begin
	if !p.gray {
		curveAt += 3 * 20
	}
	for i, name := range names {
		table = append(table, name...)
		if name[1:] == "TRC" {
			table = be.AppendUint32(be.AppendUint32(table, uint32(curveAt)), uint32(len(p.curve)))
			continue
		}
		table = be.AppendUint32(be.AppendUint32(table, uint32(begin+20*i)), 20)
		content = append(content, "XYZ \x00\x00\x00\x00"...)
		for _, v := range p.colorants[i] {
			content = be.AppendUint32(content, uint32(int32(v*65536)))
		}
	}
	file := append(append(append(head, table...), content...), p.curve...)
	be.PutUint32(file, uint32(len(file)))
	return file
}

// sampledTag returns a curve of n values.
func sampledTag(n int, light func(float64) float64) []byte {
	tag := binary.BigEndian.AppendUint32([]byte("curv\x00\x00\x00\x00"), uint32(n))
	for i := range n {
		tag = binary.BigEndian.AppendUint16(tag, uint16(light(float64(i)/float64(max(n-1, 1)))*65535+0.5))
	}
	return tag
}

// gammaTag returns a curve of an exponent.
func gammaTag(gamma float64) []byte {
	return binary.BigEndian.AppendUint16([]byte("curv\x00\x00\x00\x00\x00\x00\x00\x01"), uint16(gamma*256+0.5))
}

// formulaTag returns a parametric curve.
func formulaTag(kind uint16, parameters ...float64) []byte {
	tag := binary.BigEndian.AppendUint16([]byte("para\x00\x00\x00\x00"), kind)
	tag = append(tag, 0, 0)
	for _, p := range parameters {
		tag = binary.BigEndian.AppendUint32(tag, uint32(int32(p*65536)))
	}
	return tag
}

// srgbTag returns the curve of sRGB and Display P3.
func srgbTag() []byte { return formulaTag(3, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045) }

// jpegWithProfile inserts a profile into a JPEG, in parts of size bytes.
func jpegWithProfile(file, profile []byte, size int, order ...int) []byte {
	n := ceil(len(profile), size)
	if order == nil {
		for i := range n {
			order = append(order, i)
		}
	}
	for _, at := range slices.Backward(order) {
		part := profile[size*at : min(size*(at+1), len(profile))]
		file = withSegment(file, 0xe2, append([]byte("ICC_PROFILE\x00"), append([]byte{byte(at + 1), byte(n)}, part...)...))
	}
	return file
}

// pngChunk returns a chunk with its checksum.
func pngChunk(name string, content []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	return withCRC(append(append(chunk, name...), content...))
}

// broken returns a chunk with a wrong checksum.
func broken(chunk []byte) []byte {
	chunk = bytes.Clone(chunk)
	chunk[len(chunk)-1] ^= 0x55
	return chunk
}

const headEnd = 33 // offset of the chunks after the header of a PNG

// withChunks inserts chunks after the header of a PNG.
func withChunks(file []byte, chunks ...[]byte) []byte {
	all := bytes.Clone(file[:headEnd])
	for _, c := range chunks {
		all = append(all, c...)
	}
	return append(all, file[headEnd:]...)
}

// iccpChunk returns a profile as a PNG chunk.
func iccpChunk(profile []byte) []byte {
	return pngChunk("iCCP", append([]byte("a profile\x00\x00"), deflated(profile)...))
}

func deflated(content []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// flat returns a picture of one colour.
func flat(w, h int, c color.Color) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, c)
		}
	}
	return img
}
