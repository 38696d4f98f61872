package media

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"runtime/debug"
)

// A JPEG is read in three steps. The first finds its segments, which give the cost of decoding, the
// orientation and the colours. Then the decoder of the standard library gets only the segments that
// it needs: no metadata, no garbage between segments, and always an end marker. If it fails, the
// lenient decoder tries, see jpeg_lenient.go.
//
// Markers follow ITU-T T.81, annex B.
const (
	markSOF0  = 0xc0 // baseline
	markSOF1  = 0xc1 // extended sequential
	markSOF2  = 0xc2 // progressive
	markDHT   = 0xc4
	markRST0  = 0xd0
	markRST7  = 0xd7
	markSOI   = 0xd8
	markEOI   = 0xd9
	markSOS   = 0xda
	markDQT   = 0xdb
	markDRI   = 0xdd
	markAPP0  = 0xe0
	markAPP1  = 0xe1
	markAPP2  = 0xe2
	markAdobe = 0xee
	markAPP15 = 0xef
	markCOM   = 0xfe
)

// maxSegments limits the segments for decoders. Encoders write a few tables per scan.
const maxSegments = 1000

// errUnsupportedJPEG is returned for frames that neither this package nor browsers decode:
// lossless, arithmetic, 12 bits.
var errUnsupportedJPEG = errors.New("unsupported JPEG")

// A jpegSegment is a marker with its data.
type jpegSegment struct {
	mark byte
	body []byte // without its length
	scan []byte // the coded data after the header of a scan, including restart markers
}

// A jpegFile holds the segments of a JPEG that decoders need, and metadata from the others.
type jpegFile struct {
	frame
	width, height int
	segments      []jpegSegment
	orientation   int         // Exif orientation; 0 if unknown
	icc           [256][]byte // parts of the profile, numbered from 1
	iccCount      int
}

// A frame holds the properties that determine the memory and time of decoding.
type frame struct {
	progressive    bool
	components     int
	jfif           bool
	adobe          bool // has an Adobe segment
	adobeTransform byte // of the Adobe segment: 0 RGB or CMYK, 1 YCbCr, 2 YCCK
	rgb            bool // the components are named R, G, B
	unusual        bool // sampled so that the result has 4 bytes per pixel
	samples        float64
	scans          int
}

// bytesEach returns the memory per pixel, in bytes: one for each sample. A progressive picture
// takes 4 more per sample until the last scan. Colours other than YCbCr take 4 more, because they
// are assembled at the end.
func (f frame) bytesEach() float64 {
	each := f.samples
	if f.progressive {
		each *= 5
	}
	if f.components == 4 || f.unusual || f.isRGB() {
		each += 4
	}
	return each
}

// isRGB reports whether three components are RGB. A JFIF header excludes that.
func (f frame) isRGB() bool {
	return f.components == 3 && !f.jfif && (f.adobe && f.adobeTransform == 0 || f.rgb)
}

// tooManyScans reports whether processing all pixels in each scan takes too long.
func (f frame) tooManyScans(pixels int64) bool {
	if !f.progressive {
		return f.scans > maxPlainScans
	}
	return int64(f.scans)*pixels > maxScanned
}

func openJPEG(data []byte) (*source, error) {
	f, err := parseJPEG(data)
	if err != nil {
		return nil, err
	}
	if f.tooManyScans(int64(f.width) * int64(f.height)) {
		return nil, rejected("This JPEG has too many scans: %d. Please save it again.", f.scans)
	}
	model := map[int]color.Model{1: color.GrayModel, 3: color.YCbCrModel, 4: color.CMYKModel}[f.components]
	return &source{
		Config:      image.Config{Width: f.width, Height: f.height, ColorModel: model},
		bytesEach:   f.bytesEach(),
		orientation: f.orientation,
		colors:      func() *transform { return profileTransform(f.iccProfile(), f.components) },
		decode:      f.decode,
	}, nil
}

