package drawing

import (
	"hash/fnv"
	"image"
	"math"
	"math/rand/v2"
)

// A lighting is the light of an hour of the day.
type lighting struct {
	sky, interior paint // interior is visible through windows
	sun           uint32
	sunY          float64
	shade         float64 // darkness of walls and street, 0 to 1
}

var daylight = []lighting{
	{gradient(0x8FD0F0, 0xFDF3DC), gradient(0xC9DDE0, 0xF1E5CC), 0xFFF3B8, 150, 0},
	{gradient(0x5FB3E6, 0xD9F0F7), gradient(0xBFD9E2, 0xE9E3D2), 0xFFF7D0, 90, 0},
	{gradient(0xF2A65E, 0xFCE6B4), gradient(0xF9D98C, 0xFBE9BE), 0xFFDF8A, 230, 0.14},
	{gradient(0x4B4F8F, 0xF0A58F), gradient(0xFFD27A, 0xFFE9B0), 0xFFC59B, 270, 0.34},
	{gradient(0x141B3C, 0x3C4878), gradient(0xFFC766, 0xFFE3A1), 0xF5F1DA, 100, 0.52},
}

// Colours. Each wall has one for its frames and ledges.
var (
	walls       = [][2]uint32{{0xF0DEC0, 0x8A5B3C}, {0xE8C9B0, 0x6B3F35}, {0xD6E0D2, 0x47604F}, {0xF3E9DA, 0x3F4C5A}, {0xCAD7E3, 0x44546E}, {0xD98F6F, 0xF6E7D2}, {0xB7674D, 0xF1DFC8}, {0xEFD48D, 0x7A5A2E}}
	white, dusk = flat(0xFFF6E2), flat(0x232B55)
	greens      = []uint32{0x5E8F4B, 0x4B7F58, 0x7BA552, 0x3F7350}
	flowers     = []uint32{0xE4577A, 0xF2B33D, 0xF5F0E6, 0xB56BC9, 0xEF7F4D}
	goods       = []uint32{0xC8553D, 0xE3A53A, 0x4F8A78, 0x3F6C9B, 0x8C5A83, 0xD8C7A3}
)

type scene struct {
	pen
	style
	lighting
	rnd        *rand.Rand
	wall, trim paint
	left, wide float64 // of the building, whose ground is at y = 548
}

// Sketches. Inks of windows: 0 frame, 1 pane, 2 sill; the callers set the others.
const (
	arched  = "dome 0 -62 31 34; box -31 -64 62 64 0; ink 1; dome 0 -62 25 28; box -25 -62 50 56 0; ink 0; line 4 0 -88 0 -4; line 4 -25 -42 25 -42; ink 2; box -38 -6 76 8 2"
	square  = "box -31 -88 62 88 3; ink 1; box -25 -82 50 76 2; ink 0; line 4 0 -82 0 -4; line 4 -25 -46 25 -46; ink 2; box -38 -6 76 8 2"
	cloud   = "dome -34 14 38 24; dome 0 14 34 44; dome 36 14 36 26"
	plant   = "ink 1; both leaf 0 -30 24 -78 13; both leaf 0 -30 38 -58 13; both leaf 0 -30 10 -88 13; ink 0; poly -27 -36 27 -36 19 0 -19 0"
	bicycle = "both arc 46 0 30 4.5 0 6.3; line 7 -34 -50 -14 -50; ink 1; line 6 -4 0 -46 0 -22 -40 28 -40 -4 0 -22 -40; line 6 46 0 26 -54 12 -58"
	lantern = "line 7 0 0 0 -230; line 14 0 0 0 -12; ink 1; disc 0 -244 17; ink 0; dome 0 -252 22 15"
	tree    = "line 15 0 0 0 -150; line 8 0 -100 30 -150; ink 1; disc -38 -190 44; disc 40 -184 46; disc 4 -170 44; ink 2; disc -14 -232 48; disc 26 -222 40"
)

// Shop draws the front of a shop of a type, by its key, in a street: 960×640, opaque. The
// seed varies building, lighting and surroundings.
func Shop(kind string, seed uint64) image.Image { return drawShop(newPen(960, 640), kind, seed) }

