package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

func TestDamagedAncillaryPNGChunksAreSkipped(t *testing.T) {
	whole := pngOf(painted(60, 40))
	end := len(whole) - 12
	data := bytes.Index(whole, []byte("IDAT")) - 4
	text := pngChunk("tEXt", []byte("Comment\x00hello"))
	for name, file := range map[string][]byte{
		"text with a wrong checksum":         withChunks(whole, broken(text)),
		"a profile with a wrong checksum":    withChunks(whole, broken(iccpChunk(madeProfile{colorants: displayP3(), curve: srgbTag()}.file()))),
		"a size with a wrong checksum":       withChunks(whole, broken(pngChunk("pHYs", make([]byte, 9)))),
		"many":                               withChunks(whole, broken(text), broken(text), text, broken(pngChunk("gAMA", []byte{0, 1, 0, 0})), broken(pngChunk("abCD", nil))),
		"invalid compressed text":            withChunks(whole, pngChunk("zTXt", []byte("a\x00\x00nonsense"))),
		"a bomb of compressed text":          withChunks(whole, pngChunk("zTXt", append([]byte("a\x00\x00"), deflated(make([]byte, 64<<20))...))),
		"text without a name":                withChunks(whole, pngChunk("tEXt", nil)),
		"after the pixels":                   slices.Concat(whole[:end], broken(text), whole[end:]),
		"between the pixels":                 slices.Concat(split(whole[:end], data, broken(text)), whole[end:]),
		"transparency with a wrong checksum": withChunks(whole, broken(pngChunk("tRNS", []byte{0, 255, 0, 0, 0, 0}))),
		"transparency of a wrong length":     withChunks(whole, pngChunk("tRNS", []byte{0})),
		"transparency after the pixels":      slices.Concat(whole[:end], pngChunk("tRNS", []byte{0, 255, 0, 0, 0, 0}), whole[end:]),
		"broken palette hint":                withChunks(whole, pngChunk("PLTE", []byte{1, 2})),
		"bytes after the end":                append(bytes.Clone(whole), "and more"...),
		"no end":                             whole[:end],
		"half an end":                        whole[:end+6],
		"truncated ancillary chunk":          slices.Concat(whole[:end], text[:12]),
		"the checksum of the pixels cut off": whole[:end-2],
		"an animation":                       withChunks(whole, pngChunk("acTL", []byte{0, 0, 0, 2, 0, 0, 0, 0}), pngChunk("fcTL", make([]byte, 26))),
	} {
		if got := uploadedQuarters(t, file); got != "rbgw" {
			t.Errorf("%s: got %s, want rbgw", name, got)
		}
	}
}

// split inserts a chunk into the middle of the pixels, which begin at at.
func split(file []byte, at int, chunk []byte) []byte {
	content := file[at+8 : len(file)-4]
	half := len(content) / 2
	return slices.Concat(file[:at], pngChunk("IDAT", content[:half]), chunk, pngChunk("IDAT", content[half:]))
}

func TestDamagedCriticalPNGChunksAreRejected(t *testing.T) {
	whole := pngOf(painted(60, 40))
	data, end := bytes.Index(whole, []byte("IDAT"))-4, len(whole)-12
	head := broken(whole[8:headEnd])
	for name, file := range map[string][]byte{
		"the header":                slices.Concat(whole[:8], head, whole[headEnd:]),
		"the pixels":                slices.Concat(whole[:data], broken(whole[data:end]), whole[end:]),
		"the end":                   broken(whole),
		"unknown chunk":             withChunks(whole, broken(pngChunk("ABCD", nil))),
		"a palette":                 slices.Concat(paletted()[:headEnd], broken(paletteChunk()), paletted()[headEnd+len(paletteChunk()):]),
		"no pixels":                 slices.Concat(whole[:data], whole[end:]),
		"truncated pixels":          whole[:data+8+20],
		"too many chunks":           withChunks(whole, bytes.Repeat(pngChunk("abCD", nil), maxChunks)),
		"a header after the pixels": slices.Concat(whole[:8], whole[data:end], whole[8:data], whole[end:]),
	} {
		if _, err := bare().decode(t.Context(), bytes.NewReader(file)); refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: got %v, want %s", name, err, mediapath.Rejected)
		}
	}
}

func paletted() []byte {
	return pngOf(image.NewPaletted(image.Rect(0, 0, 32, 32), color.Palette{color.White, color.Black}))
}

// paletteChunk returns the palette of paletted.
func paletteChunk() []byte { return pngChunk("PLTE", []byte{255, 255, 255, 0, 0, 0}) }