// parseJPEG finds the segments of a JPEG up to its end. It skips bytes between segments and invalid
// markers. It returns an error if no frame can be decoded, or if there are too many scans.
func parseJPEG(data []byte) (*jpegFile, error) {
	f := &jpegFile{}
	for at := 2; ; {
		mark, next := nextMark(data, at)
		if next < 0 || mark == markEOI || mark == markSOI && f.scans > 0 {
			break
		}
		at = next
		if !hasBody(mark) || len(data)-at < 2 {
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at:]))
		if length < 2 {
			continue
		}
		s := jpegSegment{mark: mark, body: data[at+2 : max(at+2, min(at+length, len(data)))]}
		if at = min(at+length, len(data)); mark == markSOS {
			end := scanEnd(data, at)
			s.scan, at = data[at:end], end
		}
		if done, err := f.add(s); err != nil {
			return nil, err
		} else if done {
			break
		}
	}
	if f.components == 0 {
		return nil, errUnsupportedJPEG
	}
	return f, nil
}

// nextMark returns the next marker at or after an offset, and the offset after the marker, or -1 if
// there is none. A marker may have any number of 0xff before it.
func nextMark(data []byte, at int) (mark byte, next int) {
	for {
		i := bytes.IndexByte(data[at:], 0xff)
		if i < 0 {
			return 0, -1
		}
		for at += i; at < len(data) && data[at] == 0xff; {
			at++
		}
		if at == len(data) {
			return 0, -1
		}
		if at++; data[at-1] != 0 {
			return data[at-1], at
		}
	}
}

// hasBody reports whether a marker begins a segment with a length.
func hasBody(mark byte) bool {
	return mark >= 0xc0 && (mark < markRST0 || mark > markEOI && mark <= markAPP15) || mark == markCOM
}

// scanEnd returns the end of the coded data of a scan: the next marker of another segment. Restart
// markers belong to the data. So do markers that cannot follow a scan, since they are damage.
func scanEnd(data []byte, at int) int {
	for {
		i := bytes.IndexByte(data[at:], 0xff)
		if i < 0 || at+i+1 >= len(data) {
			return len(data)
		}
		at += i
		if mark := data[at+1]; hasBody(mark) && (mark > markEOI || mark == markDHT) || mark == markSOI || mark == markEOI {
			return at
		}
		at++
	}
}

// add stores a segment, or reads its metadata. If done, the rest belongs to another picture.
func (f *jpegFile) add(s jpegSegment) (done bool, err error) {
	switch s.mark {
	case markSOF0, markSOF1, markSOF2:
		if f.components > 0 {
			return true, nil
		}
		if err := f.addFrame(s); err != nil {
			return false, err
		}
	case 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf:
		if f.components > 0 {
			return true, nil
		}
		return false, errUnsupportedJPEG
	case markSOS:
		if f.scans++; f.scans > maxScans {
			return false, rejected("This JPEG has more than %d scans. Please save it again.", maxScans)
		}
	case markDHT, markDQT, markDRI:
	case markAPP0:
		if !bytes.HasPrefix(s.body, []byte("JFIF\x00")) || f.jfif {
			return false, nil
		}
		f.jfif = true
	case markAdobe:
		const transform = 11 // offset of the colour transform
		if len(s.body) <= transform || !bytes.HasPrefix(s.body, []byte("Adobe")) || f.adobe {
			return false, nil
		}
		f.adobe, f.adobeTransform = true, s.body[transform]
	default:
		f.addMetadata(s)
		return false, nil
	}
	if len(f.segments) == maxSegments {
		return false, rejected("This JPEG has more than %d segments. Please save it again.", maxSegments)
	}
	f.segments = append(f.segments, s)
	return false, nil
}

func (f *jpegFile) addMetadata(s jpegSegment) {
	switch s.mark {
	case markAPP1:
		if tiff, ok := cutExifIdentifier(s.body); ok && f.orientation == 0 {
			f.orientation = exifOrientation(tiff)
		}
	case markAPP2:
		part, ok := bytes.CutPrefix(s.body, []byte("ICC_PROFILE\x00"))
		if !ok || len(part) < 2 || f.icc[part[0]] != nil {
			return
		}
		f.iccCount = max(f.iccCount, int(part[1]))
		f.icc[part[0]] = part[2:]
	}
}

