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
	screenQuality = 85 // of a JPEG
	smallQuality  = 78
	// maxPNG is how large a picture with transparent parts may become. A larger one, a
	// photograph cut out, gets a white ground and is a JPEG.
	maxPNG = 1 << 20
)

// hashBytes is the length of the hash in a name.
const hashBytes = 20

// An encoded picture is what is kept of one.
type encoded struct {
	screen, small []byte
	png           bool // both are; else they are JPEGs
	width, height int  // pixels of the screen size
}

// hash names the picture by its content.
func (e encoded) hash() string {
	sum := sha256.Sum256(e.screen)
	return hex.EncodeToString(sum[:hashBytes])
}

// encode encodes a picture that has the size for screens.
func encode(screen *image.RGBA) (e encoded, err error) {
	e.width, e.height = screen.Rect.Dx(), screen.Rect.Dy()
	small := shrink(screen, smallSize)
	if !screen.Opaque() {
		e.png = true
		if e.screen, err = asPNG(screen); err == nil {
			e.small, err = asPNG(small)
		}
		if err != nil || len(e.screen) <= maxPNG {
			return e, err
		}
		e.png, screen, small = false, grounded(screen), grounded(small)
	}
	if e.screen, err = asJPEG(screen, screenQuality); err == nil {
		e.small, err = asJPEG(small, smallQuality)
	}
	return e, err
}

// encodeAll encodes pictures that the program has drawn.
func encodeAll(drawn []image.Image) ([]encoded, error) {
	made := make([]encoded, len(drawn))
	var each errgroup.Group
	each.SetLimit(runtime.GOMAXPROCS(0))
	for i, img := range drawn {
		each.Go(func() (err error) {
			made[i], err = encode(shrink(img, screenSize))
			return err
		})
	}
	return made, each.Wait()
}

func asPNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("encode a PNG: %w", err)
	}
	return b.Bytes(), nil
}

func asJPEG(img image.Image, quality int) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode a JPEG: %w", err)
	}
	return b.Bytes(), nil
}

// grounded is a picture on white.
func grounded(img *image.RGBA) *image.RGBA {
	on := image.NewRGBA(img.Rect)
	draw.Draw(on, on.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(on, on.Rect, img, image.Point{}, draw.Over)
	return on
}
