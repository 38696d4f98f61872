// Package drawing draws pictures from a seed: icons of shop types, shop fronts,
// dishes and avatars. An [Album] draws and stores each picture once.
package drawing

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"
	"strings"

	"golang.org/x/image/vector"
)

// A pen draws on an image in its own units. Its origin is at (x, y), one unit is scale
// pixels, and its axes are turned clockwise by turn, in radians.
type pen struct {
	img               *image.RGBA
	x, y, scale, turn float64
}

type point struct{ x, y float64 }

// A paint is a gradient from the top of a filled area to its bottom.
type paint struct{ top, low color.NRGBA }

// newPen returns a pen on a new transparent image. One unit is one pixel.
func newPen(width, height int) pen {
	return pen{img: image.NewRGBA(image.Rect(0, 0, width, height)), scale: 1}
}

// newRand returns a source of random numbers that depends only on seed and subject.
func newRand(seed, subject uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, subject)) //nolint:gosec // pictures, not secrets
}

// pick draws an element of a list, which must not be empty.
func pick[T any](rnd *rand.Rand, of []T) T { return of[rnd.IntN(len(of))] }

// uniform draws a number of [lo, hi).
func uniform(rnd *rand.Rand, lo, hi float64) float64 { return lo + rnd.Float64()*(hi-lo) }

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255} //nolint:gosec // bytes of hex
}

func flat(hex uint32) paint          { return paint{rgb(hex), rgb(hex)} }
func gradient(top, low uint32) paint { return paint{rgb(top), rgb(low)} }

// withOpacity returns the paint with an opacity of 0 to 1.
func (c paint) withOpacity(opacity float64) paint {
	c.top.A, c.low.A = uint8(255*opacity), uint8(255*opacity)
	return c
}

// toward mixes in a share of another paint: none at 0, only it at 1.
func (c paint) toward(o paint, share float64) paint {
	return paint{mix(c.top, o.top, share), mix(c.low, o.low, share)}
}

func mix(a, b color.NRGBA, share float64) color.NRGBA {
	part := func(a, b uint8) uint8 { return uint8(float64(a) + (float64(b)-float64(a))*share) }
	return color.NRGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), part(a.A, b.A)}
}

// at returns a pen with its origin at (x, y) of p.
func (p pen) at(x, y, scale, turn float64) pen {
	x, y = p.pixel(point{x, y})
	return pen{p.img, x, y, p.scale * scale, p.turn + turn}
}

// pixel returns the position of a point on the image.
func (p pen) pixel(q point) (x, y float64) {
	sin, cos := math.Sincos(p.turn)
	return p.x + p.scale*(q.x*cos-q.y*sin), p.y + p.scale*(q.x*sin+q.y*cos)
}

// fill paints the inside of outlines, with smooth edges. An inner outline in the opposite
// direction is a hole.
func (p pen) fill(c paint, outlines ...[]point) {
	var all image.Rectangle
	for _, outline := range outlines {
		for _, q := range outline {
			x, y := p.pixel(q)
			all = all.Union(image.Rect(int(math.Floor(x)), int(math.Floor(y)), int(math.Ceil(x))+1, int(math.Ceil(y))+1))
		}
	}
	seen := all.Intersect(p.img.Rect)
	if seen.Empty() {
		return
	}
	ras := vector.NewRasterizer(seen.Dx(), seen.Dy())
	for _, outline := range outlines {
		draw := ras.MoveTo
		for _, q := range outline {
			x, y := p.pixel(q)
			draw(float32(x-float64(seen.Min.X)), float32(y-float64(seen.Min.Y)))
			draw = ras.LineTo
		}
		ras.ClosePath()
	}
	mask := image.NewAlpha(image.Rect(0, 0, seen.Dx(), seen.Dy()))
	ras.Draw(mask, mask.Rect, image.Opaque, image.Point{})
	rows := 1
	if c.top == c.low {
		rows = seen.Dy()
	}
	for y := seen.Min.Y; y < seen.Max.Y; y += rows {
		ink := image.NewUniform(mix(c.top, c.low, float64(y-all.Min.Y)/float64(all.Dy())))
		draw.DrawMask(p.img, image.Rect(seen.Min.X, y, seen.Max.X, y+rows), ink, image.Point{}, mask, image.Pt(0, y-seen.Min.Y), draw.Over)
	}
}

