package media

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/blob"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A process is a Service with a folder that a test can break.
type process struct {
	*Service
	storetest.Process
	box   *outbox.Box
	files *breakable
}

// open starts a process on stores, and on a folder that processes may share.
func open(t *testing.T, on storetest.Stores, dir string) *process {
	t.Helper()
	from := storetest.Open(t, on)
	folder, err := blob.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Process: from, box: from.NewOutbox(t), files: &breakable{Store: folder}}
	p.Service = New(from.DB, p.box, Config{Blobs: p.files, Registerer: prometheus.NewRegistry(), Log: from.Log})
	return p
}

var errBroken = errors.New("disk is full")

// breakable is a store whose Put and Delete can fail.
type breakable struct {
	blob.Store
	onPut  func() // runs before each Put; may be nil
	mu     sync.Mutex
	broken bool
}

func (b *breakable) set(broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = broken
}

func (b *breakable) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return errBroken
	}
	return nil
}

func (b *breakable) Put(ctx context.Context, name, contentType string, content []byte) error {
	if err := b.err(); err != nil {
		return err
	}
	if b.onPut != nil {
		b.onPut()
	}
	return b.Store.Put(ctx, name, contentType, content)
}

func (b *breakable) Delete(ctx context.Context, name string) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Store.Delete(ctx, name)
}

// bare returns a Service that decodes, without stores.
func bare() *Service {
	return &Service{slot: make(chan struct{}, 1), now: time.Now, slotTimeout: slotTimeout, cfg: Config{Log: slog.New(slog.DiscardHandler)}}
}

// refusedFor returns the first code of a refusal, or "".
func refusedFor(err error) apierror.Code {
	if why, ok := errors.AsType[apierror.UserErrors](err); ok {
		return why[0].Code
	}
	return ""
}

// painted returns a picture of four quarters with different colours.
func painted(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	middle := image.Pt((w+1)/2, (h+1)/2)
	for right := range 2 {
		for bottom := range 2 {
			from := image.Pt(right*middle.X, bottom*middle.Y)
			draw.Draw(img, image.Rectangle{Min: from, Max: from.Add(middle)}, image.NewUniform(quarter(right, bottom)), image.Point{}, draw.Src)
		}
	}
	return img
}

// quarter returns the colour of a quarter: left or right, top or bottom.
func quarter(right, bottom int) color.NRGBA {
	return [2][2]color.NRGBA{
		{{R: 255, A: 255}, {G: 255, A: 255}},                 // left: red above green
		{{B: 255, A: 255}, {R: 255, G: 255, B: 255, A: 255}}, // right: blue above white
	}[right][bottom]
}

func pngOf(img image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func jpegOf(img image.Image) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// content reads a file of the store.
func (p *process) content(t *testing.T, path string) []byte {
	t.Helper()
	name, ok := mediapath.Parse(path)
	if !ok {
		t.Fatalf("invalid path %s", path)
	}
	f, err := p.files.Get(t.Context(), name.File())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// upload uploads a valid picture.
func (p *process) upload(t *testing.T, user int64, file []byte) *mediapath.Image {
	t.Helper()
	image, err := p.Upload(t.Context(), user, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// show records that a thing shows pictures of any user.
func (p *process) show(ctx context.Context, k Kind, owner int64, paths ...string) error {
	return p.showBy(ctx, mediapath.SeedEditor(), k, owner, paths...)
}

// showBy is show for an editor.
func (p *process) showBy(ctx context.Context, by mediapath.Editor, k Kind, owner int64, paths ...string) error {
	return ent.WithTx(ctx, p.DB, func(tx *ent.Tx) error {
		return p.UsagesOf(k).SetUsed(ctx, tx, map[int64]mediapath.Usage{owner: {By: by, Paths: paths}})
	})
}

func crc(b []byte) uint32 { return crc32.ChecksumIEEE(b) }
