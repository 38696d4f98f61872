package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"testing"
)

// adobeRGB, proPhoto and rec2020 return the colorants in profiles, adapted to D50.
func adobeRGB() [3][3]float64 {
	return [3][3]float64{{0.60974, 0.31111, 0.01947}, {0.20528, 0.62567, 0.06087}, {0.14919, 0.06322, 0.74457}}
}

func proPhoto() [3][3]float64 {
	return [3][3]float64{{0.79767, 0.28804, 0}, {0.13519, 0.71187, 0}, {0.03134, 0.00009, 0.82491}}
}

func rec2020() [3][3]float64 {
	return [3][3]float64{{0.67348, 0.27904, -0.00194}, {0.16566, 0.67535, 0.02998}, {0.12505, 0.04561, 0.79686}}
}

func srgbColorants() [3][3]float64 {
	return [3][3]float64{{0.43607, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}}
}

// unadapted returns the colorants of sRGB in old profiles, with a D65 white.
func unadapted() [3][3]float64 {
	return [3][3]float64{{0.4124, 0.2126, 0.0193}, {0.3576, 0.7152, 0.1192}, {0.1805, 0.0722, 0.9505}}
}

// middle uploads a file and returns its middle colour.
func middle(t *testing.T, file []byte) color.NRGBA {
	t.Helper()
	screen, small, _ := decoded(t, file)
	at := func(img image.Image) color.NRGBA {
		b := img.Bounds()
		return color.NRGBAModel.Convert(img.At(b.Dx()/2, b.Dy()/2)).(color.NRGBA)
	}
	if !similar(at(screen), at(small), 3) {
		t.Errorf("thumbnail: got %v, want %v as on the screen", at(small), at(screen))
	}
	return at(screen)
}

// similar reports whether no channel differs by more than limit of 255.
func similar(a, b color.NRGBA, limit int) bool {
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B), int(a.A) - int(b.A)} {
		if max(d, -d) > limit {
			return false
		}
	}
	return true
}

func rgb(r, g, b uint8) color.NRGBA { return color.NRGBA{r, g, b, 255} }

// The expected colours follow from the formulas of IEC 61966-2-1 and the published chromaticities.
func TestColorProfilesAreConvertedToSRGB(t *testing.T) {
	gamma22 := func(v float64) float64 { return math.Pow(v, 2.2) }
	for _, tt := range []struct {
		name       string
		profile    madeProfile
		file, want color.NRGBA
	}{
		{"Display P3 red", madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}, rgb(234, 51, 35), rgb(255, 0, 0)},
		{"Display P3 green", madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}, rgb(117, 251, 76), rgb(0, 255, 0)},
		{"Display P3 beyond sRGB", madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}, rgb(255, 0, 0), rgb(255, 0, 0)},
		{"Display P3 grey", madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}, rgb(90, 90, 90), rgb(90, 90, 90)},
		{"Display P3 by samples", madeProfile{colorants: displayP3(), curve: sampledTag(1024, srgbToLight), version: 2}, rgb(234, 51, 35), rgb(255, 0, 0)},
		{"Adobe RGB red", madeProfile{colorants: adobeRGB(), curve: gammaTag(2.19921875), version: 2}, rgb(219, 0, 0), rgb(255, 0, 0)},
		{"Adobe RGB green", madeProfile{colorants: adobeRGB(), curve: gammaTag(2.19921875), version: 2}, rgb(144, 255, 60), rgb(0, 255, 0)},
		{"Adobe RGB by samples", madeProfile{colorants: adobeRGB(), curve: sampledTag(256, gamma22), version: 2}, rgb(219, 0, 0), rgb(255, 0, 0)},
		{"ProPhoto", madeProfile{colorants: proPhoto(), curve: gammaTag(1.8), version: 2}, rgb(179, 70, 26), rgb(255, 0, 0)},
		{"Rec. 2020", madeProfile{colorants: rec2020(), curve: formulaTag(3, 1/0.45, 1/1.0993, 0.0993/1.0993, 1/4.5, 0.0812)}, rgb(202, 59, 19), rgb(255, 0, 0)},
		{"sRGB", madeProfile{colorants: srgbColorants(), curve: srgbTag(), version: 4}, rgb(12, 34, 56), rgb(12, 34, 56)},
		{"sRGB without adapted white", madeProfile{colorants: unadapted(), curve: sampledTag(4096, srgbToLight), version: 2}, rgb(200, 200, 200), rgb(200, 200, 200)},
		{"linear", madeProfile{colorants: srgbColorants(), curve: sampledTag(0, nil), version: 2}, rgb(55, 55, 55), rgb(128, 128, 128)},
		{"scanner", madeProfile{colorants: displayP3(), curve: srgbTag(), version: 2, class: "scnr"}, rgb(234, 51, 35), rgb(255, 0, 0)},
	} {
		profile := tt.profile.file()
		plain := jpegOf(flat(32, 32, tt.file))
		for name, file := range map[string][]byte{
			"JPEG": jpegWithProfile(plain, profile, 60_000), "JPEG in parts": jpegWithProfile(plain, profile, ceil(len(profile), 3)),
			"JPEG in parts in another order": jpegWithProfile(plain, profile, ceil(len(profile), 3), 2, 0, 1),
			"PNG":                            withChunks(pngOf(flat(32, 32, tt.file)), iccpChunk(profile)), "WebP": losslessWebP(tt.file, "ICCP", profile),
			"PNG of 16 bits": withChunks(pngOf(deepFlat(tt.file)), iccpChunk(profile)),
		} {
			// A JPEG rounds its colours before the conversion.
			if got := middle(t, file); !similar(got, tt.want, 6) {
				t.Errorf("%s, %s: got %v, want %v", tt.name, name, got, tt.want)
			}
		}
	}
}

