package media

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"io"
)

// maxChunks limits the chunks of a PNG. Encoders write one per several kilobytes.
const maxChunks = 100_000

// A pngFile holds the chunks of a PNG that the decoder needs, and metadata from the others. It
// skips ancillary chunks with a wrong checksum, as the PNG specification allows. The decoder
// rejects critical ones.
type pngFile struct {
	parts        [][]byte // parts of the file; adjacent chunks share one
	end          int      // end of the last part in the file
	colorType    byte
	interlaced   bool
	pixelsBegun  bool // seen an IDAT chunk
	transparency bool // has a tRNS chunk
	orientation  int
	cicp, iccp   []byte
	srgb         bool
	gama, chrm   []byte
}

const pngSignature = "\x89PNG\r\n\x1a\n"

func openPNG(data []byte) (*source, error) {
	f, err := parsePNG(data)
	if err != nil {
		return nil, err
	}
	c, err := png.DecodeConfig(bufio.NewReader(&sliceReader{rest: f.parts}))
	if err != nil {
		return nil, err
	}
	each := 4.0
	if deep(c.ColorModel) {
		each = 8
	}
	if f.interlaced { // half of the picture is in memory twice
		each *= 1.5
	}
	return &source{
		Config: c, bytesEach: each, orientation: f.orientation, colors: f.colors,
		decode: func(ctx context.Context, need int64) (image.Image, error) {
			return png.Decode(bufio.NewReader(guard(ctx, &sliceReader{rest: f.parts}, need)))
		},
	}, nil
}

// parsePNG finds the chunks of a PNG, up to its end or that of the file.
func parsePNG(data []byte) (*pngFile, error) {
	const head, check = 8, 4 // bytes before and after the content of a chunk
	f := &pngFile{}
	f.add(data, 0, len(pngSignature))
	for at, n := len(pngSignature), 0; len(data)-at >= head; n++ {
		if n == maxChunks {
			return nil, rejected("This PNG has more than %d chunks. Please save it again.", maxChunks)
		}
		length, name := int64(binary.BigEndian.Uint32(data[at:])), string(data[at+4:at+head])
		if length+head+check > int64(len(data)-at) {
			if name == "IDAT" {
				f.addTruncated(data[at+head:])
			}
			break
		}
		next := at + head + int(length) + check
		content := data[at+head : next-check]
		switch ancillary := name[0]&0x20 != 0; {
		case !ancillary && name != "PLTE":
			f.critical(name, content)
			f.add(data, at, next)
			if name == "IEND" {
				return f, nil
			}
		case name == "PLTE": // only a hint in true-colour pictures
			if f.colorType == pngPalette {
				f.add(data, at, next)
			}
		case crc32.ChecksumIEEE(data[at+4:next-check]) != binary.BigEndian.Uint32(data[next-check:]):
		case name == "tRNS":
			if !f.pixelsBegun && !f.transparency && f.fits(content) {
				f.transparency = true
				f.add(data, at, next)
			}
		default:
			f.addMetadata(name, content)
		}
		at = next
	}
	f.parts = append(f.parts, []byte("\x00\x00\x00\x00IEND\xae\x42\x60\x82"))
	return f, nil
}

// Colour types of a PNG.
const (
	pngGray    = 0
	pngColor   = 2
	pngPalette = 3
)

func (f *pngFile) critical(name string, content []byte) {
	const colorType, interlace = 9, 12
	switch {
	case name == "IHDR" && len(content) > interlace:
		f.colorType, f.interlaced = content[colorType], content[interlace] != 0
	case name == "IDAT":
		f.pixelsBegun = true
	}
}

func (f *pngFile) add(data []byte, from, to int) {
	if last := len(f.parts) - 1; last >= 0 && f.end == from {
		f.parts[last] = data[from-len(f.parts[last]) : to]
	} else {
		f.parts = append(f.parts, data[from:to])
	}
	f.end = to
}

// addTruncated adds a truncated IDAT chunk, which may be the only one.
func (f *pngFile) addTruncated(content []byte) {
	chunk := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), "IDAT"...) //nolint:gosec // MaxBytes at most
	sum := crc32.Update(crc32.ChecksumIEEE([]byte("IDAT")), crc32.IEEETable, content)
	f.parts = append(f.parts, chunk, content, binary.BigEndian.AppendUint32(nil, sum))
}

// fits reports whether a tRNS chunk has the right length.
func (f *pngFile) fits(content []byte) bool {
	switch f.colorType {
	case pngGray:
		return len(content) == 2
	case pngColor:
		return len(content) == 6
	case pngPalette:
		return len(content) <= 256
	}
	return false
}

// addMetadata reads the orientation, which may come after the pixels, and colours, which may not.
// The first chunk of each name counts.
func (f *pngFile) addMetadata(name string, content []byte) {
	if name == "eXIf" && f.orientation == 0 {
		f.orientation = exifOrientation(content)
	}
	if f.pixelsBegun {
		return
	}
	for _, one := range []struct {
		name string
		to   *[]byte
	}{{"cICP", &f.cicp}, {"iCCP", &f.iccp}, {"gAMA", &f.gama}, {"cHRM", &f.chrm}} {
		if name == one.name && *one.to == nil {
			*one.to = content
		}
	}
	f.srgb = f.srgb || name == "sRGB"
}

// colors returns the conversion to sRGB, nil if none is necessary. The order of precedence
// follows the PNG specification, 4.3: cICP, iCCP, sRGB, gAMA with cHRM.
func (f *pngFile) colors() *transform {
	if space, ok := cicpSpace(f.cicp); ok {
		return space.transform()
	}
	components := 3
	if f.colorType&pngColor == 0 {
		components = 1
	}
	if p, ok := parseProfile(inflateProfile(f.iccp), components); ok {
		return p.transform()
	}
	if f.srgb {
		return nil
	}
	if space, ok := pngSpace(f.gama, f.chrm); ok {
		return space.transform()
	}
	return nil
}

// inflateProfile returns the content of an iCCP chunk, nil if it is invalid or larger than
// [maxProfile]. It ignores a wrong checksum at the end.
func inflateProfile(chunk []byte) []byte {
	const maxName = 79
	name, rest, found := bytes.Cut(chunk, []byte{0})
	if !found || len(name) > maxName || len(rest) == 0 || rest[0] != 0 {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(rest[1:]))
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	profile, _ := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if len(profile) > maxProfile {
		return nil
	}
	return profile
}
