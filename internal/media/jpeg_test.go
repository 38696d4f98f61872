package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// uploadedQuarters uploads a file and returns its quarters, or the error text.
func uploadedQuarters(t *testing.T, file []byte) string {
	t.Helper()
	if _, err := bare().decode(t.Context(), bytes.NewReader(file)); err != nil {
		return err.Error()
	}
	screen, _, _ := decoded(t, file)
	return quarters(screen)
}

func ones(ids string) (parts []madePart) {
	for _, id := range []byte(ids) {
		parts = append(parts, madePart{id, 1, 1})
	}
	return parts
}

// sampledAs returns components with factors such as "22 11 11".
func sampledAs(factors string) (parts []madePart) {
	for i := 0; i < len(factors); i += 3 {
		parts = append(parts, madePart{byte(len(parts) + 1), factors[i] - '0', factors[i+1] - '0'})
	}
	return parts
}

func TestAnyJPEGSamplingIsDecoded(t *testing.T) {
	for _, factors := range []string{
		"11 11 11", "21 11 11", "22 11 11", "12 11 11", "41 11 11", "42 11 11", "14 11 11", "24 11 11", "44 11 11",
		"31 11 11", "33 11 11", "22 21 12", "22 12 11", "11 22 22", "22 22 22", "44 44 44", "31 31 31", "11 21 11", "11",
	} {
		for _, progressive := range []bool{false, true} {
			m := made{w: 128, h: 64, parts: sampledAs(factors), adobe: -1, components: ycc, progressive: progressive, jfif: true}
			want := "rbgw"
			if factors == "11" {
				want = "w" // the others are grey
			}
			if got := uploadedQuarters(t, m.file()); got != want {
				t.Errorf("%s, progressive %v: got %s, want %s", factors, progressive, got, want)
			}
		}
	}
}

func TestJPEGColorModelsAreRecognized(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts []madePart
		adobe int
		jfif  bool
		as    func(color.RGBA) [4]byte
	}{
		{"YCbCr with JFIF", ones("\x01\x02\x03"), -1, true, ycc},
		{"YCbCr without any header", ones("\x01\x02\x03"), -1, false, ycc},
		{"YCbCr by Adobe", ones("\x01\x02\x03"), 1, false, ycc},
		{"components numbered from 0", ones("\x00\x01\x02"), -1, false, ycc},
		{"RGB by Adobe", ones("\x01\x02\x03"), 0, false, plainRGB},
		{"RGB by names", ones("RGB"), -1, false, plainRGB},
		{"JFIF before names", ones("RGB"), -1, true, ycc},
		{"CMYK by Adobe", ones("\x01\x02\x03\x04"), 0, false, inkless},
		{"CMYK without a marker", ones("\x01\x02\x03\x04"), -1, false, inkless},
		{"CMYK with JFIF only", ones("CMYK"), -1, true, inkless},
		{"YCCK", ones("\x01\x02\x03\x04"), 2, false, yccInkless},
		{"YCCK sampled as in photos", sampledAs("22 11 11 22"), 2, false, yccInkless},
		{"CMYK sampled in another way", sampledAs("21 11 21 11"), 0, false, inkless},
	} {
		m := made{w: 64, h: 64, parts: tt.parts, adobe: tt.adobe, jfif: tt.jfif, components: tt.as}
		if got := uploadedQuarters(t, m.file()); got != "rbgw" {
			t.Errorf("%s: got %s, want rbgw", tt.name, got)
		}
	}
}

