package media

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

func TestWebPsOfAllSortsAreDecoded(t *testing.T) {
	alpha, lossy := parseWebP(testdata(t, "alpha.webp")), parseWebP(testdata(t, "lossy.webp")).lossy
	plain := testdata(t, "lossless.webp")
	canvas := []byte{0, 0, 0, 0, 23, 0, 0, 15, 0, 0}
	glass := bytes.Clone(canvas)
	glass[0] = 1 << 4
	long := bytes.Clone(plain)
	binary.LittleEndian.PutUint32(long[4:], 1<<30)
	short := bytes.Clone(plain)
	binary.LittleEndian.PutUint32(short[4:], 4)
	for _, tt := range []struct {
		name string
		file []byte
		png  bool
	}{
		{"alpha, compressed", testdata(t, "alpha.webp"), true},
		{"alpha, as it is", chunks("VP8X", glass, "ALPH", append([]byte{0}, make([]byte, 24*16)...), "VP8 ", lossy), true},
		{"alpha without a flag", chunks("VP8X", canvas, "ALPH", append([]byte{0}, make([]byte, 24*16)...), "VP8 ", lossy), true},
		{"a flag without alpha", chunks("VP8X", glass, "VP8 ", lossy), false},
		{"alpha without a canvas", chunks("ALPH", []byte{0, 1}, "VP8 ", lossy), false},
		{"unknown chunks", chunks("JUNK", []byte("abc"), "VP8 ", lossy, "JUNK", []byte("d")), false},
		{"bytes behind it", append(bytes.Clone(plain), "and more"...), false},
		{"a length of the whole that is too long", long, false},
		{"a length of the whole that is too short", short, false},
		{"a chunk behind it that is cut off", append(bytes.Clone(plain), "EXIF\xff\xff"...), false},
	} {
		_, _, e := decoded(t, tt.file)
		if e.width != 24 || e.height != 16 || e.png != tt.png {
			t.Errorf("%s: it is %d by %d, a PNG: %v", tt.name, e.width, e.height, e.png)
		}
	}
	if len(alpha.alpha) == 0 || len(alpha.lossy) == 0 {
		t.Error("the file with alpha has none")
	}
}

func TestWebPsThatCannotBeDecodedAreRefused(t *testing.T) {
	lossy := parseWebP(testdata(t, "lossy.webp")).lossy
	for name, file := range map[string][]byte{
		"cut off": testdata(t, "lossy.webp")[:60], "nothing in it": chunks(), "only a canvas": chunks("VP8X", make([]byte, 10)),
		"a canvas of another size": chunks("VP8X", []byte{0, 0, 0, 0, 30, 0, 0, 15, 0, 0}, "VP8 ", lossy),
		"alpha of another size":    chunks("VP8X", []byte{16, 0, 0, 0, 30, 0, 0, 15, 0, 0}, "ALPH", make([]byte, 31*16+1), "VP8 ", lossy),
	} {
		if _, err := bare().decode(t.Context(), bytes.NewReader(file)); refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusalsNameTheFormatAndWhatIsAccepted(t *testing.T) {
	box := func(brands string) string {
		return "\x00\x00\x00" + string(rune(8+len(brands))) + "ftyp" + brands + "\x00\x00\x00\x08mdat"
	}
	for name, tt := range map[string]struct{ file, says string }{
		"GIF": {"GIF89a\x01\x00", "a GIF"}, "BMP": {"BM\x00\x00", "a BMP"}, "TIFF": {"II*\x00\x08", "a TIFF"}, "TIFF, big-endian": {"MM\x00*", "a TIFF"},
		"HEIC": {box("heic\x00\x00\x00\x00mif1heic"), "a HEIC"}, "HEIC by its second brand": {box("mif1\x00\x00\x00\x00mif1heic"), "a HEIC"}, "HEIF": {box("mif1\x00\x00\x00\x00mif1"), "a HEIF"},
		"AVIF": {box("avif\x00\x00\x00\x00avifmif1"), "an AVIF"}, "AVIF by its second brand": {box("mif1\x00\x00\x00\x00avif"), "an AVIF"}, "a video": {box("isom\x00\x00\x00\x00mp42"), "a video"},
		"JPEG XL": {"\xff\x0a\x00", "a JPEG XL"}, "JPEG XL in boxes": {"\x00\x00\x00\x0cJXL \r\n\x87\n", "a JPEG XL"}, "JPEG 2000": {"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000"},
		"SVG": {"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG"}, "SVG with a declaration": {"\ufeff<?xml version='1.0'?>\n<!DOCTYPE svg><SVG/>", "an SVG"},
		"PDF": {"%PDF-1.7", "a PDF"}, "text": {"hello <svg", "not a picture"}, "nothing": {"", "not a picture"}, "one byte": {"\xff", "not a picture"}, "a page": {"<html>", "not a picture"},
		"a sound": {"RIFF\x00\x00\x00\x00WAVE", "not a picture"}, "a WebP that moves": {string(testdata(t, "animated.webp")), "an animated WebP"},
	} {
		_, err := bare().decode(t.Context(), strings.NewReader(tt.file))
		if refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, tt.says) || !strings.Contains(text, "JPEG, PNG or WebP") {
			t.Errorf("%s: it says %s", name, text)
		}
	}
}
