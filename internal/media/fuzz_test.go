package media

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// seeds adds valid and damaged pictures of all formats.
func seeds(f *testing.F) {
	f.Helper()
	for _, pattern := range []string{"testdata/*.webp", "testdata/*.jpg", "../app/testdata/hostile/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(content) <= 4<<10 {
				f.Add(content)
			}
		}
	}
	profile := madeProfile{colorants: displayP3(), curve: srgbTag()}.file()
	small := jpegOf(painted(16, 16))
	f.Add(jpegWithProfile(withSegment(small, 0xe1, exif(6)), profile, 200))
	f.Add(cutAt(small, 0.7))
	for _, factors := range []string{"11", "22 11 11", "31 11 11", "11 11 11 11"} {
		for _, progressive := range []bool{false, true} {
			f.Add(made{w: 40, h: 24, parts: sampledAs(factors), adobe: len(factors)%3 - 1, components: ycc, interval: 2, progressive: progressive}.file())
		}
	}
	for _, img := range []image.Image{painted(9, 7), image.NewGray16(image.Rect(0, 0, 5, 5)), image.NewPaletted(image.Rect(0, 0, 9, 9), color.Palette{color.Transparent, color.White})} {
		f.Add(withChunks(pngOf(img), iccpChunk(profile), pngChunk("eXIf", exif(6)[6:]), broken(pngChunk("tEXt", []byte("a\x00b"))), pngChunk("gAMA", []byte{0, 1, 0, 0})))
	}
	f.Add(bytes.Join(riff("VP8X", make([]byte, 10), "ICCP", profile, "VP8L", testdataWebP(f)[20:], "EXIF", exif(3)), nil))
}

func testdataWebP(f *testing.F) []byte {
	f.Helper()
	content, err := os.ReadFile("testdata/lossless.webp")
	if err != nil {
		f.Fatal(err)
	}
	return content
}

// FuzzUpload decodes uploads.
func FuzzUpload(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		k, err := sniff(bytes.NewReader(file))
		if err != nil {
			return
		}
		if p, _, err := k.measure(file); err == nil && p.Width*p.Height > 1<<14 {
			return // keep the fuzzer fast
		}
		begin := time.Now()
		e, err := bare().decode(t.Context(), bytes.NewReader(file))
		if took := time.Since(begin); took > decodeTimeout+2*time.Second {
			t.Errorf("got %v, want at most %v", took, decodeTimeout)
		}
		if err != nil {
			if refusedFor(err) != mediapath.Rejected {
				t.Errorf("got %v, want %s", err, mediapath.Rejected)
			}
			return
		}
		if e.width < 1 || e.height < 1 || e.width > screenSize || e.height > screenSize || len(e.screen) == 0 || len(e.small) == 0 {
			t.Errorf("got %d by %d, of %d and %d bytes", e.width, e.height, len(e.screen), len(e.small))
		}
	})
}

// FuzzJPEG parses JPEGs and decodes them leniently.
func FuzzJPEG(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) < 2 {
			return
		}
		j, err := parseJPEG(file)
		if err != nil || j.tooManyScans(int64(j.width)*int64(j.height)) || j.width*j.height > 1<<14 {
			return
		}
		if j.orientation < 0 || j.orientation > 8 || len(j.segments) > maxSegments || j.scans > maxScans {
			t.Errorf("got %d segments, %d scans, orientation %d", len(j.segments), j.scans, j.orientation)
		}
		_ = j.iccProfile()
		again, err := parseJPEG(bytes.Join(j.cleaned(), nil))
		if err != nil || again.frame != j.frame || again.width != j.width || again.height != j.height {
			t.Errorf("cleaned: got %+v, %v, want %+v", again, err, j.frame)
		}
		img, err := j.decodeLenient(t.Context())
		if err != nil {
			if !errors.Is(err, errTruncated) {
				t.Error(err)
			}
			return
		}
		if img.Bounds() != image.Rect(0, 0, j.width, j.height) {
			t.Errorf("got %v, want %d by %d", img.Bounds(), j.width, j.height)
		}
		resize(img, 16)
	})
}

// FuzzChunks parses PNGs and WebPs.
func FuzzChunks(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) >= len(pngSignature) {
			if p, err := parsePNG(file); err == nil {
				total := 0
				for _, part := range p.parts {
					total += len(part)
				}
				if total > len(file)+64 {
					t.Errorf("got %d bytes, want at most %d", total, len(file)+64)
				}
				apply(p.colors())
			} else if _, refused := errors.AsType[apierror.UserErrors](err); !refused {
				t.Error(err)
			}
		}
		w := parseWebP(file)
		apply(profileTransform(w.profile, 3))
		if orientation := exifOrientation(w.exif); orientation < 0 || orientation > 8 {
			t.Errorf("got orientation %d, want 0 to 8", orientation)
		}
		if cleaned, err := w.cleaned(); err == nil {
			again := parseWebP(bytes.Join(cleaned, nil))
			if !bytes.Equal(again.lossy, w.lossy) && !bytes.Equal(again.lossless, w.lossless) {
				t.Error("cleaned: got another picture")
			}
		}
	})
}

// FuzzMetadata parses colour profiles and Exif, and converts colours with the results.
func FuzzMetadata(f *testing.F) {
	for _, tag := range [][]byte{srgbTag(), gammaTag(1.8), sampledTag(0, nil), sampledTag(1024, srgbToLight), formulaTag(0, 2), formulaTag(1, 2, 1, 0.1), formulaTag(2, 2, 1, 0.1, 0.1), formulaTag(4, 2, 1, 0, 1, 0.1, 0, 0)} {
		f.Add(madeProfile{colorants: displayP3(), curve: tag, version: 2}.file())
		f.Add(madeProfile{gray: true, curve: tag, version: 4}.file())
	}
	f.Add(exif(6))
	f.Add(exif(6)[6:])
	f.Add([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if orientation := exifOrientation(data); orientation < 0 || orientation > 8 {
			t.Errorf("got orientation %d, want 0 to 8", orientation)
		}
		for _, components := range []int{1, 3, 4} {
			apply(profileTransform(data, components))
		}
		apply(profileTransform(inflateProfile(data), 3))
		if space, ok := cicpSpace(data); ok {
			apply(space.transform())
		}
		if half := len(data) / 2; half >= 4 {
			if space, ok := pngSpace(data[:4], data[half:]); ok {
				apply(space.transform())
			}
		}
	})
}

// apply converts a few colours.
func apply(t *transform) {
	if t == nil {
		return
	}
	img := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range img.Pix {
		img.Pix[i] = byte(i)
	}
	for i := 3; i < len(img.Pix); i += 4 { // premultiplied
		img.Pix[i] = 255
	}
	t.apply(img)
}