func TestDamagedRestartMarkersLoseOnlyTheirIntervals(t *testing.T) {
	rst := func(n int) []byte { return []byte{0xff, 0xd0 + byte(n&7)} }
	for name, marker := range map[string]func(int) []byte{
		"right":             nil,
		"all 0":             func(int) []byte { return rst(0) },
		"from 1 on":         func(i int) []byte { return rst(i + 1) },
		"backwards":         func(i int) []byte { return rst(-i) },
		"fill bytes before": func(i int) []byte { return append([]byte{0xff, 0xff}, rst(i)...) },
		"garbage before":    func(i int) []byte { return append([]byte{0x12, 0xff, 0x41, 0x33}, rst(i)...) },
		"one missing": func(i int) []byte {
			if i == 20 {
				return nil
			}
			return rst(i)
		},
		"two missing": func(i int) []byte {
			if i == 20 || i == 21 {
				return nil
			}
			return rst(i)
		},
		"one twice": func(i int) []byte {
			if i == 20 {
				return append(rst(i), rst(i)...)
			}
			return rst(i)
		},
		"a wrong number": func(i int) []byte {
			if i == 20 {
				return rst(i + 3)
			}
			return rst(i)
		},
	} {
		for _, progressive := range []bool{false, true} {
			m := made{w: 256, h: 128, parts: sampledAs("11 11 11"), adobe: -1, components: ycc, interval: 8, marker: marker, progressive: progressive}
			if got := uploadedQuarters(t, m.file()); got != "rbgw" {
				t.Errorf("%s, progressive %v: got %s, want rbgw", name, progressive, got)
			}
		}
	}
}

// noisy returns a picture without equal blocks.
func noisy(w, h int) *image.RGBA {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := uint8(r.UintN(40))
			img.SetRGBA(x, y, color.RGBA{uint8(x*2) + v, uint8(y*2) + v, uint8(x+y) - v, 255})
		}
	}
	return img
}

func TestLenientDecoderMatchesStandardLibrary(t *testing.T) {
	var gray bytes.Buffer
	grayed := image.NewGray(image.Rect(0, 0, 75, 53))
	for i := range grayed.Pix {
		grayed.Pix[i] = byte(i * i / 50)
	}
	if err := jpeg.Encode(&gray, grayed, nil); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"in colour": jpegOf(noisy(117, 93)), "one pixel": jpegOf(noisy(1, 1)), "grey": gray.Bytes(), "progressive": testdata(t, "progressive.jpg"),
		"in intervals": made{w: 99, h: 77, parts: sampledAs("22 11 11"), adobe: -1, components: ycc, interval: 2}.file(),
		"CMYK":         made{w: 99, h: 77, parts: sampledAs("11 11 11 11"), adobe: 0, components: inkless}.file(),
		"YCCK":         made{w: 99, h: 77, parts: sampledAs("22 11 11 22"), adobe: 2, components: yccInkless}.file(),
	} {
		want, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(name, err)
		}
		f, err := parseJPEG(file)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := f.decodeLenient(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		if got.Bounds() != want.Bounds() {
			t.Errorf("%s: got %v, want %v", name, got.Bounds(), want.Bounds())
			continue
		}
		if x, y, off := farthest(got, want); off > 3 {
			t.Errorf("%s: at %d, %d: got %v, want %v", name, x, y, got.At(x, y), want.At(x, y))
		}
	}
}

// farthest returns the position of the largest difference of two pictures, and the difference of
// 255.
func farthest(a, b image.Image) (atX, atY, limit int) {
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			for _, d := range []int{int(r1) - int(r2), int(g1) - int(g2), int(b1) - int(b2)} {
				if d = max(d, -d) >> 8; d > limit {
					atX, atY, limit = x, y, d
				}
			}
		}
	}
	return atX, atY, limit
}

// cutAt returns a file with only a share of the data of its last scan.
func cutAt(file []byte, share float64) []byte {
	begin := bytes.LastIndex(file, []byte{0xff, 0xda})
	begin += 2 + int(binary.BigEndian.Uint16(file[begin+2:]))
	return file[:begin+int(float64(len(file)-2-begin)*share)]
}

