package media

import (
	"image"
	"image/draw"
	"math"
)

// Maximum length of the longer side, in pixels.
const (
	screenSize = 1600
	smallSize  = 320
)

// fit shrinks a size so that its longer side has at most limit pixels. It never enlarges.
func fit(w, h, limit int) (int, int) {
	longer := max(w, h)
	if longer <= limit {
		return w, h
	}
	side := func(n int) int { return max(1, int(math.Round(float64(n)*float64(limit)/float64(longer)))) }
	return side(w), side(h)
}

const strip = 16 // rows of a source per step

// resize returns a picture whose longer side has at most limit pixels. Each pixel is the mean of
// its area. It may return src itself. It takes the memory of the result and of a few rows. The
// scalers of golang.org/x/image take three times the memory of decoding, 32 bytes per pixel of an
// intermediate picture.
func resize(src image.Image, limit int) *image.RGBA {
	from := src.Bounds()
	w, h := fit(from.Dx(), from.Dy(), limit)
	if same, ok := src.(*image.RGBA); ok && w == from.Dx() && h == from.Dy() && from.Min == (image.Point{}) {
		return same
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if w == from.Dx() && h == from.Dy() {
		draw.Draw(to, to.Rect, src, from.Min, draw.Src)
		return to
	}
	s := newResizer(from.Dx(), from.Dy(), to)
	rows := image.NewRGBA(image.Rect(0, 0, from.Dx(), min(strip, from.Dy())))
	for y := 0; y < from.Dy(); y += strip {
		n := min(strip, from.Dy()-y)
		draw.Draw(rows, image.Rect(0, 0, from.Dx(), n), src, from.Min.Add(image.Pt(0, y)), draw.Src)
		for i := range n {
			s.add(y+i, rows.Pix[i*rows.Stride:][:4*from.Dx()])
		}
	}
	return to
}

// A resizer accumulates rows from the top, and writes each complete row of the result.
type resizer struct {
	to         *image.RGBA
	wide, high float64   // pixels of the source per pixel of the result
	narrow     []float32 // the current row, as wide as the result
	sum        []float32 // sum for the next row of the result
	next       int
}

func newResizer(w, h int, to *image.RGBA) *resizer {
	n := 4 * to.Rect.Dx()
	return &resizer{
		to: to, wide: float64(w) / float64(to.Rect.Dx()), high: float64(h) / float64(to.Rect.Dy()),
		narrow: make([]float32, n), sum: make([]float32, n),
	}
}

// add adds row y of the source to one row of the result, or to two that share it.
func (s *resizer) add(y int, row []byte) {
	s.squeeze(row)
	for top, bottom := float64(y), float64(y+1); top < bottom; {
		end := float64(s.next+1) * s.high
		share := float32(min(bottom, end) - top)
		for i, v := range s.narrow {
			s.sum[i] += share * v
		}
		if top = min(bottom, end); end <= bottom+1e-6 {
			s.write()
			if s.next == s.to.Rect.Dy() {
				return
			}
		}
	}
}

// squeeze reduces the row to the width of the result. Each value is the sum of its area.
func (s *resizer) squeeze(row []byte) {
	last := len(row)/4 - 1
	for x := range s.to.Rect.Dx() {
		left, right := float64(x)*s.wide, float64(x+1)*s.wide
		first, end := int(left), min(int(math.Ceil(right-1e-6))-1, last)
		var r, g, b, a float32
		for i := first; i <= end; i++ {
			share := float32(min(right, float64(i+1)) - max(left, float64(i)))
			p := row[4*i : 4*i+4 : 4*i+4]
			r += share * float32(p[0])
			g += share * float32(p[1])
			b += share * float32(p[2])
			a += share * float32(p[3])
		}
		out := s.narrow[4*x : 4*x+4 : 4*x+4]
		out[0], out[1], out[2], out[3] = r, g, b, a
	}
}

func (s *resizer) write() {
	out := s.to.Pix[s.next*s.to.Stride:][:len(s.sum)]
	area := float32(s.wide * s.high)
	for i, v := range s.sum {
		out[i] = uint8(min(v/area+0.5, 255))
	}
	clear(s.sum)
	s.next++
}
