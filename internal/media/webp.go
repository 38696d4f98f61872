package media

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
)

// checkWebP refuses a WebP whose parts say more than the whole. The size that is measured
// is that of its canvas; the decoder of lossless pictures goes by that of the picture in
// it, and compares the two when it is done.
func checkWebP(file io.ReadSeeker, c image.Config) error {
	const riff, header = 12, 8
	for at := int64(riff); ; {
		var head [header + 5]byte // of a chunk, and of a lossless picture in it
		if _, err := file.Seek(at, io.SeekStart); err != nil {
			return fmt.Errorf("read a picture: %w", err)
		}
		n, err := io.ReadFull(file, head[:])
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read a picture: %w", err)
		}
		if n < header {
			return nil // what is cut off the decoder finds
		}
		if string(head[:4]) == "VP8L" && n == len(head) {
			const side = 1<<14 - 1 // two of 14 bits each, less one
			bits := binary.LittleEndian.Uint32(head[header+1:])
			if int(bits&side)+1 != c.Width || int(bits>>14&side)+1 != c.Height {
				return rejected("The WebP has another size than it says.")
			}
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		at += header + length + length%2
	}
}