// ellipseArc returns a part of an ellipse. Angles are in radians, clockwise from the
// right.
func ellipseArc(x, y, rx, ry, from, to float64) []point {
	out := make([]point, 33)
	for i := range out {
		sin, cos := math.Sincos(from + (to-from)*float64(i)/32)
		out[i] = point{x + rx*cos, y + ry*sin}
	}
	return out
}

func circle(x, y, r float64) []point { return ellipse(x, y, r, r) }
func ellipse(x, y, rx, ry float64) []point {
	return append(dome(x, y, rx, ry), dome(x, y, -rx, -ry)...)
}

// dome returns the upper half of an ellipse, or the lower one if ry is negative.
func dome(x, y, rx, ry float64) []point { return ellipseArc(x, y, rx, ry, math.Pi, 2*math.Pi) }

// arc returns a band along a part of a circle.
func arc(x, y, r, width, from, to float64) []point {
	return append(ellipseArc(x, y, r+width/2, r+width/2, from, to), ellipseArc(x, y, r-width/2, r-width/2, to, from)...)
}

// box returns a rectangle with rounded corners of radius r.
func box(x, y, w, h, r float64) []point {
	var out []point
	for i, c := range poly(x+r, y+r, x+w-r, y+r, x+w-r, y+h-r, x+r, y+h-r) {
		out = append(out, ellipseArc(c.x, c.y, r, r, float64(i+2)*math.Pi/2, float64(i+3)*math.Pi/2)...)
	}
	return out
}

// leaf returns a shape that is pointed at both ends and has its width in the middle.
func leaf(ax, ay, bx, by, width float64) []point {
	out := make([]point, 32)
	for i := range out {
		t := 1 - math.Abs(float64(i)/16-1) // to the other end and back
		off := math.Copysign(width/2*math.Sin(math.Pi*t)/math.Hypot(bx-ax, by-ay), float64(16-i))
		out[i] = point{ax + (bx-ax)*t - off*(by-ay), ay + (by-ay)*t + off*(bx-ax)}
	}
	return out
}

func poly(xy ...float64) []point {
	out := make([]point, len(xy)/2)
	for i := range out {
		out[i] = point{xy[2*i], xy[2*i+1]}
	}
	return out
}

// line joins points, alternating x and y, with round ends.
func line(width float64, xy ...float64) (out [][]point) {
	for i := 0; i+3 < len(xy); i += 2 {
		along, r := math.Atan2(xy[i+3]-xy[i+1], xy[i+2]-xy[i]), width/2
		out = append(out, append(ellipseArc(xy[i], xy[i+1], r, r, along+math.Pi/2, along+1.5*math.Pi), ellipseArc(xy[i+2], xy[i+3], r, r, along-math.Pi/2, along+math.Pi/2)...))
	}
	return out
}

// sketch draws shapes from words: names with their numbers, separated by semicolons.
// "both" draws a shape and its mirror image. "ink 1" switches to the second paint.
func (p pen) sketch(words string, inks ...paint) {
	ink := inks[0]
	for item := range strings.SplitSeq(words, ";") {
		word, both := strings.CutPrefix(strings.TrimSpace(item), "both ")
		fields := strings.Fields(word)
		n := make([]float64, len(fields)-1)
		for i := range n {
			if _, err := fmt.Sscan(fields[i+1], &n[i]); err != nil { // the words are constants
				panic(fmt.Sprintf("drawing: %q in a sketch: %v", word, err))
			}
		}
		if fields[0] == "ink" {
			ink = inks[int(n[0])]
			continue
		}
		for _, outline := range outlines(fields[0], n) {
			p.fill(ink, outline)
			for i := range outline {
				outline[i].x *= -1
			}
			if both {
				p.fill(ink, outline)
			}
		}
	}
}

// outlines returns the outlines of a shape by its name and numbers.
func outlines(shape string, n []float64) [][]point {
	if shape == "line" {
		return line(n[0], n[1:]...)
	}
	return [][]point{map[string]func() []point{
		"disc": func() []point { return ellipse(n[0], n[1], n[2], n[len(n)-1]) },
		"dome": func() []point { return dome(n[0], n[1], n[2], n[3]) },
		"box":  func() []point { return box(n[0], n[1], n[2], n[3], n[4]) },
		"arc":  func() []point { return arc(n[0], n[1], n[2], n[3], n[4], n[5]) },
		"leaf": func() []point { return leaf(n[0], n[1], n[2], n[3], n[4]) },
		"poly": func() []point { return poly(n...) },
	}[shape]()}
}
