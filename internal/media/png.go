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

// maxChunks bounds the chunks of a PNG. Encoders write one for some kilobytes.
const maxChunks = 100_000

// A pngFile holds the chunks of a PNG that its decoder needs, and what the others say.
// Ancillary chunks whose checksum is wrong are not there, as the PNG specification allows;
// with a critical one the decoder refuses the picture.
type pngFile struct {
	kept         [][]byte // parts of the file; what is in the next one may follow in the file
	end          int      // of the last part
	colorType    byte
	interlaced   bool
	begun        bool // the pixels have
	transparency bool // there is a tRNS chunk
	orientation  int
	cicp, iccp   []byte
	srgb         bool
	gama, chrm   []byte
}

const pngSignature = "\x89PNG\r\n\x1a\n"

// openPNG reads the chunks of a PNG.
func openPNG(data []byte) (*source, error) {
	f, err := parsePNG(data)
	if err != nil {
		return nil, err
	}
	c, err := png.DecodeConfig(bufio.NewReader(&pieces{rest: f.kept}))
	if err != nil {
		return nil, err
	}
	each := 4.0
	if deep(c.ColorModel) {
		each = 8
	}
	if f.interlaced { // half of the picture is in memory twice while it is put in
		each *= 1.5
	}
	return &source{
		Config: c, bytesEach: each, orientation: f.orientation, colors: f.colors,
		decode: func(ctx context.Context, need int64) (image.Image, error) {
			return png.Decode(bufio.NewReader(watch(ctx, &pieces{rest: f.kept}, need)))
		},
	}, nil
}

// parsePNG finds the chunks of a PNG up to its end, or to where the file ends.
func parsePNG(data []byte) (*pngFile, error) {
	const head, check = 8, 4 // bytes around the content of a chunk
	f := &pngFile{}
	f.keep(data, 0, len(pngSignature))
	for at, n := len(pngSignature), 0; len(data)-at >= head; n++ {
		if n == maxChunks {
			return nil, rejected("The PNG has more than %d chunks.", maxChunks)
		}
		length, name := int64(binary.BigEndian.Uint32(data[at:])), string(data[at+4:at+head])
		if length+head+check > int64(len(data)-at) {
			if name == "IDAT" {
				f.keepRest(data[at+head:])
			}
			break
		}
		next := at + head + int(length) + check
		content := data[at+head : next-check]
		switch ancillary := name[0]&0x20 != 0; {
		case !ancillary && name != "PLTE":
			f.critical(name, content)
			f.keep(data, at, next)
			if name == "IEND" {
				return f, nil
			}
		case name == "PLTE": // that of a picture in full colours is only a hint
			if f.colorType == pngPalette {
				f.keep(data, at, next)
			}
		case crc32.ChecksumIEEE(data[at+4:next-check]) != binary.BigEndian.Uint32(data[next-check:]):
		case name == "tRNS":
			if !f.begun && !f.transparency && f.fits(content) {
				f.transparency = true
				f.keep(data, at, next)
			}
		default:
			f.addMetadata(name, content)
		}
		at = next
	}
	f.kept = append(f.kept, []byte("\x00\x00\x00\x00IEND\xae\x42\x60\x82"))
	return f, nil
}

// The sorts of colours of a PNG.
const (
	pngGray    = 0
	pngColor   = 2
	pngPalette = 3
)

// critical reads what matters of a critical chunk before it is decoded.
func (f *pngFile) critical(name string, content []byte) {
	const colorType, interlace = 9, 12
	switch {
	case name == "IHDR" && len(content) > interlace:
		f.colorType, f.interlaced = content[colorType], content[interlace] != 0
	case name == "IDAT":
		f.begun = true
	}
}

// keep keeps a part of the file.
func (f *pngFile) keep(data []byte, from, to int) {
	if last := len(f.kept) - 1; last >= 0 && f.end == from {
		f.kept[last] = data[from-len(f.kept[last]) : to]
	} else {
		f.kept = append(f.kept, data[from:to])
	}
	f.end = to
}

// keepRest keeps pixels that are cut off: they may be all there are.
func (f *pngFile) keepRest(content []byte) {
	chunk := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), "IDAT"...) //nolint:gosec // MaxBytes at most
	sum := crc32.Update(crc32.ChecksumIEEE([]byte("IDAT")), crc32.IEEETable, content)
	f.kept = append(f.kept, chunk, content, binary.BigEndian.AppendUint32(nil, sum))
}

// fits reports whether a tRNS chunk has the length that its picture needs.
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

// addMetadata reads the orientation, which may stand behind the pixels, and colours, which
// may not. The first one of each counts.
func (f *pngFile) addMetadata(name string, content []byte) {
	if name == "eXIf" && f.orientation == 0 {
		f.orientation = exifOrientation(content)
	}
	if f.begun {
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

// colors returns how to convert the picture to sRGB, nil if it needs no conversion. The
// chunks count in the order of the PNG specification, 4.3: cICP, iCCP, sRGB, gAMA with cHRM.
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

// inflateProfile returns the content of an iCCP chunk, nil if it has none of at most
// [maxProfile] bytes. A wrong checksum at its end does not matter.
func inflateProfile(chunk []byte) []byte {
	const mostName = 79
	name, rest, found := bytes.Cut(chunk, []byte{0})
	if !found || len(name) > mostName || len(rest) == 0 || rest[0] != 0 {
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
