package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"runtime/debug"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// Limits of an upload.
const (
	MaxBytes      = 10 << 20
	MaxPixels     = 24_000_000
	MaxPixelsDeep = 12_000_000 // with 16 bits per channel
	MaxSide       = 30_000     // pixels: decoders also hold some rows

	// maxMemory limits decoding one picture, in bytes. The process has 256 MB and uses 75 at
	// rest. Not all pictures within MaxPixels fit: the limit of progressive JPEGs, whose
	// coefficients stay in memory until the last scan, is about 20 megapixels. That of CMYK is
	// about 18, that of RGB about 21.
	maxMemory = 144 << 20
	// Each scan of a JPEG takes a few bytes in the file, but may process all pixels. Encoders
	// write about ten scans in progressive files, in others at most one per component.
	maxScans      = 40
	maxScanned    = 400_000_000 // pixels, over all scans
	maxPlainScans = 4
	decodeTimeout = 5 * time.Second // seven times the time for 24 megapixels

	// largePicture is the minimum size of the pixels, in bytes, for which freeMemory runs.
	largePicture = 8 << 20

	slotTimeout = 3 * time.Second
)

// errBusy is returned if the decoder is busy for too long.
var errBusy = apierror.New(apierror.Unavailable, "We're processing too many images right now. Please try again.").WithRetryAfter(2 * time.Second)

func rejected(format string, args ...any) error {
	return apierror.Refuse(mediapath.Rejected, fmt.Sprintf(format, args...), "file")
}

func outcomeOf(err error) string {
	if errors.Is(err, errBusy) {
		return uploadBusy
	}
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return uploadRejected
	}
	return uploadFailed
}

type format struct {
	name  string
	magic func(head []byte) bool
	open  func(data []byte) (*source, error)
}

// A source is a file with a known structure, before it is decoded.
type source struct {
	image.Config
	bytesEach   float64                                                    // bytes of memory per pixel while decoding
	orientation int                                                        // Exif orientation, 1 to 8; 0 if unknown
	colors      func() *transform                                          // conversion to sRGB; nil for sRGB and unknown spaces
	decode      func(ctx context.Context, need int64) (image.Image, error) // need: bytes of memory
}

// formats returns the accepted formats. No import extends them, unlike those of package image.
func formats() []format {
	return []format{
		{"JPEG", func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }, openJPEG},
		{"PNG", func(head []byte) bool { return bytes.HasPrefix(head, []byte(pngSignature)) }, openPNG},
		{"WebP", func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("RIFF")) && len(head) >= 12 && string(head[8:12]) == "WEBP"
		}, openWebP},
	}
}

// decode decodes an upload and encodes it again, within the slot of the decoder.
func (s *Service) decode(ctx context.Context, file io.ReadSeeker) (encoded, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size > MaxBytes {
		return encoded{}, rejected("This image is too large. The limit is %d MB.", MaxBytes>>20)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return encoded{}, fmt.Errorf("read picture: %w", err)
	}
	k, err := sniff(file)
	if err != nil {
		return encoded{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return encoded{}, err
	}
	defer leave()
	data := make([]byte, size)
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		_, err = io.ReadFull(file, data)
	}
	if err != nil {
		return encoded{}, fmt.Errorf("read picture: %w", err)
	}
	return k.process(ctx, data)
}

// enter waits for the slot. The caller calls leave to release it.
func (s *Service) enter(ctx context.Context) (leave func(), err error) {
	patience := time.NewTimer(s.slotTimeout)
	defer patience.Stop()
	select {
	case s.slot <- struct{}{}:
		return func() { <-s.slot }, nil
	case <-patience.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// process measures a picture, decodes it, converts it to sRGB, turns it upright and encodes it.
func (k format) process(ctx context.Context, data []byte) (encoded, error) {
	p, need, err := k.measure(data)
	if err != nil {
		return encoded{}, err
	}
	if p.Width*p.Height*4 >= largePicture {
		defer freeMemory()()
	}
	bounded, cancel := context.WithTimeout(ctx, decodeTimeout)
	defer cancel()
	img, err := p.decode(bounded, need)
	switch {
	case ctx.Err() != nil:
		return encoded{}, ctx.Err()
	case bounded.Err() != nil:
		return encoded{}, rejected("This %s takes too long to process. Please save it in another format.", k.name)
	case errors.Is(err, errTruncated):
		return encoded{}, rejected("This %s is incomplete. Please upload it again.", k.name)
	case err != nil:
		return encoded{}, k.damaged()
	case img.Bounds().Dx() != p.Width || img.Bounds().Dy() != p.Height:
		return encoded{}, rejected("The size in the header of this %s is wrong. Please save it again.", k.name)
	}
	return encode(orient(p.screen(img), p.orientation))
}

// screen returns a decoded picture in the screen size, in sRGB.
func (p *source) screen(img image.Image) *image.RGBA {
	colors := p.colors()
	if colors == nil {
		return resize(img, screenSize)
	}
	if fine, ok := img.(image.RGBA64Image); ok && deep(p.ColorModel) {
		return resize(colors.deep(fine), screenSize)
	}
	screen := resize(img, screenSize)
	colors.apply(screen)
	return screen
}

func (k format) damaged() error {
	return rejected("This %s is damaged or not supported.", k.name)
}

// measure parses a picture and returns the memory for decoding it, in bytes. It rejects pictures
// above the limits.
func (k format) measure(data []byte) (p *source, need int64, err error) {
	p, err = k.open(data)
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, k.damaged()
	}
	pixels, limit := int64(p.Width)*int64(p.Height), int64(MaxPixels)
	if deep(p.ColorModel) {
		limit = MaxPixelsDeep
	}
	switch {
	case pixels <= 0:
		return nil, 0, rejected("This %s is empty.", k.name)
	case p.Width > MaxSide || p.Height > MaxSide:
		return nil, 0, rejected("This image is too large. The limit is %d pixels per side.", MaxSide)
	case pixels > limit:
		return nil, 0, rejected("This image is too large. The limit is %d megapixels, or %d with 16 bits per channel.", MaxPixels/1_000_000, MaxPixelsDeep/1_000_000)
	}
	if need = int64(p.bytesEach * float64(pixels)); need > maxMemory {
		return nil, 0, rejected("This %s is too large. Please save it in a smaller size, or as a non-progressive image.", k.name)
	}
	return p, need, nil
}

func deep(m color.Model) bool {
	return m == color.RGBA64Model || m == color.NRGBA64Model || m == color.Gray16Model
}

// freeMemory returns unused memory to the system before a large picture is decoded, and the
// memory of the picture right after it. Otherwise the next picture would begin before a garbage
// collection. In between, the collector runs early: the picture is most of the live heap, so
// garbage could grow to its size again.
func freeMemory() (done func()) {
	debug.FreeOSMemory()
	before := debug.SetGCPercent(earlyGC)
	return func() {
		debug.SetGCPercent(before)
		debug.FreeOSMemory()
	}
}

const earlyGC = 20 // GC percentage while a large picture is decoded
