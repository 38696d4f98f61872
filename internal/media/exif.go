package media

import (
	"bytes"
	"encoding/binary"
)

// exifOrientation returns the Orientation of Exif data, 1 to 8, or 0 if it cannot be read. The
// data may begin with the identifier of JPEG; PNG and WebP omit it.
//
// It reads the first directory only, entry by entry, up to the end of the data. Broken entries
// and wrong counts do not hide other entries.
func exifOrientation(data []byte) int {
	const (
		header      = 8  // byte order, 42, offset of the first directory
		entry       = 12 // tag, type, count, value or offset
		orientation = 0x0112
	)
	if tiff, ok := cutExifIdentifier(data); ok {
		data = tiff
	}
	if len(data) < header {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(data[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := int64(order.Uint32(data[4:]))
	if at+2 > int64(len(data)) {
		return 0
	}
	entries := int(order.Uint16(data[at:]))
	for rest := data[at+2:]; entries > 0 && len(rest) >= entry; entries, rest = entries-1, rest[entry:] {
		if order.Uint16(rest) != orientation {
			continue
		}
		if n := exifInteger(rest, order); n >= 1 && n <= 8 {
			return n
		}
	}
	return 0
}

// exifInteger returns the value of an entry with one integer, of any size and sign, else 0.
func exifInteger(entry []byte, order binary.ByteOrder) int {
	if order.Uint32(entry[4:]) > 1 {
		return 0
	}
	switch order.Uint16(entry[2:]) {
	case 1, 6: // BYTE, SBYTE
		return int(entry[8])
	case 3, 8: // SHORT, SSHORT
		return int(order.Uint16(entry[8:]))
	case 4, 9: // LONG, SLONG
		return int(order.Uint32(entry[8:]))
	}
	return 0
}

// cutExifIdentifier removes "Exif", a zero and a padding byte from the beginning of data.
func cutExifIdentifier(data []byte) (tiff []byte, found bool) {
	tiff, found = bytes.CutPrefix(data, []byte("Exif\x00"))
	if !found || len(tiff) == 0 {
		return data, false
	}
	return tiff[1:], true
}
