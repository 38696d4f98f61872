package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// decoded uploads a file and decodes the results.
func decoded(t *testing.T, file []byte) (screen, small image.Image, e encoded) {
	t.Helper()
	e, err := bare().decode(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	decode := jpeg.Decode
	if e.png {
		decode = png.Decode
	}
	for _, one := range []struct {
		from []byte
		to   *image.Image
	}{{e.screen, &screen}, {e.small, &small}} {
		if *one.to, err = decode(bytes.NewReader(one.from)); err != nil {
			t.Fatal(err)
		}
	}
	return screen, small, e
}

// near reports whether two colours look the same.
func near(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	off := func(x, y uint32) bool { return math.Abs(float64(x)-float64(y)) > 20<<8 }
	return !off(ar, br) && !off(ag, bg) && !off(ab, bb) && !off(aa, ba)
}

// quarters returns the colours of the quarters of a picture, rbgw for that of painted.
func quarters(img image.Image) string {
	b := img.Bounds()
	text := ""
	for _, at := range [][2]int{{1, 1}, {3, 1}, {1, 3}, {3, 3}} {
		c := img.At(b.Min.X+b.Dx()*at[0]/4, b.Min.Y+b.Dy()*at[1]/4)
		for _, known := range []struct {
			color.NRGBA
			name string
		}{{quarter(0, 0), "r"}, {quarter(1, 0), "b"}, {quarter(0, 1), "g"}, {quarter(1, 1), "w"}} {
			if near(c, known.NRGBA) {
				text += known.name
			}
		}
	}
	return text
}

func TestPicturesAreStoredInTwoSizes(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		file                     []byte
		screenW, screenH, sW, sH int
		png                      bool
	}{
		{"large JPEG", jpegOf(painted(2000, 1500)), 1600, 1200, 320, 240, false},
		{"tall PNG", pngOf(painted(450, 1800)), 400, 1600, 80, 320, false},
		{"small PNG", pngOf(painted(20, 10)), 20, 10, 20, 10, false},
		{"line", pngOf(painted(20_000, 4)), 1600, 1, 320, 1, false},
		{"one pixel", jpegOf(painted(1, 1)), 1, 1, 1, 1, false},
		{"transparent PNG", pngOf(withTransparency(painted(1700, 850))), 1600, 800, 320, 160, true},
		{"lossless WebP", testdata(t, "lossless.webp"), 24, 16, 24, 16, false},
		{"lossy WebP", testdata(t, "lossy.webp"), 24, 16, 24, 16, false},
		{"transparent WebP", testdata(t, "alpha.webp"), 24, 16, 24, 16, true},
		{"progressive JPEG", testdata(t, "progressive.jpg"), 24, 16, 24, 16, false},
		{"16 bits per channel", pngOf(image.NewRGBA64(image.Rect(0, 0, 40, 30))), 40, 30, 40, 30, true},
		{"grey", jpegOf(image.NewGray(image.Rect(0, 0, 40, 30))), 40, 30, 40, 30, false},
		{"palette", pngOf(image.NewPaletted(image.Rect(0, 0, 40, 30), []color.Color{color.Black, color.White})), 40, 30, 40, 30, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			screen, small, e := decoded(t, tt.file)
			if got := screen.Bounds().Size(); got != image.Pt(tt.screenW, tt.screenH) || e.width != got.X || e.height != got.Y {
				t.Errorf("screen: got %v and size %d by %d, want %d by %d", got, e.width, e.height, tt.screenW, tt.screenH)
			}
			if got := small.Bounds().Size(); got != image.Pt(tt.sW, tt.sH) {
				t.Errorf("thumbnail: got %v, want %d by %d", got, tt.sW, tt.sH)
			}
			if e.png != tt.png {
				t.Errorf("PNG: got %v, want %v", e.png, tt.png)
			}
		})
	}
}

// withTransparency makes the last quarter transparent.
func withTransparency(img *image.NRGBA) *image.NRGBA {
	for y := img.Rect.Dy() / 2; y < img.Rect.Dy(); y++ {
		for x := img.Rect.Dx() / 2; x < img.Rect.Dx(); x++ {
			img.SetNRGBA(x, y, color.NRGBA{})
		}
	}
	return img
}

