package drawing

import (
	"image"
	"math"
	"math/rand/v2"
)

// Tables, tableware and food. Each sketch has its own inks.
var (
	woods  = [][2]uint32{{0xB98558, 0xA87448}, {0x7E563C, 0x6E4931}, {0xD9B98F, 0xCBA97D}, {0x9AA3A0, 0x8C9592}}
	broths = []uint32{0xC9682B, 0xE0B15A, 0x9A4A2A, 0xD8C9A0}
	pasta  = []uint32{0xF3DCA0, 0xEBCD85, 0xF8E7B8}
	leaves = []uint32{0x5E9C3A, 0x7DB84E, 0xA3CF6B, 0x3F7F3A, 0x6B3A5A}
	plates = [][2]uint32{{0xFBF7EF, 0xE6DFD2}, {0x34495E, 0x2A3B4D}, {0xDCE8E4, 0xB9CDC6}, {0xF0D9C0, 0xD9B896}, {0x3C3A3B, 0x2E2C2D}}

	tools = []string{
		"ink 3; line 13 -13 -230 -9 20; line 13 13 -230 9 20; ink 2; line 10 -11 0 -9 240; line 10 11 0 9 240",
		"ink 1; box -52 -220 104 440 0; ink 0; line 15 0 -40 0 180; box -24 -116 48 84 22; both line 7 18 -176 18 -96; both line 7 6 -176 6 -96",
	}
	eggsAndMeat = "disc -112 -62 62 54; disc -96 62 58 52; ink 1; disc -108 -60 31; disc -94 64 29; ink 2; disc 118 -80 70 34; ink 3; arc 118 -80 24 6 0 4;" +
		"ink 2; disc 126 -34 70 34; ink 3; arc 126 -34 24 6 0 4; ink 2; disc 122 14 70 34; ink 3; arc 122 14 24 6 0 4"
	toppings = []string{
		"ink 1; disc 4 6 36; ink 0; disc 0 0 35; ink 2; disc 0 0 27; ink 0; disc 0 -13 5 8; both disc 12 8 6",
		"ink 1; box -15 -12 40 40 6; ink 3; box -20 -20 40 40 6", "ink 4; disc 0 0 14; ink 3; disc -3 -3 4",
	}
	cup = "ink 1; disc 8 14 176; ink 0; box 130 -24 130 48 22; disc 0 0 170; ink 2; disc 0 0 148; ink 3; arc 0 0 138 12 0 6.3; ink 5; box -236 40 80 68 16;" +
		"ink 4; line 13 -90 226 110 226; disc -104 226 42 27; ink 6;"
	milk = []string{
		"both disc 42 -28 52; poly -89 -6 89 -6 0 104; disc 0 -4 40", "arc 0 14 104 12 0 6.3; arc 0 2 76 12 0 6.3; arc 0 -9 48 12 0 6.3; disc 0 -18 22",
		"line 7 0 -118 0 112; both leaf 0 80 80 30 26; both leaf 0 40 86 -14 26; both leaf 0 -4 74 -54 24; both leaf 0 -44 54 -88 20",
	}
)

// Dish draws a plate, a bowl or a cup on a table from above: 800×800, opaque.
func Dish(seed uint64) image.Image { return drawDish(newPen(800, 800), seed) }

func drawDish(p pen, seed uint64) image.Image {
	rnd := newRand(seed, 'd')
	wood, ware := pick(rnd, woods), pick(rnd, plates)
	for y := 0.0; y < 800; y += 160 {
		p.fill(gradient(wood[0], wood[1]).toward(dusk, uniform(rnd, 0, 0.1)), box(0, y, 800, 160, 0))
		p.fill(flat(0x2A1A10).withOpacity(0.4), box(0, y-2, 800, 3, 0))
	}
	p.at(pick(rnd, []float64{62, 738}), 400, 1, uniform(rnd, -0.1, 0.1)).sketch(pick(rnd, tools), gradient(0xF2F4F5, 0xB4BABF), flat(pick(rnd, flowers)).toward(white, 0.4), flat(0xC99A62), flat(0x7A2F25))
	p.fill(flat(0x000000).withOpacity(0.25), circle(412, 420, 300))
	p = p.at(400, 400, uniform(rnd, 0.94, 1.03), uniform(rnd, -3, 3))
	p.fill(gradient(ware[0], ware[1]), circle(0, 0, 300))
	p.fill(flat(pick(rnd, goods)), arc(0, 0, 284, 5, 0, 2*math.Pi))
	p.fill(gradient(ware[1], ware[0]), circle(0, 0, 246))
	pick(rnd, []func(pen, *rand.Rand){noodles, salad, coffee})(p, rnd)
	return p.img
}

// scatter calls put for n evenly spread points of a disc of radius r, from the edge to
// the middle.
func scatter(n int, r float64, put func(x, y float64)) {
	for i := n; i > 0; i-- {
		sin, cos := math.Sincos(2.39996 * float64(i)) // the golden angle
		put(r*math.Sqrt(float64(i)/float64(n))*cos, r*math.Sqrt(float64(i)/float64(n))*sin)
	}
}

func noodles(p pen, rnd *rand.Rand) {
	p.fill(flat(pick(rnd, broths)), circle(0, 0, 244))
	for range 70 {
		x, y, r, from := uniform(rnd, -90, 90), uniform(rnd, -90, 90), uniform(rnd, 34, 104), uniform(rnd, 0, 6)
		p.fill(flat(0x9C6A2E).withOpacity(0.5), arc(x+2, y+3, r, 10, from, from+2.4))
		p.fill(flat(pick(rnd, pasta)), arc(x, y, r, 8, from, from+2.4))
	}
	p.sketch(eggsAndMeat, white, gradient(0xF7B733, 0xE88D1D), gradient(0xC0745A, 0x96492F), flat(0xE7B79C))
	scatter(50, 205, func(x, y float64) {
		p.fill(flat(pick(rnd, greens)), arc(x+uniform(rnd, -9, 9), y, uniform(rnd, 5, 8), 4, 0, 2*math.Pi))
	})
}

func salad(p pen, rnd *rand.Rand) {
	scatter(90, 216, func(x, y float64) {
		l, c := p.at(x, y, 1, math.Atan2(y, x)+uniform(rnd, -0.9, 0.9)), flat(pick(rnd, leaves))
		l.sketch("leaf -44 0 44 0 52; ink 1; line 2.5 -44 0 44 0", c, c.toward(white, 0.35))
	})
	c := flat(pick(rnd, flowers))
	scatter(24, 190, func(x, y float64) {
		p.at(x, y, uniform(rnd, 0.8, 1.1), uniform(rnd, 0, 6)).sketch(pick(rnd, toppings), c, flat(0x2A3A1A).withOpacity(0.35), c.toward(white, 0.4), white, flat(0x3A2A4A))
	})
}

func coffee(p pen, rnd *rand.Rand) {
	p.sketch(cup+pick(rnd, milk), flat(pick(rnd, plates)[0]), flat(0x000000).withOpacity(0.2), gradient(0x8A4F28, 0x6B3818), flat(0xC98E55),
		gradient(0xF2F4F5, 0xA8AEB4), gradient(0xD9A25E, 0xB8793A), flat(0xF8E9D0))
}
