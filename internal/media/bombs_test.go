package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// Small files can make a decoder take much memory or time.
func TestDecompressionBombsAreRejected(t *testing.T) {
	for _, tt := range []struct {
		name string
		file []byte
	}{
		{"WebP of 268 megapixels on a canvas of 64 by 64", webpOnCanvas(16383, 64)},
		{"WebP with more groups of tables than pixels", webpOfGroups(65536, false)},
		{"WebP with large tables", webpOfGroups(16384, true)},
		{"24 megapixels in one row", pngRow(24_000_000)},
		{"CMYK, 24 megapixels", jpegOfScans(6000, 4000, "\x01\x02\x03\x04", 1)},
		{"RGB, 24 megapixels", jpegOfScans(6000, 4000, "RGB", 1)},
		{"37 scans of 24 megapixels", jpegOfScans(6000, 4000, "\x01\x02\x03", 37)[:MaxBytes]},
		{"five scans, not progressive", jpegOfScans(64, 64, "\x01\x02\x03", 5)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			before, highest := heap(), trackHeap(t)
			_, err := bare().decode(t.Context(), bytes.NewReader(tt.file))
			if refusedFor(err) != mediapath.Rejected {
				t.Errorf("got %v, want %s", err, mediapath.Rejected)
			}
			if more := highest() - before; more > maxMemory+slack {
				t.Errorf("got %d MB, want at most %d", more>>20, (maxMemory+slack)>>20)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("got %v, want at most 10s", took)
			}
		})
	}
	// Similar valid files are accepted.
	for name, file := range map[string][]byte{
		"a WebP with a few groups": webpOfGroups(16, true), "a scan for each component": jpegOfScans(64, 64, "\x01\x02\x03", 3), "RGB": jpegOfScans(64, 64, "RGB", 1),
		"the canvas of its picture": webpOnCanvas(64, 64),
	} {
		if _, err := bare().decode(t.Context(), bytes.NewReader(file)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// trackHeap returns a function that returns the maximum heap since the call of trackHeap.
func trackHeap(t *testing.T) (maximum func() int64) {
	t.Helper()
	done, result := make(chan struct{}), make(chan int64)
	go func() {
		highest := int64(0)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			highest = max(highest, int64(sample[0].Value.Uint64())) //nolint:gosec // no process has more
			select {
			case <-done:
				result <- highest
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	runtime.GC()
	return func() int64 { close(done); return <-result }
}

func TestGuardEndsGreedyDecoders(t *testing.T) {
	runtime.GC() // without the garbage of other tests
	file := bytes.NewReader(make([]byte, 1<<20))
	r := guard(t.Context(), file, 1<<20)
	p := make([]byte, 4096)
	for range 64 {
		if _, err := r.Read(p); err != nil {
			t.Fatal(err)
		}
	}
	taken := make([]byte, 64<<20)
	var err error
	for range 64 {
		if _, err = r.Read(p); err != nil {
			break
		}
	}
	if !errors.Is(err, errMemory) {
		t.Errorf("got %v, want %v", err, errMemory)
	}
	runtime.KeepAlive(taken)
}

func TestGuardIgnoresGarbage(t *testing.T) {
	r := guard(t.Context(), bytes.NewReader(make([]byte, 1<<20)), 1<<20)
	p := make([]byte, 4096)
	for range 200 {
		garbage = make([]byte, 1<<20)
		if _, err := r.Read(p); err != nil {
			t.Fatal(err)
		}
	}
}

var garbage []byte //nolint:gochecknoglobals // to be on the heap

// bits is a bit writer, lowest bit first, as in WebP.
type bits struct {
	b []byte
	n uint
}

func (w *bits) put(v uint32, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[len(w.b)-1] |= byte(v >> i & 1 << (w.n % 8))
		w.n++
	}
}

// symbol writes a table of one symbol, which takes no bits.
func (w *bits) symbol(v uint32) {
	w.put(1, 1)
	w.put(0, 1)
	w.put(1, 1)
	w.put(v, 8)
}

// none writes a table of the symbol 0.
func (w *bits) none() {
	w.put(1, 1)
	w.put(0, 3)
}

// alphabet writes a table of 256 symbols.
func (w *bits) alphabet() {
	w.put(0, 1)
	w.put(5, 4) // nine code lengths of code lengths
	for range 8 {
		w.put(0, 3)
	}
	w.put(1, 3)
	w.put(0, 1)
	for range 42 {
		w.put(3, 2)
	}
	w.put(1, 2)
}

// newLosslessWebP begins a lossless WebP.
func newLosslessWebP(side uint32) *bits {
	w := &bits{}
	w.put(0x2f, 8)
	w.put(side-1, 14)
	w.put(side-1, 14)
	w.put(0, 4) // no alpha, version 0
	w.put(0, 1) // no transforms
	w.put(0, 1) // no colour cache
	return w
}

// webpOfGroups returns a picture of 64 by 64 with that many groups of tables.
func webpOfGroups(groups int, large bool) []byte {
	w := newLosslessWebP(64)
	w.put(1, 1) // groups, selected by an entropy image of one colour
	w.put(0, 3)
	w.put(0, 1)
	last := uint32(groups - 1) //nolint:gosec // test data
	w.symbol(last & 255)
	w.symbol(last >> 8)
	for range 3 {
		w.symbol(0)
	}
	for i := range groups {
		w.none()
		for range 3 {
			if large && i < groups-1 {
				w.alphabet()
			} else {
				w.none()
			}
		}
		w.none()
	}
	w.put(0, 32)
	return chunks("VP8L", w.b)
}

// webpOnCanvas returns a picture whose canvas has another size.
func webpOnCanvas(side uint32, canvas byte) []byte {
	w := newLosslessWebP(side)
	w.put(0, 1)
	for range 5 {
		w.none()
	}
	w.put(0, 32)
	return chunks("VP8X", []byte{0, 0, 0, 0, canvas - 1, 0, 0, canvas - 1, 0, 0}, "VP8L", w.b)
}

// chunks returns a WebP of names and contents.
func chunks(all ...any) []byte {
	var body []byte
	for _, part := range all {
		switch p := part.(type) {
		case string:
			body = append(body, p...)
		case []byte:
			body = append(binary.LittleEndian.AppendUint32(body, uint32(len(p))), p...) //nolint:gosec // test data
			if len(p)%2 == 1 {
				body = append(body, 0)
			}
		}
	}
	return append(append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body)+4)), "WEBP"...), body...) //nolint:gosec // test data
}

