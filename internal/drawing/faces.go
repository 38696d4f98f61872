package drawing

import (
	"image"
	"math"
)

var (
	discs = [][2]uint32{{0xF7C59F, 0xEF8E6B}, {0xA9D6C8, 0x5FA594}, {0xB9CDEB, 0x6F8FC4}, {0xF4DE9C, 0xE3AE4C}, {0xD9C2E6, 0x9A76B8}, {0xF3B8C1, 0xD9748B}, {0xC5DDA4, 0x86AD5D}}
	skins = []uint32{0xF8DCC4, 0xF1C9A5, 0xE0AC80, 0xC48A5E, 0x9A6643, 0x704A35}
	hairs = []uint32{0x2B2426, 0x4A3228, 0x7A4B2C, 0xB5793F, 0xD9B36C, 0x8C8C94, 0xB5563A}
	furs  = []uint32{0xD99A5B, 0x8F8A87, 0xF2E6D3, 0x6B5044, 0xB9785A, 0xC9C3BD}
)

// Parts of faces. Inks: 0 hair or fur, 1 skin or muzzle, 2 clothes, 3 dark, 4 light or rose.
var (
	heads = []string{
		"", "ink 0; box -66 -66 132 146 54; ", "ink 0; disc 0 -80 25; ",
		"ink 0; both disc 58 -16 25; both disc 54 12 25; both disc 52 -42 25; both disc 34 -64 27; disc 0 -72 29; ",
	}
	person  = "ink 2; box -76 76 152 120 54; ink 1; box -19 30 38 60 18; both disc 50 2 11; disc 0 0 50 60; ink 0; dome 0 -16 54 50; "
	fringes = []string{"dome -21 -17 31 -17; ", "dome 0 -17 52 -9; ", "dome 25 -17 27 -14; ", "arc 0 6 49 15 0.25 2.89; "}
	eyes    = []string{"ink 3; both disc 20 3 5 6.5; ", "ink 3; both arc 20 5 7.5 3.6 3.14 6.28; ", "ink 5; both disc 20 2 8.5 7.5; ink 3; both disc 20 2 4.6; "}
	mouths  = []string{"ink 3; arc 0 24 13 4 0.35 2.79", "ink 3; dome 0 28 14 -13", "ink 3; line 4 -8 33 0 35 9 32"}
	glasses = []string{"", "", "; ink 3; both arc 20 2 14.5 3.5 0 6.3; line 3.5 -6 0 6 0"}
	ears    = []string{
		"ink 0; both poly 70 -88 74 -14 14 -50; ink 4; both poly 61 -70 63 -34 32 -50; ink 3; both line 2 42 20 84 14; both line 2 42 28 84 30; ",
		"ink 0; both disc 52 -52 27; ink 1; both disc 52 -52 14; ", "ink 0; both disc 30 -78 19 52; ink 4; both disc 30 -76 9 38; ",
	}
	animal = "ink 2; box -62 62 124 120 50; ink 0; disc 0 0 77 66; ink 1; disc 0 28 38 29; ink 3; both disc 34 -8 7 9; both arc 9 27 9 4 0.2 3; disc 0 16 10 7.5; ink 5; disc 36 -11 2.6; disc -32 -11 2.6"
)

// Avatar draws the face of a person or an animal on a coloured disc: 256×256, opaque.
func Avatar(seed uint64) image.Image { return drawAvatar(newPen(256, 256), seed) }

func drawAvatar(p pen, seed uint64) image.Image {
	rnd := newRand(seed, 'a')
	disc, shirt, dark := pick(rnd, discs), flat(pick(rnd, goods)), flat(0x2F2A2E)
	c := gradient(disc[0], disc[1])
	p.fill(c, box(0, 0, 256, 256, 0))
	if rnd.IntN(3) == 0 {
		fur := flat(pick(rnd, furs))
		p.at(128, 142, 1, 0).sketch(pick(rnd, ears)+animal, fur, fur.toward(white, 0.6), shirt, dark, flat(0xE9A0A0), white)
	} else {
		words := pick(rnd, heads) + person + pick(rnd, fringes) + pick(rnd, eyes) + pick(rnd, mouths) + pick(rnd, glasses)
		p.at(128, 132, 1, 0).sketch(words, flat(pick(rnd, hairs)), flat(pick(rnd, skins)), shirt, dark, white, white)
	}
	p.fill(c.toward(flat(0xFFFFFF), 0.72), box(0, 0, 256, 256, 0), ellipseArc(128, 128, 122, 122, 2*math.Pi, 0)) // outside of the disc
	return p.img
}
