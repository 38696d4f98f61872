package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"runtime"

	"golang.org/x/sync/errgroup"
)

const (
	screenQuality = 85 // JPEG quality
	smallQuality  = 78
	// maxPNG limits the bytes of a picture with transparency. A larger one, such as a cut-out
	// photograph, becomes a JPEG on white.
	maxPNG = 1 << 20
)

const hashBytes = 20 // length of the hash in a name

// An encoded picture has the two files to store.
type encoded struct {
	screen, small []byte
	png           bool // format of both files: PNG, else JPEG
	width, height int  // pixels in the screen size
}

func (e encoded) hash() string {
	sum := sha256.Sum256(e.screen)
	return hex.EncodeToString(sum[:hashBytes])
}

// encode encodes a picture in the screen size.
func encode(screen *image.RGBA) (e encoded, err error) {
	e.width, e.height = screen.Rect.Dx(), screen.Rect.Dy()
	small := resize(screen, smallSize)
	if !screen.Opaque() {
		e.png = true
		if e.screen, err = asPNG(screen); err == nil {
			e.small, err = asPNG(small)
		}
		if err != nil || len(e.screen) <= maxPNG {
			return e, err
		}
		e.png, screen, small = false, onWhite(screen), onWhite(small)
	}
	if e.screen, err = asJPEG(screen, screenQuality); err == nil {
		e.small, err = asJPEG(small, smallQuality)
	}
	return e, err
}

func encodeAll(drawn []image.Image) ([]encoded, error) {
	made := make([]encoded, len(drawn))
	var each errgroup.Group
	each.SetLimit(runtime.GOMAXPROCS(0))
	for i, img := range drawn {
		each.Go(func() (err error) {
			made[i], err = encode(resize(img, screenSize))
			return err
		})
	}
	return made, each.Wait()
}

func asPNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	return b.Bytes(), nil
}

func asJPEG(img image.Image, quality int) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode JPEG: %w", err)
	}
	return b.Bytes(), nil
}

func onWhite(img *image.RGBA) *image.RGBA {
	on := image.NewRGBA(img.Rect)
	draw.Draw(on, on.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(on, on.Rect, img, image.Point{}, draw.Over)
	return on
}
