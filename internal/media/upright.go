package media

import (
	"image"
	"io"

	"github.com/bep/imagemeta"
)

// orientation reads which way up a picture is, 1 to 8 as Exif has it: 1 is upright. What
// cannot be read is upright: that is no reason to refuse a picture.
func orientation(k kind, file io.ReadSeeker) (way int) {
	way = 1
	defer func() {
		if recover() != nil { // what strangers write is not worth an upload
			way = 1
		}
	}()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return way
	}
	format := map[string]imagemeta.ImageFormat{"JPEG": imagemeta.JPEG, "PNG": imagemeta.PNG, "WebP": imagemeta.WebP}[k.name]
	wanted := func(tag imagemeta.TagInfo) bool { return tag.Tag == "Orientation" && tag.Namespace == "IFD0" }
	_, err := imagemeta.Decode(imagemeta.Options{
		R: file, ImageFormat: format, Sources: imagemeta.EXIF, LimitNumTags: 500, LimitTagSize: 1000, ShouldHandleTag: wanted,
		HandleTag: func(tag imagemeta.TagInfo) error {
			if n, ok := tag.Value.(uint16); ok && n >= 1 && n <= 8 {
				way = int(n)
			}
			return nil
		},
	})
	if err != nil {
		return 1
	}
	return way
}

// turn returns a picture the right way up. Exif names where the first row and column of
// the file lie: 6 is right and top, so the picture was held on its side.
func turn(src *image.RGBA, way int) *image.RGBA {
	if way == 1 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	if way >= 5 {
		w, h = h, w
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			sx, sy := x, y
			switch way {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, w-1-x
			case 7:
				sx, sy = h-1-y, w-1-x
			case 8:
				sx, sy = h-1-y, x
			}
			copy(to.Pix[to.PixOffset(x, y):][:4], src.Pix[src.PixOffset(sx, sy):][:4])
		}
	}
	return to
}
