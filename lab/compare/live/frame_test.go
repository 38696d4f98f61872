package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// serverFrame returns a frame as a server writes it.
func serverFrame(payload []byte) []byte {
	b := []byte{0x80 | opText}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

func TestFramesAreReadAtAnySplit(t *testing.T) {
	for _, size := range []int{0, 1, 125, 126, 200, 1<<16 - 1, 1 << 16, 1<<16 + 5} {
		payload := bytes.Repeat([]byte{'x'}, size)
		whole := append(serverFrame(payload), serverFrame([]byte("next"))...)
		first := len(whole) - len("next") - 2
		cuts := []int{0, 1, 2, 3, 4, 9, 10, 11, first / 2, first - 1}
		for _, cut := range cuts {
			if cut < 0 || cut >= first {
				continue
			}
			if _, rest, ok, err := nextFrame(whole[:cut]); ok || err != nil || len(rest) != cut {
				t.Errorf("%d bytes, cut at %d: ok %v, %v, %d bytes are left", size, cut, ok, err, len(rest))
			}
		}
		f, rest, ok, err := nextFrame(whole)
		if !ok || err != nil || f.op != opText || !bytes.Equal(f.payload, payload) {
			t.Fatalf("%d bytes: ok %v, %v, op %d, %d bytes", size, ok, err, f.op, len(f.payload))
		}
		if f, rest, ok, err = nextFrame(rest); !ok || err != nil || string(f.payload) != "next" || len(rest) != 0 {
			t.Errorf("behind %d bytes: ok %v, %v, %q, %d bytes are left", size, ok, err, f.payload, len(rest))
		}
	}
}

func TestUnexpectedFramesAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"the first part of a message", []byte{opText, 0}, errParts},
		{"the last part", []byte{0x80, 0}, errParts},
		{"a masked one", clientFrame(opText, "x"), errMasked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, ok, err := nextFrame(tt.b); ok || !errors.Is(err, tt.want) {
				t.Errorf("ok %v, %v, want %v", ok, err, tt.want)
			}
		})
	}
}

func TestClientFramesHaveLengthAndMask(t *testing.T) {
	for _, size := range []int{0, 125, 126, 1<<16 - 1, 1 << 16} {
		payload := string(bytes.Repeat([]byte{'x'}, size))
		b := clientFrame(opText, payload)
		if b[1]&0x80 == 0 {
			t.Errorf("%d bytes: no mask", size)
		}
		b[1] &= 0x7f // a frame of a server with the key before its payload
		header := len(b) - size - 4
		_, rest, ok, err := nextFrame(append(b[:header:header], b[header+4:]...))
		if !ok || err != nil || len(rest) > 0 {
			t.Errorf("%d bytes: ok %v, %v, %d bytes are left", size, ok, err, len(rest))
		}
	}
}