func deepFlat(c color.NRGBA) image.Image {
	img := image.NewNRGBA64(image.Rect(0, 0, 32, 32))
	for y := range 32 {
		for x := range 32 {
			img.Set(x, y, c)
		}
	}
	return img
}

// losslessWebP returns a picture of one colour, with a chunk before or after it.
func losslessWebP(c color.NRGBA, name string, content []byte) []byte {
	w := newLosslessWebP(32)
	w.put(0, 1)
	for _, v := range []uint8{c.G, c.R, c.B, c.A} {
		w.symbol(uint32(v))
	}
	w.none()
	w.put(0, 32)
	canvas := []byte{0, 0, 0, 0, 31, 0, 0, 31, 0, 0}
	if name == "EXIF" {
		return chunks("VP8X", canvas, "VP8L", w.b, name, content)
	}
	return chunks("VP8X", canvas, name, content, "VP8L", w.b)
}

func TestGrayProfilesAreConverted(t *testing.T) {
	gray := image.NewGray(image.Rect(0, 0, 32, 32))
	for i := range gray.Pix {
		gray.Pix[i] = 55
	}
	linear := madeProfile{gray: true, curve: gammaTag(1), version: 2}.file()
	for name, file := range map[string][]byte{
		"JPEG": jpegWithProfile(jpegOf(gray), linear, 60_000), "PNG": withChunks(pngOf(gray), iccpChunk(linear)),
		"RGB profile": jpegWithProfile(jpegOf(gray), madeProfile{colorants: srgbColorants(), curve: gammaTag(1), version: 2}.file(), 60_000),
	} {
		if got := middle(t, file); !similar(got, rgb(128, 128, 128), 3) {
			t.Errorf("%s: got %v, want 128", name, got)
		}
	}
	// A colour picture cannot have a grey profile.
	if got := middle(t, withChunks(pngOf(flat(32, 32, rgb(55, 60, 65))), iccpChunk(linear))); !similar(got, rgb(55, 60, 65), 3) {
		t.Errorf("colour: got %v, want no conversion", got)
	}
}

