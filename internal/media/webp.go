package media

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"

	"golang.org/x/image/webp"
)

// webpBytes is the maximum memory per pixel of a WebP, in bytes: a lossless alpha channel, decoded
// as four channels, and the colours.
const webpBytes = 6.2

var errNoWebP = errors.New("WebP file has no image")

// A webpFile holds the relevant chunks of a WebP, the first one of each name. Their order, the
// flags in the header and the total length are ignored.
type webpFile struct {
	canvas, alpha, lossy, lossless, profile, exif []byte
	animated                                      bool
}

func openWebP(data []byte) (*source, error) {
	f := parseWebP(data)
	if f.animated {
		return nil, rejected("This file is an animated WebP. Please use a still JPEG, PNG or WebP.")
	}
	cleaned, err := f.cleaned()
	if err != nil {
		return nil, err
	}
	c, err := webp.DecodeConfig(&sliceReader{rest: cleaned})
	if err != nil {
		return nil, err
	}
	if err := f.check(c); err != nil {
		return nil, err
	}
	return &source{
		Config: c, bytesEach: webpBytes, orientation: exifOrientation(f.exif),
		colors: func() *transform { return profileTransform(f.profile, 3) },
		decode: func(ctx context.Context, need int64) (image.Image, error) {
			return webp.Decode(bufio.NewReader(guard(ctx, &sliceReader{rest: cleaned}, need)))
		},
	}, nil
}

// parseWebP finds the chunks of a WebP. The last one may be truncated.
func parseWebP(data []byte) (f webpFile) {
	const riff, head = 12, 8
	for at := riff; len(data)-at >= head; {
		length := int64(binary.LittleEndian.Uint32(data[at+4:]))
		content := data[at+head:]
		content = content[:min(length, int64(len(content)))]
		switch name := string(data[at : at+4]); name {
		case "ANIM", "ANMF":
			f.animated = true
		default:
			for _, one := range []struct {
				name string
				to   *[]byte
			}{
				{"VP8X", &f.canvas}, {"ALPH", &f.alpha}, {"VP8 ", &f.lossy}, {"VP8L", &f.lossless}, {"ICCP", &f.profile}, {"EXIF", &f.exif},
			} {
				if name == one.name && *one.to == nil {
					*one.to = content
				}
			}
		}
		if length >= int64(len(data)-at) {
			break
		}
		at += head + int(length+length%2)
	}
	return f
}

// cleaned returns a file with only the chunks for its decoder.
func (f webpFile) cleaned() ([][]byte, error) {
	const canvasBytes, alphaBit = 10, 1 << 4
	switch {
	case f.lossy != nil && f.alpha != nil && len(f.canvas) == canvasBytes:
		canvas := bytes.Clone(f.canvas)
		canvas[0] = alphaBit
		return riff("VP8X", canvas, "ALPH", f.alpha, "VP8 ", f.lossy), nil
	case f.lossy != nil:
		return riff("VP8 ", f.lossy), nil
	case f.lossless != nil:
		return riff("VP8L", f.lossless), nil
	}
	return nil, errNoWebP
}

// check rejects a WebP whose canvas has another size than its picture, which the decoder uses.
func (f webpFile) check(c image.Config) error {
	const canvasBytes, width, height = 10, 4, 7
	if len(f.canvas) < canvasBytes {
		return nil
	}
	side := func(at int) int {
		return 1 + (int(f.canvas[at]) | int(f.canvas[at+1])<<8 | int(f.canvas[at+2])<<16)
	}
	if side(width) != c.Width || side(height) != c.Height {
		return rejected("The size in the header of this WebP is wrong. Please save it again.")
	}
	return nil
}

// riff returns a file of chunks, given by names and contents.
func riff(chunks ...any) [][]byte {
	size := uint32(4)
	all := [][]byte{nil}
	for _, part := range chunks {
		switch p := part.(type) {
		case string:
			all = append(all, []byte(p))
			size += 4
		case []byte:
			length := uint32(len(p)) //nolint:gosec // MaxBytes at most
			all = append(all, binary.LittleEndian.AppendUint32(nil, length), p, make([]byte, length%2))
			size += 4 + length + length%2
		}
	}
	all[0] = append(binary.LittleEndian.AppendUint32([]byte("RIFF"), size), "WEBP"...)
	return all
}
