package live

import (
	"encoding/binary"
	"errors"
)

// Opcodes of WebSocket frames, RFC 6455 section 5.2.
const (
	opText  = 1
	opClose = 8
	opPing  = 9
	opPong  = 10
)

// A frame is a whole message of a server: none of those here fragments a message.
type frame struct {
	op      byte
	payload []byte
}

var (
	errParts  = errors.New("fragmented message")
	errMasked = errors.New("masked frame from a server")
)

// nextFrame reads the frame at the beginning of b, and returns the bytes after it. ok is false if
// the frame is incomplete.
func nextFrame(b []byte) (f frame, rest []byte, ok bool, err error) {
	if len(b) < 2 {
		return frame{}, b, false, nil
	}
	if b[0]&0x80 == 0 || b[0]&0x0f == 0 {
		return frame{}, b, false, errParts
	}
	if b[1]&0x80 != 0 {
		return frame{}, b, false, errMasked
	}
	header, size := 2, uint64(b[1])
	switch size {
	case 126:
		if header = 4; len(b) < header {
			return frame{}, b, false, nil
		}
		size = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if header = 10; len(b) < header {
			return frame{}, b, false, nil
		}
		size = binary.BigEndian.Uint64(b[2:])
	}
	if uint64(len(b)-header) < size {
		return frame{}, b, false, nil
	}
	end := header + int(size)
	return frame{b[0] & 0x0f, b[header:end]}, b[end:], true, nil
}

// clientFrame returns a frame of a client, masked with a key that changes nothing.
func clientFrame(op byte, payload string) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, 0, 0, 0, 0)
	return append(b, payload...)
}