func TestResizedPicturesLookTheSame(t *testing.T) {
	for _, size := range [][2]int{{1601, 1601}, {1703, 1234}, {301, 3301}} {
		screen, small, _ := decoded(t, jpegOf(painted(size[0], size[1])))
		if got := quarters(screen) + quarters(small); got != "rbgwrbgw" {
			t.Errorf("%v: got %s, want rbgwrbgw", size, got)
		}
	}
}

func TestResizeTakesTheMean(t *testing.T) {
	// A chessboard of single pixels becomes a uniform grey.
	board := image.NewGray(image.Rect(0, 0, 1217, 811))
	for i := range board.Pix {
		if (i%board.Stride+i/board.Stride)%2 == 0 {
			board.Pix[i] = 255
		}
	}
	small := resize(board, 301)
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			if c := small.RGBAAt(x, y); c.R < 120 || c.R > 135 || c.A < 254 {
				t.Fatalf("at %d, %d: got %v, want grey", x, y, c)
			}
		}
	}
}

// exif returns the Exif data of a camera: orientation and location.
func exif(orientation uint16) []byte {
	le := binary.LittleEndian
	tiff := []byte("II*\x00\x08\x00\x00\x00")
	tiff = le.AppendUint16(tiff, 2)
	entry := func(tag, kind uint16, count, value uint32) {
		tiff = le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(tiff, tag), kind), count), value)
	}
	entry(0x0112, 3, 1, uint32(orientation)) // orientation
	entry(0x8825, 4, 1, 38)                  // where the GPS tags are
	tiff = le.AppendUint32(tiff, 0)
	tiff = le.AppendUint16(tiff, 1)
	entry(0x001d, 2, 11, 56) // the day, as text
	tiff = le.AppendUint32(tiff, 0)
	return append([]byte("Exif\x00\x00"), append(tiff, "2026:11:21\x00"...)...)
}

// withSegment inserts a segment at the beginning of a JPEG.
func withSegment(file []byte, mark byte, body []byte) []byte {
	head := append([]byte{0xff, 0xd8, 0xff, mark}, binary.BigEndian.AppendUint16(nil, uint16(len(body)+2))...)
	return append(append(head, body...), file[2:]...)
}

func TestPicturesAreTurnedUpright(t *testing.T) {
	want := map[uint16]string{1: "rbgw", 2: "brwg", 3: "wgbr", 4: "gwrb", 5: "rgbw", 6: "grwb", 7: "wbgr", 8: "bwrg"}
	for orientation, quadrants := range want {
		screen, small, e := decoded(t, withSegment(jpegOf(painted(60, 40)), 0xe1, exif(orientation)))
		if got := quarters(screen) + quarters(small); got != quadrants+quadrants {
			t.Errorf("orientation %d: got %s, want %s twice", orientation, got, quadrants)
		}
		if turned := orientation >= 5; (e.width < e.height) != turned {
			t.Errorf("orientation %d: got %d by %d", orientation, e.width, e.height)
		}
	}
	for _, orientation := range []uint16{0, 9, 65535} {
		if screen, _, _ := decoded(t, withSegment(jpegOf(painted(60, 40)), 0xe1, exif(orientation))); quarters(screen) != "rbgw" {
			t.Errorf("invalid orientation %d: got a turned picture", orientation)
		}
	}
}

func TestMetadataIsRemoved(t *testing.T) {
	secret := []byte("48.8584 N 2.2945 E")
	png1 := pngOf(painted(30, 20))
	comment := append([]byte{0, 0, 0, byte(len(secret) + 5)}, append([]byte("tEXtGPS:\x00"), secret...)...)
	for name, file := range map[string][]byte{
		"Exif":         withSegment(jpegOf(painted(30, 20)), 0xe1, append(exif(6), secret...)),
		"comment":      withSegment(jpegOf(painted(30, 20)), 0xfe, secret),
		"after a JPEG": append(jpegOf(painted(30, 20)), secret...),
		"after a PNG":  append(pngOf(painted(30, 20)), secret...),
		"text chunk":   append(append(bytes.Clone(png1[:33]), withCRC(comment)...), png1[33:]...),
	} {
		_, _, e := decoded(t, file)
		for _, content := range [][]byte{e.screen, e.small} {
			for _, word := range []string{string(secret), "Exif", "2026:11:21", "GPS"} {
				if bytes.Contains(content, []byte(word)) {
					t.Errorf("%s: got %q in the result", name, word)
				}
			}
		}
	}
}