func TestTruncatedJPEGsNeedHalfTheirData(t *testing.T) {
	whole := jpegOf(noisy(320, 240))
	intervals := made{w: 256, h: 128, parts: sampledAs("11 11 11"), adobe: -1, components: ycc, interval: 8}.file()
	for _, tt := range []struct {
		name  string
		file  []byte
		taken bool
	}{
		{"no end marker", whole[:len(whole)-2], true},
		{"half an end marker", whole[:len(whole)-1], true},
		{"without the last byte", whole[:len(whole)-3], true},
		{"nine tenths", cutAt(whole, 0.9), true},
		{"a bit more than half", cutAt(whole, 0.55), true},
		{"less than half", cutAt(whole, 0.4), false},
		{"no data", cutAt(whole, 0), false},
		{"in intervals", cutAt(intervals, 0.8), true},
		{"in intervals, less than half", cutAt(intervals, 0.3), false},
		{"last scan of a progressive file", cutAt(testdata(t, "progressive.jpg"), 0.2), true},
		{"followed by another picture", append(bytes.Clone(whole[:len(whole)-2]), whole...), true},
	} {
		e, err := bare().decode(t.Context(), bytes.NewReader(tt.file))
		if tt.taken != (err == nil) || !tt.taken && refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: got %v, want accepted %v", tt.name, err, tt.taken)
		}
		if f, parseErr := parseJPEG(tt.file); tt.taken && (parseErr != nil || e.width != f.width || e.height != f.height) {
			t.Errorf("%s: got %d by %d, %v", tt.name, e.width, e.height, parseErr)
		}
	}
	// The standard library decodes a file without an end marker.
	endless, err := parseJPEG(whole[:len(whole)-2])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jpeg.Decode(&sliceReader{rest: endless.cleaned()}); err != nil {
		t.Errorf("standard library: got %v, want nil", err)
	}
	// The available part is unchanged, and the rest is grey.
	f, err := parseJPEG(cutAt(whole, 0.7))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.decodeLenient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, _ := jpeg.Decode(bytes.NewReader(whole))
	for y := range 120 {
		if _, _, off := farthest(row(got, y), row(want, y)); off > 3 {
			t.Fatalf("row %d: got a difference of %d, want at most 3", y, off)
		}
	}
	if c := got.At(319, 239); !near(c, color.Gray{128}) {
		t.Errorf("missing part: got %v, want grey", c)
	}
}

// row returns one row of a picture.
func row(img image.Image, y int) image.Image {
	r := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), 1))
	for x := range r.Rect.Dx() {
		r.Set(x, 0, img.At(x, y))
	}
	return r
}

func TestGarbageBetweenJPEGSegmentsIsSkipped(t *testing.T) {
	whole := jpegOf(painted(64, 64))
	// between inserts bytes before the n-th segment after the first one.
	between := func(n int, garbage string) []byte {
		at := 2
		for range n {
			at += 2 + int(binary.BigEndian.Uint16(whole[at+2:]))
		}
		return slices.Concat(whole[:at], []byte(garbage), whole[at:])
	}
	end := len(whole) - 2
	for name, file := range map[string][]byte{
		"zeros":                               between(1, "\x00\x00\x00"),
		"text":                                between(2, "garbage"),
		"fill bytes":                          between(1, "\xff\xff\xff"),
		"a stuffed byte":                      between(1, "\x12\xff\x00\x34"),
		"a reserved marker":                   between(1, "\xff\x01"),
		"a restart marker":                    between(2, "\xff\xd3"),
		"a segment without a length":          between(1, "\xff\xe5\x00\x00"),
		"unknown segment":                     between(1, "\xff\xf3\x00\x04ab"),
		"an empty table":                      between(1, "\xff\xc4\x00\x13\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"a table with a byte too many":        between(1, "\xff\xdd\x00\x05\x00\x00\x00"),
		"a broken quantization table":         between(1, "\xff\xdb\x00\x05\x00\x01\x01"),
		"short second header":                 between(1, "\xff\xe0\x00\x04ab"),
		"zeros before the end":                slices.Concat(whole[:end], []byte{0, 0, 0}, whole[end:]),
		"a second end":                        append(bytes.Clone(whole), 0xff, 0xd9),
		"comment after the data":              slices.Concat(whole[:end], []byte("\xff\xfe\x00\x04ab"), whole[end:]),
		"comment with a wrong length":         slices.Concat(whole[:end], []byte("\xff\xfe\xff\xffab"), whole[end:]),
		"damage that looks like a frame":      slices.Concat(whole[:end], []byte("\xff\xc7"), whole[end:]),
		"damage in the last byte of the data": slices.Concat(whole[:end], []byte("\xff\x41"), whole[end:]),
	} {
		if got := uploadedQuarters(t, file); got != "rbgw" {
			t.Errorf("%s: got %s, want rbgw", name, got)
		}
	}
}

func TestUnsupportedJPEGsAreRejected(t *testing.T) {
	whole := jpegOf(painted(64, 64))
	frame := bytes.Index(whole, []byte{0xff, 0xc0})
	with := func(offset int, value byte) []byte {
		file := bytes.Clone(whole)
		file[frame+offset] = value
		return file
	}
	for name, file := range map[string][]byte{
		"lossless": with(1, 0xc3), "arithmetic": with(1, 0xc9), "12 bits": with(4, 12), "two components": with(9, 2), "a sampling of 0": with(11, 0),
		"no frame": slices.Concat(whole[:2], whole[len(whole)-2:]), "a thousand tables": slices.Concat(whole[:2], bytes.Repeat([]byte("\xff\xdd\x00\x04\x00\x00"), 1001), whole[2:]),
	} {
		if _, err := bare().decode(t.Context(), bytes.NewReader(file)); refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s: got %v, want %s", name, err, mediapath.Rejected)
		}
	}
}

