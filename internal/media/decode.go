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

// Bounds of a picture that is sent.
const (
	MaxBytes      = 10 << 20
	MaxPixels     = 24_000_000
	MaxPixelsDeep = 12_000_000 // with 16 bits a channel
	MaxSide       = 30_000     // pixels: decoders hold some rows beside the picture

	// maxMemory is what decoding one picture may take, in bytes. The process has 256 MB,
	// at rest it takes 75. What MaxPixels allows fits, but for progressive JPEGs of more
	// than 20 megapixels, whose coefficients lie in memory until the last scan, and for those
	// in other colours than cameras write (CMYK 18, RGB 21 megapixels).
	maxMemory = 144 << 20
	// Each scan of a JPEG may go over all its pixels, and costs a file a few bytes. Encoders
	// make ten or so where it is progressive, else one for each component at most.
	maxScans      = 40
	maxScanned    = 400_000_000 // pixels, over all scans
	maxPlainScans = 4
	decodeTime    = 5 * time.Second // what 24 megapixels take seven times

	// tidyFrom is from how many bytes of pixels on a picture is made room for, see makeRoom.
	tidyFrom = 8 << 20

	slotPatience = 3 * time.Second
)

// errBusy is what somebody hears when others decode.
var errBusy = apierror.New(apierror.Unavailable, "Too many pictures at the moment. Please try again.").WithRetryAfter(2 * time.Second)

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

// A kind is an accepted format.
type kind struct {
	name  string
	magic func(head []byte) bool
	open  func(data []byte) (*source, error)
}

// A source is a file whose structure is known, and that is not decoded yet.
type source struct {
	image.Config
	bytesEach   float64                                                    // that each pixel takes while it is decoded
	orientation int                                                        // of Exif, 1 to 8, 0 if unknown
	colors      func() *transform                                          // nil if the picture is sRGB, or not known to be something else
	decode      func(ctx context.Context, need int64) (image.Image, error) // need is in bytes
}

// kinds returns all accepted formats. They stand here and not in a register of the process,
// which any import may add to.
func kinds() []kind {
	return []kind{
		{"JPEG", func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }, openJPEG},
		{"PNG", func(head []byte) bool { return bytes.HasPrefix(head, []byte(pngSignature)) }, openPNG},
		{"WebP", func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("RIFF")) && len(head) >= 12 && string(head[8:12]) == "WEBP"
		}, openWebP},
	}
}

// decode makes what is kept of a file, when it is its turn.
func (s *Service) decode(ctx context.Context, file io.ReadSeeker) (encoded, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size > MaxBytes {
		return encoded{}, rejected("A picture has at most %d MB.", MaxBytes>>20)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return encoded{}, fmt.Errorf("read a picture: %w", err)
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
		return encoded{}, fmt.Errorf("read a picture: %w", err)
	}
	return k.take(ctx, data)
}

// enter waits for the slot.
func (s *Service) enter(ctx context.Context) (leave func(), err error) {
	patience := time.NewTimer(s.patient)
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

// take measures a picture, decodes it, converts it to sRGB, turns it upright and encodes it.
func (k kind) take(ctx context.Context, data []byte) (encoded, error) {
	p, need, err := k.measure(data)
	if err != nil {
		return encoded{}, err
	}
	if p.Width*p.Height*4 >= tidyFrom {
		defer makeRoom()()
	}
	bounded, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	img, err := p.decode(bounded, need)
	switch {
	case ctx.Err() != nil:
		return encoded{}, ctx.Err()
	case bounded.Err() != nil:
		return encoded{}, rejected("The %s takes too long to be decoded.", k.name)
	case errors.Is(err, errCutOff):
		return encoded{}, rejected("The %s is cut off: most of it is missing.", k.name)
	case err != nil:
		return encoded{}, k.damaged()
	case img.Bounds().Dx() != p.Width || img.Bounds().Dy() != p.Height:
		return encoded{}, rejected("The %s has another size than it says.", k.name)
	}
	return encode(turn(p.shrunk(img), p.orientation))
}

// shrunk returns a decoded picture in the size for screens, in sRGB.
func (p *source) shrunk(img image.Image) *image.RGBA {
	colors := p.colors()
	if colors == nil {
		return shrink(img, screenSize)
	}
	if fine, ok := img.(image.RGBA64Image); ok && deep(p.ColorModel) {
		return shrink(colors.deep(fine), screenSize)
	}
	screen := shrink(img, screenSize)
	colors.apply(screen)
	return screen
}

func (k kind) damaged() error {
	return rejected("The %s is damaged, or of a sort that is not known here.", k.name)
}

// measure reads the structure of a picture, says how many bytes it takes to decode it, and
// refuses what would take too much.
func (k kind) measure(data []byte) (p *source, need int64, err error) {
	p, err = k.open(data)
	if _, refused := errors.AsType[apierror.UserErrors](err); refused {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, k.damaged()
	}
	pixels, most := int64(p.Width)*int64(p.Height), int64(MaxPixels)
	if deep(p.ColorModel) {
		most = MaxPixelsDeep
	}
	switch {
	case pixels <= 0:
		return nil, 0, rejected("The %s is empty.", k.name)
	case p.Width > MaxSide || p.Height > MaxSide:
		return nil, 0, rejected("A picture has at most %d pixels on a side.", MaxSide)
	case pixels > most:
		return nil, 0, rejected("A picture has at most %d megapixels, %d with 16 bits a channel.", MaxPixels/1_000_000, MaxPixelsDeep/1_000_000)
	}
	if need = int64(p.bytesEach * float64(pixels)); need > maxMemory {
		return nil, 0, rejected("The %s is too large to be decoded. Save it smaller, or not progressive.", k.name)
	}
	return p, need, nil
}

func deep(m color.Model) bool {
	return m == color.RGBA64Model || m == color.NRGBA64Model || m == color.Gray16Model
}

// makeRoom has the process give back what it does not need before a large picture is
// decoded, and the picture's memory at once after it: the garbage collector would take its
// time, and the next one would begin beside it. In between it collects early, for as long as
// most of what lives is a picture the others may not fill as much again with garbage.
func makeRoom() (done func()) {
	debug.FreeOSMemory()
	before := debug.SetGCPercent(earlyGC)
	return func() {
		debug.SetGCPercent(before)
		debug.FreeOSMemory()
	}
}

// earlyGC is after how many percent of what lives the garbage is collected meanwhile.
const earlyGC = 20