func TestUnusableProfilesAreIgnored(t *testing.T) {
	good := madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}.file()
	with := func(at int, text string) []byte {
		profile := bytes.Clone(good)
		copy(profile[at:], text)
		return profile
	}
	of := func(p madeProfile) []byte { return p.file() }
	for name, profile := range map[string][]byte{
		"empty": nil, "truncated": good[:100], "truncated tags": good[:len(good)-30], "no signature": with(36, "nope"), "CMYK": with(16, "CMYK"), "Lab": with(16, "Lab "),
		"link": with(12, "link"), "other connection space": with(20, "Lab "), "no tags": with(128, "\x00\x00\x00\x00"), "unknown curve": of(madeProfile{colorants: displayP3(), curve: []byte("what\x00\x00\x00\x00\x00\x00\x00\x00")}),
		"unknown formula":             of(madeProfile{colorants: displayP3(), curve: formulaTag(9, 1)}),
		"formula that divides by 0":   of(madeProfile{colorants: displayP3(), curve: formulaTag(1, 2, 0, 1)}),
		"exponent of 0":               of(madeProfile{colorants: displayP3(), curve: gammaTag(0)}),
		"more samples than there are": of(madeProfile{colorants: displayP3(), curve: binary.BigEndian.AppendUint32([]byte("curv\x00\x00\x00\x00"), 1<<31)}),
		"colours without light":       of(madeProfile{curve: srgbTag()}),
		"missing tag":                 with(132, "nope"),
		"tag after the end":           with(136, "\xff\xff\xff\xff"),
	} {
		want := rgb(234, 51, 35)
		plain := jpegOf(flat(32, 32, want))
		if len(profile) > 0 {
			if got := middle(t, jpegWithProfile(plain, profile, 60_000)); !similar(got, want, 4) {
				t.Errorf("%s, JPEG: got %v, want %v", name, got, want)
			}
		}
		if got := middle(t, withChunks(pngOf(flat(32, 32, want)), iccpChunk(profile))); !similar(got, want, 1) {
			t.Errorf("%s, PNG: got %v, want %v", name, got, want)
		}
		if got := middle(t, losslessWebP(want, "ICCP", profile)); !similar(got, want, 4) {
			t.Errorf("%s, WebP: got %v, want %v", name, got, want)
		}
	}
	file := jpegOf(flat(32, 32, rgb(234, 51, 35)))
	for name, file := range map[string][]byte{
		"missing part": jpegWithProfile(file, good, ceil(len(good), 3), 0, 2), "no parts": withSegment(file, 0xe2, []byte("ICC_PROFILE\x00\x00\x00")),
		"too short": withSegment(file, 0xe2, []byte("ICC_PROFILE\x00\x01")),
	} {
		if got := middle(t, file); !similar(got, rgb(234, 51, 35), 4) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	// CMYK is converted without its profile.
	m := made{w: 32, h: 32, parts: ones("\x01\x02\x03\x04"), adobe: 0, components: inkless}
	if got := uploadedQuarters(t, jpegWithProfile(m.file(), with(16, "CMYK"), 60_000)); got != "rbgw" {
		t.Errorf("CMYK: got %s, want rbgw", got)
	}
}