func drawShop(p pen, kind string, seed uint64) image.Image {
	subject := fnv.New64a()
	subject.Write([]byte(kind))
	s := scene{pen: p, rnd: newRand(seed, subject.Sum64()), style: styleOf(kind)}
	s.lighting = pick(s.rnd, daylight)
	colours := pick(s.rnd, walls)
	s.wall, s.trim, s.wide = s.tone(colours[0]), s.tone(colours[1]), uniform(s.rnd, 560, 720)
	s.left = 480 - s.wide/2 + uniform(s.rnd, -50, 50)
	s.drawSky()
	s.drawBuilding()
	s.drawFront()
	s.drawStreet()
	return s.img
}

// tone returns a colour in the light of the scene.
func (s scene) tone(hex uint32) paint { return flat(hex).toward(dusk, s.shade) }

func (s scene) drawSky() {
	s.fill(s.sky, box(0, 0, 960, 640, 0))
	x := pick(s.rnd, []float64{70, 890})
	s.fill(flat(s.sun).withOpacity(0.2), circle(x, s.sunY, 66))
	s.fill(flat(s.sun), circle(x, s.sunY, 42))
	for range 4 {
		s.at(uniform(s.rnd, 0, 960), uniform(s.rnd, 40, 190), uniform(s.rnd, 0.6, 1.2), 0).sketch(cloud, s.tone(0xFFFFFF).toward(s.sky, 0.4))
	}
	for x := -30.0; x < 960; { // background
		w, top, c := pick(s.rnd, []float64{108, 150}), uniform(s.rnd, 230, 340), flat(pick(s.rnd, walls)[0]).toward(s.sky, 0.45).toward(dusk, s.shade*0.8)
		s.fill(c, box(x, top, w, 548-top, 0))
		s.fill(c.toward(dusk, 0.3), poly(x-8, top+4, x+w/2, top-34, x+w+8, top+4))
		for at := range 5 * int(w/40) {
			pane := pick(s.rnd, []paint{c.toward(dusk, 0.25), s.interior.toward(c, 0.3)})
			s.fill(pane, box(x+22+float64(at/5)*42, top+26+float64(at%5)*58, 22, 32, 3))
		}
		x += w
	}
}

func (s scene) drawBuilding() {
	top, l, w := pick(s.rnd, []float64{98, 118, 138}), s.left, s.wide
	s.fill(paint{s.wall.top, mix(s.wall.low, s.trim.low, 0.12)}, box(l, top, w, 548-top, 0))
	if s.rnd.IntN(2) == 0 {
		s.fill(s.trim, box(l-14, top-20, w+28, 26, 4))
		s.fill(s.trim.toward(s.wall, 0.4), box(l-4, top+6, w+8, 8, 0))
	} else { // a tiled roof
		s.fill(s.tone(0x56616B), poly(l-34, top+16, l+26, top-46, l+w-26, top-46, l+w+34, top+16))
		for x := l - 20; x < l+w+20; x += 19 {
			s.fill(s.tone(0x454E5B), append(line(3, x, top+10, x-(x-l-w/2)/w*86, top-44), circle(x+4, top+16, 8))...)
		}
	}
	window, n, plants := pick(s.rnd, []string{arched, square}), 3+s.rnd.IntN(3), s.rnd.IntN(2) == 0
	for i := range n {
		x, pane := l+30+(w-60)/float64(n)*(float64(i)+0.5), pick(s.rnd, []paint{s.interior, gradient(0x9FC3D3, 0xD5E6E6).toward(dusk, s.shade)})
		s.at(x, 246, 1, 0).sketch(window, s.trim, pane, s.trim.toward(s.wall, 0.3))
		for at := x - 32; plants && at < x+34; at += 8 {
			s.fill(s.tone(pick(s.rnd, greens)), line(5, at, 238, at+uniform(s.rnd, -6, 6), uniform(s.rnd, 220, 232))...)
			s.fill(s.tone(pick(s.rnd, flowers)), circle(at, uniform(s.rnd, 218, 231), 4.5))
		}
	}
}

