package drawing

import "image"

// A style defines the drawing of a shop type.
type style struct {
	tile   uint32 // colour of icon, awning and sign
	glyph  string // sketch within 30 units of the origin; ink 1 is for gaps
	inside string // sketch of the window display, 60 wide, upwards from the origin
}

var styles = map[string]style{
	"restaurant": {0xC8452F, "dome 0 2 27 -22; box -9 20 18 6 0; line 4 -6 -3 14 -27; line 4 4 -3 23 -23", table},
	"cafe":       {0x8A5A3B, "box -21 -8 34 27 9; arc 13 4 8 4.5 -1.6 1.6; line 4.5 -24 25 18 25; line 3.5 -12 -14 -8 -18 -12 -23 -8 -27; line 3.5 -1 -14 3 -18 -1 -23 3 -27", table},
	"fast_food":  {0xE08A1E, "dome 0 -4 26 22; line 6 -24 3.5 24 3.5; box -26 11 52 13 6; ink 1; disc 0 -18 2.6 1.6; both disc 10 -14 2.6 1.6", table},
	"bakery":     {0xC77B52, "poly -18 5 18 5 13 27 -13 27; both disc 13 -2 9; disc 0 -6 15 13; disc 0 -22 5; ink 1; both line 2.5 6 11 5 23", bread},
	"bar":        {0x6B4A9E, "poly -24 -20 24 -20 0 6; line 4.5 0 2 0 24; line 5 -12 25 12 25; ink 1; poly -15 -15.5 15 -15.5 11 -11 -11 -11; ink 0; line 3 4 -6 19 -28; disc 19 -24 5", bottles},
	"karaoke":    {0xC23B84, "disc 11 -11 13; poly -5 -8 8 5 -19 26 -26 19; ink 1; line 2.5 -3 -14 14 3; line 3 -5 5 -10 10", stage},
	"hair":       {0x2F8F9D, "both poly -14 -27 -8 -28 9 9 3 11; both disc 12 17 10; ink 1; both disc 12 17 5; disc 0 -1 2.2", mirror},
	"massage":    {0x4E9A6B, "both leaf 0 20 30 8 14; ink 1; both leaf 0 24 23 -15 24; ink 0; both leaf 0 21 22 -12 17; ink 1; leaf 0 23 0 -27 26; ink 0; leaf 0 20 0 -24 18; line 4 -15 26 15 26", lamps},
	"fitness":    {0x3A6FB5, "line 6 -21 15 21 -15; line 9 3 -20 20 3; line 9 -20 -3 -3 20; line 7 14 -23 25 -7; line 7 -25 7 -14 23", weights},
	"cinema":     {0x8E2F44, "box -25 -4 50 30 4; poly -26 -17 23 -28 25 -18 -24 -7; ink 1; poly -5 4 9 11 -5 18; poly -12 -20 -6 -21.4 -11 -10 -17 -8.6; poly 2 -23 8 -24.4 3 -13 -3 -11.6; poly 16 -26.3 22 -27.7 17 -16 11 -14.6", poster},
	"kids":       {0xE2A72E, "both disc 17 -16 10; ink 1; both disc 17 -16 4.5; ink 0; disc 0 3 25 22; ink 1; both disc 10 -3 3; disc 0 7 5 3.6; arc 0 9 7 2.5 0.4 2.74", toys},
	"books":      {0x4A6B4F, "both poly 2 -14 13 -20 28 -19 28 18 13 18 2 23; ink 1; both line 2.5 8 -8 22 -11; both line 2.5 8 0 22 -3; both line 2.5 8 8 22 5", novels},
	"market":     {0x5E9C3A, "both disc 8.5 5 14.5 19; ink 1; leaf -7 -16 7 -16 9; leaf -17 8 -14 -7 4; ink 0; line 3.5 0 -10 2 -22; leaf 3 -20 18 -28 9", fruit},
	"hotel":      {0x41588C, "line 5 -25 -16 -25 20; line 5 25 6 25 20; box -25 2 50 12 3; box -8 -9 33 15 6; ink 1; line 2.5 -20 1.5 26 1.5; ink 0; disc -15.5 -6.5 5.5", lamps},
}

// styleOf returns the style of a key of the catalogue, or a general one.
func styleOf(kind string) style {
	if l, ok := styles[kind]; ok {
		return l
	}
	return style{0x6E7682, "box -23 -8 46 34 3; poly -22 -24 22 -24 27 -6 -27 -6; both disc 20.25 -6 6.75; both disc 6.75 -6 6.75; ink 1; box 3 6 12 20 2;" +
		"box -17 6 15 11 2; line 2 0 -5 0 -22; both line 2 13.5 -5 11 -22", fruit}
}