// exifOf returns Exif with an orientation in one of several encodings.
func exifOf(order binary.AppendByteOrder, kind uint16, orientation int, entriesSaid uint16, at int, junk string) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, uint32(at))
	tiff = append(tiff, make([]byte, at-len(tiff))...)
	tiff = order.AppendUint16(tiff, entriesSaid)
	tiff = order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x010f), 2), 1<<31) // a maker with a missing name
	tiff = order.AppendUint32(tiff, 1<<31)
	tiff = order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, 0x0112), kind), 1)
	switch kind {
	case 1:
		tiff = append(tiff, byte(orientation), 0, 0, 0)
	case 3:
		tiff = append(order.AppendUint16(tiff, uint16(orientation)), 0, 0)
	default:
		tiff = order.AppendUint32(tiff, uint32(orientation))
	}
	return append(append([]byte("Exif\x00\x00"), tiff...), junk...)
}

func TestExifOrientationIsFoundAnywhere(t *testing.T) {
	whole := jpegOf(painted(60, 40))
	way6 := exif(6)
	seg := func(mark byte, body []byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{0xff, mark}, uint16(len(body)+2)), body...)
	}
	big := bytes.Repeat([]byte{7}, 65000)
	xmp := []byte("http://ns.adobe.com/xap/1.0/\x00<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>")
	before := func(segments ...[]byte) []byte {
		return slices.Concat(whole[:2], slices.Concat(segments...), whole[2:])
	}
	end := len(whole) - 2
	scan := bytes.Index(whole, []byte{0xff, 0xda})
	le, be := binary.LittleEndian, binary.BigEndian
	for name, file := range map[string][]byte{
		"first":                       before(seg(0xe1, way6)),
		"after XMP":                   before(seg(0xe1, xmp), seg(0xe1, way6)),
		"after XMP in three parts":    before(seg(0xe1, xmp), seg(0xe1, xmp), seg(0xe1, xmp), seg(0xe1, way6), seg(0xe1, xmp)),
		"after ICC, APP13, a comment": before(seg(0xe2, []byte("ICC_PROFILE\x00\x01\x01")), seg(0xed, []byte("Photoshop 3.0\x00")), seg(0xfe, []byte("hello")), seg(0xe1, way6)),
		"after 195 KB":                before(seg(0xe1, append(bytes.Clone(xmp), big[:60000]...)), seg(0xe2, big), seg(0xec, big), seg(0xe1, way6)),
		"after an empty APP1":         before(seg(0xe1, nil), seg(0xe1, way6)),
		"after Exif without it":       before(seg(0xe1, []byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x00\x00")), seg(0xe1, way6)),
		"after broken Exif":           before(seg(0xe1, []byte("Exif\x00\x00??*\x00\x08\x00\x00\x00\x00\x00")), seg(0xe1, way6)),
		"after truncated Exif":        before(seg(0xe1, []byte("Exif\x00\x00II*\x00\xff\xff\xff\xff")), seg(0xe1, way6)),
		"before a broken segment":     before(seg(0xe1, way6), []byte("\xff\xe1\x00\x01")),
		"after garbage":               before(seg(0xfe, nil), []byte("\x00\x01garbage"), seg(0xe1, way6)),
		"after the tables":            slices.Concat(whole[:scan], seg(0xe1, way6), whole[scan:]),
		"after the data":              slices.Concat(whole[:end], seg(0xe1, way6), whole[end:]),
		"in a truncated file":         before(seg(0xe1, way6))[:2+4+len(way6)+end-2],
		"big-endian":                  before(seg(0xe1, exifOf(be, 3, 6, 2, 8, ""))),
		"little-endian":               before(seg(0xe1, exifOf(le, 3, 6, 2, 8, ""))),
		"LONG":                        before(seg(0xe1, exifOf(le, 4, 6, 2, 8, ""))),
		"LONG, big-endian":            before(seg(0xe1, exifOf(be, 4, 6, 2, 8, ""))),
		"BYTE":                        before(seg(0xe1, exifOf(be, 1, 6, 2, 8, ""))),
		"wrong entry count":           before(seg(0xe1, exifOf(be, 3, 6, 60000, 8, ""))),
		"garbage entries after it":    before(seg(0xe1, exifOf(le, 3, 6, 200, 8, string(big[:500])))),
		"distant directory":           before(seg(0xe1, exifOf(le, 3, 6, 2, 40000, ""))),
		"another padding byte":        before(seg(0xe1, append([]byte("Exif\x00\xff"), exifOf(le, 3, 6, 2, 8, "")[6:]...))),
	} {
		screen, small, e := decoded(t, file)
		if got := quarters(screen) + quarters(small); got != "grwbgrwb" || e.width != 40 || e.height != 60 {
			t.Errorf("%s: got %s, %d by %d, want grwbgrwb, 40 by 60", name, got, e.width, e.height)
		}
	}
	for name, file := range map[string][]byte{
		"offset instead of a value":   before(seg(0xe1, exifOf(le, 2, 6, 2, 8, ""))),
		"9":                           before(seg(0xe1, exifOf(le, 3, 9, 2, 8, ""))),
		"0":                           before(seg(0xe1, exifOf(le, 3, 0, 2, 8, ""))),
		"65537":                       before(seg(0xe1, exifOf(le, 4, 65537, 2, 8, ""))),
		"in another picture after it": append(bytes.Clone(whole), before(seg(0xe1, way6))...),
		"no entries":                  before(seg(0xe1, exifOf(le, 3, 6, 0, 8, ""))),
	} {
		if got := uploadedQuarters(t, file); got != "rbgw" {
			t.Errorf("%s: got %s, want rbgw", name, got)
		}
	}
}

func TestDamagedJPEGDataNeverPanics(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i, file := range [][]byte{
		jpegOf(noisy(64, 48)), testdata(t, "progressive.jpg"),
		made{w: 64, h: 48, parts: sampledAs("22 12 11"), adobe: -1, components: ycc, interval: 2}.file(),
	} {
		for range 200 {
			hurt := bytes.Clone(file)
			for range 1 + r.IntN(4) {
				hurt[2+r.IntN(len(hurt)-2)] = byte(r.UintN(256))
			}
			f, err := parseJPEG(hurt)
			if err != nil || f.width*f.height > 1<<20 {
				continue
			}
			img, err := f.decodeLenient(t.Context())
			if (img == nil) != (err != nil) || err != nil && !errors.Is(err, errTruncated) {
				t.Fatalf("seed %d, file %d: got %v, want a picture or %v", seed, i, err, errTruncated)
			}
			if img != nil && img.Bounds() != image.Rect(0, 0, f.width, f.height) {
				t.Fatalf("seed %d, file %d: got %v, want %d by %d", seed, i, img.Bounds(), f.width, f.height)
			}
		}
	}
}
