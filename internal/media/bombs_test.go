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

// A small file may order much memory, or long work, of a decoder. These are made for that.
func TestAFileThatOrdersMoreThanItIsIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		file []byte
	}{
		{"a WebP of 268 megapixels on a canvas of 64 by 64", webpOnCanvas(16383, 64)},
		{"a WebP with tables for more groups of pixels than pixels", webpOfGroups(65536, false)},
		{"a WebP with large tables", webpOfGroups(16384, true)},
		{"24 megapixels in one row", pngRow(24_000_000)},
		{"what printers mix, 24 megapixels", jpegOfScans(6000, 4000, "\x01\x02\x03\x04", 1)},
		{"RGB, 24 megapixels", jpegOfScans(6000, 4000, "RGB", 1)},
		{"37 scans of 24 megapixels", jpegOfScans(6000, 4000, "\x01\x02\x03", 37)[:MaxBytes]},
		{"five scans of a picture that is not progressive", jpegOfScans(64, 64, "\x01\x02\x03", 5)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			before, highest := heap(), watchHeap(t)
			_, err := bare().decode(t.Context(), bytes.NewReader(tt.file))
			if refusedFor(err) != mediapath.Rejected {
				t.Errorf("it is not refused: %v", err)
			}
			if more := highest() - before; more > maxMemory+slack {
				t.Errorf("%d MB were taken", more>>20)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	// The honest ones beside them are taken.
	for name, file := range map[string][]byte{
		"a WebP with a few groups": webpOfGroups(16, true), "a scan for each component": jpegOfScans(64, 64, "\x01\x02\x03", 3), "RGB": jpegOfScans(64, 64, "RGB", 1),
		"the canvas of its picture": webpOnCanvas(64, 64),
	} {
		if _, err := bare().decode(t.Context(), bytes.NewReader(file)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// watchHeap returns what tells the most that objects in memory took, since then.
func watchHeap(t *testing.T) (highest func() int64) {
	t.Helper()
	done, told := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			most = max(most, int64(sample[0].Value.Uint64())) //nolint:gosec // no process has more
			select {
			case <-done:
				told <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	runtime.GC()
	return func() int64 { close(done); return <-told }
}

func TestADecoderThatTakesMoreThanItIsWeighedWithIsEnded(t *testing.T) {
	runtime.GC() // garbage of other tests would make room
	file := bytes.NewReader(make([]byte, 1<<20))
	r := watch(t.Context(), file, 1<<20)
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
	if !errors.Is(err, errFull) {
		t.Errorf("it goes on: %v", err)
	}
	runtime.KeepAlive(taken)
}

func TestGarbageOfOthersEndsNoDecoder(t *testing.T) {
	r := watch(t.Context(), bytes.NewReader(make([]byte, 1<<20)), 1<<20)
	p := make([]byte, 4096)
	for range 200 {
		garbage = make([]byte, 1<<20)
		if _, err := r.Read(p); err != nil {
			t.Fatal(err)
		}
	}
}

var garbage []byte //nolint:gochecknoglobals // so that it is on the heap

// bits are written from the lowest one on, as WebP has them.
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

// symbol is a table that knows one symbol, so that nothing needs to be read to know which.
func (w *bits) symbol(v uint32) {
	w.put(1, 1)
	w.put(0, 1)
	w.put(1, 1)
	w.put(v, 8)
}

// none is the same for 0.
func (w *bits) none() {
	w.put(1, 1)
	w.put(0, 3)
}

// alphabet is a table of 256 symbols.
func (w *bits) alphabet() {
	w.put(0, 1)
	w.put(5, 4) // nine lengths of codes of lengths
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

// lossless begins a picture of WebP's lossless sort.
func lossless(side uint32) *bits {
	w := &bits{}
	w.put(0x2f, 8)
	w.put(side-1, 14)
	w.put(side-1, 14)
	w.put(0, 4) // no alpha, version 0
	w.put(0, 1) // nothing transformed
	w.put(0, 1) // no cache of colours
	return w
}

// webpOfGroups is a picture of 64 by 64 that has as many groups of tables.
func webpOfGroups(groups int, large bool) []byte {
	w := lossless(64)
	w.put(1, 1) // groups, chosen by a picture of their own, which has one colour
	w.put(0, 3)
	w.put(0, 1)
	last := uint32(groups - 1) //nolint:gosec // a test's
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

// webpOnCanvas is a picture whose canvas says another size.
func webpOnCanvas(side uint32, canvas byte) []byte {
	w := lossless(side)
	w.put(0, 1)
	for range 5 {
		w.none()
	}
	w.put(0, 32)
	return chunks("VP8X", []byte{0, 0, 0, 0, canvas - 1, 0, 0, canvas - 1, 0, 0}, "VP8L", w.b)
}

// chunks puts names and contents together into a file.
func chunks(all ...any) []byte {
	var body []byte
	for _, part := range all {
		switch p := part.(type) {
		case string:
			body = append(body, p...)
		case []byte:
			body = append(binary.LittleEndian.AppendUint32(body, uint32(len(p))), p...) //nolint:gosec // a test's
			if len(p)%2 == 1 {
				body = append(body, 0)
			}
		}
	}
	return append(append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body)+4)), "WEBP"...), body...) //nolint:gosec // a test's
}

// pngRow is a whole PNG of one row.
func pngRow(width int) []byte { return pngOf(image.NewGray(image.Rect(0, 0, width, 1))) }

// jpegOfScans is a black picture in so many scans, all of which go over all components,
// whose names say what they are.
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
