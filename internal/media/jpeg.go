package media

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"io"
)

// The decoder of a JPEG does not say what it is going to need. So its markers are read
// before: whether it is progressive, how its components are sampled, how many scans it has.
// Markers are those of ITU-T T.81, annex B.

// A frame is what matters of a JPEG's structure.
type frame struct {
	progressive bool
	components  int
	plain       bool    // colours that no camera writes: RGB, or what a printer mixes
	samples     float64 // for each pixel, over all components
	scans       int
}

// bytesEach is what each pixel takes: its samples, and those of a progressive picture 4
// bytes more each, until the last scan. Plain colours are put together in the end, into 4
// bytes.
func (f frame) bytesEach() float64 {
	each := f.samples
	if f.progressive {
		each *= 5
	}
	if f.plain || f.components == 4 {
		each += 4
	}
	return each
}

// scanned says whether going over all pixels in each scan takes too long.
func (f frame) scanned(c image.Config) bool {
	if !f.progressive {
		return f.scans > mostPlainScans
	}
	return int64(f.scans)*int64(c.Width)*int64(c.Height) > mostScanned
}

const (
	markSOS   = 0xda
	markEOI   = 0xd9
	markAdobe = 0xee
)

// frameOf reads the markers of a JPEG.
func frameOf(file io.ReadSeeker) (f frame, err error) {
	if _, err := file.Seek(2, io.SeekStart); err != nil {
		return f, fmt.Errorf("read a picture: %w", err)
	}
	in := bufio.NewReaderSize(file, 32<<10)
	for {
		mark, err := nextMark(in)
		switch {
		case errors.Is(err, io.EOF) || err == nil && mark == markEOI:
			return f, nil // what is cut off the decoder finds
		case err != nil:
			return f, fmt.Errorf("read a picture: %w", err)
		case mark == 0x01 || mark >= 0xd0 && mark <= 0xd8: // they stand alone
			continue
		}
		if f.scans += scansOf(mark); f.scans > mostScans {
			return f, rejected("The JPEG has more than %d scans.", mostScans)
		}
		if err := f.segment(in, mark); err != nil {
			return f, nil //nolint:nilerr // what is cut off the decoder finds
		}
	}
}

func scansOf(mark byte) int {
	if mark == markSOS {
		return 1
	}
	return 0
}

// nextMark returns the next marker: what stands behind 0xff and is no stuffing.
func nextMark(in *bufio.Reader) (byte, error) {
	for {
		if _, err := in.ReadSlice(0xff); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		} else if err != nil {
			continue
		}
		b, err := in.ReadByte()
		for err == nil && b == 0xff {
			b, err = in.ReadByte()
		}
		if err != nil || b != 0 {
			return b, err
		}
	}
}

// segment reads, or passes over, what a marker has behind it.
func (f *frame) segment(in *bufio.Reader, mark byte) error {
	var length [2]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return err
	}
	n := int(length[0])<<8 | int(length[1])
	if mark != markAdobe && (mark < 0xc0 || mark > 0xc2) { // no frame that can be decoded
		_, err := in.Discard(max(n-2, 0))
		return err
	}
	body := make([]byte, max(n-2, 0))
	if _, err := io.ReadFull(in, body); err != nil {
		return err
	}
	if mark == markAdobe {
		const transform = 11 // where it says how colours are put: 0 is plainly
		f.plain = f.plain || len(body) > transform && bytes.HasPrefix(body, []byte("Adobe")) && body[transform] == 0
		return nil
	}
	f.progressive = mark == 0xc2
	f.samples, f.components = samplesOf(body)
	f.plain = f.plain || f.components == 3 && body[6] == 'R' && body[9] == 'G' && body[12] == 'B'
	return nil
}

// samplesOf reads from the header of a frame how many samples a pixel has: of a component
// that is sampled half as often in both directions, a quarter.
func samplesOf(header []byte) (samples float64, components int) {
	const parameters, each = 6, 3
	var sizes []int
	most := 1
	for i := parameters; i+each <= len(header); i += each {
		h, v := int(header[i+1]>>4), int(header[i+1]&0x0f)
		sizes = append(sizes, h*v)
		most = max(most, h*v)
	}
	sum := 0.0
	for _, n := range sizes {
		sum += float64(n) / float64(most)
	}
	return sum, len(sizes)
}
