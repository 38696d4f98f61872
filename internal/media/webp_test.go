package media

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

func TestAllWebPTypesAreDecoded(t *testing.T) {
	alpha, lossy := parseWebP(testdata(t, "alpha.webp")), parseWebP(testdata(t, "lossy.webp")).lossy
	plain := testdata(t, "lossless.webp")
	canvas := []byte{0, 0, 0, 0, 23, 0, 0, 15, 0, 0}
	transparent := bytes.Clone(canvas)
	transparent[0] = 1 << 4
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
		{"alpha, uncompressed", chunks("VP8X", transparent, "ALPH", append([]byte{0}, make([]byte, 24*16)...), "VP8 ", lossy), true},
		{"alpha without a flag", chunks("VP8X", canvas, "ALPH", append([]byte{0}, make([]byte, 24*16)...), "VP8 ", lossy), true},
		{"a flag without alpha", chunks("VP8X", transparent, "VP8 ", lossy), false},
		{"alpha without a canvas", chunks("ALPH", []byte{0, 1}, "VP8 ", lossy), false},
		{"unknown chunks", chunks("JUNK", []byte("abc"), "VP8 ", lossy, "JUNK", []byte("d")), false},
		{"trailing bytes", append(bytes.Clone(plain), "and more"...), false},
		{"total length too long", long, false},
		{"total length too short", short, false},
		{"truncated last chunk", append(bytes.Clone(plain), "EXIF\xff\xff"...), false},
	} {
		_, _, e := decoded(t, tt.file)
		if e.width != 24 || e.height != 16 || e.png != tt.png {
			t.Errorf("%s: got %d by %d, PNG %v, want 24 by 16, PNG %v", tt.name, e.width, e.height, e.png, tt.png)
		}
	}
	if len(alpha.alpha) == 0 || len(alpha.lossy) == 0 {
		t.Error("alpha.webp: got no alpha channel")
	}
}

func TestInvalidWebPsAreRejected(t *testing.T) {
	lossy := parseWebP(testdata(t, "lossy.webp")).lossy
	for name, file := range map[string][]byte{
		"truncated": testdata(t, "lossy.webp")[:60], "nothing in it": chunks(), "only a canvas": chunks("VP8X", make([]byte, 10)),
		"a canvas of another size": chunks("VP8X", []byte{0, 0, 0, 0, 30, 0, 0, 15, 0, 0}, "VP8 ", lossy),
		"alpha of another size":    chunks("VP8X", []byte{16, 0, 0, 0, 30, 0, 0, 15, 0, 0}, "ALPH", make([]byte, 31*16+1), "VP8 ", lossy),
	} {
		if _, err := bare().decode(t.Context(), bytes.NewReader(file)); refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: got %v, want %s", name, err, mediapath.Rejected)
		}
	}
}

func TestRefusalsNameFormats(t *testing.T) {
	box := func(brands string) string {
		return "\x00\x00\x00" + string(rune(8+len(brands))) + "ftyp" + brands + "\x00\x00\x00\x08mdat"
	}
	for name, tt := range map[string]struct{ file, says string }{
		"GIF": {"GIF89a\x01\x00", "a GIF"}, "BMP": {"BM\x00\x00", "a BMP"}, "TIFF": {"II*\x00\x08", "a TIFF"}, "TIFF, big-endian": {"MM\x00*", "a TIFF"},
		"HEIC": {box("heic\x00\x00\x00\x00mif1heic"), "a HEIC"}, "HEIC by its second brand": {box("mif1\x00\x00\x00\x00mif1heic"), "a HEIC"}, "HEIF": {box("mif1\x00\x00\x00\x00mif1"), "a HEIF"},
		"AVIF": {box("avif\x00\x00\x00\x00avifmif1"), "an AVIF"}, "AVIF by its second brand": {box("mif1\x00\x00\x00\x00avif"), "an AVIF"}, "a video": {box("isom\x00\x00\x00\x00mp42"), "a video"},
		"JPEG XL": {"\xff\x0a\x00", "a JPEG XL"}, "JPEG XL in boxes": {"\x00\x00\x00\x0cJXL \r\n\x87\n", "a JPEG XL"}, "JPEG 2000": {"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000"},
		"SVG": {"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG"}, "SVG with a declaration": {"\ufeff<?xml version='1.0'?>\n<!DOCTYPE svg><SVG/>", "an SVG"},
		"PDF": {"%PDF-1.7", "a PDF"}, "text": {"hello <svg", "isn't an image"}, "nothing": {"", "isn't an image"}, "one byte": {"\xff", "isn't an image"}, "a page": {"<html>", "isn't an image"},
		"a sound": {"RIFF\x00\x00\x00\x00WAVE", "isn't an image"}, "a WebP that moves": {string(testdata(t, "animated.webp")), "an animated WebP"},
	} {
		_, err := bare().decode(t.Context(), strings.NewReader(tt.file))
		if refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: got %v, want %s", name, err, mediapath.Rejected)
			continue
		}
		if text := err.Error(); !strings.Contains(text, tt.says) || !strings.Contains(text, "JPEG, PNG or WebP") {
			t.Errorf("%s: got %q, want %q and the accepted formats", name, text, tt.says)
		}
	}
}