// iccProfile joins the parts of the colour profile, nil if one is missing or they are too large.
func (f *jpegFile) iccProfile() []byte {
	if f.iccCount == 1 {
		return f.icc[1]
	}
	var whole []byte
	for _, part := range f.icc[1:max(f.iccCount+1, 1)] {
		if part == nil || len(whole)+len(part) > maxProfile {
			return nil
		}
		whole = append(whole, part...)
	}
	return whole
}

func (f *jpegFile) addFrame(s jpegSegment) error {
	const header, each = 6, 3
	if len(s.body) < header {
		return errUnsupportedJPEG
	}
	n := int(s.body[5])
	if s.body[0] != 8 || n != 1 && n != 3 && n != 4 || len(s.body) < header+each*n {
		return errUnsupportedJPEG
	}
	f.height, f.width = int(binary.BigEndian.Uint16(s.body[1:])), int(binary.BigEndian.Uint16(s.body[3:]))
	f.progressive, f.components = s.mark == markSOF2, n
	params := s.body[header : header+each*n]
	f.rgb = n == 3 && params[0] == 'R' && params[3] == 'G' && params[6] == 'B'
	var wide, high [maxComponents]int
	for i := range n {
		wide[i], high[i] = int(params[each*i+1]>>4), int(params[each*i+1]&0x0f)
		if wide[i] < 1 || wide[i] > 4 || high[i] < 1 || high[i] > 4 {
			return errUnsupportedJPEG
		}
	}
	f.samples = samplesOf(wide[:n], high[:n])
	if n == 3 {
		_, known := subsampling(wide, high)
		f.unusual = !known
	}
	return nil
}

const maxComponents = 4

// samplesOf returns the number of samples per pixel. A component with half the samples in both
// directions counts a quarter.
func samplesOf(wide, high []int) float64 {
	maxWidth, maxHeight, sum := 1, 1, 0
	if len(wide) == 1 {
		return 1
	}
	for i := range wide {
		maxWidth, maxHeight = max(maxWidth, wide[i]), max(maxHeight, high[i])
		sum += wide[i] * high[i]
	}
	return float64(sum) / float64(maxWidth*maxHeight)
}

// subsampling returns the subsampling of a YCbCr picture, if [image.YCbCr] supports it.
func subsampling(wide, high [maxComponents]int) (image.YCbCrSubsampleRatio, bool) {
	if wide[1] != wide[2] || high[1] != high[2] || wide[0]%wide[1] != 0 || high[0]%high[1] != 0 {
		return 0, false
	}
	ratio, ok := map[[2]int]image.YCbCrSubsampleRatio{
		{1, 1}: image.YCbCrSubsampleRatio444, {1, 2}: image.YCbCrSubsampleRatio440,
		{2, 1}: image.YCbCrSubsampleRatio422, {2, 2}: image.YCbCrSubsampleRatio420,
		{4, 1}: image.YCbCrSubsampleRatio411, {4, 2}: image.YCbCrSubsampleRatio410,
	}[[2]int{wide[0] / wide[1], high[0] / high[1]}]
	return ratio, ok
}

// decode decodes with the standard library, or as much as possible with the lenient decoder.
func (f *jpegFile) decode(ctx context.Context, need int64) (image.Image, error) {
	img, err := jpeg.Decode(bufio.NewReader(guard(ctx, &sliceReader{rest: f.cleaned()}, need)))
	if err == nil || ctx.Err() != nil || errors.Is(err, errMemory) {
		return img, err
	}
	if f.width*f.height*4 >= largePicture {
		debug.FreeOSMemory() // memory of the first decoder
	}
	return f.decodeLenient(ctx)
}

// cleaned returns a file with only the segments for a decoder, and with an end marker.
func (f *jpegFile) cleaned() [][]byte {
	all := [][]byte{{0xff, markSOI}}
	for _, s := range f.segments {
		head := binary.BigEndian.AppendUint16([]byte{0xff, s.mark}, uint16(len(s.body)+2)) //nolint:gosec // from 16 bits
		all = append(all, head, s.body, s.scan)
	}
	return append(all, []byte{0xff, markEOI})
}