// pngRow returns a complete PNG of one row.
func pngRow(width int) []byte { return pngOf(image.NewGray(image.Rect(0, 0, width, 1))) }

// jpegOfScans returns a black picture of that many scans over the named components.
func jpegOfScans(w, h int, components string, scans int) []byte {
	var b bytes.Buffer
	n := len(components)
	b.WriteString("\xff\xd8")
	if n == 4 {
		b.WriteString("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00")
	}
	b.WriteString("\xff\xdb\x00\x43\x00")
	b.Write(bytes.Repeat([]byte{1}, 64))
	b.Write([]byte{0xff, 0xc0, 0, byte(8 + 3*n), 8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), byte(n)})
	for i := range n {
		b.Write([]byte{components[i], 0x11, 0})
	}
	for _, table := range []byte{0x00, 0x10} {
		b.Write([]byte{0xff, 0xc4, 0, 20, table, 1})
		b.Write(make([]byte, 16))
	}
	blocks := ((w + 7) / 8) * ((h + 7) / 8) * n
	for range scans {
		b.Write([]byte{0xff, 0xda, 0, byte(6 + 2*n), byte(n)})
		for i := range n {
			b.Write([]byte{components[i], 0})
		}
		b.Write([]byte{0, 63, 0})
		b.Write(make([]byte, (2*blocks+7)/8))
	}
	b.WriteString("\xff\xd9")
	return b.Bytes()
}
