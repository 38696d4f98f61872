package town

import (
	"bytes"
	"image"
	"image/color"
	"testing"

	"github.com/tandian-dev/tandian/internal/shop"
)

// drawings are all that can be drawn by a seed: of what size, and by what.
func drawings() map[string]struct {
	size image.Point
	draw func(seed uint64) image.Image
} {
	all := map[string]struct {
		size image.Point
		draw func(seed uint64) image.Image
	}{
		"dish":   {image.Pt(800, 800), DrawDish},
		"avatar": {image.Pt(256, 256), DrawAvatar},
	}
	for _, kind := range append(shop.Catalogue(), shop.Kind{Key: "no such kind"}) {
		drawing := all["shop: "+kind.Key]
		drawing.size = image.Pt(960, 640)
		drawing.draw = func(seed uint64) image.Image { return DrawShop(kind.Key, seed) }
		all["shop: "+kind.Key] = drawing
	}
	return all
}

func pixels(t *testing.T, m image.Image) []byte {
	t.Helper()
	rgba, ok := m.(*image.RGBA)
	if !ok {
		t.Fatalf("the drawing is a %T", m)
	}
	return rgba.Pix
}

func TestEachKindOfShopHasItsOwnIcon(t *testing.T) {
	seen := map[string]string{}
	for _, kind := range append(shop.Catalogue(), shop.Kind{Key: "no such kind"}) {
		icon := DrawIcon(kind.Key)
		if got, want := icon.Bounds(), image.Rect(0, 0, 96, 96); got != want {
			t.Errorf("the icon of %s: %v, want %v", kind.Key, got, want)
		}
		for _, corner := range []image.Point{{0, 0}, {95, 0}, {0, 95}, {95, 95}} {
			if _, _, _, a := icon.At(corner.X, corner.Y).RGBA(); a != 0 {
				t.Errorf("the icon of %s is not transparent at %v", kind.Key, corner)
			}
		}
		if _, _, _, a := icon.At(48, 8).RGBA(); a != 0xFFFF {
			t.Errorf("the icon of %s has no tile", kind.Key)
		}
		if other, ok := seen[glyphOf(icon)]; ok {
			t.Errorf("%s and %s have the same glyph", kind.Key, other)
		}
		seen[glyphOf(icon)] = kind.Key
	}
	if !bytes.Equal(pixels(t, DrawIcon("no such kind")), pixels(t, DrawIcon(""))) {
		t.Error("unknown kinds differ")
	}
}

// glyphOf is the form of an icon without its colours: where it is as light as its ink.
func glyphOf(icon image.Image) string {
	var form []byte
	for y := range 96 {
		for x := range 96 {
			c := color.NRGBAModel.Convert(icon.At(x, y)).(color.NRGBA)
			form = append(form, map[bool]byte{true: '#', false: ' '}[min(c.R, c.G, c.B) > 210])
		}
	}
	return string(form)
}

func TestEachKindInTheCatalogueHasALookOfItsOwn(t *testing.T) {
	for _, kind := range shop.Catalogue() {
		if _, ok := looks[kind.Key]; !ok {
			t.Errorf("%s is drawn like a shop of no kind", kind.Key)
		}
	}
	if got, want := len(looks), len(shop.Catalogue()); got != want {
		t.Errorf("%d looks for %d kinds", got, want)
	}
}

func TestASeedDrawsOnePictureAndOthersAnother(t *testing.T) {
	for name, d := range drawings() {
		t.Run(name, func(t *testing.T) {
			seen := map[string]uint64{}
			for seed := range uint64(5) {
				m := d.draw(seed)
				if got := m.Bounds(); got != (image.Rectangle{Max: d.size}) {
					t.Fatalf("seed %d: %v, want %v", seed, got, d.size)
				}
				if seed < 2 && !bytes.Equal(pixels(t, m), pixels(t, d.draw(seed))) {
					t.Errorf("seed %d drew two pictures", seed)
				}
				if other, ok := seen[string(pixels(t, m))]; ok {
					t.Errorf("seeds %d and %d drew the same", seed, other)
				}
				seen[string(pixels(t, m))] = seed
			}
		})
	}
}

func TestEverySeedDrawsAWholePicture(t *testing.T) {
	for name, d := range drawings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := uint64(1)
			if len(name) > len("avatar") { // fourteen kinds share the seeds
				step = 14
			}
			for seed := uint64(0); seed <= 200; seed += step {
				m, ok := d.draw(seed + uint64(len(name))%step).(*image.RGBA)
				if !ok || !m.Opaque() {
					t.Fatalf("seed %d: the picture is not opaque", seed)
				}
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	b.Run("icon", func(b *testing.B) {
		for b.Loop() {
			DrawIcon("massage")
		}
	})
	for _, name := range []string{"shop: books", "dish", "avatar"} {
		draw := drawings()[name].draw
		b.Run(name, func(b *testing.B) {
			for seed := uint64(0); b.Loop(); seed++ {
				draw(seed)
			}
		})
	}
}
