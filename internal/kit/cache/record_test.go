package cache

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeaderRoundTrip(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_123)
	tests := []struct {
		name    string
		in, out header
	}{
		{"value", header{codecRaw, 0, 42, now, 90 * time.Second, 1234 * time.Microsecond, 1<<32 - 1}, header{codecRaw, 0, 42, now, 90 * time.Second, 1234 * time.Microsecond, 1<<32 - 1}},
		{"flags", header{flags: flagNegative | flagBare, created: now}, header{flags: flagNegative | flagBare, created: now}},
		{"negative version", header{version: -1, created: now}, header{version: -1, created: now}},
		{
			"clamped",
			header{created: time.UnixMilli(-5), soft: 365 * 24 * time.Hour, delta: time.Minute},
			header{created: time.UnixMilli(0), soft: (1<<32 - 1) * time.Millisecond, delta: (1<<24 - 1) * time.Microsecond},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := test.in.appendTo(nil)
			if len(b) != headerSize {
				t.Fatalf("got %d bytes, want %d", len(b), headerSize)
			}
			got, payload, err := parse(append(b, "payload"...))
			if err != nil || string(payload) != "payload" {
				t.Fatalf("got payload %q, %v, want \"payload\"", payload, err)
			}
			test.out.codec = max(test.in.codec, codecJSON)
			if diff := cmp.Diff(test.out, got, cmp.AllowUnexported(header{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Processes of two releases share one Redis: the bytes may change only with the magic or the
// codec.
func TestRecordHasTheseBytes(t *testing.T) {
	h := header{codecJSON, flagBare, 0x0102030405060708, time.UnixMilli(0x0a0b0c0d0e0f), 0x11121314 * time.Millisecond, 0x212223 * time.Microsecond, 0x31323334}
	want := []byte{
		0xCB, 1, 2, 0x21, 0x22, 0x23, 1, 2, 3, 4, 5, 6, 7, 8, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12, 0x13, 0x14, 0x31, 0x32, 0x33, 0x34,
	}
	if diff := cmp.Diff(want, h.appendTo(nil)); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(append(header{}.appendTo(nil), `{"ID":1}`...))
	f.Add(header{flags: flagNegative}.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, _, a, err := decodeRow(b)
		if (err != nil) != (a == nothing) {
			t.Errorf("got kind %v with error %v, want an error for nothing only", a, err)
		}
		if a != value && v != (row{}) {
			t.Errorf("got kind %v with row %v, want a row for a value only", a, v)
		}
		if len(b) < headerSize && !errors.Is(err, errRecord) {
			t.Errorf("%d bytes: got %v, want errRecord", len(b), err)
		}
	})
}
