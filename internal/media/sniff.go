package media

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const sniffBytes = 512

func sniff(file io.Reader) (format, error) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return format{}, fmt.Errorf("read picture: %w", err)
	}
	head = head[:n]
	for _, k := range formats() {
		if k.magic(head) {
			return k, nil
		}
	}
	if name := otherFormat(head); name != "" {
		return format{}, rejected("This file is %s. Please use a JPEG, PNG or WebP.", name)
	}
	return format{}, rejected("This isn't an image in a supported format. Please use a JPEG, PNG or WebP.")
}

// otherFormat returns the name of a format that is not accepted, with its article, or "". Users
// may not know their format: phones show a HEIC as "photo".
func otherFormat(head []byte) string {
	for _, f := range []struct{ magic, name string }{
		{"GIF87a", "a GIF"},
		{"GIF89a", "a GIF"},
		{"BM", "a BMP"},
		{"II*\x00", "a TIFF"},
		{"MM\x00*", "a TIFF"},
		{"II+\x00", "a TIFF"},
		{"MM\x00+", "a TIFF"},
		{"\xff\x0a", "a JPEG XL"},
		{"\x00\x00\x00\x0cJXL ", "a JPEG XL"},
		{"\x00\x00\x00\x0cjP  ", "a JPEG 2000"},
		{"\xff\x4f\xff\x51", "a JPEG 2000"},
		{"\x00\x00\x01\x00", "an icon (ICO)"},
		{"8BPS", "a Photoshop document"},
		{"%PDF-", "a PDF"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		return mediaBrand(head)
	}
	text := strings.ToLower(string(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")))
	if strings.HasPrefix(text, "<") && strings.Contains(text, "<svg") {
		return "an SVG"
	}
	return ""
}

// mediaBrand returns the name of an ISO media format, by the brands in the first box (ISO/IEC
// 14496-12, 4.3).
func mediaBrand(head []byte) string {
	size := min(int(head[2])<<8|int(head[3]), len(head))
	brands := string(head[8:max(size, 12)])
	for _, b := range []struct{ brand, name string }{
		{"avif", "an AVIF"},
		{"avis", "an AVIF"},
		{"heic", "a HEIC"},
		{"heix", "a HEIC"},
		{"hevc", "a HEIC"},
		{"hevx", "a HEIC"},
		{"heim", "a HEIC"},
		{"heis", "a HEIC"},
		{"mif1", "a HEIF"},
		{"msf1", "a HEIF"},
		{"crx ", "a raw photo"},
	} {
		if strings.Contains(brands, b.brand) {
			return b.name
		}
	}
	return "a video"
}