func TestLargePicturesAreRejectedBeforeDecoding(t *testing.T) {
	for _, tt := range []struct {
		name string
		file []byte
		code apierror.Code
	}{
		{"24 megapixels", pngHead(6000, 4000, 8, 2), ""},
		{"one more row", pngHead(6000, 4001, 8, 2), mediapath.Rejected},
		{"12 megapixels of 16 bits", pngHead(4000, 3000, 16, 6), ""},
		{"one more row", pngHead(4000, 3001, 16, 6), mediapath.Rejected},
		{"one more row, grey", pngHead(4000, 3001, 16, 0), mediapath.Rejected},
		{"maximum in the header", pngHead(math.MaxInt32, math.MaxInt32, 8, 2), mediapath.Rejected},
		{"JPEG of 24 megapixels", jpegHead(0xc0, 6000, 4000, 0x11), ""},
		{"one more row", jpegHead(0xc0, 6000, 4001, 0x11), mediapath.Rejected},
		{"maximum of a JPEG", jpegHead(0xc0, 65535, 65535, 0x11), mediapath.Rejected},
		{"progressive, 20 megapixels", jpegHead(0xc2, 5000, 4000, 0x22), ""},
		{"progressive, 24 megapixels", jpegHead(0xc2, 6000, 4000, 0x22), mediapath.Rejected},
		{"interlaced, 23 megapixels", interlaced(pngHead(5750, 4000, 8, 2)), ""},
		{"interlaced, 12 megapixels of 16 bits", interlaced(pngHead(4000, 3000, 16, 6)), ""},
		{"progressive, without subsampling", jpegHead(0xc2, 4000, 3000, 0x11), mediapath.Rejected},
		{"side of 30 000 pixels", pngHead(30_000, 800, 8, 2), ""},
		{"longer side", pngHead(30_001, 8, 8, 2), mediapath.Rejected},
		{"higher side", pngHead(8, 30_001, 8, 2), mediapath.Rejected},
		{"empty", pngHead(0, 0, 8, 2), mediapath.Rejected},
	} {
		k, err := sniff(bytes.NewReader(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = k.measure(tt.file); refusedFor(err) != tt.code || tt.code == "" && err != nil {
			t.Errorf("%s: got %v, want code %q", tt.name, err, tt.code)
		}
		begin := memory()
		if _, err := bare().decode(t.Context(), bytes.NewReader(tt.file)); refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s, without pixels: got %v, want %s", tt.name, err, mediapath.Rejected)
		}
		if tt.code != "" && memory()-begin > 8<<20 {
			t.Errorf("%s: got %d bytes allocated, want at most 8 MB", tt.name, memory()-begin)
		}
	}
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestJPEGsWithManyScansAreRejected(t *testing.T) {
	file := testdata(t, "progressive.jpg")
	first := bytes.Index(file, []byte{0xff, 0xda})
	second := first + 2 + bytes.Index(file[first+2:], []byte{0xff, 0xda})
	scan := file[first:second]
	with := func(n int) []byte {
		return append(append(bytes.Clone(file[:second]), bytes.Repeat(scan, n)...), file[second:]...)
	}
	f, err := parseJPEG(file)
	if err != nil || f.scans < 5 || f.scans > 12 || !f.progressive {
		t.Fatalf("got %+v, %v, want 5 to 12 progressive scans", f, err)
	}
	if _, err := parseJPEG(with(maxScans - f.scans)); err != nil {
		t.Errorf("at the limit: got %v, want nil", err)
	}
	if _, err := parseJPEG(with(maxScans - f.scans + 1)); refusedFor(err) != mediapath.Rejected {
		t.Errorf("above the limit: got %v, want %s", err, mediapath.Rejected)
	}
	if _, err := bare().decode(t.Context(), bytes.NewReader(with(1000))); refusedFor(err) != mediapath.Rejected {
		t.Errorf("a thousand more: got %v, want %s", err, mediapath.Rejected)
	}
	// Scans inside metadata do not count.
	inside := withSegment(file, 0xe1, bytes.Repeat([]byte{0xff, 0xda, 0, 2}, 5000))
	if got, err := parseJPEG(inside); err != nil || got.frame != f.frame {
		t.Errorf("in metadata: got %+v, %v, want %+v", got, err, f.frame)
	}
}

func TestDecoderIsExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bare()
		leave, err := s.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		file := pngOf(painted(4, 4))
		if _, err := s.decode(t.Context(), bytes.NewReader(file)); apierror.KindOf(err) != apierror.Unavailable || time.Since(begin) != slotTimeout {
			t.Errorf("busy: got %v after %v, want UNAVAILABLE after %v", err, time.Since(begin), slotTimeout)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.decode(ctx, bytes.NewReader(file)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("canceled: got %v, want a timeout", err)
		}
		time.AfterFunc(time.Second, leave)
		begin = time.Now()
		if _, err := s.decode(t.Context(), bytes.NewReader(file)); err != nil || time.Since(begin) != time.Second {
			t.Errorf("released: got %v after %v, want nil after 1s", err, time.Since(begin))
		}
		// Files that are rejected by their first bytes do not wait.
		leave, _ = s.enter(t.Context())
		defer leave()
		begin = time.Now()
		if _, err := s.decode(t.Context(), strings.NewReader("<html>")); refusedFor(err) != mediapath.Rejected || time.Since(begin) != 0 {
			t.Errorf("invalid file: got %v after %v, want %s at once", err, time.Since(begin), mediapath.Rejected)
		}
	})
}

