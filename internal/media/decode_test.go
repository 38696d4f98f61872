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

// decoded is what is kept of a file, as whoever sees it decodes it.
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

// near says whether two colours look the same.
func near(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	off := func(x, y uint32) bool { return math.Abs(float64(x)-float64(y)) > 20<<8 }
	return !off(ar, br) && !off(ag, bg) && !off(ab, bb) && !off(aa, ba)
}

// quarters says what the four quarters of a picture look like: rgbw for the one that
// painted makes.
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

func TestAPictureIsKeptInTwoSizes(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		file                     []byte
		screenW, screenH, sW, sH int
		png                      bool
	}{
		{"a large JPEG", jpegOf(painted(2000, 1500)), 1600, 1200, 320, 240, false},
		{"a tall PNG", pngOf(painted(450, 1800)), 400, 1600, 80, 320, false},
		{"a small one is not made larger", pngOf(painted(20, 10)), 20, 10, 20, 10, false},
		{"a line", pngOf(painted(20_000, 4)), 1600, 1, 320, 1, false},
		{"one pixel", jpegOf(painted(1, 1)), 1, 1, 1, 1, false},
		{"a PNG one can look through", pngOf(seeThrough(painted(1700, 850))), 1600, 800, 320, 160, true},
		{"a lossless WebP", testdata(t, "lossless.webp"), 24, 16, 24, 16, false},
		{"a lossy WebP", testdata(t, "lossy.webp"), 24, 16, 24, 16, false},
		{"a WebP one can look through", testdata(t, "alpha.webp"), 24, 16, 24, 16, true},
		{"a progressive JPEG", testdata(t, "progressive.jpg"), 24, 16, 24, 16, false},
		{"16 bits a channel", pngOf(image.NewRGBA64(image.Rect(0, 0, 40, 30))), 40, 30, 40, 30, true},
		{"shades of grey", jpegOf(image.NewGray(image.Rect(0, 0, 40, 30))), 40, 30, 40, 30, false},
		{"a palette", pngOf(image.NewPaletted(image.Rect(0, 0, 40, 30), []color.Color{color.Black, color.White})), 40, 30, 40, 30, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			screen, small, e := decoded(t, tt.file)
			if got := screen.Bounds().Size(); got != image.Pt(tt.screenW, tt.screenH) || e.width != got.X || e.height != got.Y {
				t.Errorf("the screen size is %v, said to be %d by %d", got, e.width, e.height)
			}
			if got := small.Bounds().Size(); got != image.Pt(tt.sW, tt.sH) {
				t.Errorf("the thumbnail has %v", got)
			}
			if e.png != tt.png {
				t.Errorf("it is a PNG: %v", e.png)
			}
		})
	}
}

// seeThrough lets one look through the last quarter.
func seeThrough(img *image.NRGBA) *image.NRGBA {
	for y := img.Rect.Dy() / 2; y < img.Rect.Dy(); y++ {
		for x := img.Rect.Dx() / 2; x < img.Rect.Dx(); x++ {
			img.SetNRGBA(x, y, color.NRGBA{})
		}
	}
	return img
}

func TestASmallerPictureLooksTheSame(t *testing.T) {
	for _, size := range [][2]int{{1601, 1601}, {1703, 1234}, {301, 3301}} {
		screen, small, _ := decoded(t, jpegOf(painted(size[0], size[1])))
		if got := quarters(screen) + quarters(small); got != "rbgwrbgw" {
			t.Errorf("%v looks like %s", size, got)
		}
	}
}

func TestShrinkingTakesTheMean(t *testing.T) {
	// A chessboard of single pixels is grey from afar, wherever one looks.
	board := image.NewGray(image.Rect(0, 0, 1217, 811))
	for i := range board.Pix {
		if (i%board.Stride+i/board.Stride)%2 == 0 {
			board.Pix[i] = 255
		}
	}
	small := shrink(board, 301)
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			if c := small.RGBAAt(x, y); c.R < 120 || c.R > 135 || c.A < 254 {
				t.Fatalf("at %d, %d it is %v", x, y, c)
			}
		}
	}
}

// exif is what a camera writes: which way it was held, and where it was.
func exif(way uint16) []byte {
	le := binary.LittleEndian
	tiff := []byte("II*\x00\x08\x00\x00\x00")
	tiff = le.AppendUint16(tiff, 2)
	entry := func(tag, kind uint16, count, value uint32) {
		tiff = le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(tiff, tag), kind), count), value)
	}
	entry(0x0112, 3, 1, uint32(way)) // orientation
	entry(0x8825, 4, 1, 38)          // where the GPS tags are
	tiff = le.AppendUint32(tiff, 0)
	tiff = le.AppendUint16(tiff, 1)
	entry(0x001d, 2, 11, 56) // the day, as text
	tiff = le.AppendUint32(tiff, 0)
	return append([]byte("Exif\x00\x00"), append(tiff, "2026:11:21\x00"...)...)
}

