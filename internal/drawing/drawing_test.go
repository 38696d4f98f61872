package drawing

import (
	"bytes"
	"image"
	"image/color"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/shop"
)

// A sample draws a picture from a seed, at full or reduced size: the race detector needs
// half a minute for ten large pictures.
type sample struct {
	size  image.Point
	full  func(seed uint64) image.Image
	small func(p pen, seed uint64) image.Image
}

func samples() map[string]sample {
	all := map[string]sample{
		"dish":   {image.Pt(800, 800), Dish, drawDish},
		"avatar": {image.Pt(256, 256), Avatar, drawAvatar},
	}
	for _, kind := range append(shop.Catalogue(), shop.TypeSpec{Key: "no such kind"}) {
		all["shop: "+kind.Key] = sample{
			image.Pt(960, 640),
			func(seed uint64) image.Image { return Shop(kind.Key, seed) },
			func(p pen, seed uint64) image.Image { return drawShop(p, kind.Key, seed) },
		}
	}
	return all
}

func (d sample) eighth(seed uint64) image.Image {
	p := newPen(d.size.X/8, d.size.Y/8)
	p.scale = 1.0 / 8
	return d.small(p, seed)
}

func pixels(t *testing.T, m image.Image) []byte {
	t.Helper()
	rgba, ok := m.(*image.RGBA)
	if !ok {
		t.Fatalf("got a %T, want *image.RGBA", m)
	}
	return rgba.Pix
}

func TestIconsAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, kind := range append(shop.Catalogue(), shop.TypeSpec{Key: "no such kind"}) {
		icon := Icon(kind.Key)
		if got, want := icon.Bounds(), image.Rect(0, 0, 96, 96); got != want {
			t.Errorf("icon of %s: got %v, want %v", kind.Key, got, want)
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
	if !bytes.Equal(pixels(t, Icon("no such kind")), pixels(t, Icon(""))) {
		t.Error("icons of unknown types differ")
	}
}

// glyphOf returns the shape of an icon without its colours: the pixels that are as light
// as its ink.
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

func TestEachTypeHasStyle(t *testing.T) {
	for _, kind := range shop.Catalogue() {
		if _, ok := styles[kind.Key]; !ok {
			t.Errorf("type %s has no style", kind.Key)
		}
	}
	if got, want := len(styles), len(shop.Catalogue()); got != want {
		t.Errorf("got %d styles for %d types", got, want)
	}
}

func TestPicturesAreOpaque(t *testing.T) {
	for _, name := range []string{"dish", "avatar", "shop: cafe"} {
		d := samples()[name]
		m, ok := d.full(1).(*image.RGBA)
		if !ok || m.Rect != (image.Rectangle{Max: d.size}) || !m.Opaque() {
			t.Errorf("%s: a %T of %v, opaque: %v", name, m, m.Rect, m.Opaque())
		}
		if !bytes.Equal(m.Pix, pixels(t, d.full(1))) {
			t.Errorf("%s: the same seed draws different pictures", name)
		}
	}
}

func TestSeedsDrawDistinctPictures(t *testing.T) {
	for name, d := range samples() {
		t.Run(name, func(t *testing.T) {
			last := uint64(200)
			if strings.HasPrefix(name, "shop: ") && name != "shop: cafe" {
				last = 20 // all types share the variations
			}
			seen := map[string]uint64{}
			for seed := range last + 1 {
				m := d.eighth(seed)
				if !m.(*image.RGBA).Opaque() {
					t.Fatalf("seed %d: the picture is not opaque", seed)
				}
				if other, ok := seen[string(pixels(t, m))]; ok && name != "avatar" { // there are fewer avatars than seeds
					t.Errorf("seeds %d and %d draw the same picture", seed, other)
				}
				seen[string(pixels(t, m))] = seed
			}
			if got, want := len(seen), int(last)/2; got < want {
				t.Errorf("got %d pictures of %d seeds", got, last+1)
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	b.Run("icon", func(b *testing.B) {
		for b.Loop() {
			Icon("massage")
		}
	})
	for _, name := range []string{"shop: books", "dish", "avatar"} {
		draw := samples()[name].full
		b.Run(name, func(b *testing.B) {
			for seed := uint64(0); b.Loop(); seed++ {
				draw(seed)
			}
		})
	}
}