// drawFront draws the ground floor: door, windows, sign and awning.
func (s scene) drawFront() {
	l, w, tile := s.left, s.wide, s.tone(s.tile)
	s.fill(tile.toward(dusk, 0.45), box(l+14, 330, w-28, 218, 0))
	door := l + 34 + pick(s.rnd, []float64{0, 0.5, 1})*(w-184)
	s.fill(tile.toward(white, 0.15), box(door, 385, 116, 163, 3))
	s.fill(s.interior, box(door+11, 396, 94, 104, 2))
	s.at(door+58, 450, 0.9, 0).sketch(s.glyph, tile, s.interior)
	for _, pane := range [][2]float64{{l + 40, door - 18}, {door + 134, l + w - 40}} {
		s.drawPane(pane[0], pane[1]-pane[0])
	}
	s.fill(s.trim, box(l-6, 262, w+12, 76, 6))
	s.fill(tile, box(l+2, 269, w-4, 62, 4))
	s.at(l+w/2, 300, 0.92, 0).sketch(s.glyph, white, tile)
	s.fill(white, append(line(4, l+50, 300, l+w/2-60, 300), line(4, l+w/2+60, 300, l+w-50, 300)...)...)
	n := 2*s.rnd.IntN(4) + 11
	for i, wide := 0, (w+16)/float64(n); i < n; i++ {
		c, x := []paint{tile, s.tone(0xFFF4E0)}[i%2], l-8+float64(i)*wide
		s.fill(c, poly(x, 338, x+wide, 338, x+wide, 380, x, 380))
		s.fill(c.toward(dusk, 0.12), dome(x+wide/2, 379.5, wide/2, -16))
	}
}

// drawPane draws a shop window and its display, if it is wide enough.
func (s scene) drawPane(x, w float64) {
	n := math.Floor(w / 62)
	if n < 1 {
		return
	}
	s.fill(s.tone(0xFFF4E0).toward(s.trim, 0.2), box(x-7, 385, w+14, 141, 4))
	s.fill(s.interior, box(x, 392, w, 126, 0))
	for i := 0.5; i < n; i++ {
		s.at(x+w*i/n, 516, 1, 0).sketch(s.inside, s.tone(0x8A5F41), s.tone(s.tile), flat(0xFFF0CC), s.tone(pick(s.rnd, goods)), s.tone(pick(s.rnd, goods)), s.tone(0x5B626B))
	}
	s.fill(flat(0xFFFFFF).withOpacity(0.2), poly(x+44, 392, x+68, 392, x+24, 518, x, 518))
}

func (s scene) drawStreet() {
	s.fill(gradient(0xD9CFC0, 0xBDB2A3).toward(dusk, s.shade), box(0, 548, 960, 46, 0))
	s.fill(gradient(0x8D8A8C, 0x6F6D74).toward(dusk, s.shade), box(0, 594, 960, 46, 0))
	for x := uniform(s.rnd, -40, 40); x < 960; x += 96 {
		s.fill(s.tone(0xC4B9A8), line(2, x, 548, x-16, 594)...)
		s.fill(s.tone(0xE8DFC8), line(4, x, 619, x+46, 619)...)
	}
	iron, green := s.tone(0x39414B), s.tone(pick(s.rnd, greens))
	for _, x := range []float64{s.left - 50, s.left + s.wide + 50} {
		switch s.rnd.IntN(3) {
		case 0:
			s.at(x, 556, 0.9, 0).sketch(bicycle, iron, s.tone(pick(s.rnd, goods)))
		case 1:
			s.fill(flat(0xFFE9A8).withOpacity(min(s.shade, 0.3)), circle(x, 336, 54))
			s.at(x, 580, 1, 0).sketch(lantern, iron, white)
		default:
			s.at(x, 570, uniform(s.rnd, 0.9, 1.15), 0).sketch(tree, s.tone(0x7A5640), green, green.toward(white, 0.12))
		}
	}
	for range 1 + s.rnd.IntN(3) {
		s.at(s.left+uniform(s.rnd, 50, s.wide-50), 584, 1, 0).sketch(plant, s.tone(pick(s.rnd, goods)), green)
	}
}