// withSegment puts a segment behind the beginning of a JPEG.
func withSegment(file []byte, mark byte, body []byte) []byte {
	head := append([]byte{0xff, 0xd8, 0xff, mark}, binary.BigEndian.AppendUint16(nil, uint16(len(body)+2))...)
	return append(append(head, body...), file[2:]...)
}

func TestAPictureIsTurnedUpright(t *testing.T) {
	want := map[uint16]string{1: "rbgw", 2: "brwg", 3: "wgbr", 4: "gwrb", 5: "rgbw", 6: "grwb", 7: "wbgr", 8: "bwrg"}
	for way, looks := range want {
		screen, small, e := decoded(t, withSegment(jpegOf(painted(60, 40)), 0xe1, exif(way)))
		if got := quarters(screen) + quarters(small); got != looks+looks {
			t.Errorf("%d looks like %s, not %s", way, got, looks)
		}
		if lies := way >= 5; (e.width < e.height) != lies {
			t.Errorf("%d is %d by %d", way, e.width, e.height)
		}
	}
	for _, way := range []uint16{0, 9, 65535} {
		if screen, _, _ := decoded(t, withSegment(jpegOf(painted(60, 40)), 0xe1, exif(way))); quarters(screen) != "rbgw" {
			t.Errorf("%d is no way to hold a camera, and it was turned", way)
		}
	}
}

func TestNothingOfAFileIsKeptButItsLooks(t *testing.T) {
	secret := []byte("48.8584 N 2.2945 E")
	png1 := pngOf(painted(30, 20))
	comment := append([]byte{0, 0, 0, byte(len(secret) + 5)}, append([]byte("tEXtGPS:\x00"), secret...)...)
	for name, file := range map[string][]byte{
		"Exif":            withSegment(jpegOf(painted(30, 20)), 0xe1, append(exif(6), secret...)),
		"a comment":       withSegment(jpegOf(painted(30, 20)), 0xfe, secret),
		"behind a JPEG":   append(jpegOf(painted(30, 20)), secret...),
		"behind a PNG":    append(pngOf(painted(30, 20)), secret...),
		"a chunk of text": append(append(bytes.Clone(png1[:33]), withCRC(comment)...), png1[33:]...),
	} {
		_, _, e := decoded(t, file)
		for _, kept := range [][]byte{e.screen, e.small} {
			for _, word := range []string{string(secret), "Exif", "2026:11:21", "GPS"} {
				if bytes.Contains(kept, []byte(word)) {
					t.Errorf("%s: %q is kept", name, word)
				}
			}
		}
	}
}