func TestCanceledRequestStopsDecoder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k := formats()[0]
	if _, err := k.process(ctx, jpegOf(painted(400, 400))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// pngHead returns a PNG with a size and no pixels.
func pngHead(w, h uint32, depth, sort byte) []byte {
	be := binary.BigEndian
	body := be.AppendUint32(be.AppendUint32([]byte("\x00\x00\x00\x0dIHDR"), w), h)
	file := append([]byte("\x89PNG\r\n\x1a\n"), withCRC(append(body, depth, sort, 0, 0, 0))...)
	return append(file, withCRC([]byte("\x00\x00\x00\x00IDAT"))...)
}

// withCRC appends the checksum of a PNG chunk.
func withCRC(chunk []byte) []byte {
	return binary.BigEndian.AppendUint32(chunk, crc(chunk[4:]))
}

// jpegHead returns a JPEG with a size and no scan. Its first component has the given sampling,
// the others 1 by 1.
func jpegHead(mark byte, w, h uint16, sampling byte) []byte {
	be := binary.BigEndian
	file := []byte{0xff, 0xd8, 0xff, mark, 0, 17, 8}
	file = be.AppendUint16(be.AppendUint16(file, h), w)
	return append(file, 3, 1, sampling, 0, 2, 0x11, 0, 3, 0x11, 0, 0xff, 0xda, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0, 0xff, 0xd9)
}

func BenchmarkDecode(b *testing.B) {
	profile := madeProfile{colorants: displayP3(), curve: srgbTag(), version: 4}.file()
	for _, size := range [][2]int{{1600, 1200}, {4000, 3000}, {6000, 4000}} {
		file := jpegOf(painted(size[0], size[1]))
		for name, file := range map[string][]byte{"sRGB": file, "Display P3": jpegWithProfile(file, profile, 60_000), "cut off": cutAt(file, 0.9)} {
			b.Run(fmt.Sprintf("%d×%d/%s", size[0], size[1], name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := bare().decode(b.Context(), bytes.NewReader(file)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// interlaced sets the interlace flag of a PNG without pixels.
func interlaced(file []byte) []byte {
	file[28] = 1
	head := file[8:29]
	return append(append(bytes.Clone(file[:8]), withCRC(head)...), file[33:]...)
}