// Window displays. Inks: 0 wood, 1 colour of the shop, 2 bright, 3 and 4 goods, 5 metal.
const (
	table   = "ink 5; line 2 0 -122 0 -96; ink 1; dome 0 -82 17 16; ink 2; dome 0 -82 8 -7; disc 0 -49 9 8; ink 0; line 6 -18 -38 18 -38; line 5 0 -38 0 0; both line 5 26 -54 26 0; both line 5 26 -26 19 -26 19 0"
	boards  = "ink 0; box -30 -4 60 6 0; box -30 -58 60 6 0; "
	bread   = "ink 5; box -30 -4 60 6 0; box -30 -58 60 6 0; ink 0; box -26 -20 24 16 7; box 3 -20 24 16 7; disc -14 -66 12 9; disc 14 -66 12 9; ink 2; line 2 -18 -16 -15 -10; line 2 12 -16 15 -10; line 2 -16 -70 -12 -64; line 2 12 -70 16 -64"
	bottles = boards + "ink 3; box -24 -28 11 24 3; box -21 -40 5 14 1; box 12 -82 12 24 3; box 15 -94 5 14 1; ink 4; box -4 -25 13 21 4; box 0 -40 5 17 1; box -22 -84 12 26 3; box -19 -98 5 16 1; ink 1; box 15 -30 11 26 3; box 18 -42 5 14 1; box -5 -80 12 22 4; box -2 -96 5 18 1; ink 2; box -24 -18 11 8 0; box 15 -20 11 8 0; box 12 -74 12 8 0"
	novels  = boards + "ink 3; box -27 -40 8 36 0; box -2 -38 7 34 0; box -18 -94 7 36 0; box 12 -90 8 32 0; ink 4; box -18 -34 7 30 0; box 6 -42 9 38 0; box -27 -90 8 32 0; box 3 -96 8 38 0; ink 1; box -10 -42 7 38 0; box 17 -36 9 32 0; box -10 -88 7 30 0; box 21 -95 7 37 0; ink 2; box -6 -93 5 35 0"
	fruit   = boards + "ink 3; both disc 21 -22 7; disc 15 -31 7; disc -15 -31 7; both disc 9 -22 7; ink 4; both disc 9 -76 7; both disc 21 -76 7; both disc 15 -85 7; ink 0; both box 2 -19 26 15 2; both box 2 -73 26 15 2"
	weights = boards + "ink 3; both disc 14 -14 11; ink 4; both disc 14 -68 10; ink 5; both arc 14 -25 6 4 3.1 6.3; both arc 14 -78 6 4 3.1 6.3"
	mirror  = "ink 4; disc 0 -84 24 32; ink 2; disc 0 -84 19 27; ink 1; box -19 -48 38 28 9; ink 5; line 5 0 -20 0 -2; line 5 -15 0 15 0"
	lamps   = "ink 1; both box 22 -122 8 124 0; ink 0; box -21 -32 42 34 4; ink 2; disc -9 -50 10 14; ink 5; line 3 10 -42 10 -32; ink 3; disc 10 -48 8"
	stage   = "ink 1; box -33 -124 66 126 0; ink 2; poly -16 -124 -12 -124 -2 0 -30 0; ink 3; poly -3 -122 3 -122 28 0 -14 0; ink 4; poly 7 -122 11 -122 8 0 -28 0; ink 5; line 3 0 -122 0 -96; disc 0 -84 15; ink 2; disc -5 -90 4"
	poster  = "ink 2; box -27 -116 54 106 3; ink 3; box -22 -111 44 96 0; ink 4; disc 6 -88 12; poly -22 -15 -22 -44 -8 -58 6 -40 22 -52 22 -15"
	toys    = "ink 3; box -27 -26 26 28 3; box 6 -78 1 50 0; disc 6 -86 12 15; ink 4; box 2 -22 24 24 3; box -20 -70 1 44 0; disc -20 -80 12 15; ink 1; box -14 -46 22 20 3"
)

// Icon draws the icon of a shop type by its key: a glyph on a rounded tile, 96×96, on a
// transparent background. An unknown key has a general icon.
func Icon(kind string) image.Image {
	p, l := newPen(96, 96), styleOf(kind)
	p.fill(paint{mix(rgb(l.tile), rgb(0xFFFFFF), 0.12), rgb(l.tile)}, box(3, 3, 90, 90, 22))
	p.at(48, 48, 1, 0).sketch(l.glyph, flat(0xFFF9EC), flat(l.tile))
	return p.img
}