func TestATooLargePictureIsRefusedBeforeItIsDecoded(t *testing.T) {
	for _, tt := range []struct {
		name string
		file []byte
		code apierror.Code
	}{
		{"24 megapixels", pngHead(6000, 4000, 8, 2), ""},
		{"a row more", pngHead(6000, 4001, 8, 2), mediapath.Rejected},
		{"12 megapixels of 16 bits", pngHead(4000, 3000, 16, 6), ""},
		{"a row more", pngHead(4000, 3001, 16, 6), mediapath.Rejected},
		{"a row more of grey", pngHead(4000, 3001, 16, 0), mediapath.Rejected},
		{"as large as can be said", pngHead(math.MaxInt32, math.MaxInt32, 8, 2), mediapath.Rejected},
		{"24 megapixels of a JPEG", jpegHead(0xc0, 6000, 4000, 0x11), ""},
		{"a row more", jpegHead(0xc0, 6000, 4001, 0x11), mediapath.Rejected},
		{"the largest JPEG", jpegHead(0xc0, 65535, 65535, 0x11), mediapath.Rejected},
		{"progressive, 20 megapixels", jpegHead(0xc2, 5000, 4000, 0x22), ""},
		{"progressive, 24 megapixels", jpegHead(0xc2, 6000, 4000, 0x22), mediapath.Rejected},
		{"interlaced, 23 megapixels", interlaced(pngHead(5750, 4000, 8, 2)), ""},
		{"interlaced, 12 megapixels of 16 bits", interlaced(pngHead(4000, 3000, 16, 6)), ""},
		{"progressive, every pixel in colour", jpegHead(0xc2, 4000, 3000, 0x11), mediapath.Rejected},
		{"a side of 30 000 pixels", pngHead(30_000, 800, 8, 2), ""},
		{"a longer one", pngHead(30_001, 8, 8, 2), mediapath.Rejected},
		{"a higher one", pngHead(8, 30_001, 8, 2), mediapath.Rejected},
		{"nothing", pngHead(0, 0, 8, 2), mediapath.Rejected},
	} {
		k, err := sniff(bytes.NewReader(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = k.measure(tt.file); refusedFor(err) != tt.code || tt.code == "" && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		begin := memory()
		if _, err := bare().decode(t.Context(), bytes.NewReader(tt.file)); refusedFor(err) != mediapath.Rejected {
			t.Errorf("%s, without its pixels: %v", tt.name, err)
		}
		if tt.code != "" && memory()-begin > 8<<20 {
			t.Errorf("%s: %d bytes were taken for it", tt.name, memory()-begin)
		}
	}
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestAJPEGOfManyScansIsRefused(t *testing.T) {
	file := testdata(t, "progressive.jpg")
	first := bytes.Index(file, []byte{0xff, 0xda})
	second := first + 2 + bytes.Index(file[first+2:], []byte{0xff, 0xda})
	scan := file[first:second]
	with := func(n int) []byte {
		return append(append(bytes.Clone(file[:second]), bytes.Repeat(scan, n)...), file[second:]...)
	}
	f, err := parseJPEG(file)
	if err != nil || f.scans < 5 || f.scans > 12 || !f.progressive {
		t.Fatalf("the encoder made %+v, %v", f, err)
	}
	if _, err := parseJPEG(with(maxScans - f.scans)); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	if _, err := parseJPEG(with(maxScans - f.scans + 1)); refusedFor(err) != mediapath.Rejected {
		t.Errorf("one more: %v", err)
	}
	if _, err := bare().decode(t.Context(), bytes.NewReader(with(1000))); refusedFor(err) != mediapath.Rejected {
		t.Errorf("a thousand more: %v", err)
	}
	// Another picture in the description of one is none of its scans.
	inside := withSegment(file, 0xe1, bytes.Repeat([]byte{0xff, 0xda, 0, 2}, 5000))
	if got, err := parseJPEG(inside); err != nil || got.frame != f.frame {
		t.Errorf("inside of a segment they are counted: %+v, %v", got, err)
	}
}

func TestOnePictureIsDecodedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bare()
		leave, err := s.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		file := pngOf(painted(4, 4))
		if _, err := s.decode(t.Context(), bytes.NewReader(file)); apierror.KindOf(err) != apierror.Unavailable || time.Since(begin) != slotPatience {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.decode(ctx, bytes.NewReader(file)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who went: %v", err)
		}
		time.AfterFunc(time.Second, leave)
		begin = time.Now()
		if _, err := s.decode(t.Context(), bytes.NewReader(file)); err != nil || time.Since(begin) != time.Second {
			t.Errorf("when it was free, after %v: %v", time.Since(begin), err)
		}
		// What is refused by its first bytes waits for nobody.
		leave, _ = s.enter(t.Context())
		defer leave()
		begin = time.Now()
		if _, err := s.decode(t.Context(), strings.NewReader("<html>")); refusedFor(err) != mediapath.Rejected || time.Since(begin) != 0 {
			t.Errorf("no picture, after %v: %v", time.Since(begin), err)
		}
	})
}

func TestWhoGoesStopsTheDecoder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k := kinds()[0]
	if _, err := k.take(ctx, jpegOf(painted(400, 400))); !errors.Is(err, context.Canceled) {
		t.Errorf("it went on: %v", err)
	}
}

// pngHead is a PNG that has a size, and no pixels.
func pngHead(w, h uint32, depth, sort byte) []byte {
	be := binary.BigEndian
	body := be.AppendUint32(be.AppendUint32([]byte("\x00\x00\x00\x0dIHDR"), w), h)
	file := append([]byte("\x89PNG\r\n\x1a\n"), withCRC(append(body, depth, sort, 0, 0, 0))...)
	return append(file, withCRC([]byte("\x00\x00\x00\x00IDAT"))...)
}

// withCRC ends a chunk of a PNG.
func withCRC(chunk []byte) []byte {
	return binary.BigEndian.AppendUint32(chunk, crc(chunk[4:]))
}

// jpegHead is a JPEG that has a size, and no scan. Its first component is sampled as
// said, the other two once.
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

// interlaced makes a PNG without pixels say that it has them in another order.
func interlaced(file []byte) []byte {
	file[28] = 1
	head := file[8:29]
	return append(append(bytes.Clone(file[:8]), withCRC(head)...), file[33:]...)
}