func TestAllPNGTypesAreDecoded(t *testing.T) {
	quarter8 := painted(64, 64)
	deepImage := image.NewNRGBA64(quarter8.Rect)
	palette := image.NewPaletted(quarter8.Rect, color.Palette{quarter(0, 0), quarter(1, 0), quarter(0, 1), quarter(1, 1)})
	transparent := image.NewPaletted(quarter8.Rect, append(color.Palette{color.NRGBA{}}, palette.Palette...))
	for y := range 64 {
		for x := range 64 {
			deepImage.Set(x, y, quarter8.At(x, y))
			palette.Set(x, y, quarter8.At(x, y))
			transparent.Set(x, y, quarter8.At(x, y))
		}
	}
	transparent.SetColorIndex(0, 0, 0)
	for name, img := range map[string]image.Image{"8 bits": quarter8, "16 bits": deepImage, "a palette": palette, "a palette with transparency": transparent} {
		if got := uploadedQuarters(t, pngOf(img)); got != "rbgw" {
			t.Errorf("%s: got %s, want rbgw", name, got)
		}
	}
	if _, _, e := decoded(t, pngOf(transparent)); !e.png {
		t.Error("transparent picture: got a JPEG, want a PNG")
	}
	if got := uploadedQuarters(t, interlacedPNG()); got != "rbgw" {
		t.Errorf("interlaced: got %s, want rbgw", got)
	}
}

// interlacedPNG returns painted(64, 64) in the order of Adam7.
func interlacedPNG() []byte {
	img := painted(64, 64)
	var raw []byte
	for _, pass := range [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
		for y := pass[1]; y < 64; y += pass[3] {
			raw = append(raw, 0)
			for x := pass[0]; x < 64; x += pass[2] {
				c := img.NRGBAAt(x, y)
				raw = append(raw, c.R, c.G, c.B)
			}
		}
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 64), 64)
	return slices.Concat([]byte(pngSignature), pngChunk("IHDR", append(head, 8, 2, 0, 0, 1)), pngChunk("IDAT", deflated(raw)), pngChunk("IEND", nil))
}

func TestOrientationOfPNGAndWebPIsFound(t *testing.T) {
	whole := pngOf(painted(60, 40))
	end := len(whole) - 12
	way6 := exif(6)
	for name, file := range map[string][]byte{
		"before the pixels":                   withChunks(whole, pngChunk("eXIf", way6[6:])),
		"after the pixels":                    slices.Concat(whole[:end], pngChunk("eXIf", way6[6:]), whole[end:]),
		"big-endian":                          withChunks(whole, pngChunk("eXIf", exifOf(binary.BigEndian, 3, 6, 2, 8, "")[6:])),
		"with the identifier of JPEG":         withChunks(whole, pngChunk("eXIf", way6)),
		"after a chunk with a wrong checksum": withChunks(whole, broken(pngChunk("eXIf", exif(3)[6:])), pngChunk("eXIf", way6[6:])),
		"after a profile":                     withChunks(whole, iccpChunk([]byte("nope")), pngChunk("eXIf", way6[6:])),
	} {
		if got := uploadedQuarters(t, file); got != "grwb" {
			t.Errorf("PNG, %s: got %s, want grwb", name, got)
		}
	}
	lossy := parseWebP(testdata(t, "lossy.webp")).lossy
	before, _, _ := decoded(t, testdata(t, "lossy.webp"))
	for name, file := range map[string][]byte{
		"after the picture":           chunks("VP8X", []byte{8, 0, 0, 0, 23, 0, 0, 15, 0, 0}, "VP8 ", lossy, "EXIF", way6[6:]),
		"without a flag":              chunks("VP8X", []byte{0, 0, 0, 0, 23, 0, 0, 15, 0, 0}, "VP8 ", lossy, "EXIF", way6[6:]),
		"with the identifier of JPEG": chunks("VP8X", []byte{8, 0, 0, 0, 23, 0, 0, 15, 0, 0}, "VP8 ", lossy, "EXIF", way6),
		"before the picture":          chunks("VP8X", []byte{8, 0, 0, 0, 23, 0, 0, 15, 0, 0}, "EXIF", way6[6:], "ICCP", []byte("nope"), "VP8 ", lossy),
	} {
		screen, _, e := decoded(t, file)
		if !near(screen.At(13, 2), before.At(2, 2)) || !near(screen.At(2, 21), before.At(21, 13)) || e.width != 16 || e.height != 24 {
			t.Errorf("WebP, %s: got %d by %d, with %v and %v", name, e.width, e.height, screen.At(13, 2), screen.At(2, 21))
		}
	}
}
