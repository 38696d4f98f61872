package cache

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// A record is the value of a Redis key: a header of 28 bytes, big-endian, and the payload.
//
//	byte  0      magic 0xCB
//	byte  1      codec: 1 = compact JSON; 2 = the bytes of a string or []byte
//	byte  2      flags: 1 = negative, the value does not exist; 2 = bare, the value
//	             exists but is not stored. Both have no payload
//	bytes 3–5    delta: duration of the load, microseconds, at most 16.7 s
//	bytes 6–13   version of the value, 0 = none
//	bytes 14–19  created: unix milliseconds
//	bytes 20–23  soft: milliseconds after created when it becomes stale, at most
//	             49.7 days
//	bytes 24–27  epoch of the writer
//
// A reader compares created and soft with its own clock, so correctness must not depend on
// them. Redis counts lifetimes.
const (
	headerSize = 28
	magic      = 0xCB
	codecJSON  = 1
	codecRaw   = 2

	flagNegative = 1 << 0
	flagBare     = 1 << 1
)

var errRecord = errors.New("invalid cache record")

type header struct {
	codec   byte // 0 means codecJSON
	flags   byte
	version int64
	created time.Time
	soft    time.Duration
	delta   time.Duration
	epoch   uint32
}

// appendTo appends the 28 bytes to b. It clamps times to their range.
func (h header) appendTo(b []byte) []byte {
	delta := uint32(clamp(h.delta.Microseconds(), 1<<24-1))
	b = append(b, magic, cmp.Or(h.codec, codecJSON), h.flags, byte(delta>>16), byte(delta>>8), byte(delta))
	b = binary.BigEndian.AppendUint64(b, uint64(h.version))
	created := uint64(clamp(h.created.UnixMilli(), 1<<48-1))
	b = binary.BigEndian.AppendUint16(b, uint16(created>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(created))
	b = binary.BigEndian.AppendUint32(b, uint32(clamp(h.soft.Milliseconds(), 1<<32-1)))
	return binary.BigEndian.AppendUint32(b, h.epoch)
}

func clamp(n, most int64) int64 { return min(max(n, 0), most) }

// parse splits a record. The payload shares the bytes of b.
func parse(b []byte) (h header, payload []byte, err error) {
	if len(b) < headerSize || b[0] != magic || b[1] != codecJSON && b[1] != codecRaw || b[2] > flagNegative|flagBare {
		return header{}, nil, errRecord
	}
	delta := uint32(b[3])<<16 | uint32(b[4])<<8 | uint32(b[5])
	created := uint64(binary.BigEndian.Uint16(b[14:]))<<32 | uint64(binary.BigEndian.Uint32(b[16:]))
	h = header{
		codec:   b[1],
		flags:   b[2],
		version: int64(binary.BigEndian.Uint64(b[6:])),
		created: time.UnixMilli(int64(created)),
		soft:    time.Duration(binary.BigEndian.Uint32(b[20:])) * time.Millisecond,
		delta:   time.Duration(delta) * time.Microsecond,
		epoch:   binary.BigEndian.Uint32(b[24:]),
	}
	return h, b[headerSize:], nil
}

type recordKind int

const (
	nothing recordKind = iota // no record, or an invalid one
	value
	negative // the value does not exist
	bare     // the value exists and must be loaded each time
)

// decode returns the kind nothing and an error for an invalid record.
func decode[V any](b []byte, unpack func(codec byte, payload []byte) (V, error)) (v V, h header, a recordKind, err error) {
	h, payload, err := parse(b)
	switch {
	case err != nil:
		return v, h, nothing, err
	case h.flags&flagNegative != 0:
		return v, h, negative, nil
	case h.flags&flagBare != 0:
		return v, h, bare, nil
	}
	if v, err = unpack(h.codec, payload); err != nil {
		return v, h, nothing, err
	}
	return v, h, value, nil
}

// pack encodes a value. A string or []byte is its own payload: its readers only pay for a copy.
func pack[V any](v V) (codec byte, payload []byte, err error) {
	switch v := any(v).(type) {
	case string:
		return codecRaw, []byte(v), nil
	case []byte:
		return codecRaw, v, nil
	}
	payload, err = json.Marshal(v)
	return codecJSON, payload, err
}

// Reader is implemented by values that decode their JSON faster than encoding/json.
type Reader interface {
	// ReadJSON decodes text. If it reports false, encoding/json decodes into a zero value.
	ReadJSON(text []byte) bool
}

// unpack is the inverse of pack. A []byte shares the bytes of the payload.
func unpack[V any](codec byte, payload []byte) (*V, error) {
	v := new(V)
	wants := byte(codecJSON)
	switch to := any(v).(type) {
	case *string:
		wants = codecRaw
		*to = string(payload)
	case *[]byte:
		wants = codecRaw
		*to = payload
	}
	switch {
	case codec != wants:
		return nil, errRecord
	case codec == codecJSON:
		if r, quick := any(v).(Reader); quick {
			if r.ReadJSON(payload) {
				return v, nil
			}
			*v = *new(V)
		}
		if err := json.Unmarshal(payload, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// due reports whether a value should be reloaded: it is stale, or draw in [0, 1) selects this
// reader for an early refresh. The method is XFetch, from "Optimal Probabilistic Cache
// Stampede Prevention" (Vattani, Chierichetti, Lowenstein, VLDB 2015). Refreshes begin earlier
// if loads take longer or beta is larger.
func (h header) due(now time.Time, beta, draw float64) bool {
	early := time.Duration(-float64(h.delta) * beta * math.Log(1-draw))
	return !now.Add(early).Before(h.created.Add(h.soft))
}

// head returns the first bytes of a record, which distinguish it from its replacement.
func head(record []byte) []byte { return record[:min(len(record), headerSize)] }

// Describe returns a record as readable text: one line per header field, an empty line, and the
// value as indented JSON or a quoted string. The time created is by the clock of the writing
// process. It returns an error if the record or its JSON is invalid.
func Describe(record []byte) (string, error) {
	h, payload, err := parse(record)
	if err != nil {
		return "", err
	}
	kind := "value"
	switch {
	case h.flags&flagNegative != 0:
		kind = "negative: the value does not exist"
	case h.flags&flagBare != 0:
		kind = "bare: the value exists but is not stored"
	}
	var b strings.Builder
	for _, line := range []struct{ name, text string }{
		{"record", kind},
		{"version", fmt.Sprint(h.version)},
		{"created", h.created.UTC().Format(time.RFC3339Nano)},
		{"soft", h.soft.String()},
		{"delta", h.delta.String()},
		{"epoch", fmt.Sprint(h.epoch)},
		{"payload", fmt.Sprintf("%d bytes", len(payload))},
	} {
		fmt.Fprintf(&b, "%-9s%s\n", line.name, line.text)
	}
	if len(payload) == 0 {
		return b.String(), nil
	}
	if h.codec == codecRaw {
		return fmt.Sprintf("%s\n%q\n", &b, payload), nil
	}
	var value bytes.Buffer
	if err := json.Indent(&value, payload, "", "  "); err != nil {
		return "", fmt.Errorf("decode value of record: %w", err)
	}
	return b.String() + "\n" + value.String() + "\n", nil
}
