package media

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"runtime/debug"
	"time"

	"golang.org/x/image/webp"

	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// Bounds of a picture that is sent.
const (
	MaxBytes      = 10 << 20
	MaxPixels     = 24_000_000
	MaxPixelsDeep = 12_000_000 // with 16 bits a channel
	MaxSide       = 30_000     // pixels: decoders hold some rows beside the picture

	// mostMemory is what decoding one picture may take, in bytes. The process has 256 MB,
	// at rest it takes 75. What MaxPixels allows fits, but for progressive JPEGs of more
	// than 20 megapixels, whose coefficients lie in memory until the last scan, and for those
	// in other colours than cameras write (CMYK 18, RGB 21 megapixels).
	mostMemory = 144 << 20
	// Each scan of a JPEG may go over all its pixels, and costs a file a few bytes. Encoders
	// make ten or so where it is progressive, else one for each component at most.
	mostScans      = 40
	mostScanned    = 400_000_000 // pixels, over all scans
	mostPlainScans = 4
	decodeTime     = 5 * time.Second // what 24 megapixels take seven times

	// tidyFrom is from how many bytes of pixels on a picture is made room for, see makeRoom.
	tidyFrom = 8 << 20

	slotPatience = 3 * time.Second
)

// errBusy is what somebody hears when others decode.
var errBusy = fault.New(fault.Unavailable, "Too many pictures at the moment. Please try again.").In(2 * time.Second)

func rejected(format string, args ...any) error {
	return fault.Refuse(mediapath.Rejected, fmt.Sprintf(format, args...), "file")
}

func outcomeOf(err error) string {
	if errors.Is(err, errBusy) {
		return uploadBusy
	}
	if _, refused := errors.AsType[fault.UserErrors](err); refused {
		return uploadRejected
	}
	return uploadFailed
}

// A kind is a format that is taken.
type kind struct {
	name   string
	magic  func(head []byte) bool
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// kinds are all formats. They stand here and not in a register of the process, which any
// import may add to.
func kinds() []kind {
	return []kind{
		{"JPEG", func(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }, jpeg.DecodeConfig, jpeg.Decode},
		{"PNG", func(head []byte) bool { return bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")) }, png.DecodeConfig, png.Decode},
		{"WebP", func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("RIFF")) && bytes.HasPrefix(head[8:], []byte("WEBP"))
		}, webp.DecodeConfig, webp.Decode},
	}
}

const headBytes = 12

// sniff says by its first bytes what a file is.
func sniff(file io.ReadSeeker) (kind, error) {
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(file, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return kind{}, fmt.Errorf("read a picture: %w", err)
	}
	for _, k := range kinds() {
		if k.magic(head) {
			return k, nil
		}
	}
	return kind{}, rejected("This is no JPEG, PNG or WebP.")
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
	return k.take(ctx, file)
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

// take measures a picture, decodes it, turns it upright and encodes it anew.
func (k kind) take(ctx context.Context, file io.ReadSeeker) (encoded, error) {
	c, need, err := k.measure(file)
	if err != nil {
		return encoded{}, err
	}
	if c.Width*c.Height*4 >= tidyFrom {
		defer makeRoom()()
	}
	turned := orientation(k, file)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return encoded{}, fmt.Errorf("read a picture: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	decoded, err := k.decode(bufio.NewReader(watch(bounded, file, need)))
	switch {
	case ctx.Err() != nil:
		return encoded{}, ctx.Err()
	case bounded.Err() != nil:
		return encoded{}, rejected("The %s takes too long to be decoded.", k.name)
	case err != nil:
		return encoded{}, rejected("The %s is damaged, or of a sort that is not known here.", k.name)
	case decoded.Bounds().Dx() != c.Width || decoded.Bounds().Dy() != c.Height:
		return encoded{}, rejected("The %s has another size than it says.", k.name)
	}
	screen := shrink(decoded, screenSize)
	return encode(turn(screen, turned))
}

// measure reads the size of a picture, says how many bytes it takes to decode it, and
// refuses what would take too much.
func (k kind) measure(file io.ReadSeeker) (c image.Config, need int64, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return c, 0, fmt.Errorf("read a picture: %w", err)
	}
	c, err = k.config(bufio.NewReader(file))
	pixels, most := int64(c.Width)*int64(c.Height), int64(MaxPixels)
	if deep(c.ColorModel) {
		most = MaxPixelsDeep
	}
	switch {
	case err != nil:
		return c, 0, rejected("The %s is damaged, or of a sort that is not known here.", k.name)
	case pixels <= 0:
		return c, 0, rejected("The %s is empty.", k.name)
	case c.Width > MaxSide || c.Height > MaxSide:
		return c, 0, rejected("A picture has at most %d pixels on a side.", MaxSide)
	case pixels > most:
		return c, 0, rejected("A picture has at most %d megapixels, %d with 16 bits a channel.", MaxPixels/1_000_000, MaxPixelsDeep/1_000_000)
	}
	bytesEach, err := k.weigh(file, c)
	if err != nil {
		return c, 0, err
	}
	if need = int64(bytesEach * float64(pixels)); need > mostMemory {
		return c, 0, rejected("The %s is too large to be decoded. Save it smaller, or not progressive.", k.name)
	}
	return c, need, nil
}

func deep(m color.Model) bool {
	return m == color.RGBA64Model || m == color.NRGBA64Model || m == color.Gray16Model
}

// weigh says how many bytes each pixel takes while a picture is decoded, or refuses one
// that would take for ever.
func (k kind) weigh(file io.ReadSeeker, c image.Config) (float64, error) {
	switch k.name {
	case "JPEG":
		f, err := frameOf(file)
		if err != nil {
			return 0, err
		}
		if f.scanned(c) {
			return 0, rejected("The JPEG has too many scans: %d.", f.scans)
		}
		return f.bytesEach(), nil
	case "PNG":
		return weighPNG(file, c)
	}
	return webpBytes, checkWebP(file, c)
}

// webpBytes is what each pixel of a WebP takes at most: a lossless alpha channel, which is
// decoded as four, beside the colours.
const webpBytes = 6.2

// weighPNG says how many bytes each pixel of a PNG takes. Of one that is interlaced, half
// of the picture is in memory twice while it is put in.
func weighPNG(file io.ReadSeeker, c image.Config) (float64, error) {
	const interlaced = 28 // where its header says so
	if _, err := file.Seek(interlaced, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read a picture: %w", err)
	}
	var twice [1]byte
	if _, err := io.ReadFull(file, twice[:]); err != nil {
		return 0, fmt.Errorf("read a picture: %w", err)
	}
	each := 4.0
	if deep(c.ColorModel) {
		each = 8
	}
	if twice[0] != 0 {
		each *= 1.5
	}
	return each, nil
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
