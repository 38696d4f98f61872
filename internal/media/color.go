package media

import (
	"encoding/binary"
	"image"
	"image/color"
	"math"
)

// A curve maps a value of a file to light, both from 0 to 1.
type curve func(float64) float64

// A matrix converts colours in linear light.
type matrix [3][3]float64

func (m matrix) times(v [3]float64) (to [3]float64) {
	for i := range to {
		to[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return to
}

// after returns the matrix that applies other, and then m.
func (m matrix) after(other matrix) (to matrix) {
	for column := range 3 {
		v := m.times([3]float64{other[0][column], other[1][column], other[2][column]})
		for row := range 3 {
			to[row][column] = v[row]
		}
	}
	return to
}

func (m matrix) inverse() (to matrix, ok bool) {
	minor := func(row, column int) float64 {
		r1, r2, c1, c2 := (row+1)%3, (row+2)%3, (column+1)%3, (column+2)%3
		return m[r1][c1]*m[r2][c2] - m[r1][c2]*m[r2][c1]
	}
	det := m[0][0]*minor(0, 0) + m[0][1]*minor(0, 1) + m[0][2]*minor(0, 2)
	if math.Abs(det) < 1e-9 {
		return to, false
	}
	for row := range 3 {
		for column := range 3 {
			to[column][row] = minor(row, column) / det
		}
	}
	return to, true
}

// A colorSpace converts the values of a picture to light in the profile connection space: XYZ with
// the white D50.
type colorSpace struct {
	curves [3]curve
	toXYZ  matrix
}

func whiteD50() [3]float64 { return [3]float64{0.9642, 1, 0.8249} }

// grayToXYZ returns the matrix that makes grey of three equal values.
func grayToXYZ() matrix { return srgbPrimaries().mustXYZ() }

// adaptation returns the Bradford matrix that adapts colours from one white to another.
func adaptation(from, to [3]float64) matrix {
	cone := matrix{{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}}
	back, _ := cone.inverse()
	a, b := cone.times(from), cone.times(to)
	return back.after(matrix{{b[0] / a[0]}, {0, b[1] / a[1]}, {0, 0, b[2] / a[2]}}).after(cone)
}

// primaries are the chromaticities, x and y, of red, green, blue and white.
type primaries [4][2]float64

func srgbPrimaries() primaries {
	return primaries{{0.64, 0.33}, {0.30, 0.60}, {0.15, 0.06}, {0.3127, 0.3290}}
}

// toXYZ returns the matrix from light of these colours to XYZ, adapted to D50, if they are valid.
func (p primaries) toXYZ() (m matrix, ok bool) {
	xyz := func(c [2]float64) [3]float64 { return [3]float64{c[0] / c[1], 1, (1 - c[0] - c[1]) / c[1]} }
	for i, c := range p {
		if c[0] < 0 || c[1] < 0.001 || c[0]+c[1] > 1.001 { // the blue of some spaces is at the limit
			return m, false
		}
		if i < 3 {
			v := xyz(c)
			m[0][i], m[1][i], m[2][i] = v[0], v[1], v[2]
		}
	}
	inverse, ok := m.inverse()
	if !ok {
		return m, false
	}
	white := xyz(p[3])
	share := inverse.times(white)
	m = m.after(matrix{{share[0]}, {0, share[1]}, {0, 0, share[2]}})
	return adaptation(white, whiteD50()).after(m), true
}

func (p primaries) mustXYZ() matrix {
	m, _ := p.toXYZ()
	return m
}

func srgbToLight(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func srgbFromLight(v float64) float64 {
	if v <= 0.0031308 {
		return v * 12.92
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// cicpSpace returns the space of a cICP chunk, which contains numbers of ITU-T H.273. It supports
// those of standard dynamic range.
func cicpSpace(chunk []byte) (space colorSpace, ok bool) {
	if len(chunk) != 4 || chunk[2] != 0 || chunk[3] != 1 { // RGB, full range
		return space, false
	}
	d65 := [2]float64{0.3127, 0.3290}
	colors, ok := map[byte]primaries{
		1:  srgbPrimaries(),
		5:  {{0.64, 0.33}, {0.29, 0.60}, {0.15, 0.06}, d65},
		6:  {{0.630, 0.340}, {0.310, 0.595}, {0.155, 0.070}, d65},
		9:  {{0.708, 0.292}, {0.170, 0.797}, {0.131, 0.046}, d65},
		11: {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, {0.314, 0.351}},
		12: {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, d65},
	}[chunk[0]]
	if !ok {
		return space, false
	}
	light, ok := map[byte]curve{
		1: rec709ToLight, 6: rec709ToLight, 14: rec709ToLight, 15: rec709ToLight,
		4: power(2.2), 5: power(2.8), 8: power(1), 13: srgbToLight,
	}[chunk[1]]
	return colorSpace{curves: [3]curve{light, light, light}, toXYZ: colors.mustXYZ()}, ok
}

func rec709ToLight(v float64) float64 {
	if v < 0.081 {
		return v / 4.5
	}
	return math.Pow((v+0.099)/1.099, 1/0.45)
}

// pngSpace returns the space of gAMA and cHRM chunks. Missing values, and values near those of
// sRGB, are those of sRGB.
func pngSpace(gama, chrm []byte) (space colorSpace, ok bool) {
	const unit = 100_000
	light, colors := curve(srgbToLight), srgbPrimaries()
	if len(gama) == 4 {
		gamma := float64(binary.BigEndian.Uint32(gama)) / unit
		if gamma < 0.01 || gamma > 100 {
			return space, false
		}
		if math.Abs(gamma*2.2-1) > 0.05 {
			light = power(1 / gamma)
		}
	}
	if len(chrm) == 32 {
		for i, at := range []int{3, 0, 1, 2} { // white is first
			for j := range 2 {
				v := float64(binary.BigEndian.Uint32(chrm[8*i+4*j:])) / unit
				if math.Abs(v-srgbPrimaries()[at][j]) > 0.002 {
					colors[at][j] = v
				}
			}
		}
	}
	toXYZ, ok := colors.toXYZ()
	return colorSpace{curves: [3]curve{light, light, light}, toXYZ: toXYZ}, ok
}

// A transform converts colours to sRGB. Colours outside sRGB are clipped per channel (relative
// colorimetric).
type transform struct {
	space  colorSpace
	matrix [3][3]float32   // light in the space to light in sRGB
	light  [3][256]float32 // light by value
	encode []uint8         // sRGB value by light, in steps of 1/(len-1)
}

const lightSteps = 1 << 14 // the darkest step of 8 bits has five of these

// transform returns the conversion from a space to sRGB, or nil if it changes no colour by more
// than one step.
func (s colorSpace) transform() *transform {
	fromXYZ, _ := srgbPrimaries().mustXYZ().inverse()
	m := fromXYZ.after(s.toXYZ)
	t := &transform{space: s, encode: make([]uint8, lightSteps+1)}
	for row := range 3 {
		for column := range 3 {
			t.matrix[row][column] = float32(m[row][column])
		}
		for v := range 256 {
			t.light[row][v] = s.light(row, float64(v)/255)
		}
	}
	for i := range t.encode {
		t.encode[i] = uint8(srgbFromLight(float64(i)/lightSteps)*255 + 0.5)
	}
	if t.changesNothing() {
		return nil
	}
	return t
}

// light returns the light of a value, from 0 to 1 for any curve.
func (s colorSpace) light(channel int, v float64) float32 {
	light := s.curves[channel](v)
	if math.IsNaN(light) {
		return 0
	}
	return float32(max(0, min(light, 1)))
}

func (t *transform) changesNothing() bool {
	const step = 17 // includes black and white
	for r := 0; r < 256; r += step {
		for g := 0; g < 256; g += step {
			for b := 0; b < 256; b += step {
				to := t.convert(t.light[0][r], t.light[1][g], t.light[2][b])
				for i, v := range []int{r, g, b} {
					if d := int(to[i]) - v; d < -1 || d > 1 {
						return false
					}
				}
			}
		}
	}
	return true
}

// convert returns the sRGB values of light in the space.
func (t *transform) convert(r, g, b float32) (to [3]uint8) {
	for i := range to {
		row := &t.matrix[i]
		v := row[0]*r + row[1]*g + row[2]*b
		to[i] = t.encode[int(max(0, min(v, 1))*lightSteps+0.5)]
	}
	return to
}

// apply converts a picture in place.
func (t *transform) apply(img *image.RGBA) {
	var from [4]uint8
	var to [3]uint8 // converted from
	for y := range img.Rect.Dy() {
		row := img.Pix[y*img.Stride:][:4*img.Rect.Dx()]
		for i := 0; i < len(row); i += 4 {
			p := row[i : i+4 : i+4]
			if p[3] == 0 {
				continue
			}
			if this := [4]uint8(p); this != from {
				from = this
				c := this
				if this[3] < 255 {
					n := color.NRGBAModel.Convert(color.RGBA{R: p[0], G: p[1], B: p[2], A: p[3]}).(color.NRGBA) //nolint:forcetypeassert // the type of the model
					c = [4]uint8{n.R, n.G, n.B, n.A}
				}
				to = t.convert(t.light[0][c[0]], t.light[1][c[1]], t.light[2][c[2]])
			}
			for j, v := range to {
				p[j] = uint8((uint32(v)*uint32(p[3]) + 127) / 255) //nolint:gosec // 255 at most
			}
		}
	}
}

// deepColors is a picture with 16 bits per channel that converts to sRGB before the reduction to
// 8 bits. Otherwise linear spaces would lose their dark colours.
type deepColors struct {
	image.RGBA64Image
	t     *transform
	light [3][]float32
}

func (t *transform) deep(img image.RGBA64Image) image.Image {
	d := &deepColors{RGBA64Image: img, t: t}
	for i := range d.light {
		d.light[i] = make([]float32, math.MaxUint16+1)
		for v := range d.light[i] {
			d.light[i][v] = t.space.light(i, float64(v)/math.MaxUint16)
		}
	}
	return d
}

// ColorModel implements [image.Image].
func (*deepColors) ColorModel() color.Model { return color.RGBA64Model }

// At implements [image.Image].
func (d *deepColors) At(x, y int) color.Color { return d.RGBA64At(x, y) }

// RGBA64At implements [image.RGBA64Image].
func (d *deepColors) RGBA64At(x, y int) color.RGBA64 {
	c := d.RGBA64Image.RGBA64At(x, y)
	if c.A == 0 {
		return c
	}
	plain := func(v uint16) uint32 { return min(uint32(v)*math.MaxUint16/uint32(c.A), math.MaxUint16) }
	to := d.t.convert(d.light[0][plain(c.R)], d.light[1][plain(c.G)], d.light[2][plain(c.B)])
	again := func(v uint8) uint16 { return uint16(uint32(v) * 0x101 * uint32(c.A) / math.MaxUint16) } //nolint:gosec // 16 bits at most
	return color.RGBA64{R: again(to[0]), G: again(to[1]), B: again(to[2]), A: c.A}
}