func TestPNGColorChunksHavePrecedence(t *testing.T) {
	be := binary.BigEndian
	numbers := func(all ...uint32) (b []byte) {
		for _, n := range all {
			b = be.AppendUint32(b, n)
		}
		return b
	}
	p3 := pngChunk("cHRM", numbers(31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000))
	srgb := pngChunk("cHRM", numbers(31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000))
	gamma := func(v uint32) []byte { return pngChunk("gAMA", numbers(v)) }
	profile := madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}.file()
	red := rgb(234, 51, 35)
	for _, tt := range []struct {
		name       string
		chunks     [][]byte
		file, want color.NRGBA
	}{
		{"no chunks", nil, red, red},
		{"gAMA of sRGB", [][]byte{gamma(45455)}, red, red},
		{"linear gAMA", [][]byte{gamma(100000)}, rgb(55, 55, 0), rgb(128, 128, 0)},
		{"gAMA of 1.8", [][]byte{gamma(55556)}, rgb(128, 128, 128), rgb(146, 146, 146)},
		{"gAMA of 0", [][]byte{gamma(0)}, red, red},
		{"invalid gAMA", [][]byte{gamma(math.MaxUint32)}, red, red},
		{"cHRM of sRGB", [][]byte{gamma(45455), srgb}, red, red},
		{"cHRM of P3", [][]byte{gamma(45455), p3}, red, rgb(255, 0, 0)},
		{"cHRM alone", [][]byte{p3}, red, rgb(255, 0, 0)},
		{"zero cHRM", [][]byte{pngChunk("cHRM", make([]byte, 32))}, red, red},
		{"truncated cHRM", [][]byte{pngChunk("cHRM", make([]byte, 31))}, red, red},
		{"sRGB before gAMA", [][]byte{gamma(100000), pngChunk("sRGB", []byte{0})}, red, red},
		{"iCCP before sRGB", [][]byte{iccpChunk(profile), pngChunk("sRGB", []byte{0})}, red, rgb(255, 0, 0)},
		{"iCCP before gAMA", [][]byte{gamma(100000), iccpChunk(profile)}, red, rgb(255, 0, 0)},
		{"gAMA after an unusable iCCP", [][]byte{gamma(100000), iccpChunk([]byte("nope"))}, rgb(55, 55, 0), rgb(128, 128, 0)},
		{"iCCP with a wrong zlib checksum", [][]byte{pngChunk("iCCP", wrongSum(profile))}, red, rgb(255, 0, 0)},
		{"iCCP without a zlib stream", [][]byte{pngChunk("iCCP", []byte("a\x00\x00nonsense"))}, red, red},
		{"iCCP with another method", [][]byte{pngChunk("iCCP", append([]byte("a\x00\x01"), deflated(profile)...))}, red, red},
		{"iCCP of 64 MB", [][]byte{pngChunk("iCCP", append([]byte("a\x00\x00"), deflated(append(bytes.Clone(profile), make([]byte, 64<<20)...))...))}, red, red},
		{"first iCCP", [][]byte{iccpChunk(profile), iccpChunk([]byte("nope"))}, red, rgb(255, 0, 0)},
		{"cICP before iCCP", [][]byte{pngChunk("cICP", []byte{1, 13, 0, 1}), iccpChunk(profile)}, red, red},
		{"cICP of P3", [][]byte{pngChunk("cICP", []byte{12, 13, 0, 1})}, red, rgb(255, 0, 0)},
		{"unknown cICP", [][]byte{pngChunk("cICP", []byte{12, 16, 0, 1}), iccpChunk(profile)}, red, rgb(255, 0, 0)},
	} {
		if got := middle(t, withChunks(pngOf(flat(32, 32, tt.file)), tt.chunks...)); !similar(got, tt.want, 3) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// 16 bits distinguish dark linear colours that are equal in 8 bits.
	dark := image.NewRGBA64(image.Rect(0, 0, 32, 32))
	for i := range dark.Pix {
		dark.Pix[i] = []byte{0, 60}[i%2]
		if i%8 >= 6 {
			dark.Pix[i] = 255
		}
	}
	if got := middle(t, withChunks(pngOf(dark), gamma(100000))); !similar(got, rgb(3, 3, 3), 1) {
		t.Errorf("dark: got %v, want 3", got)
	}
}

// wrongSum returns a compressed profile with a wrong Adler-32.
func wrongSum(profile []byte) []byte {
	stream := deflated(profile)
	stream[len(stream)-1] ^= 1
	return append([]byte("a\x00\x00"), stream...)
}

func TestTransparencySurvivesColorConversion(t *testing.T) {
	profile := madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}.file()
	half := color.NRGBA{234, 51, 35, 128}
	for name, img := range map[string]image.Image{
		"8 bits": flat(32, 32, half), "16 bits": deepFlat(half),
		"a palette": image.NewPaletted(image.Rect(0, 0, 32, 32), color.Palette{half, color.Black}),
	} {
		if got := middle(t, withChunks(pngOf(img), iccpChunk(profile))); !similar(got, color.NRGBA{255, 0, 0, 128}, 4) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
